//! A promotion store in which some kinds are mocked.

use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};

crate::store::overlay::overlay! {
    /// Some kinds mocked, the rest a memory store: for injecting one precise error into otherwise real flows.
    ///
    /// ```
    /// use konfidence_sdk::promotion::{self, Inbox, PromotionOverlay};
    /// use konfidence_sdk::store::{Key, MemoryStore, MockObjectStore, ObjectRef, StoreError};
    /// use konfidence_sdk::types::VectorPromotionConfig;
    ///
    /// # futures::executor::block_on(async {
    /// let key: Key<VectorPromotionConfig> = Key::new("bakery", "menu-to-dev");
    /// let mut configs = MockObjectStore::new();
    /// let object = ObjectRef::named(&key);
    /// configs.expect_get().returning(move |_| {
    ///     Err(StoreError::Unavailable { object: object.clone(), message: "no route".into(), source: None })
    /// });
    /// let store = PromotionOverlay::over(MemoryStore::new()).configs(configs);
    /// let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    /// let stopped = promotion::reconcile(&store, &noon, &konfidence_sdk::event::NoEvents, &Inbox::default(), &key).await;
    /// assert!(matches!(stopped.unwrap_err().error, StoreError::Unavailable { .. }));
    /// # });
    /// ```
    PromotionOverlay {
        promotions: VectorPromotion,
        configs: VectorPromotionConfig,
        stages: Stage,
        landscapes: Landscape,
        templates: VectorTemplate,
    }
}

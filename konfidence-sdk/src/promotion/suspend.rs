//! Stopping and resuming a flow (P14, P39).

use std::sync::Arc;

use konfidence_types::VectorPromotionConfig;
use serde_json::{Value, json};

use super::PromotionStore;
use super::amend::{Part, amend};
use super::refusal::Refusal;
use crate::store::Key;

/// What [`suspend`] or [`resume`] came to.
#[derive(Clone, Debug)]
pub struct Suspension {
    /// The config as it is now.
    pub config: Arc<VectorPromotionConfig>,
    /// Whether this call changed it; otherwise it was as wanted before.
    pub changed: bool,
}

/// Suspends a config: nothing is created or started for it until it is resumed; what is in progress finishes. Asked
/// again it changes nothing.
///
/// # Errors
/// [`ConfigNotFound`](Refusal::ConfigNotFound), [`Store`](Refusal::Store).
///
/// # Example
/// ```
/// use konfidence_sdk::promotion;
/// use konfidence_sdk::store::{Key, MemoryStore, ObjectStore};
/// use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let spec = VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", "dev"));
/// let mut config = VectorPromotionConfig::new("menu-to-dev", spec);
/// config.metadata.namespace = Some("bakery".into());
/// let key = Key::of(&*store.create(&config).await?);
///
/// assert!(promotion::suspend(&store, &key).await?.changed);
/// assert!(!promotion::suspend(&store, &key).await?.changed);
/// assert!(promotion::resume(&store, &key).await?.changed);
/// # Ok::<(), promotion::Refusal>(())
/// # }).unwrap();
/// ```
pub async fn suspend<S: PromotionStore + ?Sized>(
    store: &S,
    config: &Key<VectorPromotionConfig>,
) -> Result<Suspension, Refusal> {
    set(store, config, true, json!(true)).await
}

/// Resumes a config by removing `spec.suspend`, as if it had never been there. Asked again it changes nothing.
///
/// # Errors
/// [`ConfigNotFound`](Refusal::ConfigNotFound), [`Store`](Refusal::Store).
///
/// # Example
/// See [`suspend`].
pub async fn resume<S: PromotionStore + ?Sized>(
    store: &S,
    config: &Key<VectorPromotionConfig>,
) -> Result<Suspension, Refusal> {
    set(store, config, false, Value::Null).await
}

async fn set<S: PromotionStore + ?Sized>(
    store: &S,
    key: &Key<VectorPromotionConfig>,
    wanted: bool,
    value: Value,
) -> Result<Suspension, Refusal> {
    let absent = |config| Refusal::ConfigNotFound { config };
    let judge = |config: &VectorPromotionConfig| {
        let is_suspended = config.spec.suspend == Some(true);
        Ok((is_suspended != wanted).then(|| json!({"spec": {"suspend": value}})))
    };
    let (config, changed) = amend(store, key, Part::Main, absent, judge).await?;
    Ok(Suspension { config, changed })
}

//! The end of a hold at a person's word (P52).

use std::sync::Arc;

use konfidence_types::{VectorPromotionConfig, annotation};
use serde_json::json;

use super::PromotionStore;
use super::amend::worth_another_look;
use super::decide::standing_hold;
use super::manual::view;
use super::refusal::{Refusal, named};
use crate::store::{Key, Patch, Version};

/// Lets drift of a config follow its source again although a person's promotion holds against the source's vector:
/// writes `konfidence.cloud/released: <uid of that promotion>` on the config. Answers the config as it then is.
///
/// # Errors
/// Without a write: [`Anonymous`](Refusal::Anonymous), [`ConfigNotFound`](Refusal::ConfigNotFound),
/// [`NothingHeld`](Refusal::NothingHeld). Else [`Store`](Refusal::Store).
///
/// # Example
/// ```
/// use konfidence_sdk::promotion::{self, Inbox, Refusal};
/// use konfidence_sdk::{event::NoEvents, store::{Key, MemoryStore, ObjectStore}};
/// use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec, VectorTemplate};
/// use serde_json::json;
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse()?;
/// store.insert_raw::<VectorTemplate>(json!({
///     "metadata": {"namespace": "bakery", "name": "menu"},
///     "spec": {"uploadTarget": "registry.example.com/menu", "components": [{"name": "registry.example.com/bread:1"}]},
///     "status": {"latestVector": "bakery//menu:2"},
/// }))?;
/// let spec = VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", "dev"));
/// let mut config = VectorPromotionConfig::new("menu-to-dev", spec);
/// config.metadata.namespace = Some("bakery".into());
/// let config = Key::of(&*store.create(&config).await?);
/// promotion::reconcile(&store, &noon, &NoEvents, &Inbox::default(), &config).await?;
///
/// promotion::promote(&store, &NoEvents, &config, "bakery//menu:1", "anna").await?;
/// promotion::release(&store, &config, "bert").await?;
/// let again = promotion::release(&store, &config, "bert").await;
/// assert!(matches!(again, Err(Refusal::NothingHeld { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn release<S: PromotionStore + ?Sized>(
    store: &S,
    config: &Key<VectorPromotionConfig>,
    by: &str,
) -> Result<Arc<VectorPromotionConfig>, Refusal> {
    let by = named(by, config)?;
    let mut tries = 0;
    loop {
        let (snapshot, read) = view(store, config).await?;
        let hold = standing_hold(&snapshot)
            .ok_or_else(|| nothing_held(config, "no promotion of it overrules the source, or it was released"))?;
        let source = snapshot.source(&read.spec.source).ok();
        if let Some(newer) = source.filter(|source| source.vector != hold.overrules.vector) {
            let why = format!(
                "{} overruled vector {}, and the source has {} by now",
                hold.name,
                hold.overrules.vector,
                if newer.vector.is_empty() { "none" } else { &newer.vector },
            );
            return Err(nothing_held(config, why));
        }
        let merge = json!({"metadata": {"annotations": {annotation::RELEASED: hold.uid}}});
        match store.patch(config, &Patch::new(Version::of(&*read), merge)).await {
            Ok(released) => {
                tracing::info!(%config, promotion = hold.name, by, "hold released");
                return Ok(released);
            }
            Err(error) if worth_another_look(&error, &mut tries) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn nothing_held(config: &Key<VectorPromotionConfig>, why: impl Into<String>) -> Refusal {
    Refusal::NothingHeld { config: config.clone(), why: why.into() }
}

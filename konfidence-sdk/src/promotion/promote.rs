//! A vector of a person's choice (P52; the manual trigger).

use std::sync::Arc;

use konfidence_types::{VectorPromotion, VectorPromotionConfig};

use super::PromotionStore;
use super::manual::{Wish, make_next};
use super::refusal::{Refusal, named};
use crate::event::EventSink;
use crate::store::Key;

/// Makes the next promotion of `config` for the vector that a person names, to the config's target and with its gate.
/// Emits `PromotionCreated` on the config. Answers the new promotion.
///
/// Where the vector is not the source's present one, the promotion carries what it overrules
/// (`konfidence.cloud/overrules`): drift then makes nothing until the source has a new vector or somebody
/// [releases](super::release()) it. A rollback by hand is thus not undone by automation. The vector that the target has
/// already may be named too: that keeps it there.
///
/// # Errors
/// Without a write: [`Anonymous`](Refusal::Anonymous), [`NoVector`](Refusal::NoVector),
/// [`ConfigNotFound`](Refusal::ConfigNotFound), [`ConfigDeleting`](Refusal::ConfigDeleting),
/// [`Suspended`](Refusal::Suspended), [`NotInitialised`](Refusal::NotInitialised), [`Exhausted`](Refusal::Exhausted),
/// [`SourceUnreadable`](Refusal::SourceUnreadable). Else [`Store`](Refusal::Store); after one that gives no certain
/// answer, look before asking again: the promotion may have been made.
///
/// # Example
/// ```
/// use konfidence_sdk::promotion::{self, Inbox};
/// use konfidence_sdk::{event::NoEvents, store::{Key, MemoryStore, ObjectStore}};
/// use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
///
/// # futures::executor::block_on(async {
/// let store = MemoryStore::new();
/// let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse()?;
/// let spec = VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", "dev"));
/// let mut config = VectorPromotionConfig::new("menu-to-dev", spec);
/// config.metadata.namespace = Some("bakery".into());
/// let config = Key::of(&*store.create(&config).await?);
/// // The controller's first look at a config gives it its number base.
/// promotion::reconcile(&store, &noon, &NoEvents, &Inbox::default(), &config).await?;
///
/// let made = promotion::promote(&store, &NoEvents, &config, "bakery//menu:1", "anna").await?;
/// assert_eq!(made.metadata.name.as_deref(), Some("menu-to-dev-1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub async fn promote<S: PromotionStore + ?Sized>(
    store: &S,
    events: &dyn EventSink,
    config: &Key<VectorPromotionConfig>,
    vector: &str,
    by: &str,
) -> Result<Arc<VectorPromotion>, Refusal> {
    let by = named(by, config)?;
    if vector.is_empty() {
        return Err(Refusal::NoVector { config: config.clone() });
    }
    make_next(store, events, config, &Wish { vector, target: None, by }, |_| Ok(())).await
}

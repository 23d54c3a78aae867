//! The promotion domain on a cluster.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use konfidence_sdk::clock::Clock;
use konfidence_sdk::promotion::{
    self, Action, Inbox, Interrupted, Outcome, Phase, SourceKey, Transition, conditions_of,
};
use konfidence_sdk::store::{BY_CONFIG, Key, ObjectStore, Query, StoreError, Unreadable};
use konfidence_sdk::types::{
    ApprovedReason, EventReason, Landscape, Stage, SucceededReason, VectorPromotion, VectorPromotionConfig,
    VectorTemplate, condition, condition_type,
};
use kube::ResourceExt;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Process, definitions};
use crate::events::PostedEvents;
use crate::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::{Controller, Domain, Failure, Followers, Reconciled, readable};
use crate::store::{Change, Content, KubeStore};

type ConfigKey = Key<VectorPromotionConfig>;

struct Promotions {
    store: KubeStore,
    clock: Arc<dyn Clock>,
    events: Arc<PostedEvents>,
    inbox: Inbox,
    metrics: Metrics,
}

#[async_trait]
impl Domain for Promotions {
    type Key = ConfigKey;

    const NAME: &'static str = "promotion";

    /// What was seen before is the former leader's to promote (P8).
    fn elected(&self) {
        self.inbox.clear();
    }

    async fn reconcile(&self, key: &ConfigKey) -> Result<Reconciled, Failure> {
        let ended = promotion::reconcile(&self.store, &*self.clock, &*self.events, &self.inbox, key).await;
        let (Ok(Outcome { transitions, .. }) | Err(Interrupted { transitions, .. })) = &ended;
        let progressed = !transitions.is_empty();
        for transition in transitions {
            count(&self.metrics, transition);
        }
        let wake_up = ended.map_err(|interrupted| Failure { error: interrupted.error, progressed })?.wake_up;
        if wake_up.is_none() && self.is_gone(key).await? {
            return Ok(Reconciled::Gone);
        }
        Ok(Reconciled::Rest(wake_up))
    }
}

impl Promotions {
    async fn is_gone(&self, key: &ConfigKey) -> Result<bool, StoreError> {
        match self.store.get(key).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(StoreError::Unreadable(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        let left = self.store.list(&of(key)).await?;
        Ok(left.items.is_empty() && left.unreadable.is_empty())
    }
}

fn of(key: &ConfigKey) -> Query<VectorPromotion> {
    Query::within(key.namespace()).by(BY_CONFIG, key.name())
}

/// Runs the domain until `stop`.
pub(super) async fn run(process: &Process, store: KubeStore, stop: &CancellationToken) {
    let store = store.with_field_manager("konfidence-promotion-controller");
    let plurals = ["landscapes", "stages", "vectorpromotionconfigs", "vectorpromotions", "vectortemplates"];
    if !process.installed(Promotions::NAME, &definitions(&plurals), stop).await {
        return;
    }
    let inbox = Inbox::default();
    observe(&store, &inbox, &process.metrics);
    let caches = async {
        tokio::join!(
            process.filled::<VectorPromotion>(Promotions::NAME, &store),
            process.filled::<VectorPromotionConfig>(Promotions::NAME, &store),
            process.filled::<Stage>(Promotions::NAME, &store),
            process.filled::<Landscape>(Promotions::NAME, &store),
            process.filled::<VectorTemplate>(Promotions::NAME, &store),
        )
    };
    if stop.run_until_cancelled(caches).await.is_none() {
        return;
    }
    let (events, posting) = process.events("promotion-controller");
    let domain = Promotions {
        store: store.clone(),
        clock: process.clock.clone(),
        events,
        inbox,
        metrics: process.metrics.clone(),
    };
    let controller = Controller::new(domain, process.clock.clone(), process.metrics.clone(), process.concurrency);
    let followers = followers(&store, controller.queue());
    process.work(controller, followers, posting, stop).await;
}

/// Whatever has to be told of a change before a decision can read it.
fn observe(store: &KubeStore, inbox: &Inbox, metrics: &Metrics) {
    let sources = inbox.clone();
    store.observe(move |change: &Change<VectorTemplate>| match (&change.before, &change.after) {
        (_, Some(Ok(template))) => sources.saw_template(template),
        (Some(Ok(template)), None) => sources.source_is_gone(&SourceKey::Template(Key::of(&**template))),
        _ => {}
    });
    let sources = inbox.clone();
    store.observe(move |change: &Change<Stage>| match (&change.before, &change.after) {
        (_, Some(Ok(stage))) => sources.saw_stage(stage),
        (Some(Ok(stage)), None) => sources.source_is_gone(&SourceKey::Stage(Key::of(&**stage))),
        _ => {}
    });
    let metrics = metrics.clone();
    store.observe(move |change: &Change<VectorPromotion>| {
        let [before, after] =
            [&change.before, &change.after].map(|side| side.as_ref().and_then(|side| side.as_ref().ok()));
        let state = |promotion: &Arc<VectorPromotion>| Phase::of_promotion(promotion).state();
        if let Some(promotion) = after.or(before) {
            let key = Key::new(promotion.namespace().unwrap_or_default(), &promotion.spec.vector_promotion_config_name);
            metrics.promotion_moved(&key, before.map(state), after.map(state));
        }
    });
}

/// Whom the changes of each kind concern. Looked up at a glance: what is not in the cache yet will be a change of its
/// own.
fn followers(store: &KubeStore, queue: &Arc<Queue<ConfigKey>>) -> JoinSet<()> {
    let mut followers = Followers::new(store, queue);
    followers.add(|_, config: Content<VectorPromotionConfig>| async move {
        Ok(BTreeSet::from([config.map_or_else(|unreadable| named(&unreadable), |config| Key::of(&*config))]))
    });
    followers
        .add(|_, promotion: Content<VectorPromotion>| async move { Ok(config_of(&promotion).into_iter().collect()) });
    followers.add(|store, stage| async move { promotion::affected_by_stage(&store, &readable::<Stage>(stage)).await });
    followers.add(|store, landscape| async move {
        promotion::affected_by_landscape(&store, &readable::<Landscape>(landscape)).await
    });
    followers.add(|store, template| async move {
        promotion::affected_by_template(&store, &readable::<VectorTemplate>(template)).await
    });
    followers.tasks()
}

/// The config that a promotion names, also of one that does not parse: its config has to be told that it is blocked.
fn config_of(promotion: &Content<VectorPromotion>) -> Option<ConfigKey> {
    match promotion {
        Ok(promotion) => promotion::affected_by_promotion(promotion).into_iter().next(),
        Err(unreadable) => {
            let config = unreadable.raw.pointer("/spec/vectorPromotionConfigName")?.as_str()?;
            Some(Key::new(&unreadable.object.namespace, config))
        }
    }
}

fn named(unreadable: &Unreadable) -> ConfigKey {
    Key::new(&unreadable.object.namespace, &unreadable.object.name)
}

/// Counts what a write meant (P49).
fn count(metrics: &Metrics, transition: &Transition) {
    let Some(promotion) = &transition.promotion else { return };
    let made = promotion.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let since_made = |at: Timestamp| made.and_then(|made| Duration::try_from(at.duration_since(made)).ok());
    match transition.action {
        Action::Create => metrics.transition(EventReason::PromotionCreated.as_str()),
        Action::AwaitApproval => metrics.transition(ApprovedReason::WaitingForApproval.as_str()),
        Action::Supersede | Action::Block | Action::Start | Action::Finish | Action::Fail => {
            let Some(succeeded) = condition(conditions_of(promotion), condition_type::SUCCEEDED) else { return };
            let reason = succeeded.reason.parse::<SucceededReason>().map_or("Other", SucceededReason::as_str);
            metrics.transition(reason);
            if transition.action == Action::Finish
                && let Some(took) = since_made(succeeded.last_transition_time.0)
            {
                metrics.reached_stage(took);
            }
            let approval = promotion.status.as_ref().and_then(|status| status.approval.as_ref());
            if transition.action == Action::Start
                && let Some(waited) = approval.and_then(|approval| since_made(approval.approved_at.0))
            {
                metrics.approved(waited);
            }
        }
        _ => {}
    }
}

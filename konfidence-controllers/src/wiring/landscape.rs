//! The Landscape domain on a cluster.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Namespace;
use konfidence_sdk::clock::Clock;
use konfidence_sdk::landscape::{self, Settings};
use konfidence_sdk::store::{Key, ObjectStore, StoreError};
use konfidence_sdk::types::Landscape;
use tokio_util::sync::CancellationToken;

use super::{Process, definitions};
use crate::events::PostedEvents;
use crate::runtime::{Controller, Domain, Failure, Followers, Reconciled, readable};
use crate::store::KubeStore;

struct Landscapes {
    store: KubeStore,
    clock: Arc<dyn Clock>,
    events: Arc<PostedEvents>,
    settings: Settings,
}

#[async_trait]
impl Domain for Landscapes {
    type Key = Key<Landscape>;

    const NAME: &'static str = "landscape";

    async fn reconcile(&self, key: &Key<Landscape>) -> Result<Reconciled, Failure> {
        let outcome = landscape::reconcile(&self.store, &*self.clock, &*self.events, &self.settings, key).await?;
        match self.store.get(key).await {
            Ok(None) => Ok(Reconciled::Gone),
            Ok(Some(_)) | Err(StoreError::Unreadable(_)) => Ok(Reconciled::Rest(outcome.wake_up)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Runs the domain until `stop`.
pub(super) async fn run(process: &Process, store: KubeStore, stop: &CancellationToken) {
    let store = store.with_field_manager("konfidence-landscape-controller");
    if !process.installed(Landscapes::NAME, &definitions(&["landscapes"]), stop).await {
        return;
    }
    let caches = async {
        tokio::join!(
            process.filled::<Landscape>(Landscapes::NAME, &store),
            process.filled::<Namespace>(Landscapes::NAME, &store),
        )
    };
    if stop.run_until_cancelled(caches).await.is_none() {
        return;
    }
    let (events, posting) = process.events("landscape-controller");
    let settings = Settings { own_namespace: process.own_namespace.clone() };
    let domain = Landscapes { store: store.clone(), clock: process.clock.clone(), events, settings };
    let controller = Controller::new(domain, process.clock.clone(), process.metrics.clone(), process.concurrency);
    let mut followers = Followers::new(&store, controller.queue());
    followers.add(|store, changed| async move {
        landscape::affected_by_landscape(&store, &readable::<Landscape>(changed)).await
    });
    followers.add(|store, changed| async move {
        landscape::affected_by_namespace(&store, &readable::<Namespace>(changed)).await
    });
    let followers = followers.tasks();
    process.work(controller, followers, posting, stop).await;
}

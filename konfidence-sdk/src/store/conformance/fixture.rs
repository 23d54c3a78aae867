//! What the laws are told in: objects, checks, waiting.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::{Either, select};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use konfidence_types::{
    SourceRef, Stage, StageSpec, TargetRef, VectorPromotion, VectorPromotionConfig, VectorPromotionConfigSpec,
    VectorPromotionSpec,
};
use kube::core::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::{Breach, PATIENCE, Site, Subject};
use crate::store::{Key, Object, Patch, StoreError, Version, WatchEvent, WatchStream};

/// A finalizer that nobody but the laws removes.
pub(super) const FINALIZER: &str = "conformance.konfidence.cloud/held";

/// What a law acts on.
pub struct Fixture<'a, S: Subject> {
    pub(super) subject: &'a S,
    pub(super) store: S::Store,
    pub(super) namespace: String,
    pub(super) elsewhere: String,
}

impl<'a, S: Subject> Fixture<'a, S> {
    pub(super) fn new(subject: &'a S, site: Site<S::Store>) -> Self {
        Self { subject, store: site.store, namespace: site.namespace, elsewhere: site.elsewhere }
    }

    /// The key of an object in the law's namespace.
    pub(super) fn key<K>(&self, name: &str) -> Key<K> {
        Key::new(&self.namespace, name)
    }

    /// A Stage that wants version 1 of the menu.
    pub(super) fn stage(&self, name: &str) -> Stage {
        let mut stage = Stage::new(name, StageSpec { vector: vector(1) });
        stage.metadata.namespace = Some(self.namespace.clone());
        stage
    }

    /// A config that promotes the menu to a stage of the landscape `eu`.
    pub(super) fn config(&self, name: &str, target: &str) -> VectorPromotionConfig {
        let spec = VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", target));
        let mut config = VectorPromotionConfig::new(name, spec);
        config.metadata.namespace = Some(self.namespace.clone());
        config
    }

    /// A promotion that is owned by these configs.
    pub(super) fn promotion(&self, name: &str, owners: &[&VectorPromotionConfig]) -> VectorPromotion {
        let mut promotion = VectorPromotion::new(
            name,
            VectorPromotionSpec {
                vector_promotion_config_name: owners.first().map_or("none".into(), |owner| owner.name_any()),
                source: SourceRef::template("menu"),
                target: TargetRef::stage("eu", "dev"),
                vector: vector(1),
                require_approval: false,
                sequence: 1,
                ttl_after_finished: None,
            },
        );
        promotion.metadata.namespace = Some(self.namespace.clone());
        promotion.metadata.owner_references = Some(owners.iter().map(|owner| reference(owner)).collect());
        promotion
    }

    /// Waits for what has to come: `what` says what that is.
    pub(super) fn patience(&self, what: &'static str) -> Patience<'_, S> {
        Patience { subject: self.subject, what, left: PATIENCE }
    }

    /// The first item of a watch, error or not.
    pub(super) async fn first<K: Object>(
        &self,
        stream: &mut WatchStream<K>,
    ) -> Result<Result<WatchEvent<K>, StoreError>, Breach> {
        for _ in 0..PATIENCE {
            match select(stream.next(), pin!(self.subject.pause())).await {
                Either::Left((Some(item), _)) => return Ok(item),
                Either::Left((None, _)) => return Err(Breach::Broken("the watch ended".into())),
                Either::Right(_) => {}
            }
        }
        Err(Breach::Broken("the watch shows nothing more although something changed".into()))
    }

    /// Reads the events of a watch.
    pub(super) fn watching<K: Object>(&self, stream: WatchStream<K>) -> Watching<'_, K, S> {
        Watching { fixture: self, stream }
    }
}

/// How much longer a law waits.
pub(super) struct Patience<'a, S> {
    subject: &'a S,
    what: &'static str,
    left: usize,
}

impl<S: Subject> Patience<'_, S> {
    /// Lets some time pass; it is a breach if it has not come by now.
    pub(super) async fn pause(&mut self) -> Result<(), Breach> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Breach::Broken(format!("it did not come to this: {}", self.what)))?;
        self.subject.pause().await;
        Ok(())
    }
}

/// A watch that a law reads.
pub struct Watching<'a, K, S: Subject> {
    fixture: &'a Fixture<'a, S>,
    stream: WatchStream<K>,
}

impl<K: Object, S: Subject> Watching<'_, K, S> {
    /// The next event that is no bookmark.
    pub(super) async fn next(&mut self) -> Result<WatchEvent<K>, Breach> {
        loop {
            match self.fixture.first(&mut self.stream).await? {
                Ok(WatchEvent::Bookmark { .. }) => {}
                Ok(event) => return Ok(event),
                Err(error) => return Err(Breach::Broken(format!("the watch failed: {error}"))),
            }
        }
    }

    /// The next `count` events in words.
    pub(super) async fn told(&mut self, count: usize) -> Result<Vec<String>, Breach> {
        let mut events = Vec::with_capacity(count);
        for _ in 0..count {
            events.push(told(&self.next().await?));
        }
        Ok(events)
    }
}

/// An event in words; of a deletion the name is all that every server tells alike.
fn told<K: Object>(event: &WatchEvent<K>) -> String {
    let named = |change: &str, object: &Arc<K>, version: bool| {
        let version = if version { format!(" at {}", Version::of(&**object).resource_version) } else { String::new() };
        format!("{change} {}{version}", object.name_any())
    };
    match event {
        WatchEvent::Added(object) => named("added", object, true),
        WatchEvent::Modified(object) => named("modified", object, true),
        WatchEvent::Deleted(object) => named("deleted", object, false),
        WatchEvent::Unreadable(unreadable) => format!("unreadable {}", unreadable.object),
        WatchEvent::Bookmark { resource_version } => format!("bookmark {resource_version}"),
    }
}

/// Version `n` of the menu.
pub(super) fn vector(n: usize) -> String {
    format!("registry.example/bakery//menu:{n}.0.0")
}

/// A patch that makes a Stage want version `n` of the menu.
pub(super) fn wants(stage: &Stage, n: usize) -> Patch<Stage> {
    patch(stage, json!({"spec": {"vector": vector(n)}}))
}

/// A patch that writes version `n` of the menu into a Stage's history.
pub(super) fn had(stage: &Stage, n: usize) -> Patch<Stage> {
    patch(stage, json!({"status": {"vectorHistory": [vector(n)]}}))
}

/// A patch of the object as it was read.
pub(super) fn patch<K: Resource>(object: &K, merge: Value) -> Patch<K> {
    Patch::new(Version::of(object), merge)
}

fn reference(owner: &VectorPromotionConfig) -> OwnerReference {
    OwnerReference {
        api_version: VectorPromotionConfig::api_version(&()).into_owned(),
        kind: VectorPromotionConfig::kind(&()).into_owned(),
        name: owner.name_any(),
        uid: owner.uid().unwrap_or_default(),
        controller: None,
        block_owner_deletion: None,
    }
}

/// Says that `what` is as expected.
pub(super) fn equal<T: PartialEq + Debug>(what: &str, seen: &T, expected: &T) -> Result<(), Breach> {
    if seen == expected {
        return Ok(());
    }
    Err(Breach::Broken(format!("{what} is {seen:?}, and ought to be {expected:?}")))
}

/// Says that a read shows this object. Who wrote which field is left aside: a cache need not keep it.
pub(super) fn shows<K: Object>(what: &str, seen: Option<&Arc<K>>, expected: Option<&Arc<K>>) -> Result<(), Breach> {
    let without_writers = |object: Option<&Arc<K>>| {
        object.map(|object| {
            let mut object = K::clone(object);
            object.meta_mut().managed_fields = None;
            object
        })
    };
    equal(what, &without_writers(seen), &without_writers(expected))
}

/// Which objects a list shows, and in which state.
pub(super) fn states<K: Object>(items: &[Arc<K>]) -> Vec<String> {
    items.iter().map(|it| format!("{} at {}", Key::of(&**it), Version::of(&**it).resource_version)).collect()
}

/// Says that `what` holds.
pub(super) fn holds(what: &str, is_so: bool) -> Result<(), Breach> {
    if is_so { Ok(()) } else { Err(Breach::Broken(format!("it does not hold that {what}"))) }
}

/// Says that a request fails in one way.
pub(super) fn fails<T: Debug>(
    what: &str,
    result: Result<T, StoreError>,
    expected: &str,
    is_expected: fn(&StoreError) -> bool,
) -> Result<(), Breach> {
    match result {
        Err(error) if is_expected(&error) => Ok(()),
        Err(error) => Err(Breach::Broken(format!("{what} ought to fail with {expected}, and fails with: {error}"))),
        Ok(answer) => Err(Breach::Broken(format!("{what} ought to fail with {expected}, and answers {answer:?}"))),
    }
}

/// Says that a request conflicts.
pub(super) fn conflicts<T: Debug>(what: &str, result: Result<T, StoreError>) -> Result<(), Breach> {
    fails(what, result, "Conflict", |error| matches!(error, StoreError::Conflict { .. }))
}

/// Says that a request finds nothing to write.
pub(super) fn finds_nothing<T: Debug>(what: &str, result: Result<T, StoreError>) -> Result<(), Breach> {
    fails(what, result, "NotFound", |error| matches!(error, StoreError::NotFound { .. }))
}

/// Says that a request is refused for its content.
pub(super) fn is_invalid<T: Debug>(what: &str, result: Result<T, StoreError>) -> Result<(), Breach> {
    fails(what, result, "Invalid", |error| matches!(error, StoreError::Invalid { .. }))
}

//! For each law a store that breaks it and no other. A law without such a store could not fail.

use std::any::TypeId;
use std::sync::Arc;

use futures::{StreamExt, stream};
use serde_json::{Map, json};

use super::*;
use crate::store::engine::{Collector, Engine, EngineError, Options, Scope};
use crate::store::{Listed, Object, Patch, Precondition, Query, Version, WatchEvent, WatchStream};

/// The store in memory, with the defect that breaks `law`.
struct Broken {
    store: MemoryStore,
    law: &'static str,
}

struct Breaking(&'static str);

#[async_trait]
impl Subject for Breaking {
    type Store = Broken;

    async fn site(&self) -> Result<Site<Broken>, StoreError> {
        let mut options = Options::new(Arc::new(crate::clock::SystemClock));
        if self.0 == "dependants_go_with_their_last_owner" {
            options.collector = Collector::OnRequest;
        }
        let store = Broken { store: MemoryStore::over(Engine::new(options)), law: self.0 };
        Ok(Site { store, namespace: "bakery".into(), elsewhere: "annex".into() })
    }

    async fn forget_history(&self, store: &Broken) -> bool {
        forget(&store.store)
    }

    async fn raw_stage(&self, store: &Broken, key: &Key<Stage>) -> Option<Value> {
        raw(&store.store, key)
    }
}

#[test]
fn for_each_law_a_broken_store_breaks_exactly_that_law() {
    for law in laws::<Breaking>() {
        // Shown when this law's own store panics.
        println!("{}", law.name);
        let report = futures::executor::block_on(run(&Breaking(law.name)));
        assert_eq!(report.broken(), [law.name], "the store that breaks {}:\n{report}", law.name);
    }
}

fn is_stage<K: Object>() -> bool {
    TypeId::of::<K>() == TypeId::of::<Stage>()
}

const ONE_UID: &str = "11111111-1111-4111-8111-111111111111";

impl Broken {
    fn breaks(&self, law: &str) -> bool {
        assert!(laws::<Breaking>().iter().any(|known| known.name == law), "no law is called {law}");
        self.law == law
    }

    /// What every answer shows.
    fn shown<K: Object>(&self, object: &K) -> Arc<K> {
        let mut shown = object.clone();
        if self.breaks("a_create_gives_what_the_server_sets") {
            shown.meta_mut().creation_timestamp = None;
        }
        if self.breaks("the_generation_counts_changes_of_the_spec_only")
            && !serde_json::to_value(object).unwrap()["status"].is_null()
        {
            shown.meta_mut().generation = object.meta().generation.map(|generation| generation + 1);
        }
        if self.breaks("an_object_made_anew_is_another_one") && is_stage::<K>() {
            shown.meta_mut().uid = Some(ONE_UID.into());
        }
        Arc::new(shown)
    }

    fn listed<K: Object>(&self, mut listed: Listed<K>) -> Listed<K> {
        listed.items = listed.items.into_iter().map(|object| self.shown(&*object)).collect();
        listed
    }

    async fn present<K: Object>(&self, key: &Key<K>) -> Option<Version> {
        self.store.get(key).await.unwrap().map(|object| Version::of(&*object))
    }

    /// The real uid, where another one is shown.
    async fn unmask<K: Object>(&self, key: &Key<K>, uid: &mut String) {
        if self.breaks("an_object_made_anew_is_another_one")
            && is_stage::<K>()
            && uid == ONE_UID
            && let Some(present) = self.present(key).await
        {
            *uid = present.uid;
        }
    }

    async fn write<K: Object>(&self, key: &Key<K>, patch: &Patch<K>, status: bool) -> Result<Arc<K>, StoreError> {
        let mut patch = patch.clone();
        self.unmask(key, &mut patch.expected.uid).await;
        let present = self.present(key).await;
        if let Some(present) = &present {
            let expected = &mut patch.expected;
            if self.breaks("a_patch_on_an_old_version_conflicts_and_changes_nothing")
                && expected.uid == present.uid
                && !expected.resource_version.is_empty()
            {
                expected.resource_version.clone_from(&present.resource_version);
            }
            if self.breaks("a_patch_for_another_uid_conflicts") {
                expected.uid = String::new();
            }
            if self.breaks("a_patch_without_version_is_refused") && expected.resource_version.is_empty() {
                expected.resource_version.clone_from(&present.resource_version);
            }
        }
        self.spoil(key, &mut patch.merge);
        let whole = self.breaks("a_patch_of_the_object_leaves_the_status") && !status
            || self.breaks("a_patch_of_the_status_leaves_the_object") && status;
        let written = if whole {
            self.write_whole(key, &patch).await
        } else if status {
            self.store.patch_status(key, &patch).await
        } else {
            self.store.patch(key, &patch).await
        };
        match written {
            Err(StoreError::NotFound { object }) if self.breaks("writing_what_is_not_there_is_not_found") => {
                Err(StoreError::Conflict { object })
            }
            Err(StoreError::Invalid { .. })
                if self.breaks("a_deleted_object_takes_no_new_finalizer")
                    && patch.merge.pointer("/metadata/finalizers").is_some() =>
            {
                Ok(self.store.get(key).await?.unwrap())
            }
            Ok(object)
                if self.breaks("a_patch_that_changes_nothing_keeps_the_version")
                    && Some(Version::of(&*object)) == present =>
            {
                let touched = json!({"metadata": {"annotations": {"touched": Version::of(&*object).resource_version}}});
                self.store.patch(key, &Patch::new(Version::of(&*object), touched)).await
            }
            other => other,
        }
    }

    /// Makes a patch say more than it should.
    fn spoil<K: Object>(&self, key: &Key<K>, merge: &mut Value) {
        let present = self.store.collection::<K>().get(key.namespace(), key.name());
        let Some(present) = present.map(|object| object.json().clone()) else { return };
        let mut removes = |part: &str, lost: &dyn Fn(&str) -> bool| {
            if let (Some(named), Some(present)) = (merge.pointer_mut(part), present.pointer(part)) {
                for field in present.as_object().unwrap_or(&Map::new()).keys().filter(|field| lost(field)) {
                    named.as_object_mut().unwrap().entry(field.clone()).or_insert(Value::Null);
                }
            }
        };
        if self.breaks("a_patch_changes_what_it_names_and_keeps_the_rest") {
            removes("/metadata/labels", &|_| true);
        }
        if self.breaks("a_patch_keeps_fields_that_the_kind_does_not_know") {
            removes("/spec", &|field| field.starts_with("conformance"));
        }
    }

    async fn write_whole<K: Object>(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        let expected = Precondition::from(patch.expected.clone());
        let changed = |object: &crate::store::engine::Document| {
            let mut json = object.json().clone();
            json_patch::merge(&mut json, &patch.merge);
            Ok::<_, EngineError>(json)
        };
        let collection = self.store.collection::<K>();
        match collection.update(key.namespace(), key.name(), &expected, Scope::Whole, changed) {
            Ok(written) => Ok(written.object.parse().unwrap()),
            // The store says it in its own words.
            Err(_) => self.store.patch(key, patch).await,
        }
    }

    async fn select<K: Object>(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        let listed = self.store.list(query).await;
        let mut everything = query.clone();
        everything.index = None;
        match listed {
            Ok(_) if self.breaks("an_index_equals_a_filtered_list") && query.index.is_some() => {
                self.store.list(&everything).await
            }
            Err(StoreError::Invalid { .. }) if self.breaks("an_undeclared_index_is_refused") => {
                self.store.list(&everything).await
            }
            listed => listed,
        }
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for Broken {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        if self.breaks("a_read_shows_ones_own_writes") {
            let last = self.store.engine().revision() - 1;
            let before = self.store.collection::<K>().get_at(last, key.namespace(), key.name()).unwrap();
            return Ok(before.map(|object| object.parse().unwrap()));
        }
        Ok(self.store.get(key).await?.map(|object| self.shown(&*object)))
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        let mut listed = self.listed(self.select(query).await?);
        if self.breaks("what_is_not_there_is_no_error") && listed.items.is_empty() && query.index.is_none() {
            return Err(StoreError::NotFound { object: crate::store::ObjectRef::default() });
        }
        if self.breaks("a_list_is_ordered_and_keeps_to_its_namespace") && is_stage::<K>() {
            listed.items.reverse();
        }
        if self.breaks("a_list_and_a_watch_leave_no_gap") {
            listed.resource_version = "1".into();
        }
        Ok(listed)
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        Ok(self.store.get(key).await?.map(|object| self.shown(&*object)))
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        let mut listed = self.listed(self.select(query).await?);
        if self.breaks("a_live_read_shows_every_write") && is_stage::<K>() {
            for object in &mut listed.items {
                let mut late = K::clone(object);
                late.meta_mut().resource_version = Some("1".into());
                *object = Arc::new(late);
            }
        }
        Ok(listed)
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        if self.breaks("a_create_takes_no_status") {
            self.store.insert_raw::<K>(serde_json::to_value(object).unwrap())?;
            return Ok(self.store.get(&Key::of(object)).await?.unwrap());
        }
        match self.store.create(object).await {
            Err(StoreError::AlreadyExists { .. }) if self.breaks("a_name_is_taken_once") => {
                Ok(self.store.get(&Key::of(object)).await?.unwrap())
            }
            created => Ok(self.shown(&*created?)),
        }
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        Ok(self.shown(&*self.write(key, patch, false).await?))
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        Ok(self.shown(&*self.write(key, patch, true).await?))
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        let mut precondition = precondition.clone();
        if let Some(uid) = &mut precondition.uid {
            self.unmask(key, uid).await;
        }
        if self.breaks("a_delete_of_another_uid_conflicts") {
            precondition.uid = None;
        }
        if self.breaks("a_delete_of_an_old_version_conflicts") {
            precondition.resource_version = None;
        }
        if self.breaks("a_finalizer_holds_a_deleted_object")
            && let Some(present) = self.present(key).await
        {
            let none = json!({"metadata": {"finalizers": null}});
            let freed = self.store.patch(key, &Patch::new(present.clone(), none)).await?;
            if precondition.resource_version.as_deref() == Some(&present.resource_version) {
                precondition.resource_version = Some(Version::of(&*freed).resource_version);
            }
        }
        self.store.delete(key, &precondition).await
    }
}

#[async_trait]
impl<K: Object> ObjectWatch<K> for Broken {
    async fn watch(&self, query: &Query<K>, from: Option<&str>) -> Result<WatchStream<K>, StoreError> {
        let mut query = query.clone();
        if self.breaks("a_watch_keeps_to_its_namespace") {
            query.namespace = None;
        }
        let now = self.store.engine().revision().to_string();
        let from = match from {
            None if self.breaks("a_watch_without_version_shows_what_is_there_first") => Some(now.as_str()),
            from => from,
        };
        let opened = match self.store.watch(&query, from).await {
            Err(StoreError::Expired { .. }) if self.breaks("a_watch_from_a_forgotten_version_is_expired") => {
                self.store.watch(&query, Some(&now)).await?
            }
            opened => opened?,
        };
        let twice = self.breaks("a_watch_shows_every_change_in_order_from_any_version") && is_stage::<K>();
        let never_leaves = self.breaks("a_watch_of_an_index_sees_objects_enter_and_leave") && query.index.is_some();
        let spoiled = opened.flat_map(move |event| {
            let count = match &event {
                Ok(WatchEvent::Modified(_)) if twice => 2,
                Ok(WatchEvent::Deleted(_)) if never_leaves => 0,
                _ => 1,
            };
            let event = event.unwrap();
            stream::iter(std::iter::repeat_n(event, count)).map(Ok)
        });
        Ok(spoiled.boxed())
    }
}

//! Laws of deletes: preconditions, finalizers, owners.

use kube::core::ResourceExt;
use serde_json::json;

use super::fixture::{FINALIZER, conflicts, equal, holds, is_invalid, patch, shows, wants};
use super::{Breach, Fixture, Subject, Verdict};
use crate::store::{Key, ObjectStore, Precondition, Version};

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// A delete that expects another uid conflicts and leaves the object.
pub(super) async fn a_delete_of_another_uid_conflicts<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let other = Precondition { uid: Some(NOBODY.into()), resource_version: None };
    conflicts("the delete", at.store.delete(&key, &other).await)?;
    shows("the object", at.store.get_live(&key).await?.as_ref(), Some(&made))
}

/// A delete that was decided on an old version conflicts and leaves the object.
pub(super) async fn a_delete_of_an_old_version_conflicts<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let now = at.store.patch(&key, &wants(&made, 2)).await?;
    conflicts("the delete", at.store.delete(&key, &Version::of(&*made).into()).await)?;
    shows("the object", at.store.get_live(&key).await?.as_ref(), Some(&now))
}

/// A deleted object with a finalizer stays, marked with a deletionTimestamp, until the finalizer is removed.
pub(super) async fn a_finalizer_holds_a_deleted_object<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let mut wanted = at.stage("dev");
    wanted.metadata.finalizers = Some(vec![FINALIZER.into()]);
    let made = at.store.create(&wanted).await?;
    let key = Key::of(&*made);
    at.store.delete(&key, &Version::of(&*made).into()).await?;
    let Some(held) = at.store.get_live(&key).await? else {
        return Err(Breach::Broken("the object is gone although a finalizer holds it".into()));
    };
    holds("it has a deletionTimestamp", held.metadata.deletion_timestamp.is_some())?;
    equal("the uid", &held.uid(), &made.uid())?;
    at.store.patch(&key, &patch(&*held, json!({"metadata": {"finalizers": null}}))).await?;
    shows("the object without finalizer", at.store.get_live(&key).await?.as_ref(), None)
}

/// A finalizer that is added to a deleted object is refused.
pub(super) async fn a_deleted_object_takes_no_new_finalizer<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let mut wanted = at.stage("dev");
    wanted.metadata.finalizers = Some(vec![FINALIZER.into()]);
    let made = at.store.create(&wanted).await?;
    let key = Key::of(&*made);
    at.store.delete(&key, &Precondition::default()).await?;
    let Some(held) = at.store.get_live(&key).await? else {
        return Err(Breach::NotApplicable("finalizers do not hold objects".into()));
    };
    let more = json!({"metadata": {"finalizers": [FINALIZER, format!("{FINALIZER}-too")]}});
    is_invalid("the patch", at.store.patch(&key, &patch(&*held, more)).await)?;
    let none = json!({"metadata": {"finalizers": null}});
    at.store.patch(&key, &patch(&*held, none)).await?;
    Ok(())
}

/// An object that is made again under its old name has a new uid, and what was decided on the old one conflicts.
pub(super) async fn an_object_made_anew_is_another_one<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let old = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*old);
    at.store.delete(&key, &Version::of(&*old).into()).await?;
    let new = at.store.create(&at.stage("dev")).await?;
    holds("the uid is another one", new.uid() != old.uid())?;
    holds("the version is another one", new.resource_version() != old.resource_version())?;
    conflicts("a patch of the old one", at.store.patch(&key, &wants(&old, 2)).await)?;
    conflicts("a delete of the old one", at.store.delete(&key, &Version::of(&*old).into()).await)
}

/// An object goes once all of its owners are gone, and stays as long as one is left.
pub(super) async fn dependants_go_with_their_last_owner<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    if !at.subject.collects_garbage() {
        return Err(Breach::NotApplicable("nobody collects garbage there".into()));
    }
    let first = at.store.create(&at.config("first", "dev")).await?;
    let second = at.store.create(&at.config("second", "test")).await?;
    let owned = at.store.create(&at.promotion("owned", &[&first])).await?;
    let shared = at.store.create(&at.promotion("shared", &[&first, &second])).await?;
    let free = at.store.create(&at.promotion("free", &[])).await?;

    at.store.delete(&Key::of(&*first), &Version::of(&*first).into()).await?;
    let mut patience = at.patience("the dependant of the deleted owner is gone");
    while at.store.get_live(&Key::of(&*owned)).await?.is_some() {
        patience.pause().await?;
    }
    let mut patience = at.patience("the shared dependant has lost the reference to the deleted owner");
    let owners = loop {
        let Some(shared) = at.store.get_live(&Key::of(&*shared)).await? else {
            return Err(Breach::Broken("a dependant is gone although an owner is left".into()));
        };
        let owners: Vec<String> = shared.owner_references().iter().map(|owner| owner.uid.clone()).collect();
        if owners.len() < 2 {
            break owners;
        }
        patience.pause().await?;
    };
    equal("the owners that are left", &owners, &vec![second.uid().unwrap_or_default()])?;

    at.store.delete(&Key::of(&*second), &Version::of(&*second).into()).await?;
    let mut patience = at.patience("the dependant of two deleted owners is gone");
    while at.store.get_live(&Key::of(&*shared)).await?.is_some() {
        patience.pause().await?;
    }
    shows("what nobody owns", at.store.get_live(&Key::of(&*free)).await?.as_ref(), Some(&free))
}

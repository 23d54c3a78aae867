//! Laws of creates and patches.

use std::collections::BTreeMap;

use konfidence_types::{Stage, StageStatus};
use kube::core::ResourceExt;
use serde_json::json;

use super::fixture::{conflicts, equal, fails, finds_nothing, had, holds, is_invalid, patch, shows, vector, wants};
use super::{Breach, Fixture, Subject, Verdict};
use crate::store::{Key, ObjectStore, Patch, Precondition, StoreError, Version};

/// A create answers the object with uid, resourceVersion, creationTimestamp and generation 1, and keeps what was given.
pub(super) async fn a_create_gives_what_the_server_sets<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let wanted = at.stage("dev");
    let made = at.store.create(&wanted).await?;
    equal("spec", &made.spec, &wanted.spec)?;
    equal("the name", &Key::of(&*made), &Key::of(&wanted))?;
    holds("there is a uid", made.uid().is_some_and(|uid| !uid.is_empty()))?;
    holds("there is a resourceVersion", made.resource_version().is_some_and(|version| !version.is_empty()))?;
    holds("there is a creationTimestamp", made.creation_timestamp().is_some())?;
    equal("the generation", &made.metadata.generation, &Some(1))
}

/// A create of a name that is taken is answered with `AlreadyExists` and leaves the object that has it.
pub(super) async fn a_name_is_taken_once<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let first = at.store.create(&at.stage("dev")).await?;
    let mut second = at.stage("dev");
    second.spec.vector = vector(2);
    let taken = at.store.create(&second).await;
    fails("the second create", taken, "AlreadyExists", |it| matches!(it, StoreError::AlreadyExists { .. }))?;
    shows("the first object", at.store.get_live(&Key::of(&*first)).await?.as_ref(), Some(&first))
}

/// A status in a created object is dropped: it has a write of its own.
pub(super) async fn a_create_takes_no_status<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let mut wanted = at.stage("dev");
    wanted.status = Some(StageStatus { vector_history: vec![vector(7)], ..StageStatus::default() });
    let made = at.store.create(&wanted).await?;
    equal("the history", &history(&made), &Vec::new())
}

/// Of two patches that were decided on the same version the second conflicts and changes nothing, for the object and
/// for the status.
pub(super) async fn a_patch_on_an_old_version_conflicts_and_changes_nothing<S: Subject>(
    at: &Fixture<'_, S>,
) -> Verdict {
    let read = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*read);
    let now = at.store.patch(&key, &wants(&read, 2)).await?;
    conflicts("a patch on the old version", at.store.patch(&key, &wants(&read, 3)).await)?;
    conflicts("a status patch on the old version", at.store.patch_status(&key, &had(&read, 3)).await)?;
    shows("the object", at.store.get_live(&key).await?.as_ref(), Some(&now))
}

/// A patch that was decided on an object with another uid conflicts.
pub(super) async fn a_patch_for_another_uid_conflicts<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let mut for_another = wants(&made, 2);
    for_another.expected.uid = "00000000-0000-4000-8000-000000000000".into();
    conflicts("the patch", at.store.patch(&key, &for_another).await)?;
    shows("the object", at.store.get_live(&key).await?.as_ref(), Some(&made))
}

/// A patch that names no resourceVersion is refused: there is no unconditional one.
pub(super) async fn a_patch_without_version_is_refused<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let mut unconditional = wants(&made, 2);
    unconditional.expected.resource_version = String::new();
    is_invalid("the patch", at.store.patch(&key, &unconditional).await)?;
    is_invalid("the status patch", at.store.patch_status(&key, &unconditional).await)?;
    shows("the object", at.store.get_live(&key).await?.as_ref(), Some(&made))
}

/// A merge patch changes what it names, removes what it names with null, replaces lists whole, and keeps the rest.
pub(super) async fn a_patch_changes_what_it_names_and_keeps_the_rest<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let mut wanted = at.stage("dev");
    wanted.metadata.labels = Some(BTreeMap::from([("a".into(), "1".into()), ("b".into(), "1".into())]));
    let made = at.store.create(&wanted).await?;
    let key = Key::of(&*made);
    let merge = json!({"metadata": {"labels": {"a": null, "c": "2"}, "annotations": {"d": "3"}}});
    let patched = at.store.patch(&key, &patch(&*made, merge)).await?;
    let labels: Vec<_> = patched.labels().iter().map(|(key, value)| format!("{key}={value}")).collect();
    equal("the labels", &labels, &vec!["b=1".to_owned(), "c=2".to_owned()])?;
    equal("spec", &patched.spec, &made.spec)?;
    let two = patch(&*patched, json!({"status": {"vectorHistory": [vector(1), vector(2)]}}));
    let two = at.store.patch_status(&key, &two).await?;
    let one = at.store.patch_status(&key, &had(&two, 3)).await?;
    equal("the history", &history(&one), &vec![vector(3)])
}

/// Fields that the kind does not know survive a patch of others, unless the server drops them as its schema says.
pub(super) async fn a_patch_keeps_fields_that_the_kind_does_not_know<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    const UNKNOWN: &str = "/spec/conformanceOfANewerVersion";
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let planted = patch(&*made, json!({"spec": {"conformanceOfANewerVersion": {"kept": true}}}));
    let planted = at.store.patch(&key, &planted).await?;
    let unknown = |raw: Option<serde_json::Value>| raw.and_then(|raw| raw.pointer(UNKNOWN).cloned());
    let Some(before) = unknown(at.subject.raw_stage(&at.store, &key).await) else {
        return Err(Breach::NotApplicable("the subject shows no raw object, or its server prunes".into()));
    };
    at.store.patch(&key, &wants(&planted, 2)).await?;
    equal("the field", &unknown(at.subject.raw_stage(&at.store, &key).await), &Some(before))
}

/// What a patch of the object says of the status is ignored.
pub(super) async fn a_patch_of_the_object_leaves_the_status<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let both = json!({"spec": {"vector": vector(2)}, "status": {"vectorHistory": [vector(7)]}});
    let patched = at.store.patch(&key, &patch(&*made, both)).await?;
    equal("the vector", &patched.spec.vector, &vector(2))?;
    equal("the history", &history(&patched), &Vec::new())
}

/// What a patch of the status says of anything else is ignored.
pub(super) async fn a_patch_of_the_status_leaves_the_object<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let both = json!({
        "metadata": {"labels": {"a": "1"}},
        "spec": {"vector": vector(2)},
        "status": {"vectorHistory": [vector(7)]},
    });
    let patched = at.store.patch_status(&key, &patch(&*made, both)).await?;
    equal("the history", &history(&patched), &vec![vector(7)])?;
    equal("the vector", &patched.spec.vector, &vector(1))?;
    holds("there are no labels", patched.labels().is_empty())
}

/// The generation goes up by one with each change of the spec, and with no other.
pub(super) async fn the_generation_counts_changes_of_the_spec_only<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let labelled = at.store.patch(&key, &patch(&*made, json!({"metadata": {"labels": {"a": "1"}}}))).await?;
    equal("the generation after a label", &labelled.metadata.generation, &Some(1))?;
    let had = at.store.patch_status(&key, &had(&labelled, 1)).await?;
    equal("the generation after a status", &had.metadata.generation, &Some(1))?;
    let wanted = at.store.patch(&key, &wants(&had, 2)).await?;
    equal("the generation after a spec", &wanted.metadata.generation, &Some(2))
}

/// A patch that leaves everything as it is does not move the resourceVersion.
pub(super) async fn a_patch_that_changes_nothing_keeps_the_version<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.stage("dev")).await?;
    let key = Key::of(&*made);
    let again = at.store.patch(&key, &wants(&made, 1)).await?;
    equal("the version after a patch", &Version::of(&*again), &Version::of(&*made))?;
    let had_once = at.store.patch_status(&key, &had(&made, 1)).await?;
    let had_twice = at.store.patch_status(&key, &had(&had_once, 1)).await?;
    equal("the version after a status patch", &Version::of(&*had_twice), &Version::of(&*had_once))
}

/// Patches and deletes of an object that is not there are answered with `NotFound`.
pub(super) async fn writing_what_is_not_there_is_not_found<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let key = at.key::<Stage>("absent");
    let version = Version { uid: "00000000-0000-4000-8000-000000000000".into(), resource_version: "1".into() };
    let merge = json!({"spec": {"vector": vector(2)}, "status": {"vectorHistory": []}});
    let write = Patch::new(version.clone(), merge);
    finds_nothing("a patch", at.store.patch(&key, &write).await)?;
    finds_nothing("a status patch", at.store.patch_status(&key, &write).await)?;
    finds_nothing("a delete", at.store.delete(&key, &Precondition::default()).await)
}

fn history(stage: &Stage) -> Vec<String> {
    stage.status.as_ref().map(|status| status.vector_history.clone()).unwrap_or_default()
}

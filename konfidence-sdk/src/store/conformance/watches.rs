//! Laws of watches.

use konfidence_types::{Stage, VectorPromotionConfig};
use serde_json::json;

use super::fixture::{equal, fails, had, patch, wants};
use super::{Breach, Fixture, Subject, Verdict};
use crate::store::{BY_TARGET_STAGE, Key, ObjectStore, ObjectWatch, Query, StoreError, Version};

fn version(stage: &Stage) -> String {
    Version::of(stage).resource_version
}

/// A watch from the version of a list or of any write shows every later change, once, in the order of the writes.
pub(super) async fn a_watch_shows_every_change_in_order_from_any_version<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let here = Query::<Stage>::within(&at.namespace);
    let start = at.store.list_live(&here).await?.resource_version;
    let (dev, prod) = (at.key::<Stage>("dev"), at.key::<Stage>("prod"));
    // The version after each write, where one was answered, and the change in words.
    let mut changes: Vec<(Option<String>, String)> = Vec::new();
    let mut note =
        |stage: &Stage, words: &str| changes.push((Some(version(stage)), format!("{words} at {}", version(stage))));

    let first = at.store.create(&at.stage("dev")).await?;
    note(&first, "added dev");
    let other = at.store.create(&at.stage("prod")).await?;
    note(&other, "added prod");
    let wanted = at.store.patch(&dev, &wants(&first, 2)).await?;
    note(&wanted, "modified dev");
    let had = at.store.patch_status(&dev, &had(&wanted, 1)).await?;
    note(&had, "modified dev");
    at.store.delete(&prod, &Version::of(&*other).into()).await?;
    changes.push((None, "deleted prod".into()));
    let again = at.store.create(&at.stage("prod")).await?;
    changes.push((Some(version(&again)), format!("added prod at {}", version(&again))));

    let starts = std::iter::once((0, start))
        .chain(changes.iter().enumerate().filter_map(|(at, (version, _))| Some((at + 1, version.clone()?))));
    for (seen, from) in starts {
        let rest: Vec<String> = changes[seen..].iter().map(|(_, words)| words.clone()).collect();
        let mut watch = at.watching(at.store.watch(&here, Some(&from)).await?);
        equal(&format!("the watch from {from}"), &watch.told(rest.len()).await?, &rest)?;
    }

    // Nothing follows what was expected: the next change is the next one to be told.
    let mut watch = at.watching(at.store.watch(&here, Some(&version(&again))).await?);
    let last = at.store.create(&at.stage("test")).await?;
    equal("the end of the watch", &watch.told(1).await?, &vec![format!("added test at {}", version(&last))])
}

/// A watch without version first shows an `Added` for each object there is, then the changes.
pub(super) async fn a_watch_without_version_shows_what_is_there_first<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let dev = at.store.create(&at.stage("dev")).await?;
    let prod = at.store.create(&at.stage("prod")).await?;
    let mut watch = at.watching(at.store.watch(&Query::<Stage>::within(&at.namespace), None).await?);
    let mut present = watch.told(2).await?;
    present.sort();
    let expected = vec![format!("added dev at {}", version(&dev)), format!("added prod at {}", version(&prod))];
    equal("what is there", &present, &expected)?;
    let patched = at.store.patch(&Key::of(&*dev), &wants(&dev, 2)).await?;
    equal("the first change", &watch.told(1).await?, &vec![format!("modified dev at {}", version(&patched))])
}

/// A watch from the version of a list, cached or live, shows exactly the changes that the list does not.
pub(super) async fn a_list_and_a_watch_leave_no_gap<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let here = Query::<Stage>::within(&at.namespace);
    at.store.create(&at.stage("dev")).await?;
    for (live, name) in [(false, "prod"), (true, "test")] {
        let listed = if live { at.store.list_live(&here).await? } else { at.store.list(&here).await? };
        let made = at.store.create(&at.stage(name)).await?;
        let mut watch = at.watching(at.store.watch(&here, Some(&listed.resource_version)).await?);
        let what = format!("the first change after the {} list", if live { "live" } else { "cached" });
        equal(&what, &watch.told(1).await?, &vec![format!("added {name} at {}", version(&made))])?;
    }
    Ok(())
}

/// A watch of a namespace shows nothing of others.
pub(super) async fn a_watch_keeps_to_its_namespace<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let here = Query::<Stage>::within(&at.namespace);
    let start = at.store.list_live(&here).await?.resource_version;
    let mut other = at.stage("other");
    other.metadata.namespace = Some(at.elsewhere.clone());
    at.store.create(&other).await?;
    let made = at.store.create(&at.stage("dev")).await?;
    let mut watch = at.watching(at.store.watch(&here, Some(&start)).await?);
    equal("the first change", &watch.told(1).await?, &vec![format!("added dev at {}", version(&made))])
}

/// A watch of an index shows an object that gets the value as `Added` and one that loses it as `Deleted`.
pub(super) async fn a_watch_of_an_index_sees_objects_enter_and_leave<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let made = at.store.create(&at.config("menu", "test")).await?;
    let key = Key::of(&*made);
    let by = Query::<VectorPromotionConfig>::within(&at.namespace).by(BY_TARGET_STAGE, "eu/dev");
    let start = at.store.list_live(&by).await?.resource_version;
    let mut watch = at.watching(at.store.watch(&by, Some(&start)).await?);
    let to = |config: &VectorPromotionConfig, stage: &str| patch(config, json!({"spec": {"target": {"name": stage}}}));
    let entered = at.store.patch(&key, &to(&made, "dev")).await?;
    let changed = at.store.patch(&key, &patch(&*entered, json!({"spec": {"suspend": true}}))).await?;
    let left = at.store.patch(&key, &to(&changed, "prod")).await?;
    at.store.patch(&key, &to(&left, "test")).await?;
    let last = at.store.create(&at.config("other", "dev")).await?;
    let at_version = |config: &VectorPromotionConfig| Version::of(config).resource_version;
    let expected = vec![
        format!("added menu at {}", at_version(&entered)),
        format!("modified menu at {}", at_version(&changed)),
        "deleted menu".to_owned(),
        format!("added other at {}", at_version(&last)),
    ];
    equal("the watch", &watch.told(4).await?, &expected)
}

/// A watch from a version whose history the server has forgotten is answered with `Expired`, at once or as its first
/// item.
pub(super) async fn a_watch_from_a_forgotten_version_is_expired<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let here = Query::<Stage>::within(&at.namespace);
    let made = at.store.create(&at.stage("dev")).await?;
    let mut old = version(&made);
    let patched = at.store.patch(&Key::of(&*made), &wants(&made, 2)).await?;
    at.store.patch(&Key::of(&*made), &wants(&patched, 3)).await?;
    if !at.subject.forget_history(&at.store).await {
        let none =
            || Breach::NotApplicable("the subject's server has not forgotten anything, nor can be made to".into());
        old = at.subject.forgotten_version(&at.store).await.ok_or_else(none)?;
    }
    let opened = at.store.watch(&here, Some(&old)).await;
    let first = match opened {
        Err(error) => Err(error),
        Ok(mut stream) => at.first(&mut stream).await?,
    };
    fails("the watch", first, "Expired", |error| matches!(error, StoreError::Expired { .. }))
}

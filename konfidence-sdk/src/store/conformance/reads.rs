//! Laws of reads.

use konfidence_types::{Stage, VectorPromotionConfig};
use kube::core::ResourceExt;
use serde_json::json;

use super::fixture::{equal, had, is_invalid, patch, shows, states, wants};
use super::{Breach, Fixture, Subject, Verdict};
use crate::store::{BY_TARGET_STAGE, Indexed, Key, Listed, Object, ObjectStore, Query, Version};

/// Live reads show each write as soon as it was answered.
pub(super) async fn a_live_read_shows_every_write<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let key = at.key::<Stage>("dev");
    let here = Query::<Stage>::within(&at.namespace);
    let created = at.store.create(&at.stage("dev")).await?;
    shows("the created object", at.store.get_live(&key).await?.as_ref(), Some(&created))?;
    let patched = at.store.patch(&key, &wants(&created, 2)).await?;
    shows("the patched object", at.store.get_live(&key).await?.as_ref(), Some(&patched))?;
    let status = at.store.patch_status(&key, &had(&patched, 1)).await?;
    equal("the list", &states(&at.store.list_live(&here).await?.items), &states(std::slice::from_ref(&status)))?;
    at.store.delete(&key, &Version::of(&*status).into()).await?;
    equal("the list after the delete", &at.store.list_live(&here).await?.items, &Vec::new())
}

/// Reads that may be cached show one's own writes once they were answered (promotion-protocol R1: a barrier).
pub(super) async fn a_read_shows_ones_own_writes<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let key = at.key::<Stage>("dev");
    let here = Query::<Stage>::within(&at.namespace);
    let created = at.store.create(&at.stage("dev")).await?;
    shows("the created object", at.store.get(&key).await?.as_ref(), Some(&created))?;
    let patched = at.store.patch(&key, &wants(&created, 2)).await?;
    shows("the patched object", at.store.get(&key).await?.as_ref(), Some(&patched))?;
    let status = at.store.patch_status(&key, &had(&patched, 1)).await?;
    equal("the list", &states(&at.store.list(&here).await?.items), &states(std::slice::from_ref(&status)))?;
    at.store.delete(&key, &Version::of(&*status).into()).await?;
    shows("the deleted object", at.store.get(&key).await?.as_ref(), None)
}

/// Reading an object that is not there answers that there is none.
pub(super) async fn what_is_not_there_is_no_error<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let key = at.key::<Stage>("absent");
    shows("a read", at.store.get(&key).await?.as_ref(), None)?;
    shows("a live read", at.store.get_live(&key).await?.as_ref(), None)?;
    equal("a list", &at.store.list(&Query::<Stage>::within(&at.namespace)).await?.items, &Vec::new())
}

/// A list of a namespace shows its objects and no others, and every list is ordered by namespace and name.
pub(super) async fn a_list_is_ordered_and_keeps_to_its_namespace<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    for name in ["test", "dev", "prod"] {
        at.store.create(&at.stage(name)).await?;
    }
    let mut other = at.stage("dev");
    other.metadata.namespace = Some(at.elsewhere.clone());
    at.store.create(&other).await?;
    let names = |listed: Listed<Stage>| {
        let ours = listed.items.iter().filter(|it| [&at.namespace, &at.elsewhere].contains(&&namespace(&***it)));
        ours.map(|it| format!("{}/{}", namespace(&**it), it.name_any())).collect::<Vec<_>>()
    };
    let here: Vec<_> = ["dev", "prod", "test"].iter().map(|name| format!("{}/{name}", at.namespace)).collect();
    let mut all = here.clone();
    all.push(format!("{}/dev", at.elsewhere));
    all.sort();
    equal("the list", &names(at.store.list(&Query::within(&at.namespace)).await?), &here)?;
    equal("the live list", &names(at.store.list_live(&Query::within(&at.namespace)).await?), &here)?;
    let mut patience = at.patience("the list of all namespaces shows both");
    while names(at.store.list(&Query::all()).await?) != all {
        patience.pause().await?;
    }
    equal("the live list of all namespaces", &names(at.store.list_live(&Query::all()).await?), &all)
}

/// A list by an index shows what a list of everything shows, less the objects without that value; also after objects
/// have changed their value or are gone.
pub(super) async fn an_index_equals_a_filtered_list<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let mut configs = Vec::new();
    for (name, target) in [("a", "dev"), ("b", "test"), ("c", "dev"), ("d", "dev")] {
        configs.push(at.store.create(&at.config(name, target)).await?);
    }
    agree(at).await?;
    let moved = patch(&*configs[0], json!({"spec": {"target": {"name": "test"}}}));
    at.store.patch(&Key::of(&*configs[0]), &moved).await?;
    agree(at).await?;
    at.store.delete(&Key::of(&*configs[2]), &Version::of(&*configs[2]).into()).await?;
    agree(at).await
}

async fn agree<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let index = VectorPromotionConfig::INDEXES.iter().find(|index| index.name == BY_TARGET_STAGE);
    let index = index.ok_or_else(|| Breach::NotApplicable("the kind has lost its index".into()))?;
    let all = at.store.list_live(&Query::<VectorPromotionConfig>::within(&at.namespace)).await?.items;
    for value in ["eu/dev", "eu/test", "eu/prod"] {
        let by = Query::<VectorPromotionConfig>::within(&at.namespace).by(BY_TARGET_STAGE, value);
        let mut expected = all.clone();
        expected.retain(|config| {
            serde_json::to_value(&**config).is_ok_and(|json| (index.values)(&json).iter().any(|it| it == value))
        });
        equal(&format!("the list by {value}"), &states(&at.store.list(&by).await?.items), &states(&expected))?;
        equal(
            &format!("the live list by {value}"),
            &states(&at.store.list_live(&by).await?.items),
            &states(&expected),
        )?;
    }
    Ok(())
}

/// A query by an index that the kind does not declare is refused.
pub(super) async fn an_undeclared_index_is_refused<S: Subject>(at: &Fixture<'_, S>) -> Verdict {
    let query = Query::<Stage>::within(&at.namespace).by("no-such-index", "anything");
    is_invalid("the list", at.store.list(&query).await)?;
    is_invalid("the live list", at.store.list_live(&query).await)
}

fn namespace<K: Object>(object: &K) -> String {
    object.namespace().unwrap_or_default()
}

//! Whole lives of Landscapes over a store, healed by watch alone.

use std::collections::BTreeSet;

use konfidence_types::LandscapeSpec;

use super::world::{World, eu};
use super::*;
use crate::naming::managed_namespace;
use crate::store::{Fault, MemoryStore, ObjectStore, RecordingStore, Verb};

const PROJECT: &str = "konfidence.cloud/project";
const MANAGED_BY: &str = "konfidence.cloud/managed-by";

/// A world in which `bakery/eu` is ready.
async fn ready() -> World {
    let mut world = World::new();
    world.make_landscape("bakery", "eu", None).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
    world.events.take();
    world
}

fn holding(finalizers: &[&str]) -> Value {
    json!({ "finalizers": finalizers })
}

#[tokio::test]
async fn r61_a_landscape_costs_three_writes_and_then_none() {
    let store = RecordingStore::new(MemoryStore::new());
    let mut new = Landscape::new("eu", LandscapeSpec::default());
    new.metadata.namespace = Some("bakery".into());
    store.inner().create(&new).await.unwrap();
    let events = crate::event::RecordedEvents::default();
    let settings = crate::landscape::Settings::default();
    let resync = async || crate::landscape::reconcile(&store, &at(0), &events, &settings, &eu()).await;

    resync().await.unwrap();
    let writes: Vec<_> = store.take().iter().filter(|r| r.verb.is_write()).map(ToString::to_string).collect();
    assert_eq!(
        writes,
        ["Patch Landscape bakery eu", "Create Namespace kden-l-eu-qzrh65pn", "PatchStatus Landscape bakery eu"]
    );
    assert_eq!(events.reasons(), ["NamespaceCreated"]);

    for _ in 0..10 {
        resync().await.unwrap();
    }
    assert_eq!((store.writes(), store.live_reads()), (Vec::new(), Vec::new()));
    assert_eq!(events.take().len(), 1);
}

#[tokio::test]
async fn r60_the_project_is_the_label_of_the_parent_until_it_is_on_record() {
    let mut world = World::new();
    world.make_namespace("team-7", json!({ PROJECT: "bakery" })).await;
    world.make_landscape("team-7", "eu", None).await;
    world.settle().await;
    assert_eq!(world.label(DERIVED, PROJECT).await.as_deref(), Some("bakery"));

    world.edit(&Key::<Namespace>::cluster("team-7"), json!({ "labels": { PROJECT: "confectionery" } })).await;
    world.settle().await;
    assert_eq!(world.label(DERIVED, PROJECT).await.as_deref(), Some("bakery"));
    assert_eq!(world.ready(&Key::new("team-7", "eu")).await, "True/LandscapeReconciled");
}

#[tokio::test]
async fn r60_a_project_label_that_comes_late_reaches_landscapes_without_a_record() {
    let mut world = World::new();
    world.make_namespace("bakery", json!({})).await;
    world.make_namespace(DERIVED, json!({})).await;
    world.make_landscape("bakery", "eu", None).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "False/NamespaceConflict");

    world.edit(&Key::<Namespace>::cluster("bakery"), json!({ "labels": { PROJECT: "ovens" } })).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
    assert_eq!(world.label(&managed_namespace("ovens", "eu"), PROJECT).await.as_deref(), Some("ovens"));
}

#[tokio::test]
async fn r60_a_named_namespace_is_taken_as_it_is_named() {
    let mut world = World::new();
    world.make_landscape("bakery", "eu", Some("menu-eu")).await;
    world.make_landscape("bakery", "us", Some("konfidence-system")).await;
    world.settle().await;
    assert_eq!(world.label("menu-eu", MANAGED_BY).await.as_deref(), Some("landscape-controller"));
    assert_eq!(world.ready(&Key::new("bakery", "us")).await, "False/InvalidNamespace");
    assert!(world.namespace("konfidence-system").await.is_none());
}

#[tokio::test]
async fn r61_drift_is_repaired_and_foreign_labels_survive() {
    let mut world = ready().await;
    let labels = json!({ "konfidence.cloud/type": "other", "example.com/team": "ovens" });
    world.edit(&Key::<Namespace>::cluster(DERIVED), json!({ "labels": labels })).await;
    world.settle().await;
    assert_eq!(world.label(DERIVED, "konfidence.cloud/type").await.as_deref(), Some("landscape"));
    assert_eq!(world.label(DERIVED, "example.com/team").await.as_deref(), Some("ovens"));
    assert_eq!(world.events.reasons(), ["NamespaceRepaired"]);
}

#[tokio::test]
async fn r62_a_namespace_that_stops_being_ours_is_untouched_and_heals_with_its_label() {
    let mut world = ready().await;
    let namespace = Key::<Namespace>::cluster(DERIVED);
    world.edit(&namespace, json!({ "labels": { MANAGED_BY: null } })).await;
    let before = world.namespace(DERIVED).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "False/NamespaceConflict");
    assert_eq!(world.namespace(DERIVED).await, before);
    assert_eq!(world.events.reasons(), ["NamespaceConflict"]);

    world.edit(&namespace, json!({ "labels": { MANAGED_BY: "landscape-controller" } })).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
}

#[tokio::test]
async fn r62_a_foreign_namespace_that_disappears_makes_room_without_a_timer() {
    for named in [None, Some("menu-eu")] {
        let mut world = World::new();
        let wanted = named.unwrap_or(DERIVED);
        world.make_namespace(wanted, json!({ "example.com/team": "ovens" })).await;
        world.make_landscape("bakery", "eu", named).await;
        world.settle().await;
        assert_eq!(world.ready(&eu()).await, "False/NamespaceConflict");
        let finalizers = world.landscape(&eu()).await.unwrap().metadata.finalizers.clone();
        assert_eq!(finalizers, None, "nothing of ours holds it");

        world.delete(&Key::<Namespace>::cluster(wanted)).await;
        world.settle().await;
        assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
    }
}

#[tokio::test]
async fn r62_a_namespace_that_somebody_deletes_is_made_again_when_it_is_gone() {
    let mut world = ready().await;
    let namespace = Key::<Namespace>::cluster(DERIVED);
    world.edit(&namespace, holding(&["example.com/slow"])).await;
    world.delete(&namespace).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "False/NamespaceTerminating");

    world.edit(&namespace, holding(&[])).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
    assert!(world.namespace(DERIVED).await.is_some());
}

#[tokio::test]
async fn r63_a_landscape_goes_when_its_namespace_is_gone_and_not_before() {
    let mut world = ready().await;
    let namespace = Key::<Namespace>::cluster(DERIVED);
    world.edit(&namespace, holding(&["example.com/slow"])).await;
    world.delete(&eu()).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "False/Terminating");
    assert!(world.namespace(DERIVED).await.unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(world.writes_of_a_resync().await, [""; 0]);

    world.edit(&namespace, holding(&[])).await;
    world.settle().await;
    assert_eq!((world.landscape(&eu()).await, world.namespace(DERIVED).await), (None, None));
    assert_eq!(world.events.reasons(), ["NamespaceDeleted"]);
}

#[tokio::test]
async fn r63_a_landscape_goes_without_a_namespace_that_is_not_ours() {
    let mut world = ready().await;
    world.edit(&Key::<Namespace>::cluster(DERIVED), json!({ "labels": { PROJECT: "confectionery" } })).await;
    world.delete(&eu()).await;
    let before = world.namespace(DERIVED).await;
    world.settle().await;
    assert_eq!(world.landscape(&eu()).await, None);
    assert_eq!(world.namespace(DERIVED).await, before);
}

#[tokio::test]
async fn r63_a_namespace_made_before_a_crash_goes_with_its_landscape() {
    let mut world = World::new();
    world.make_landscape("bakery", "eu", None).await;
    world.cache().catch_up::<Landscape>();
    world.store.inner().fail_next::<Landscape>(Verb::PatchStatus, Fault::Unavailable);
    world.reconcile(&eu()).await.unwrap_err();
    assert!(world.namespace(DERIVED).await.is_some());

    world.delete(&eu()).await;
    world.settle().await;
    assert_eq!((world.landscape(&eu()).await, world.namespace(DERIVED).await), (None, None));
}

#[tokio::test]
async fn r63_a_landscape_made_again_waits_for_its_predecessors_namespace() {
    let mut world = ready().await;
    let namespace = Key::<Namespace>::cluster(DERIVED);
    world.edit(&namespace, holding(&["example.com/slow"])).await;
    world.delete(&namespace).await;
    // The predecessor goes by force, its finalizer taken off by hand.
    world.edit(&eu(), holding(&[])).await;
    world.delete(&eu()).await;
    world.make_landscape("bakery", "eu", None).await;
    let old = world.namespace(DERIVED).await.unwrap().metadata.uid.clone();
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "False/NamespaceTerminating");

    world.edit(&namespace, holding(&[])).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
    assert_ne!(world.namespace(DERIVED).await.unwrap().metadata.uid, old);
}

#[tokio::test]
async fn r62_of_two_landscapes_that_name_one_namespace_the_second_waits_for_the_first() {
    let mut world = World::new();
    let us = Key::new("bakery", "us");
    world.make_landscape("bakery", "eu", Some("menu")).await;
    world.settle().await;
    world.make_landscape("bakery", "us", Some("menu")).await;
    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
    assert_eq!(world.ready(&us).await, "False/NamespaceConflict");

    world.delete(&Key::<Namespace>::cluster("menu")).await;
    world.settle().await;
    assert_eq!(world.ready(&us).await, "False/NamespaceConflict", "the first makes it again");

    world.delete(&eu()).await;
    world.settle().await;
    assert_eq!(world.ready(&us).await, "True/LandscapeReconciled");
    assert_eq!(world.label("menu", "konfidence.cloud/landscape").await.as_deref(), Some("us"));
}

#[tokio::test]
async fn r62_two_projects_of_one_label_do_not_share_a_namespace() {
    let mut world = World::new();
    let twin = Key::new("confectionery", "eu");
    world.make_namespace("confectionery", json!({ PROJECT: "bakery" })).await;
    world.make_landscape("bakery", "eu", None).await;
    world.settle().await;
    world.make_landscape("confectionery", "eu", None).await;
    world.settle().await;
    assert_eq!(world.ready(&twin).await, "False/NamespaceConflict");

    // The one without the namespace goes and leaves it alone.
    world.delete(&twin).await;
    world.settle().await;
    assert_eq!(world.landscape(&twin).await, None);
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");

    world.make_landscape("confectionery", "eu", None).await;
    world.settle().await;
    world.delete(&eu()).await;
    world.settle().await;
    assert_eq!(world.ready(&twin).await, "True/LandscapeReconciled");
}

#[tokio::test]
async fn r62_a_twin_that_goes_by_force_makes_room_although_the_namespace_stays() {
    let mut world = World::new();
    let twin = Key::new("confectionery", "eu");
    world.make_namespace("confectionery", json!({ PROJECT: "bakery" })).await;
    world.make_landscape("bakery", "eu", None).await;
    world.settle().await;
    world.make_landscape("confectionery", "eu", None).await;
    world.settle().await;
    assert_eq!(world.ready(&twin).await, "False/NamespaceConflict");

    world.edit(&eu(), holding(&[])).await;
    world.delete(&eu()).await;
    world.settle().await;
    assert_eq!(world.ready(&twin).await, "True/LandscapeReconciled");
}

#[tokio::test]
async fn r63_a_refused_namespace_is_told_and_tried_again() {
    let mut world = World::new();
    world.make_landscape("bakery", "eu", None).await;
    world.cache().catch_up::<Landscape>();
    world.store.inner().fail_next::<Namespace>(Verb::Create, Fault::Forbidden);
    let error = world.reconcile(&eu()).await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert_eq!(world.ready(&eu()).await, "False/NamespaceCreateFailed");
    assert_eq!(world.events.reasons(), ["NamespaceCreateFailed"]);

    world.settle().await;
    assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled");
}

#[tokio::test]
async fn a_cache_that_lags_never_lets_a_landscape_go_before_its_namespace() {
    let world = World::new();
    world.make_landscape("bakery", "eu", None).await;
    let cache = world.cache();
    cache.catch_up::<Landscape>();
    // The cache shows no namespace, and will not for the rest of this test.
    world.reconcile(&eu()).await.unwrap();
    world.edit(&Key::<Namespace>::cluster(DERIVED), holding(&["example.com/slow"])).await;
    world.delete(&eu()).await;
    cache.catch_up::<Landscape>();
    world.reconcile(&eu()).await.unwrap();
    assert!(world.namespace(DERIVED).await.unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(world.ready(&eu()).await, "False/Terminating");
}

#[tokio::test]
async fn a_whole_life_asks_for_exactly_what_the_access_table_says() {
    let mut world = World::new();
    world.make_landscape("bakery", "eu", None).await;
    world.settle().await;
    world.edit(&Key::<Namespace>::cluster(DERIVED), json!({ "labels": { "konfidence.cloud/type": null } })).await;
    world.settle().await;
    world.delete(&eu()).await;
    world.settle().await;

    let asked = world.store.take().into_iter().map(|request| {
        let resource = format!("{}s", request.kind.to_lowercase());
        match request.verb {
            Verb::Get | Verb::GetLive => (resource, "get"),
            Verb::List | Verb::ListLive => (resource, "list"),
            Verb::Watch => (resource, "watch"),
            Verb::Create => (resource, "create"),
            Verb::Patch => (resource, "patch"),
            Verb::PatchStatus => (format!("{resource}/status"), "patch"),
            Verb::Delete => (resource, "delete"),
        }
    });
    // What keeps the caches is the controller's, not the decision's.
    let caches = ["landscapes", "namespaces"].map(|kind| ["list", "watch"].map(|verb| (kind.to_owned(), verb)));
    let asked: BTreeSet<_> = asked.chain(caches.into_iter().flatten()).collect();
    let granted = crate::landscape::ACCESS
        .iter()
        .flat_map(|access| access.verbs.iter().map(|verb| (access.resource.to_owned(), verb.as_str())));
    assert_eq!(asked, granted.collect::<BTreeSet<_>>());
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_end() {
    let writes = [
        (Verb::Patch, true),
        (Verb::Create, false),
        (Verb::PatchStatus, true),
        (Verb::Patch, false),
        (Verb::Delete, false),
    ];
    for fault in [Fault::Unavailable, Fault::AnswerLost, Fault::Conflict] {
        for (verb, is_of_landscape) in writes {
            if !fault.is_possible(verb) {
                continue;
            }
            let mut world = World::new();
            let fail = |world: &World| {
                let store = world.store.inner();
                if is_of_landscape {
                    store.fail_next::<Landscape>(verb, fault);
                } else {
                    store.fail_next::<Namespace>(verb, fault);
                }
            };
            fail(&world);
            world.make_landscape("bakery", "eu", None).await;
            world.settle().await;
            fail(&world);
            world
                .edit(&Key::<Namespace>::cluster(DERIVED), json!({ "labels": { "konfidence.cloud/type": null } }))
                .await;
            world.settle().await;
            assert_eq!(world.ready(&eu()).await, "True/LandscapeReconciled", "{verb:?} {fault:?}");
            let namespace = world.namespace(DERIVED).await.unwrap();
            assert_eq!(serde_json::to_value(&namespace.metadata.labels).unwrap(), our_labels(), "{verb:?} {fault:?}");

            world.delete(&eu()).await;
            world.settle().await;
            assert_eq!((world.landscape(&eu()).await, world.namespace(DERIVED).await), (None, None));
            assert!(!world.store.inner().injected().is_empty(), "{verb:?} {fault:?}: nothing failed");
        }
    }
}

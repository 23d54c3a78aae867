//! The store in memory and its decorators, beyond the conformance suite.

use std::sync::Arc;

use futures::executor::block_on;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::{Stage, StageSpec, VectorPromotion};
use kube::core::ResourceExt;
use serde_json::json;

use super::*;

fn stage(name: &str) -> Stage {
    let mut stage = Stage::new(name, StageSpec { vector: "bakery//menu:1".into() });
    stage.metadata.namespace = Some("bakery-eu".into());
    stage
}

fn dev() -> Key<Stage> {
    Key::new("bakery-eu", "dev")
}

fn wants(stage: &Stage, vector: &str) -> Patch<Stage> {
    Patch::new(Version::of(stage), json!({"spec": {"vector": vector}}))
}

/// A promotion of a newer version: its sequence is no number any more.
fn of_newer_version(store: &MemoryStore) {
    let object = json!({
        "metadata": {"namespace": "bakery", "name": "menu-1"},
        "spec": {"vectorPromotionConfigName": "menu", "sequence": "first"},
    });
    store.insert_raw::<VectorPromotion>(object).unwrap();
}

#[test]
fn what_does_not_parse_is_named_and_found_by_its_indexes() {
    let store = MemoryStore::new();
    of_newer_version(&store);
    let key = Key::<VectorPromotion>::new("bakery", "menu-1");
    match block_on(store.get(&key)) {
        Err(StoreError::Unreadable(unreadable)) => {
            assert_eq!((&*unreadable.object.name, &*unreadable.object.kind), ("menu-1", "VectorPromotion"));
            assert_eq!(unreadable.raw["spec"]["sequence"], "first");
            assert!(!unreadable.object.uid.is_empty());
        }
        other => panic!("{other:?}"),
    }
    let query = Query::<VectorPromotion>::within("bakery").by(BY_CONFIG, "menu");
    let listed = block_on(store.list(&query)).unwrap();
    assert_eq!((listed.items.len(), listed.unreadable.len()), (0, 1));
    let mut watch = block_on(store.watch(&query, None)).unwrap();
    assert!(matches!(block_on(watch.next()), Some(Ok(WatchEvent::Unreadable(_)))));
}

#[test]
fn one_state_of_an_object_is_parsed_once() {
    let store = MemoryStore::new();
    let made = block_on(store.create(&stage("dev"))).unwrap();
    let read = block_on(store.get(&dev())).unwrap().unwrap();
    let listed = block_on(store.list(&Query::all())).unwrap();
    assert!(Arc::ptr_eq(&made, &read) && Arc::ptr_eq(&made, &listed.items[0]));
}

#[test]
fn cluster_scoped_kinds_live_in_no_namespace_and_count_no_generations() {
    let store = MemoryStore::new();
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("bakery-eu".into());
    let made = block_on(store.create(&namespace)).unwrap();
    assert_eq!((made.namespace(), made.metadata.generation), (None, None));
    assert_eq!(block_on(store.get(&Key::cluster("bakery-eu"))).unwrap(), Some(made));
}

#[test]
fn a_refusal_names_the_field() {
    let store = MemoryStore::new();
    let refused = block_on(store.create(&Stage::new("dev", StageSpec::default())));
    match refused {
        Err(StoreError::Invalid { fields, .. }) => assert_eq!(fields[0].field, "metadata.namespace"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn stores_over_one_engine_are_one_store() {
    let store = MemoryStore::new();
    let made = block_on(store.create(&stage("dev"))).unwrap();
    let other = MemoryStore::over(store.engine().clone());
    assert_eq!(block_on(other.get(&dev())).unwrap(), Some(made));
}

#[test]
fn the_same_steps_give_the_same_objects() {
    let noon: jiff::Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let run = || {
        let store = MemoryStore::with_clock(Arc::new(noon));
        let made = block_on(store.create(&stage("dev"))).unwrap();
        block_on(store.patch(&dev(), &wants(&made, "bakery//menu:2"))).unwrap()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_stale_store_shows_each_kind_at_its_own_position() {
    let store = MemoryStore::new();
    let cache = StaleStore::new(store.clone());
    let made = block_on(store.create(&stage("dev"))).unwrap();
    of_newer_version(&store);
    let patched = block_on(cache.patch(&dev(), &wants(&made, "bakery//menu:2"))).unwrap();
    let everything = Query::<Stage>::all();

    assert_eq!(block_on(cache.get(&dev())).unwrap(), None);
    assert_eq!(block_on(cache.list(&everything)).unwrap().items, []);
    assert_eq!(block_on(cache.get_live(&dev())).unwrap().as_ref(), Some(&patched));
    assert_eq!(cache.advance::<Stage>().unwrap().unwrap().object.name(), "dev");
    assert_eq!(block_on(cache.list(&everything)).unwrap().items, [Arc::clone(&made)]);
    assert_eq!(block_on(cache.list(&Query::<VectorPromotion>::all())).unwrap().unreadable, []);
    cache.catch_up::<Stage>();
    assert_eq!(block_on(cache.get(&dev())).unwrap(), Some(patched));
    assert_eq!(cache.advance::<Stage>().unwrap(), None);
    cache.move_to::<Stage>(made.resource_version().unwrap().parse().unwrap());
    assert_eq!(block_on(cache.get(&dev())).unwrap(), Some(made));

    let by = Query::<VectorPromotion>::all().by(BY_CONFIG, "menu");
    assert_eq!(block_on(cache.list(&by)).unwrap().unreadable.len(), 0);
    cache.catch_up::<VectorPromotion>();
    assert_eq!(block_on(cache.list(&by)).unwrap().unreadable.len(), 1);
}

#[test]
fn a_recording_store_tells_cached_reads_live_reads_and_writes_apart() {
    let store = RecordingStore::new(MemoryStore::new());
    let made = block_on(store.create(&stage("dev"))).unwrap();
    block_on(store.get(&dev())).unwrap();
    block_on(store.get_live(&dev())).unwrap();
    block_on(store.list_live(&Query::<Stage>::within("bakery-eu"))).unwrap();
    block_on(store.patch(&dev(), &wants(&made, "bakery//menu:2"))).unwrap();
    block_on(store.patch(&dev(), &wants(&made, "bakery//menu:3"))).unwrap_err();
    let words = |requests: Vec<Request>| requests.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        words(store.writes()),
        ["Create Stage bakery-eu dev", "Patch Stage bakery-eu dev", "Patch Stage bakery-eu dev"]
    );
    assert_eq!(words(store.live_reads()), ["GetLive Stage bakery-eu dev", "ListLive Stage bakery-eu"]);
    assert_eq!((store.count(Verb::Get, "Stage"), store.take().len(), store.requests().len()), (1, 6, 0));
}

#[test]
fn every_fault_reaches_the_caller_as_its_error_and_only_once() {
    let store = FaultyStore::new(MemoryStore::new(), 0);
    let made = block_on(store.create(&stage("dev"))).unwrap();
    for fault in Fault::ALL {
        store.fail_next::<Stage>(Verb::Patch, fault);
        let expected = fault.error(ObjectRef::named(&dev())).to_string();
        store.fail_next::<VectorPromotion>(Verb::Patch, Fault::Conflict);
        let error = block_on(store.patch(&dev(), &wants(&made, "bakery//menu:1"))).unwrap_err();
        assert_eq!(error.to_string(), expected);
        block_on(store.patch(&dev(), &wants(&made, "bakery//menu:1"))).unwrap();
    }
    assert_eq!(store.injected().len(), Fault::ALL.len());
}

#[test]
fn a_lost_answer_is_a_write_that_happened_and_unavailable_one_that_did_not() {
    let store = FaultyStore::new(MemoryStore::new(), 0);
    for (fault, happened) in [(Fault::Unavailable, false), (Fault::AnswerLost, true)] {
        store.fail_next::<Stage>(Verb::Create, fault);
        let error = block_on(store.create(&stage("dev"))).unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        assert_eq!(block_on(store.get(&dev())).unwrap().is_some(), happened);
    }
}

#[test]
fn random_faults_depend_on_the_seed_and_fit_the_request() {
    let run = |seed| {
        let store = FaultyStore::new(MemoryStore::new(), seed);
        store.fail_at_random(3, &Fault::ALL);
        for round in 0..200 {
            let _ = block_on(store.create(&stage(&format!("s{round}"))));
            let _ = block_on(store.get(&dev()));
            let _ = block_on(store.list(&Query::<Stage>::all()));
        }
        store.injected()
    };
    let faults = run(1);
    assert_eq!(faults, run(1));
    assert_ne!(faults, run(2));
    assert!((100..300).contains(&faults.len()), "{}", faults.len());
    assert!(faults.iter().all(|(request, fault)| fault.is_possible(request.verb)));
}

#[test]
fn a_mock_injects_one_precise_error() {
    let mut store = MockObjectStore::<Stage>::new();
    store
        .expect_get()
        .returning(|key| Err(StoreError::Forbidden { object: ObjectRef::named(key), message: "no".into() }));
    let store: Arc<dyn ObjectStore<Stage>> = Arc::new(store);
    assert!(matches!(block_on(store.get(&dev())), Err(StoreError::Forbidden { .. })));
}

#[test]
fn a_watch_waits_for_the_next_change() {
    let store = MemoryStore::new();
    let mut watch = block_on(store.watch(&Query::<Stage>::all(), None)).unwrap();
    assert!(watch.next().now_or_never().is_none());
    let made = block_on(store.create(&stage("dev"))).unwrap();
    assert_eq!(watch.next().now_or_never().unwrap().unwrap().unwrap(), WatchEvent::Added(made));
    let foreign = block_on(store.watch(&Query::<Stage>::all(), Some("not-a-number")));
    assert!(matches!(foreign.map(drop), Err(StoreError::Expired { .. })));
}

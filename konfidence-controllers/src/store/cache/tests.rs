//! The state machine and the waiting around it, without a server.

use konfidence_sdk::store::BY_CONFIG;
use konfidence_sdk::types::VectorPromotion;
use serde_json::{Value, json};

use super::*;
use crate::store::Content;

type Promotions = Cache<VectorPromotion>;

fn raw(name: &str, config: &str, version: u64) -> Value {
    json!({
        "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotion",
        "metadata": {"namespace": "bakery", "name": name, "uid": format!("uid-{name}"),
                     "resourceVersion": version.to_string()},
        "spec": {"vectorPromotionConfigName": config, "vector": "v1", "sequence": 1,
                 "source": {"kind": "VectorTemplate", "name": "menu"},
                 "target": {"kind": "Stage", "name": "dev", "landscape": "eu"}},
    })
}

fn received(value: Value) -> Received<VectorPromotion> {
    serde_json::from_value(value).unwrap()
}

fn promotion(name: &str, version: u64) -> Received<VectorPromotion> {
    received(raw(name, "to-dev", version))
}

fn key(name: &str) -> Key<VectorPromotion> {
    Key::new("bakery", name)
}

fn of(config: &str) -> Query<VectorPromotion> {
    Query::within("bakery").by(BY_CONFIG, config)
}

fn fill(cache: &Promotions, objects: Vec<Received<VectorPromotion>>) {
    cache.apply(Event::Init);
    for object in objects {
        cache.apply(Event::InitApply(object));
    }
    cache.apply(Event::InitDone);
}

async fn names(cache: &Promotions, query: &Query<VectorPromotion>) -> Vec<String> {
    let listed = cache.list(query, true).await.unwrap();
    listed.items.iter().map(|item| Key::of(&**item).name().to_owned()).collect()
}

/// How long a read took, in milliseconds of virtual time.
async fn taken(read: impl Future<Output = ()>) -> u128 {
    let start = Instant::now();
    read.await;
    start.elapsed().as_millis()
}

#[tokio::test(start_paused = true)]
async fn reads_wait_for_the_first_list_and_say_so_when_it_does_not_come() {
    let cache = Arc::new(Promotions::new());
    cache.fail("the server is away".into());
    let error = cache.get(&key("menu-1"), true).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }));
    assert!(error.to_string().contains("the server is away"), "{error}");

    let reader = tokio::spawn({
        let cache = cache.clone();
        async move { cache.get(&key("menu-1"), true).await.unwrap().is_some() }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    fill(&cache, vec![promotion("menu-1", 5)]);
    assert!(reader.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_list_under_way_is_not_seen_before_it_is_complete() {
    let cache = Promotions::new();
    fill(&cache, vec![promotion("menu-1", 5)]);
    cache.apply(Event::Init);
    cache.apply(Event::InitApply(promotion("menu-2", 6)));
    assert_eq!(names(&cache, &Query::all()).await, ["menu-1"]);
    cache.apply(Event::InitDone);
    assert_eq!(names(&cache, &Query::all()).await, ["menu-2"]);
}

#[tokio::test(start_paused = true)]
async fn indexes_follow_changes_and_deletions() {
    let cache = Promotions::new();
    fill(&cache, vec![promotion("menu-1", 5), promotion("menu-2", 6), received(raw("soup-1", "soup", 7))]);
    assert_eq!(names(&cache, &of("to-dev")).await, ["menu-1", "menu-2"]);
    cache.apply(Event::Apply(received(raw("menu-2", "soup", 8))));
    cache.apply(Event::Delete(promotion("menu-1", 9)));
    assert_eq!(names(&cache, &of("to-dev")).await, Vec::<String>::new());
    assert_eq!(names(&cache, &of("soup")).await, ["menu-2", "soup-1"]);
    assert_eq!(names(&cache, &Query::within("other").by(BY_CONFIG, "soup")).await, Vec::<String>::new());
    assert_eq!(cache.list(&of("soup"), true).await.unwrap().resource_version, "9");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_object_is_reported_where_it_belongs_and_nowhere_else() {
    let cache = Promotions::new();
    let mut broken = raw("menu-2", "to-dev", 6);
    broken["spec"]["sequence"] = json!("seven");
    fill(&cache, vec![promotion("menu-1", 5), received(broken)]);
    let listed = cache.list(&of("to-dev"), true).await.unwrap();
    assert_eq!((listed.items.len(), listed.unreadable.len()), (1, 1));
    assert!(matches!(cache.get(&key("menu-2"), true).await, Err(StoreError::Unreadable(_))));
    assert!(cache.list(&of("soup"), true).await.unwrap().unreadable.is_empty());
}

#[tokio::test(start_paused = true)]
async fn r1_a_read_waits_for_an_own_write_and_never_sees_it_before_the_watch_delivers_it() {
    let cache = Arc::new(Promotions::new());
    fill(&cache, vec![promotion("menu-1", 5), received(raw("soup-1", "soup", 7))]);
    cache.expect_written(&promotion("menu-2", 9).entry);

    // What the write does not concern is read at once.
    assert_eq!(taken(async { drop(cache.list(&of("soup"), true).await.unwrap()) }).await, 0);
    assert_eq!(taken(async { drop(cache.get(&key("menu-1"), true).await.unwrap()) }).await, 0);

    let reader = tokio::spawn({
        let cache = cache.clone();
        async move { names(&cache, &of("to-dev")).await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!reader.is_finished());
    assert_eq!(cache.list(&of("to-dev"), false).await.unwrap().items.len(), 1, "a glance waits for nothing");
    // Somebody else's earlier change comes first: the reader must have it too.
    cache.apply(Event::Apply(promotion("menu-0", 8)));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!reader.is_finished());
    cache.apply(Event::Apply(promotion("menu-2", 9)));
    assert_eq!(reader.await.unwrap(), ["menu-0", "menu-1", "menu-2"]);
}

#[tokio::test(start_paused = true)]
async fn r1_a_read_waits_also_where_the_written_object_was_found_before() {
    let cache = Promotions::new();
    fill(&cache, vec![promotion("menu-1", 5)]);
    cache.expect_written(&received(raw("menu-1", "soup", 6)).entry);
    for query in [of("to-dev"), of("soup"), Query::all()] {
        assert!(matches!(cache.list(&query, true).await, Err(StoreError::Unavailable { .. })), "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r1_a_list_that_began_after_the_write_delivers_it_even_when_the_object_is_gone_again() {
    let cache = Promotions::new();
    fill(&cache, vec![promotion("menu-1", 5)]);
    cache.apply(Event::Init);
    cache.expect_written(&promotion("menu-2", 9).entry);
    cache.apply(Event::InitApply(promotion("menu-1", 5)));
    cache.apply(Event::InitDone);
    assert!(cache.list(&of("to-dev"), true).await.is_err(), "this list began before the write");
    fill(&cache, vec![promotion("menu-1", 5)]);
    assert_eq!(names(&cache, &of("to-dev")).await, ["menu-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_delete_is_waited_for_until_the_object_is_gone_or_another() {
    let cache = Promotions::new();
    fill(&cache, vec![promotion("menu-1", 5)]);
    let deleted = Expectation::Deleted { uid: "uid-menu-1".into() };
    cache.expect(&key("menu-1"), vec![], deleted.clone());
    assert!(cache.get(&key("menu-1"), true).await.is_err());
    cache.apply(Event::Delete(promotion("menu-1", 6)));
    assert_eq!(cache.get(&key("menu-1"), true).await.unwrap(), None);
    // Known already: nothing to wait for.
    cache.expect(&key("menu-1"), vec![], deleted);
    assert_eq!(taken(async { drop(cache.get(&key("menu-1"), true).await.unwrap()) }).await, 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_conflict_the_next_read_waits_for_news_but_not_for_long() {
    let cache = Arc::new(Promotions::new());
    fill(&cache, vec![promotion("menu-1", 5)]);
    let used = konfidence_sdk::store::Version { uid: "uid-menu-1".into(), resource_version: "5".into() };
    let doubt = || Expectation::MovedPast { version: used.clone(), until: Instant::now() + DOUBT };

    cache.expect(&key("menu-1"), vec![], doubt());
    assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, DOUBT.as_millis());
    assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, 0);

    cache.expect(&key("menu-1"), vec![], doubt());
    tokio::spawn({
        let cache = cache.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            cache.apply(Event::Apply(promotion("menu-1", 6)));
        }
    });
    assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, 30);
}

#[tokio::test(start_paused = true)]
async fn after_a_taken_name_the_next_read_waits_until_it_is_seen() {
    let cache = Promotions::new();
    fill(&cache, vec![]);
    let values = promotion("menu-1", 0).entry.values.clone();
    cache.expect(&key("menu-1"), values, Expectation::Exists { until: Instant::now() + DOUBT });
    assert_eq!(taken(async { drop(names(&cache, &of("soup")).await) }).await, 0);
    assert_eq!(taken(async { drop(names(&cache, &of("to-dev")).await) }).await, DOUBT.as_millis());
}

#[tokio::test(start_paused = true)]
async fn subscribers_see_every_change_once_and_in_order_also_across_a_list() {
    let cache = Promotions::new();
    fill(&cache, vec![promotion("menu-1", 5)]);
    let mut changes = cache.subscribe();
    cache.apply(Event::Apply(promotion("menu-2", 6)));
    fill(&cache, vec![promotion("menu-2", 6), promotion("menu-3", 8)]);
    cache.apply(Event::Apply(promotion("menu-3", 8)));
    let mut seen = Vec::new();
    while let Ok(change) = changes.try_recv() {
        let name = |side: Option<Content<VectorPromotion>>| side.map(|o| Key::of(&*o.unwrap()).name().to_owned());
        seen.push((name(change.before), name(change.after)));
    }
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(seen, [(None, some("menu-1")), (None, some("menu-2")), (some("menu-1"), None), (None, some("menu-3"))]);
}

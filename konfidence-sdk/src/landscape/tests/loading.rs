//! What a snapshot tells of other Landscapes.

use super::*;
use crate::landscape::{Settings, load};
use crate::store::MemoryStore;

/// A Landscape with the namespace `menu` on record.
fn recorded(parent: &str, name: &str, project: &Value) -> Value {
    json!({
        "metadata": { "namespace": parent, "name": name },
        "spec": { "namespace": "menu" },
        "status": { "namespace": "menu", "projectName": project },
    })
}

/// The rivals of `parent/eu` in `store`, as `name senior twin`.
async fn rivals(store: &MemoryStore, parent: &str) -> Vec<String> {
    let key = Key::new(parent, "eu");
    let snapshot = load(store, &Settings::default(), &key, Reads::Live).await.unwrap().unwrap();
    let rivals = snapshot.rivals.iter();
    rivals.map(|rival| format!("{} {} {}", rival.key, rival.is_senior, rival.is_twin)).collect()
}

#[tokio::test]
async fn r62_the_older_landscape_is_senior_and_the_same_name_in_the_same_project_a_twin() {
    let clock = crate::clock::ManualClock::new(at(0));
    let store = MemoryStore::with_clock(Arc::new(clock.clone()));
    for (second, parent, name, project) in [
        (0, "team-b", "eu", "bakery"),
        (1, "team-a", "eu", "bakery"),
        (2, "team-c", "eu", "ovens"),
        (3, "team-a", "us", "bakery"),
    ] {
        clock.set(at(second));
        store.insert_raw::<Landscape>(recorded(parent, name, &json!(project))).unwrap();
    }
    assert_eq!(
        rivals(&store, "team-b").await,
        ["team-a/eu false true", "team-a/us false false", "team-c/eu false false"]
    );
    assert_eq!(
        rivals(&store, "team-a").await,
        ["team-a/us false false", "team-b/eu true true", "team-c/eu false false"]
    );
}

#[tokio::test]
async fn r62_of_two_landscapes_of_one_second_the_first_by_name_is_senior() {
    let store = MemoryStore::with_clock(Arc::new(at(0)));
    for parent in ["team-b", "team-a"] {
        store.insert_raw::<Landscape>(recorded(parent, "eu", &json!("bakery"))).unwrap();
    }
    assert_eq!(rivals(&store, "team-a").await, ["team-b/eu false true"]);
    assert_eq!(rivals(&store, "team-b").await, ["team-a/eu true true"]);
}

#[tokio::test]
async fn r63_a_rival_that_cannot_be_read_keeps_its_namespace() {
    let store = MemoryStore::with_clock(Arc::new(at(0)));
    store.insert_raw::<Landscape>(recorded("team-a", "eu", &json!("bakery"))).unwrap();
    store.insert_raw::<Landscape>(recorded("team-b", "eu", &json!(["of a newer shape"]))).unwrap();
    assert_eq!(rivals(&store, "team-a").await, ["team-b/eu true true"]);
}

//! Users do anything, caches lag, requests fail: what holds all the same.

use std::collections::BTreeMap;

use futures::executor::block_on;
use proptest::prelude::*;

use super::world::World;
use super::*;
use crate::naming::managed_namespace;
use crate::store::{Fault, ObjectStore, Query, Version};

/// What a user may do. Numbers choose among few names, so that they meet.
#[derive(Clone, Debug)]
enum Deed {
    MakeLandscape { parent: usize, name: usize, namespace: Option<usize> },
    DeleteLandscape { parent: usize, name: usize },
    MakeNamespace { name: usize },
    DeleteNamespace { name: usize },
    Hold { name: usize },
    Release { name: usize },
    Unlabel { name: usize, label: usize },
    Wait,
}

const PARENTS: [&str; 2] = ["bakery", "confectionery"];
const NAMES: [&str; 2] = ["eu", "us"];
const LABELS: [&str; 4] = ["managed-by", "type", "landscape", "project"];

/// All namespaces that Landscapes of these worlds want; the two projects carry one label.
fn namespaces() -> [String; 3] {
    ["menu".into(), managed_namespace("bakery", "eu"), managed_namespace("bakery", "us")]
}

fn deed() -> impl Strategy<Value = Deed> {
    let (two, three, four) = (0..2usize, 0..3usize, 0..4usize);
    prop_oneof![
        3 => (two.clone(), two.clone(), proptest::option::of(0..1usize))
            .prop_map(|(parent, name, namespace)| Deed::MakeLandscape { parent, name, namespace }),
        2 => (two.clone(), two).prop_map(|(parent, name)| Deed::DeleteLandscape { parent, name }),
        1 => three.clone().prop_map(|name| Deed::MakeNamespace { name }),
        2 => three.clone().prop_map(|name| Deed::DeleteNamespace { name }),
        1 => three.clone().prop_map(|name| Deed::Hold { name }),
        2 => three.clone().prop_map(|name| Deed::Release { name }),
        1 => (three, four).prop_map(|(name, label)| Deed::Unlabel { name, label }),
        3 => Just(Deed::Wait),
    ]
}

/// A world, and which namespaces users made, in the version that users left them in.
struct Storm {
    world: World,
    foreign: BTreeMap<String, Version>,
}

impl Storm {
    async fn act(&mut self, deed: &Deed) {
        let all = namespaces();
        match deed {
            Deed::MakeLandscape { parent, name, namespace } => {
                let namespace = namespace.map(|namespace| &*all[namespace]);
                self.world.make_landscape(PARENTS[*parent], NAMES[*name], namespace).await;
            }
            Deed::DeleteLandscape { parent, name } => {
                self.world.delete(&Key::<Landscape>::new(PARENTS[*parent], NAMES[*name])).await;
            }
            Deed::MakeNamespace { name } => {
                if self.world.namespace(&all[*name]).await.is_none() {
                    self.world.make_namespace(&all[*name], json!({ "example.com/team": "ovens" })).await;
                    self.foreign.insert(all[*name].clone(), Version::default());
                }
            }
            Deed::DeleteNamespace { name } => self.world.delete(&Key::<Namespace>::cluster(&all[*name])).await,
            Deed::Hold { name } => self.hold(&all[*name], &["example.com/slow"]).await,
            Deed::Release { name } => self.hold(&all[*name], &[]).await,
            Deed::Unlabel { name, label } => {
                let label = format!("konfidence.cloud/{}", LABELS[*label]);
                let labels = json!({ "labels": { label: null } });
                self.world.edit(&Key::<Namespace>::cluster(&all[*name]), labels).await;
            }
            Deed::Wait => return self.check().await,
        }
        // The user's own write is what the foreign namespace is to stay at.
        for name in self.foreign.keys().cloned().collect::<Vec<_>>() {
            match self.world.namespace(&name).await {
                Some(namespace) => self.foreign.insert(name, Version::of(&*namespace)),
                None => self.foreign.remove(&name),
            };
        }
    }

    async fn hold(&self, name: &str, finalizers: &[&str]) {
        let key = Key::<Namespace>::cluster(name);
        let is_deleting = |namespace: Arc<Namespace>| namespace.metadata.deletion_timestamp.is_some();
        // The API forbids new finalizers on what is being deleted.
        if finalizers.is_empty() || !self.world.namespace(name).await.is_some_and(is_deleting) {
            self.world.edit(&key, json!({ "finalizers": finalizers })).await;
        }
    }

    async fn check(&mut self) {
        self.world.settle().await;
        assert_eq!(self.world.writes_of_a_resync().await, [""; 0], "an event did not reach its Landscape (R62)");
        for (name, version) in &self.foreign {
            let now = self.world.namespace(name).await.map(|namespace| Version::of(&*namespace));
            assert_eq!(now.as_ref(), Some(version), "{name} is not ours and was touched (R62)");
        }
        let mut owners = BTreeMap::new();
        for landscape in self.world.server.list(&Query::<Landscape>::all()).await.unwrap().items {
            let key = Key::of(&*landscape);
            let Some(namespace) = landscape.status.as_ref().and_then(|status| status.namespace.clone()) else {
                continue;
            };
            if self.world.ready(&key).await.starts_with("True") {
                let other = owners.insert(namespace.clone(), key.clone());
                assert_eq!(other, None, "{namespace} has a second owner beside {key}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_happens_watches_alone_bring_every_landscape_to_rest_and_nothing_foreign_is_touched(
        deeds in proptest::collection::vec(deed(), 1..24),
        choices in proptest::collection::vec(any::<u8>(), 1..64),
        seed in any::<u64>(),
        patience in 0..6usize,
        one_in in prop_oneof![Just(0u64), 3u64..12],
    ) {
        block_on(async {
            let world = World::with_choices(choices, seed);
            world.make_namespace("confectionery", json!({ "konfidence.cloud/project": "bakery" })).await;
            let faults = [Fault::Unavailable, Fault::AnswerLost, Fault::Conflict, Fault::Forbidden];
            let mut storm = Storm { world, foreign: BTreeMap::new() };
            for deed in &deeds {
                // Faults end where the checks begin: a resync is to succeed.
                let one_in = if matches!(deed, Deed::Wait) { 0 } else { one_in };
                storm.world.store.inner().fail_at_random(one_in, &faults);
                storm.act(deed).await;
                for _ in 0..patience {
                    storm.world.step().await;
                }
            }
            storm.world.store.inner().fail_at_random(0, &[]);
            storm.check().await;

            // In the end everything goes, and no namespace with our proof on it is left behind.
            for name in namespaces() {
                storm.hold(&name, &[]).await;
            }
            for (parent, name) in PARENTS.iter().flat_map(|parent| NAMES.map(|name| (*parent, name))) {
                storm.world.delete(&Key::<Landscape>::new(parent, name)).await;
            }
            storm.world.settle().await;
            assert_eq!(storm.world.server.list(&Query::<Landscape>::all()).await.unwrap().items, []);
            for namespace in storm.world.server.list(&Query::<Namespace>::all()).await.unwrap().items {
                let labels = namespace.metadata.labels.clone().unwrap_or_default();
                let proof = ["managed-by", "landscape", "project"];
                let proven = proof.iter().all(|label| labels.contains_key(&format!("konfidence.cloud/{label}")));
                assert!(!proven, "{:?} is left behind", namespace.metadata.name);
            }
        });
    }
}

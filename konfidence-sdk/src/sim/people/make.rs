//! Making the world, and putting back what is missing.

use std::collections::BTreeSet;

use konfidence_types::{Landscape, SourceKind, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use serde_json::{Value, json};

use super::People;
use super::raw::{change, insert, release_all};
use crate::store::Key;
use crate::store::engine::Scope;

impl People {
    /// Puts in place whatever the flows refer to and is not there, and the configs.
    pub(in crate::sim) fn make_everything(&mut self) {
        self.make_references();
        for config in self.configs.clone() {
            insert::<VectorPromotionConfig>(self.store(), json!(config));
        }
    }

    /// Puts in place whatever the flows refer to and is not there. Sources get a vector.
    pub(in crate::sim) fn make_references(&mut self) {
        let (mut stages, mut templates) = (BTreeSet::new(), BTreeSet::new());
        for config in &self.configs {
            let namespace = Key::of(config).namespace().to_owned();
            let mut stage = |landscape: &str, name: &str| {
                stages.insert((namespace.clone(), landscape.to_owned(), name.to_owned()));
            };
            stage(&config.spec.target.landscape, &config.spec.target.name);
            match (&config.spec.source.kind, &config.spec.source.landscape) {
                (SourceKind::Stage, Some(landscape)) => stage(landscape, &config.spec.source.name),
                _ => {
                    templates.insert((namespace.clone(), config.spec.source.name.clone()));
                }
            }
        }
        for (namespace, landscape, name) in stages {
            let managed = self.server.managed(&namespace, &landscape);
            let made = json!({
                "metadata": {"namespace": namespace, "name": landscape},
                "spec": {},
                "status": {"namespace": managed},
            });
            if !insert::<Landscape>(self.store(), made) {
                // It stands, perhaps without a namespace.
                let key = Key::<Landscape>::new(&namespace, &landscape);
                change(self.store(), &key, Scope::Status, |landscape| {
                    if landscape["status"]["namespace"].is_null() {
                        landscape["status"]["namespace"] = json!(managed);
                    }
                });
            }
            let stage = json!({"metadata": {"namespace": managed, "name": name}, "spec": {"vector": ""}});
            insert::<Stage>(self.store(), stage);
        }
        for (namespace, name) in templates {
            if self.store().collection::<VectorTemplate>().get(&namespace, &name).is_none() {
                let template = self.template(&namespace, &name);
                insert::<VectorTemplate>(self.store(), template);
            }
        }
    }

    pub(super) fn template(&mut self, namespace: &str, name: &str) -> Value {
        json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"uploadTarget": "registry.bakery.example/menu", "components": []},
            "status": {"latestVector": self.new_vector()},
        })
    }

    /// Takes back what stands in the way of rest: holds, refusals, what is missing.
    pub(in crate::sim) fn repair(&mut self, refusals_stay: bool, unreadable_stay: bool) {
        if !refusals_stay {
            self.server.refused().clear();
        }
        if !unreadable_stay {
            self.make_readable();
        }
        release_all::<Stage>(self.store());
        release_all::<VectorPromotionConfig>(self.store());
        release_all::<VectorPromotion>(self.store());
        release_all::<Landscape>(self.store());
        self.make_references();
    }
}

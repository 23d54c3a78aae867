//! Objects that do not parse: what a newer version or a broken schema leaves behind.

use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use serde_json::{Value, json};

use super::raw::change;
use super::{NthAround, People};
use crate::sim::step::Kind;
use crate::store::engine::{Document, Scope};
use crate::store::{Key, Object};

/// What no kind can read as a duration.
const SOON: &str = "soon";

impl People {
    /// Makes an object of the flow unreadable, or readable again.
    pub(super) fn spoil(
        &mut self,
        key: &Key<VectorPromotionConfig>,
        config: &VectorPromotionConfig,
        target: &Key<Stage>,
        pick: usize,
    ) -> Option<String> {
        let promotion = || {
            let all = self.store().collection::<VectorPromotion>().list(Some(key.namespace())).items;
            let names = |it: &Document| it.json()["spec"]["vectorPromotionConfigName"] == json!(key.name());
            let own: Vec<_> = all.into_iter().filter(|it| names(it)).collect();
            own.into_iter().nth_around(pick / 5).map(|it| Key::<VectorPromotion>::new(it.namespace(), it.name()))
        };
        match pick % 5 {
            0 => self.turn_over(key),
            1 => self.turn_over(&promotion()?),
            2 => self.turn_over(target),
            3 => self.turn_over(&Key::<Landscape>::new(key.namespace(), &config.spec.target.landscape)),
            _ => self.turn_over(&Key::<VectorTemplate>::new(key.namespace(), &config.spec.source.name)),
        }
    }

    fn turn_over<K: Object>(&self, key: &Key<K>) -> Option<String> {
        let kind = Kind::of::<K>()?;
        let stored = self.store().collection::<K>().get(key.namespace(), key.name())?;
        let is_readable = stored.parse::<K>().is_ok();
        let told = if is_readable { "is made unreadable" } else { "can be read again" };
        self.set_readable(kind, key, !is_readable).then(|| format!("{kind:?} {key} {told}"))
    }

    fn set_readable<K: Object>(&self, kind: Kind, key: &Key<K>, readable: bool) -> bool {
        let scope = if matches!(kind, Kind::Landscape | Kind::Template) { Scope::Status } else { Scope::Main };
        let managed = format!("{}-{}", key.namespace(), key.name());
        change(self.store(), key, scope, |object| match (kind, readable) {
            (Kind::Config, true) => object["spec"]["keepLastPromotions"] = json!(1000),
            (Kind::Config, false) => object["spec"]["keepLastPromotions"] = json!("many"),
            (Kind::Promotion, true) => {
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.remove("ttlAfterFinished");
                }
            }
            (Kind::Promotion, false) => object["spec"]["ttlAfterFinished"] = json!(SOON),
            (Kind::Stage, true) => object["spec"]["vector"] = json!(""),
            (Kind::Stage, false) => object["spec"]["vector"] = json!(7),
            (Kind::Landscape, true) => object["status"]["namespace"] = json!(managed),
            (Kind::Landscape, false) => object["status"]["namespace"] = json!(7),
            (Kind::Template, true) => object["status"]["latestVector"] = Value::Null,
            (Kind::Template, false) => object["status"]["latestVector"] = json!(7),
        })
    }

    /// Makes everything readable again.
    pub(super) fn make_readable(&self) {
        self.mend::<VectorPromotionConfig>(Kind::Config);
        self.mend::<VectorPromotion>(Kind::Promotion);
        self.mend::<Stage>(Kind::Stage);
        self.mend::<Landscape>(Kind::Landscape);
        self.mend::<VectorTemplate>(Kind::Template);
    }

    fn mend<K: Object>(&self, kind: Kind) {
        for object in self.store().collection::<K>().list(None).items {
            if object.parse::<K>().is_err() {
                self.set_readable(kind, &Key::<K>::new(object.namespace(), object.name()), true);
            }
        }
    }
}

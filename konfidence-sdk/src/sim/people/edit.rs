//! What people do with an editor: raw edits on the present state.

use konfidence_types::{
    Landscape, MAX_SEQUENCE, SourceKind, SourceRef, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate,
    annotation,
};
use serde_json::{Value, json};

use super::raw::{change, delete, hold, insert, toggle};
use super::{NthAround, People, vector};
use crate::naming::promotion_name;
use crate::sim::step::Deed;
use crate::store::Key;
use crate::store::engine::Scope;

impl People {
    /// Does it, and tells it; `None`: there was nothing to do it with.
    pub(in crate::sim) fn edit(&mut self, deed: Deed, flow: usize, pick: usize) -> Option<String> {
        let counts = (self.vectors, self.hand_made);
        let told = self.try_edit(deed, flow, pick);
        // What was not possible leaves no trace, so that a replay without it is the same world.
        if told.is_none() {
            (self.vectors, self.hand_made) = counts;
        }
        told
    }

    #[allow(clippy::too_many_lines)] // one short arm for each deed
    fn try_edit(&mut self, deed: Deed, flow: usize, pick: usize) -> Option<String> {
        let keys = self.keys();
        let key = keys.get(flow)?.clone();
        // The name without a config shares the references of the first flow.
        let config = self.configs.get(flow).or_else(|| self.configs.first())?.clone();
        let target = self.stage_of(key.namespace(), &config.spec.target);
        match deed {
            Deed::Assemble => self.assemble(&config, pick),
            Deed::Burst => {
                let told: Vec<_> = (0..2 + pick % 5).filter_map(|more| self.assemble(&config, pick + more)).collect();
                Some(told.join(", and at once ")).filter(|told| !told.is_empty())
            }
            Deed::TouchSource => self.touch_source(&config, pick),
            Deed::Gate => {
                let gate = [Value::Null, json!(true), json!(false)][pick % 3].clone();
                let told = format!("somebody sets requireApproval of {key} to {gate}");
                let changed = change::<VectorPromotionConfig>(self.store(), &key, Scope::Main, |config| {
                    if let Some(spec) = config["spec"].as_object_mut() {
                        spec.remove("requireApproval");
                        if !gate.is_null() {
                            spec.insert("requireApproval".into(), gate);
                        }
                    }
                });
                changed.then_some(told)
            }
            Deed::EditStage => {
                let vector = self.some_vector(pick);
                let changed = change::<Stage>(self.store(), &target, Scope::Main, |stage| {
                    stage["spec"]["vector"] = json!(vector);
                });
                changed.then(|| format!("somebody writes {vector} to Stage {target} by hand"))
            }
            Deed::ToggleStage => {
                let vector = if pick.is_multiple_of(3) { self.some_vector(pick / 3) } else { String::new() };
                toggle::<Stage>(self.store(), &target, || json!({"spec": {"vector": vector}}))
            }
            Deed::StripRecord => {
                let changed = change::<Stage>(self.store(), &target, Scope::Main, |stage| {
                    let annotations = stage.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
                    if let Some(annotations) = annotations {
                        annotations.remove(annotation::PROMOTIONS);
                    }
                });
                changed.then(|| format!("somebody removes the records from Stage {target}"))
            }
            Deed::TouchStage => {
                let (scope, part) =
                    if pick.is_multiple_of(2) { (Scope::Status, "status") } else { (Scope::Main, "metadata") };
                let changed = change::<Stage>(self.store(), &target, scope, |stage| {
                    if part == "status" {
                        stage["status"]["vectorHistory"] = json!([vector(pick)]);
                    } else {
                        stage["metadata"]["annotations"]["bakery.example/note"] = json!(pick.to_string());
                    }
                });
                changed.then(|| format!("somebody touches the {part} of Stage {target}"))
            }
            Deed::TouchPromotion => {
                let promotion = self.promotions(&key).into_iter().nth_around(pick)?;
                let name: Key<VectorPromotion> = Key::of(&*promotion);
                change::<VectorPromotion>(self.store(), &name, Scope::Main, |promotion| {
                    promotion["metadata"]["annotations"]["bakery.example/note"] = json!(pick.to_string());
                })
                .then(|| format!("somebody touches promotion {name}"))
            }
            Deed::EditPromotion => {
                let promotion = self.promotions(&key).into_iter().nth_around(pick / 2)?;
                let name: Key<VectorPromotion> = Key::of(&*promotion);
                let ttl = if pick.is_multiple_of(2) { "1m" } else { "2h" };
                let changed = change::<VectorPromotion>(self.store(), &name, Scope::Main, |promotion| {
                    promotion["spec"]["ttlAfterFinished"] = json!(ttl);
                });
                changed.then(|| format!("somebody sets the TTL of promotion {name} to {ttl}"))
            }
            Deed::DeletePromotion => {
                let promotion = self.promotions(&key).into_iter().nth_around(pick)?;
                delete(self.store(), &Key::<VectorPromotion>::of(&*promotion))
            }
            Deed::HandMake => self.hand_make(&key, &config, pick),
            Deed::TakeName => self.take_name(&key, &config, pick),
            Deed::Spoil => self.spoil(&key, &config, &target, pick),
            Deed::ToggleConfig => {
                let made = json!(self.configs.get(flow)?);
                toggle::<VectorPromotionConfig>(self.store(), &key, || made)
            }
            Deed::Repoint => self.repoint(&key, flow, pick),
            Deed::Tune => {
                let keep = [0, 1, 2, 1000][pick % 4];
                let ttl = [Value::Null, json!("1m"), json!("10m")][(pick / 4) % 3].clone();
                let told = format!("somebody sets the cap of {key} to {keep} and its TTL to {ttl}");
                let changed = change::<VectorPromotionConfig>(self.store(), &key, Scope::Main, |config| {
                    config["spec"]["keepLastPromotions"] = json!(keep);
                    if let Some(spec) = config["spec"].as_object_mut() {
                        spec.remove("ttlAfterFinished");
                        if !ttl.is_null() {
                            spec.insert("ttlAfterFinished".into(), ttl);
                        }
                    }
                });
                changed.then_some(told)
            }
            Deed::ToggleLandscape => {
                let landscape = Key::new(key.namespace(), &config.spec.target.landscape);
                // It may come back with another namespace; its Stages stay where they were.
                let moved = if pick.is_multiple_of(3) { "-moved" } else { "" };
                let managed = format!("{}-{}{moved}", landscape.namespace(), landscape.name());
                let status = json!({"namespace": managed});
                toggle::<Landscape>(self.store(), &landscape, || json!({"spec": {}, "status": status}))
            }
            Deed::MoveLandscape => {
                let landscape = Key::<Landscape>::new(key.namespace(), &config.spec.target.landscape);
                let home = format!("{}-{}", landscape.namespace(), landscape.name());
                let managed =
                    [json!(home), json!(format!("{home}-moved")), Value::Null][[0, 1, 1, 0, 2][pick % 5]].clone();
                let told = format!("Landscape {landscape} manages {managed} from now on");
                let changed = change(self.store(), &landscape, Scope::Status, |landscape| {
                    landscape["status"]["namespace"] = managed;
                });
                changed.then_some(told)
            }
            Deed::ToggleTemplate => {
                let source = &config.spec.source;
                let template = Key::new(key.namespace(), &source.name);
                let made = self.template(template.namespace(), template.name());
                (source.kind == SourceKind::VectorTemplate)
                    .then(|| toggle::<VectorTemplate>(self.store(), &template, || made))?
            }
            Deed::Hold => match pick % 3 {
                0 => hold(self.store(), &target),
                1 => hold(self.store(), &key),
                _ => hold(self.store(), &Key::of(&*self.promotions(&key).into_iter().nth_around(pick / 3)?)),
            },
            Deed::Refuse => {
                let place = (target.namespace().to_owned(), target.name().to_owned());
                let mut refused = self.server.refused();
                if refused.remove(&place) {
                    return Some(format!("Stage {target} may be written again"));
                }
                refused.insert(place);
                Some(format!("from now on every write to Stage {target} is refused"))
            }
            _ => None,
        }
    }

    /// The source's version moves, and its vector stays.
    fn touch_source(&mut self, config: &VectorPromotionConfig, pick: usize) -> Option<String> {
        let namespace = Key::of(config).namespace().to_owned();
        let SourceRef { kind, name, landscape } = &config.spec.source;
        let note = |object: &mut Value| {
            object["metadata"]["annotations"]["bakery.example/note"] = json!(pick.to_string());
        };
        if let (SourceKind::Stage, Some(landscape)) = (kind, landscape) {
            let stage = Key::<Stage>::new(self.server.managed(&namespace, landscape), name);
            return change(self.store(), &stage, Scope::Main, note)
                .then(|| format!("somebody touches source Stage {stage}"));
        }
        let template = Key::<VectorTemplate>::new(namespace, name);
        change(self.store(), &template, Scope::Main, note)
            .then(|| format!("somebody touches source VectorTemplate {template}"))
    }

    fn assemble(&mut self, config: &VectorPromotionConfig, pick: usize) -> Option<String> {
        let namespace = Key::of(config).namespace().to_owned();
        // Now and then it has none.
        let vector = if pick % 40 == 39 { String::new() } else { self.some_vector(pick) };
        let SourceRef { kind, name, landscape } = &config.spec.source;
        if let (SourceKind::Stage, Some(landscape)) = (kind, landscape) {
            let stage = Key::<Stage>::new(self.server.managed(&namespace, landscape), name);
            return change(self.store(), &stage, Scope::Main, |stage| stage["spec"]["vector"] = json!(vector))
                .then(|| format!("source Stage {stage} gets {vector}"));
        }
        let template = Key::<VectorTemplate>::new(namespace, name);
        change(self.store(), &template, Scope::Status, |template| template["status"]["latestVector"] = json!(vector))
            .then(|| format!("source VectorTemplate {template} gets {vector}"))
    }

    fn hand_make(
        &mut self,
        key: &Key<VectorPromotionConfig>,
        config: &VectorPromotionConfig,
        pick: usize,
    ) -> Option<String> {
        self.hand_made += 1;
        let highest = self.promotions(key).first().map_or(0, |promotion| promotion.spec.sequence);
        let sequence = [0, 1, highest - 1, highest, highest + 1, highest + 3][pick % 6].clamp(0, MAX_SEQUENCE);
        // The last number of all ends the flow.
        let sequence = if pick == 999 { MAX_SEQUENCE } else { sequence };
        let waits = (pick / 6).is_multiple_of(2);
        let name = match (pick / 12) % 3 {
            0 => promotion_name(key.name(), sequence),
            _ => format!("hand-{}", self.hand_made),
        };
        let of = if (pick / 36).is_multiple_of(6) { "loose" } else { key.name() };
        let vector = self.some_vector(pick / 36);
        let promotion = json!({
            "metadata": {"namespace": key.namespace(), "name": name},
            "spec": {
                "vectorPromotionConfigName": of, "source": config.spec.source, "target": config.spec.target,
                "vector": vector, "requireApproval": waits, "sequence": sequence,
            },
        });
        insert::<VectorPromotion>(self.store(), promotion).then(|| {
            let gate = if waits { "waits for approval" } else { "needs no approval" };
            format!("somebody makes promotion {name} of {vector} for {of}, sequence {sequence}, which {gate}")
        })
    }

    /// The name that the flow's next promotion would get is taken by one of another config (R10).
    fn take_name(
        &mut self,
        key: &Key<VectorPromotionConfig>,
        config: &VectorPromotionConfig,
        pick: usize,
    ) -> Option<String> {
        let highest = self.promotions(key).first().map_or(0, |promotion| promotion.spec.sequence);
        let name = promotion_name(key.name(), highest.saturating_add(1).clamp(0, MAX_SEQUENCE));
        let vector = self.some_vector(pick);
        let promotion = json!({
            "metadata": {"namespace": key.namespace(), "name": name},
            "spec": {
                "vectorPromotionConfigName": "loose", "source": config.spec.source, "target": config.spec.target,
                "vector": vector, "requireApproval": !pick.is_multiple_of(3), "sequence": pick % 4,
            },
        });
        insert::<VectorPromotion>(self.store(), promotion)
            .then(|| format!("somebody takes the name {name} for a promotion of {vector} of another config"))
    }

    fn repoint(&mut self, key: &Key<VectorPromotionConfig>, flow: usize, pick: usize) -> Option<String> {
        let own = self.configs.get(flow)?.spec.clone();
        let next = self.configs.get((flow + 1) % self.configs.len())?.spec.clone();
        let source = if pick.is_multiple_of(2) { own.source } else { next.source };
        let target = if (pick / 2).is_multiple_of(2) { own.target } else { next.target };
        if source.landscape.as_ref() == Some(&target.landscape) && source.name == target.name {
            return None;
        }
        let told = format!("somebody points {key} from {source} to {target}");
        change::<VectorPromotionConfig>(self.store(), key, Scope::Main, |config| {
            config["spec"]["source"] = json!(source);
            config["spec"]["target"] = json!(target);
        })
        .then_some(told)
    }
}

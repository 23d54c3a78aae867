//! What cannot be read stops its own config, with a condition, and no other.

use std::collections::BTreeSet;

use konfidence_types::{Landscape, ReadyReason, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use serde_json::json;

use super::rest::{AtRest, Flow};
use super::{Author, Violation, violates};
use crate::sim::step::Kind;
use crate::store::Object;
use crate::store::engine::{Change, Document, Event};

/// Whether an object of `kind` parses.
pub(super) fn is_readable(kind: Kind, object: &Document) -> bool {
    match kind {
        Kind::Promotion => object.parse::<VectorPromotion>().is_ok(),
        Kind::Config => object.parse::<VectorPromotionConfig>().is_ok(),
        Kind::Stage => object.parse::<Stage>().is_ok(),
        Kind::Landscape => object.parse::<Landscape>().is_ok(),
        Kind::Template => object.parse::<VectorTemplate>().is_ok(),
    }
}

/// A controller writes nothing over what it cannot read, but for the condition of a config.
pub(super) fn check_write(kind: Kind, event: &Event, author: Author) -> Result<(), Violation> {
    if author != Author::Controller || event.change == Change::Added {
        return Ok(());
    }
    let Some(previous) = event.previous.as_ref().filter(|previous| !is_readable(kind, previous)) else {
        return Ok(());
    };
    let only_tells = kind == Kind::Config && previous.json()["spec"] == event.object.json()["spec"];
    if only_tells {
        return Ok(());
    }
    violates("unreadable", format!("a controller writes {kind:?} {}, which does not parse", event.object.name()))
}

impl AtRest<'_> {
    /// Whether everything that the flow is decided from can be read. If its own objects cannot, the config says so.
    pub(super) fn check_readable(&self, flow: &Flow<'_>) -> Result<bool, Violation> {
        let store = self.server.store();
        let config = store.collection::<VectorPromotionConfig>().get(flow.key.namespace(), flow.key.name());
        let names = |it: &Document| it.json()["spec"]["vectorPromotionConfigName"] == json!(flow.key.name());
        let blocks_itself = config.as_ref().is_some_and(|it| !is_readable(Kind::Config, it))
            || self.unreadable::<VectorPromotion>(Some(flow.key.namespace())).iter().any(|it| names(it));
        if blocks_itself {
            if let Some(config) = config.filter(|config| config.json()["metadata"]["deletionTimestamp"].is_null()) {
                let conditions = config.json()["status"]["conditions"].as_array().cloned().unwrap_or_default();
                let reason = json!(ReadyReason::ObjectUnreadable.as_str());
                if !conditions.iter().any(|it| it["type"] == "Ready" && it["reason"] == reason) {
                    return violates("unreadable", format!("{} does not say that it is stopped", flow.key));
                }
            }
            return Ok(false);
        }
        let (mut landscapes, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (promotion, _) in flow.members.iter().filter(|(_, phase)| !phase.is_terminal()) {
            landscapes.insert(promotion.spec.target.landscape.clone());
            names.insert(promotion.spec.target.name.clone());
        }
        if let Some(config) = &flow.config {
            landscapes.insert(config.spec.target.landscape.clone());
            landscapes.extend(config.spec.source.landscape.clone());
            names.extend([config.spec.target.name.clone(), config.spec.source.name.clone()]);
        }
        let own = Some(flow.key.namespace());
        let stopped = self.unreadable::<Landscape>(own).iter().any(|it| landscapes.contains(it.name()))
            || self.unreadable::<Stage>(None).iter().any(|it| names.contains(it.name()))
            || self.unreadable::<VectorTemplate>(own).iter().any(|it| names.contains(it.name()));
        Ok(!stopped)
    }

    fn unreadable<K: Object>(&self, namespace: Option<&str>) -> Vec<std::sync::Arc<Document>> {
        let all = self.server.store().collection::<K>().list(namespace).items;
        all.into_iter().filter(|it| it.parse::<K>().is_err()).collect()
    }
}

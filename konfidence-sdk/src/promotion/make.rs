//! How a promotion is made: its name, labels, owner and snapshots (P9 to P11, R13).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use konfidence_types::{
    SourceKind, TargetRef, VectorPromotion, VectorPromotionConfig, VectorPromotionSpec, annotation, label,
};
use kube::core::Resource;

use super::source::version_text;
use crate::naming;
use crate::store::Version;

/// Whether promotions of `config` need a person: its own word, else yes for a Stage and no for a template (P10).
pub fn requires_approval(config: &VectorPromotionConfig) -> bool {
    config.spec.require_approval.unwrap_or(config.spec.source.kind == SourceKind::Stage)
}

/// What is special about one promotion; the rest comes from its config.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Making {
    pub(super) sequence: i64,
    pub(super) vector: String,
    pub(super) target: TargetRef,
    /// The state of the source that the decision saw; `None` if it does not resolve.
    pub(super) source_version: Option<Version>,
    /// Further annotations.
    pub(super) annotations: BTreeMap<String, String>,
}

/// The promotion to be created. The owner reference makes garbage collection remove it with its config (P45); it does
/// not block the owner's deletion.
pub(super) fn promotion(config: &VectorPromotionConfig, making: Making) -> VectorPromotion {
    let name = config.metadata.name.clone().unwrap_or_default();
    let mut annotations = making.annotations;
    if let Some(version) = &making.source_version {
        annotations.insert(annotation::SOURCE_VERSION.to_owned(), version_text(version));
    }
    if let Some(generation) = config.metadata.generation {
        annotations.insert(annotation::CONFIG_GENERATION.to_owned(), generation.to_string());
    }
    VectorPromotion {
        metadata: ObjectMeta {
            name: Some(naming::promotion_name(&name, making.sequence)),
            namespace: config.metadata.namespace.clone(),
            labels: Some(BTreeMap::from([(label::CONFIG.to_owned(), naming::config_label(&name))])),
            annotations: Some(annotations),
            owner_references: Some(vec![OwnerReference {
                api_version: VectorPromotionConfig::api_version(&()).into_owned(),
                kind: VectorPromotionConfig::kind(&()).into_owned(),
                name: name.clone(),
                uid: config.metadata.uid.clone().unwrap_or_default(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..ObjectMeta::default()
        },
        spec: VectorPromotionSpec {
            vector_promotion_config_name: name,
            source: config.spec.source.clone(),
            target: making.target,
            vector: making.vector,
            require_approval: requires_approval(config),
            sequence: making.sequence,
            ttl_after_finished: config.spec.ttl_after_finished,
        },
        status: None,
    }
}

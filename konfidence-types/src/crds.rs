//! The custom resource definitions of all kinds, as they are installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use crate::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate};

/// The definitions, ordered by their names.
///
/// ```
/// let names: Vec<_> = konfidence_types::crds::all().into_iter().filter_map(|crd| crd.metadata.name).collect();
/// assert_eq!(names[0], "landscapes.konfidence.cloud");
/// assert!(names.is_sorted());
/// ```
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![Landscape::crd(), Stage::crd(), VectorPromotionConfig::crd(), VectorPromotion::crd(), VectorTemplate::crd()]
}

//! The kinds of Konfidence and nothing else: what is stored, how it is validated, how it is shown.
//!
//! A [`VectorTemplate`] names the components of an application version; assembly turns it into vectors. A
//! [`Landscape`] owns a namespace in which [`Stage`]s live, and a stage wants exactly one vector. A
//! [`VectorPromotionConfig`] says that a stage follows a source, a template or another stage; each
//! [`VectorPromotion`] of it is the immutable record of moving one vector to one stage.
//!
//! ```text
//!   VectorTemplate --assembles--> vector --VectorPromotion--> Stage --VectorPromotion--> Stage
//!                                            ^ made by a VectorPromotionConfig            in a Landscape
//! ```
//!
//! All kinds are of group `konfidence.cloud`, version `v1alpha1`, and namespaced. Schemas, CEL rules, columns and
//! selectable fields are derived from the structs; [`crds::all`] hands them out for installation. The kinds are a
//! superset of the public Konfidence CRDs: what is stored under those can be read, and keeps its meaning.
//!
//! What a newer version may extend is an open string where it is stored: states and reasons. The enums beside them
//! ([`PromotionState`], [`SucceededReason`], …) list the words that this version knows and writes, so that no other
//! place spells one. What this version parses, it parses once: [`GoDuration`].
//!
//! There is no I/O and no decision here; the rules of promotion live in `konfidence-sdk`. With the feature `cel` each
//! kind can evaluate the CEL rules of its own schema (`validate_cel`, `validate_cel_update`) without an API server.
//!
//! ```
//! use konfidence_types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
//!
//! let config = VectorPromotionConfig::new(
//!     "shop-to-dev",
//!     VectorPromotionConfigSpec::new(SourceRef::template("shop"), TargetRef::stage("eu", "dev")),
//! );
//! assert_eq!(config.spec.target.to_string(), "Stage eu/dev");
//! assert_eq!(config.spec.keep_last_promotions, 10);
//! ```

// `KubeSchema` derives a public copy of each struct inside a function.
#![allow(unreachable_pub)]
// Every `printcolumn` has a `type_`; clippy takes the second for a duplicate of the first.
#![allow(clippy::duplicated_attributes)]

mod condition;
mod go_duration;
mod landscape;
mod reason;
mod reference;
mod schema;
mod signature;
mod stage;
mod vector_promotion;
mod vector_promotion_config;
mod vector_template;
mod vocabulary;

pub mod annotation;
pub mod crds;
pub mod label;

pub use condition::{Condition, Time, condition, condition_type};
pub use go_duration::{GoDuration, ParseGoDurationError};
pub use landscape::{LANDSCAPE_FINALIZER, Landscape, LandscapeSpec, LandscapeStatus, MAX_LANDSCAPE_NAME};
pub use reason::{
    ApprovedReason, EventReason, LandscapeReason, ReadyReason, ServingReason, StageReason, SucceededReason,
    VectorTemplateReason,
};
pub use reference::{SourceKind, SourceRef, TargetKind, TargetRef};
pub use signature::{
    CosignKey, HashAlgorithm, NormalisationAlgorithm, Signature, SignatureAlgorithm, SignatureMediaType,
    SignaturePolicy,
};
pub use stage::{
    ActiveRecord, MAX_STAGE_NAME, PathRewrite, RefusedActivation, RouteRule, Stage, StageSpec, StageStatus,
    VectorDeploymentRef,
};
pub use vector_promotion::{
    Approval, MAX_SEQUENCE, PromotedStageRef, PromotionState, Rejection, VectorPromotion, VectorPromotionSpec,
    VectorPromotionStatus,
};
pub use vector_promotion_config::{
    DEFAULT_KEEP_LAST_PROMOTIONS, VectorPromotionConfig, VectorPromotionConfigSpec, VectorPromotionConfigStatus,
};
pub use vector_template::{
    BaseKind, BaseRef, ChangeEntry, ChangeKind, Changes, Component, Credentials, MAX_VECTOR_CONFIG_BYTES,
    OcmCredentials, SecretRef, VectorConfig, VectorTemplate, VectorTemplateSpec, VectorTemplateStatus,
};
pub use vocabulary::UnknownWord;

/// API group of every kind here.
pub const GROUP: &str = "konfidence.cloud";

/// API version of every kind here.
pub const VERSION: &str = "v1alpha1";

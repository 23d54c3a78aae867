//! A vector that a person put in the way of the source's (P52).
//!
//! `promote` and `retry` of a vector that is not the source's write `konfidence.cloud/overrules` on the promotion:
//! which source vector they overrule, and who says so. While that stands, drift makes nothing.

use konfidence_types::{VectorPromotion, annotation};
use kube::core::ResourceExt;
use serde::{Deserialize, Serialize};

/// The source's vector that is overruled, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrule {
    /// The source's vector at that time.
    pub vector: String,
    /// The person.
    pub by: String,
}

impl Overrule {
    /// What `promotion` overrules, if anything.
    pub fn of(promotion: &VectorPromotion) -> Option<Self> {
        promotion.annotations().get(annotation::OVERRULES).and_then(|text| serde_json::from_str(text).ok())
    }

    /// The annotation's text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

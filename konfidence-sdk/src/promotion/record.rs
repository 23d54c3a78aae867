//! What the machinery keeps on a Stage: one record per config of what was last promoted there (R8), and the fence (R7).
//!
//! ```json
//! {"menu-to-dev": {"owner": "<config uid>", "sequence": 4, "promotion": "<promotion uid>", "vector": "<vector>"}}
//! ```
//!
//! It is an annotation, so it survives a schema that does not know it. An annotation that does not parse counts as
//! empty: the Stage was edited by hand, which "resets the order" (S3).

use std::collections::BTreeMap;

use konfidence_types::{Stage, annotation};
use serde::{Deserialize, Serialize};

/// What one config last put on a Stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Uid of the config; empty when a promotion without a config wrote it.
    #[serde(default)]
    pub owner: String,
    /// Sequence of the promotion.
    pub sequence: i64,
    /// Uid of the promotion.
    pub promotion: String,
    /// Its vector: tells an edit by somebody else (P51) from a source that moved on.
    #[serde(default)]
    pub vector: String,
}

/// All records on one Stage, by config name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Records(BTreeMap<String, Record>);

impl Records {
    /// The records that `stage` carries.
    pub fn of(stage: &Stage) -> Self {
        stage
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(annotation::PROMOTIONS))
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The record of the config `name`, whoever owned it.
    pub fn named(&self, name: &str) -> Option<&Record> {
        self.0.get(name)
    }

    /// The record of the config `name` whose owner is `owner` or nobody: what the rules mean by "record" (R8).
    pub fn of_config(&self, name: &str, owner: Option<&str>) -> Option<&Record> {
        self.named(name).filter(|record| record.owner.is_empty() || Some(record.owner.as_str()) == owner)
    }

    /// These records with the one of the config `name` replaced, as the annotation's text.
    pub fn text_with(&self, name: &str, record: Record) -> String {
        let mut all = self.0.clone();
        all.insert(name.to_owned(), record);
        serde_json::to_string(&all).unwrap_or_default()
    }
}

/// The fence's value: it names the version of the promotion on which the retirement is conditional, so that it differs
/// each time and moves the Stage's version (R7).
pub(super) fn fence(promotion_uid: &str, promotion_version: &str) -> String {
    format!("{promotion_uid}@{promotion_version}")
}

//! Which objects a request is about: labels and fields.

mod field;
mod label;

use serde_json::Value;

use crate::resource::Resource;
use crate::status::{ApiError, ApiResult};
use field::FieldSelector;
use label::LabelSelector;

/// Both selectors of a request.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// Parses both.
    ///
    /// # Errors
    /// 400 when one does not parse, or names a field that the resource does not offer.
    pub(crate) fn of(resource: &Resource, labels: &str, fields: &str) -> ApiResult<Self> {
        let labels = LabelSelector::parse(labels).map_err(ApiError::bad_request)?;
        let fields = FieldSelector::parse(fields).map_err(ApiError::bad_request)?;
        let offered = |field: &str| {
            field == "metadata.name"
                || (field == "metadata.namespace" && (resource.namespaced || resource.custom))
                || resource.selectable.iter().any(|selectable| selectable == field)
        };
        if let Some(field) = fields.fields().find(|field| !offered(field)) {
            return Err(ApiError::bad_request(if resource.custom || !resource.selectable.is_empty() {
                format!("field label not supported: {field}")
            } else {
                format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }));
        }
        Ok(Self { labels, fields })
    }

    /// Whether it selects every object.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it selects this stored object.
    pub(crate) fn matches(&self, resource: &Resource, stored: &Value) -> bool {
        if self.is_everything() {
            return true;
        }
        self.labels.matches(stored)
            && if self.fields.is_empty() { true } else { self.fields.matches(&resource.show(stored)) }
    }
}

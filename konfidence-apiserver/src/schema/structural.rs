//! What a schema says about an object's shape: types, defaults, list and map semantics.
//!
//! Parsed once per version of a kind. What it says about values (lengths, patterns, enums) stays in the JSON and goes
//! to the validator.

use std::collections::BTreeMap;

use serde_json::Value;

/// One node of a structural schema.
// Each flag is one `x-kubernetes-` word of its own; they combine freely.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Structural {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; `None`: any, or int-or-string.
    pub kind: Option<String>,
    /// `int32`, `byte`, `date-time`…
    pub format: Option<String>,
    /// Whether `null` is a value of its own. Where it is not, a `null` means "use the default", or is dropped.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`: fields that no property names survive.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`: `apiVersion`, `kind` and `metadata` are known without being named.
    pub embedded: bool,
    /// Named fields.
    pub properties: BTreeMap<String, Structural>,
    /// Fields of a map, all of one schema.
    pub additional: Option<Box<Structural>>,
    /// Items of a list.
    pub items: Option<Box<Structural>>,
    /// The value that a missing field gets.
    pub default: Option<Value>,
    /// How the items of a list are told apart.
    pub list: ListType,
    /// `x-kubernetes-map-type: atomic`: the map has one owner.
    pub atomic_map: bool,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// One value, owned and replaced as a whole.
    #[default]
    Atomic,
    /// Each scalar is an entry of its own.
    Set,
    /// Each item is an entry of its own, known by the values of these fields.
    Map(Vec<String>),
}

impl Structural {
    /// Reads an `openAPIV3Schema`. Of a schema that is broken it takes what makes sense; the CRD's own validation has
    /// refused the rest.
    pub(crate) fn parse(schema: &Value) -> Self {
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|all| all.iter().map(|(name, one)| (name.clone(), Self::parse(one))).collect())
            .unwrap_or_default();
        let (additional, open) = match schema.get("additionalProperties") {
            Some(one @ Value::Object(_)) => (Some(Box::new(Self::parse(one))), false),
            Some(Value::Bool(true)) => (None, true),
            _ => (None, false),
        };
        let keys = || {
            schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array)
                .map(|keys| keys.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        Self {
            kind: text("type").map(str::to_owned),
            format: text("format").map(str::to_owned),
            nullable: flag("nullable"),
            preserve_unknown: open || flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties,
            additional,
            items: schema.get("items").map(|items| Box::new(Self::parse(items))),
            default: schema.get("default").cloned(),
            list: match text("x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(keys()),
                _ => ListType::Atomic,
            },
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        }
    }

    /// The schema of the field `name` of an object: a property, or the map's value schema.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(self.additional.as_deref())
    }
}

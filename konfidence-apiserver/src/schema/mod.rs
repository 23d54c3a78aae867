//! What a kind's schema decides about an object.
//!
//! ```text
//!  prune -> default -> [ values -> unique -> rules ]
//!  unknown  missing      types,     sets     CEL, with oldSelf
//!  fields   fields       lengths    and maps
//! ```
//!
//! [`Schema`] is compiled once per version of a kind, when the kind is installed; a request only walks it.

mod cost;
mod default;
mod embedded;
mod formats;
mod naming;
mod numbers;
mod path;
mod prune;
mod ratchet;
mod rules;
mod shared;
mod structural;
mod unique;
mod values;
mod walk;

pub(crate) use structural::{ListType, Structural};

use konfidence_sdk::store::engine::{SHALLOW, nesting};
use kube::core::cel::CompiledSchema;
use serde_json::Value;

use crate::field::{FieldError, FieldErrors};
use crate::stack::fitting;

/// A compiled schema of one version of a kind.
pub(crate) struct Schema {
    /// The schema as it was written, for `OpenAPI`.
    pub source: Value,
    /// The object's shape.
    pub structure: Structural,
    values: values::Values,
    /// Of the status alone, and how it is written.
    status: Option<(values::Values, Value)>,
    rules: rules::Rules,
    /// How deep the source is nested, or its rules, and with it all of the others.
    levels: usize,
}

/// The last one who holds a schema may be on any stack.
impl Drop for Schema {
    fn drop(&mut self) {
        if self.levels > SHALLOW {
            fitting(self.levels, || {
                drop((self.source.take(), std::mem::take(&mut self.structure), self.status.take()));
                (self.values, self.rules) = (values::Values::none(), rules::Rules::compile(&Value::Null));
            });
        }
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Schema").field(&self.source).finish()
    }
}

impl Schema {
    /// Compiles an `openAPIV3Schema`.
    ///
    /// # Errors
    /// Which part of the schema makes no sense.
    pub(crate) fn compile(source: Value) -> Result<Self, String> {
        let levels = nesting(&source).max(levels_of_rules(&source));
        fitting(levels, || Self::compile_here(source, levels))
    }

    fn compile_here(source: Value, levels: usize) -> Result<Self, String> {
        let status = source.pointer("/properties/status").cloned();
        let status = status.map(|status| values::Values::compile(&status).map(|values| (values, status)));
        Ok(Self {
            status: status.transpose()?,
            structure: Structural::parse(&source),
            values: values::Values::compile(&source)?,
            rules: rules::Rules::compile(&source),
            levels,
            source,
        })
    }

    /// The compiled rules, each with what is wrong with it.
    pub(crate) fn rules(&self) -> &CompiledSchema {
        self.rules.compiled()
    }

    /// About how many turns the rules may take over an object whose lists have so many entries. Asked for only where
    /// there are rules that go through a list for each element of a list.
    pub(crate) fn turns_of(&self, entries: impl FnOnce() -> usize) -> usize {
        self.rules.depth().map_or(0, |depth| entries().saturating_pow(depth))
    }

    /// Drops fields that the schema does not know; gives their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.structure)
    }

    /// As [`prune`](Self::prune), for a value that is no object of the API.
    pub(crate) fn prune_part(&self, value: &mut Value) -> Vec<String> {
        self.structure.prune_part(value)
    }

    /// A schema that takes every object.
    pub(crate) fn open() -> Self {
        Self {
            source: Value::Bool(true),
            structure: Structural { preserve_unknown: true, ..Structural::default() },
            values: values::Values::none(),
            status: None,
            rules: rules::Rules::compile(&Value::Null),
            levels: 0,
        }
    }

    /// How deep a stack has to be to go through the schema.
    pub(crate) fn levels(&self) -> usize {
        self.levels
    }

    /// How long the paths of all schemas in a schema are together, in bytes. What is compiled of them holds the paths, so
    /// with deep schemas it would outgrow its source by far.
    pub(crate) fn sprawl(source: &Value) -> usize {
        let (mut sum, mut left) = (0_usize, vec![(source, 0)]);
        while let Some((schema, path)) = left.pop() {
            sum = sum.saturating_add(path);
            for (keyword, below) in schema.as_object().into_iter().flatten() {
                let path = path + keyword.len() + 1;
                match (keyword.as_str(), below) {
                    ("properties" | "definitions", Value::Object(all)) => {
                        left.extend(all.iter().map(|(name, below)| (below, path + name.len() + 1)));
                    }
                    ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                        left.extend(all.iter().map(|below| (below, path + 2)));
                    }
                    ("items" | "additionalProperties" | "not", below) => left.push((below, path)),
                    _ => {}
                }
            }
        }
        sum
    }

    /// Drops every `null` that only means "not set".
    pub(crate) fn drop_nulls(&self, object: &mut Value) {
        default::drop_nulls(object, &self.structure);
    }

    /// Fills in what is missing and has a default.
    pub(crate) fn default(&self, object: &mut Value) {
        default::apply(object, &self.structure);
    }

    /// Everything that is wrong with `object`, after what is known already; `old` is its present state on an update.
    ///
    /// A value that was wrong before and has not changed is let pass (ratcheting), so that a stricter schema does not
    /// stop a write that has nothing to do with it.
    pub(crate) fn check(&self, object: &Value, old: Option<&Value>, mut known: FieldErrors) -> FieldErrors {
        let mut errors = self.values.check(object, &self.source);
        numbers::check(object, &self.structure, &mut errors);
        embedded::check(object, &self.structure, &mut errors);
        errors.extend(unique::check(object, &self.structure));
        if let Some(old) = old {
            errors.retain(|error| !ratchet::is_unchanged(&error.field, object, old, &self.structure));
        }
        known.extend(errors);
        self.ask(object, old, known)
    }

    /// As [`check`](Self::check), for a write of the status: of the rest only the rules are asked.
    pub(crate) fn check_status(&self, object: &Value, old: Option<&Value>, mut known: FieldErrors) -> FieldErrors {
        let mut errors = Vec::new();
        if let (Some((values, source)), Some(status)) = (&self.status, object.get("status")) {
            errors = values.check(status, source);
            numbers::check(status, self.structure.field("status").unwrap_or(&self.structure), &mut errors);
            for error in errors.iter_mut().filter(|error| error.field != "<nil>") {
                error.field =
                    if error.field.is_empty() { "status".to_owned() } else { format!("status.{}", error.field) };
            }
        }
        errors.extend(unique::check(object, &self.structure));
        if let Some(old) = old {
            errors.retain(|error| !ratchet::is_unchanged(&error.field, object, old, &self.structure));
        }
        known.extend(errors);
        self.ask(object, old, known)
    }

    /// Asks the rules, unless the object is too broken for that.
    fn ask(&self, object: &Value, old: Option<&Value>, mut errors: FieldErrors) -> FieldErrors {
        if !errors.iter().any(FieldError::is_blocking) {
            errors.extend(fitting(self.levels, || self.rules.check(object, old, &self.structure)));
        } else if !self.rules.is_empty() {
            errors.push(FieldError::invalid(
                "<nil>",
                Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors to \
                 complete validation",
            ));
        }
        errors
    }

    /// Writes whole numbers as such, however they came in: the API knows only one way to write them.
    pub(crate) fn whole_numbers(object: &mut Value) {
        numbers::write_whole(object);
    }
}

pub(crate) use cost::longest;
pub(crate) use rules::levels as levels_of_rules;
pub(crate) use values::kind_of;

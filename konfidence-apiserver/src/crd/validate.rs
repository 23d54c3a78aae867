//! Which definitions are refused, and with which words.

use serde_json::Value;

use super::rules::check_rules;
use super::structure;
use crate::field::{FieldError, FieldErrors};
use crate::json::{list, text};
use crate::schema::{Schema, Structural, levels_of_rules};
use crate::table::is_valid_path;
use crate::verbs::validate::names;

/// How long the paths of all schemas of a version may be together, in bytes. A real server has no such bound; from about
/// a thousand levels on it takes seconds for each request, or runs into its deadline.
pub(super) const MOST_SPRAWL: usize = 16 << 20;

/// How many signs (brackets, operators, dots) a rule may have: each may open a level. A real server bounds the levels.
const MOST_SIGNS: usize = 2_000;

/// Everything that is wrong with a definition; `old` is its present state on an update.
pub(crate) fn check(crd: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = Vec::new();
    let text = |pointer: &str| text(crd, pointer);
    let (name, group, plural) = (text("/metadata/name"), text("/spec/group"), text("/spec/names/plural"));
    if old.is_none() && name != format!("{plural}.{group}") {
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else {
        errors.extend(names::subdomain(group).into_iter().map(|why| FieldError::invalid("spec.group", group, why)));
        if !group.contains('.') {
            errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
        }
        let protected = group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
        let approval = crd
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get("api-approved.kubernetes.io"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        if protected && !approval.starts_with("https://") && !approval.starts_with("unapproved") {
            errors.push(FieldError::required(
                "metadata.annotations[api-approved.kubernetes.io]",
                "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                 https://github.com/kubernetes/enhancements/pull/1111",
            ));
        }
    }
    match text("/spec/scope") {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => {
            errors.push(FieldError::not_supported(
                "spec.scope",
                other,
                &["Cluster".to_owned(), "Namespaced".to_owned()],
            ));
        }
    }
    if crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    check_names(crd, &mut errors);
    check_versions(crd, old.is_none(), &mut errors);
    if text("/spec/conversion/strategy") == "Webhook" {
        errors.push(FieldError::not_supported("spec.conversion.strategy", "Webhook", &["None".to_owned()]));
    }
    if let Some(old) = old {
        check_change(crd, old, &mut errors);
    }
    errors
}

fn check_names(crd: &Value, errors: &mut FieldErrors) {
    let text = |name: &str| text(crd, &format!("/spec/names/{name}"));
    for name in ["plural", "singular", "kind", "listKind"] {
        let field = format!("spec.names.{name}");
        let value = text(name);
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
            continue;
        }
        let lower = value.to_lowercase();
        let (checked, mixed) = match name {
            "plural" | "singular" => (value, ""),
            _ => (lower.as_str(), "may have mixed case, but should otherwise match: "),
        };
        let refused = names::dns1035_label(checked);
        errors.extend(refused.into_iter().map(|why| FieldError::invalid(&field, value, format!("{mixed}{why}"))));
    }
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            text("listKind"),
            "kind and listKind may not be the same",
        ));
    }
    for list in ["shortNames", "categories"] {
        let values = crd.pointer(&format!("/spec/names/{list}")).and_then(Value::as_array).into_iter().flatten();
        for (index, value) in values.enumerate() {
            let value = value.as_str().unwrap_or_default();
            let field = format!("spec.names.{list}[{index}]");
            errors.extend(names::dns1035_label(value).into_iter().map(|why| FieldError::invalid(&field, value, why)));
        }
    }
}

fn check_versions(crd: &Value, new: bool, errors: &mut FieldErrors) {
    let versions = list(crd, "/spec/versions");
    let storage = versions.iter().filter(|version| version.get("storage") == Some(&Value::Bool(true))).count();
    if storage != 1 {
        let shown = match crd.pointer("/spec/versions") {
            None | Some(Value::Null) => "null".to_owned(),
            Some(_) => format!("[{}]", versions.iter().map(internal_version).collect::<Vec<_>>().join(",")),
        };
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::shown("spec.versions", shown, why));
    }
    if storage == 0 && new {
        errors.push(FieldError::shown("status.storedVersions", "null", "must have at least one stored version"));
    }
    // Of several, only the first is noted as stored.
    let stored: Vec<&str> = versions
        .iter()
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
        .map(|version| text(version, "/name"))
        .collect();
    if let ([first, others @ ..], true) = (stored.as_slice(), new) {
        for other in others {
            let why = format!("must have the storage version {other}");
            errors.push(FieldError::shown("status.storedVersions", format!("[{first:?}]"), why));
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else {
            let field = format!("{at}.name");
            for why in names::dns1035_label(name) {
                // The first version is told under its old name as well.
                if index == 0 {
                    errors.push(FieldError::invalid("spec.version", name, why.clone()));
                }
                errors.push(FieldError::invalid(&field, name, why));
            }
        }
        if seen.contains(&name) {
            errors.push(FieldError::invalid("spec.versions", name, "must contain unique version names"));
        }
        seen.push(name);
        check_schema(version, &place(versions, index, "schema"), errors);
        check_columns(version, &place(versions, index, "additionalPrinterColumns"), errors);
        check_selectable(version, &place(versions, index, "selectableFields"), errors);
        check_scale(version, &place(versions, index, "subresources"), errors);
    }
    // What the versions share is looked at once.
    let mut told: Vec<String> = Vec::new();
    errors.retain(|error| {
        let sentence = error.to_string();
        let first = !told.contains(&sentence);
        told.push(sentence);
        first
    });
}

/// Where a refusal of a part of a version says that it is: what all versions share is named without one.
fn place(versions: &[Value], index: usize, part: &str) -> String {
    let of = |version: &Value| version.get(part).cloned().unwrap_or_default();
    let shared = versions.iter().all(|version| of(version) == versions.first().map(of).unwrap_or_default());
    match (part, shared) {
        ("schema", true) => "spec.validation.openAPIV3Schema".to_owned(),
        ("schema", false) => format!("spec.versions[{index}].schema.openAPIV3Schema"),
        (part, true) => format!("spec.{part}"),
        (part, false) => format!("spec.versions[{index}].{part}"),
    }
}

/// A version as the real server shows it, which keeps what the versions share elsewhere.
fn internal_version(version: &Value) -> String {
    let flag = |name: &str| version.get(name) == Some(&Value::Bool(true));
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\
         \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
        Value::from(text(version, "/name")),
        flag("served"),
        flag("storage"),
        flag("deprecated"),
        version.get("deprecationWarning").cloned().unwrap_or_default(),
    )
}

fn check_schema(version: &Value, at: &str, errors: &mut FieldErrors) {
    let schema = match version.pointer("/schema/openAPIV3Schema") {
        None | Some(Value::Null) => {
            let name = at.replace("spec.validation", "spec.versions[0].schema");
            errors.push(FieldError::required(name, ""));
            return;
        }
        Some(schema) => schema,
    };
    let before = errors.len();
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        errors.push(match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
            "" => FieldError::required(format!("{at}.type"), "must not be empty at the root"),
            other => FieldError::invalid(format!("{at}.type"), other, "must be object at the root"),
        });
        return;
    }
    if Schema::sprawl(schema) > MOST_SPRAWL {
        let why = format!(
            "its schemas are nested too deep: the paths of all of them together are longer than {MOST_SPRAWL} bytes"
        );
        errors.push(FieldError::forbidden(at, why));
        return;
    }
    if levels_of_rules(schema) > MOST_SIGNS {
        errors.push(FieldError::forbidden(at, format!("a rule of it has more than {MOST_SIGNS} signs: split it")));
        return;
    }
    structure::check(schema, at, errors);
    match Schema::shared(schema) {
        // Rules are looked at when the schema makes sense.
        Ok(compiled) if errors.len() == before => {
            check_defaults(schema, &compiled.structure, at, errors);
            if errors.len() == before {
                check_rules(schema, compiled.rules(), at, None, errors);
            }
        }
        Err(why) if errors.len() == before => errors.push(FieldError::invalid(at, Value::from("object"), why)),
        // It was told already in which place.
        Ok(_) | Err(_) => {}
    }
}

fn check_columns(version: &Value, at: &str, errors: &mut FieldErrors) {
    for (index, column) in list(version, "/additionalPrinterColumns").iter().enumerate() {
        let field = format!("{at}[{index}]");
        let text = |name: &str| text(column, &format!("/{name}"));
        if text("name").is_empty() {
            errors.push(FieldError::required(format!("{field}.name"), ""));
        }
        let kinds = "must be one of boolean,date,integer,number,string";
        if text("type").is_empty() {
            errors.push(FieldError::required(format!("{field}.type"), kinds));
        } else if !matches!(text("type"), "boolean" | "date" | "integer" | "number" | "string") {
            errors.push(FieldError::invalid(format!("{field}.type"), text("type"), kinds));
        }
        if text("jsonPath").is_empty() {
            errors.push(FieldError::required(format!("{field}.JSONPath"), ""));
        } else if !is_valid_path(text("jsonPath")) {
            let why = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(format!("{field}.JSONPath"), text("jsonPath"), why));
        }
    }
}

fn check_selectable(version: &Value, at: &str, errors: &mut FieldErrors) {
    let selectable = list(version, "/selectableFields");
    if selectable.len() > 8 {
        errors.push(FieldError::too_many(at, selectable.len(), 8));
    }
    let schema = version.pointer("/schema/openAPIV3Schema").map(Structural::parse).unwrap_or_default();
    for (index, field) in selectable.iter().enumerate() {
        let path = text(field, "/jsonPath");
        let found = path
            .split('.')
            .filter(|name| !name.is_empty())
            .try_fold(&schema, |schema, name| schema.properties.get(name));
        let why = match found {
            _ if !path.starts_with('.') => {
                let first = path.split('.').next().unwrap_or_default();
                format!("is an invalid path: expected [ or . but got: {first}")
            }
            None => "is an invalid path: does not refer to a valid field".to_owned(),
            Some(found) if matches!(found.kind.as_deref(), Some("string" | "boolean" | "integer")) => continue,
            Some(_) => "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                        formats are allowed."
                .to_owned(),
        };
        errors.push(FieldError::invalid(format!("{at}[{index}].jsonPath"), path, why));
    }
}

fn check_scale(version: &Value, at: &str, errors: &mut FieldErrors) {
    let Some(scale) = version.pointer("/subresources/scale") else { return };
    for (name, root, required) in
        [("specReplicasPath", ".spec", true), ("statusReplicasPath", ".status", true), ("labelSelectorPath", "", false)]
    {
        let field = format!("{at}.scale.{name}");
        let path = text(scale, &format!("/{name}"));
        if path.is_empty() {
            if required {
                errors.push(FieldError::required(field, ""));
            }
        } else if !is_valid_path(path) {
            errors.push(FieldError::invalid(field, path, "must be a simple json path starting with ."));
        } else if !root.is_empty() && !path.starts_with(&format!("{root}.")) {
            errors.push(FieldError::invalid(field, path, format!("should be a json path under {root}")));
        } else if root.is_empty() && !path.starts_with(".spec.") && !path.starts_with(".status.") {
            errors.push(FieldError::invalid(field, path, "should be a json path under either .status or .spec"));
        }
    }
}

/// A default has to be what its own schema allows.
fn check_defaults(schema: &Value, structure: &Structural, at: &str, errors: &mut FieldErrors) {
    if let Some(default) = &structure.default
        && let Ok(compiled) = Schema::compile(schema.clone())
    {
        let mut value = default.clone();
        let unknown = compiled.prune_part(&mut value);
        for path in unknown {
            errors.push(FieldError::invalid(
                format!("{at}.default"),
                default.clone(),
                format!("must not have unknown field {path}"),
            ));
        }
        compiled.default(&mut value);
        for error in compiled.check(&value, None, Vec::new()) {
            let field = if error.field == "<nil>" || error.field.is_empty() {
                String::new()
            } else {
                format!(".{}", error.field)
            };
            errors.push(FieldError { field: format!("{at}.default{field}"), ..error });
        }
    }
    for (name, below) in &structure.properties {
        if let Some(property) = schema.pointer("/properties").and_then(|all| all.get(name)) {
            check_defaults(property, below, &format!("{at}.properties[{name}]"), errors);
        }
    }
    if let (Some(items), Some(below)) = (schema.get("items"), &structure.items) {
        check_defaults(items, below, &format!("{at}.items"), errors);
    }
    if let (Some(more), Some(below)) = (schema.get("additionalProperties"), &structure.additional) {
        check_defaults(more, below, &format!("{at}.additionalProperties"), errors);
    }
}

/// What a definition may not change while it is served.
fn check_change(crd: &Value, old: &Value, errors: &mut FieldErrors) {
    for (pointer, field) in [
        ("/spec/group", "spec.group"),
        ("/spec/scope", "spec.scope"),
        ("/spec/names/kind", "spec.names.kind"),
        ("/spec/names/plural", "spec.names.plural"),
    ] {
        if crd.pointer(pointer) != old.pointer(pointer) {
            errors.push(FieldError::invalid(
                field,
                crd.pointer(pointer).cloned().unwrap_or_default(),
                "field is immutable",
            ));
        }
    }
    let stored = crd.pointer("/status/storedVersions").and_then(Value::as_array).into_iter().flatten();
    for (index, version) in stored.enumerate() {
        if !super::versions(crd).any(|one| one.get("name") == Some(version)) {
            let field = format!("status.storedVersions[{index}]");
            let version = version.as_str().unwrap_or_default();
            let why = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
                 {version} from status.storedVersions"
            );
            errors.push(FieldError::invalid(field, version, why));
        }
    }
}

//! Patches: JSON patch, merge patch, strategic merge, and apply.

use konfidence_sdk::store::engine::{self, Document};
use serde_json::{Value, json};

use super::prepare::{self, Origin};
use super::{create, scale, update};
use crate::apply;
use crate::crd::within;
use crate::field::FieldError;
use crate::http::body::Twice;
use crate::http::params::FieldValidation;
use crate::http::respond::Reply;
use crate::http::{Call, body, syntax};
use crate::json::text;
use crate::patch::{self, strategic};
use crate::resource::Resource;
use crate::schema::Schema;
use crate::server::Api;
use crate::stack::DEEPEST;
use crate::status::{ApiError, ApiResult};

const CUSTOM: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
pub(super) fn run(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let custom = call.target.resource.custom;
    let media_type = body::media_type(&call.headers);
    if media_type != "application/apply-patch+yaml" && call.params.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &vec![error]));
    }
    if media_type == "application/apply-patch+yaml" && !call.target.resource.verbs.contains(&"create") {
        // It could make one.
        return Err(ApiError::method_not_allowed(None, ""));
    }
    let plain_type = match media_type.as_str() {
        "application/json-patch+json" | "application/merge-patch+json" => true,
        "application/strategic-merge-patch+json" => !custom,
        _ => false,
    };
    if plain_type || call.target.subresource.is_some() {
        // What is patched is looked for before the patch is looked at.
        super::read(&call.target, name)?;
    }
    match media_type.as_str() {
        "application/json-patch+json" => {
            let strict = call.params.field_validation != FieldValidation::Ignore;
            let patch = patch::json::parse(&call.body, strict)?;
            let touched = patch.as_ref().is_some_and(patch::json::touches_metadata);
            let show = |object: &Value| shown(custom, object, touched);
            let shown = Shown { twice: &Twice::default(), show: &show, strategic: false };
            plain(api, call, name, &shown, |object| patch::json::apply(patch.as_ref(), object))
        }
        "application/merge-patch+json" => {
            let patch =
                body::json(&call.body).map_err(|why| ApiError::bad_request(format!("error decoding patch: {why}")))?;
            match &patch.value {
                Value::Object(_) => {}
                Value::Null => return Err(ApiError::bad_request("Invalid JSON Patch")),
                other => {
                    return Err(ApiError::bad_request(format!(
                        "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                        prepare::go(other)
                    )));
                }
            }
            let touched = patch.value.get("metadata").is_some();
            let show = |object: &Value| shown(custom, object, touched);
            let shown = Shown { twice: &patch.twice, show: &show, strategic: false };
            plain(api, call, name, &shown, |object| {
                json_patch::merge(object, &patch.value);
                Ok(())
            })
        }
        "application/strategic-merge-patch+json" if !custom => {
            let mut patch = body::json(&call.body).map_err(ApiError::bad_request)?;
            if patch.value.is_null() {
                patch.value = json!({});
            }
            if !patch.value.is_object() {
                return Err(ApiError::bad_request(format!(
                    "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    prepare::go(&patch.value)
                )));
            }
            let show = |_: &Value| strategic::in_go(&patch.value);
            let shown = Shown { twice: &patch.twice, show: &show, strategic: true };
            plain(api, call, name, &shown, |object| strategic::apply(&patch.value, object))
        }
        "application/apply-patch+yaml" => run_apply(api, call, name),
        _ if custom => Err(ApiError::unsupported_media_type(CUSTOM)),
        _ => Err(ApiError::unknown_patch_type()),
    }
}

/// A patched object as a refusal shows it: the real server patches text, and what a patch does not touch stays as it was
/// written, which for the built-in kinds is the order of their types.
fn shown(custom: bool, object: &Value, touched: bool) -> String {
    if custom { object.to_string() } else { crate::json::in_go_order(object, &["metadata"], touched) }
}

/// What a refusal of a patch needs to know of it.
struct Shown<'a> {
    /// What it names twice.
    twice: &'a Twice,
    /// How a refusal shows it.
    show: &'a dyn Fn(&Value) -> String,
    /// Whether it was applied to the object as a map, and not as JSON.
    strategic: bool,
}

/// A patch that says what to change; whoever sends it owns what changes.
fn plain(
    api: &Api,
    call: &Call,
    name: &str,
    shown: &Shown<'_>,
    patch: impl Fn(&mut Value) -> ApiResult<()>,
) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let Shown { twice, show, strategic } = *shown;
    let next = |_: &Document, old: &Value| -> ApiResult<Value> {
        if call.target.subresource.as_deref() == Some("scale") {
            let mut wanted = scale::of(resource, old)?;
            patch(&mut wanted)?;
            return scale::onto(resource, old, &wanted);
        }
        let mut wanted = old.clone();
        patch(&mut wanted)?;
        let refused =
            |why: String| ApiError::invalid("", "", "", &vec![FieldError::invalid("patch", show(&wanted), why)]);
        if engine::nesting(&wanted) > DEEPEST {
            let why = syntax::error(wanted.to_string().as_bytes()).unwrap_or_default();
            return Err(refused(format!("couldn't get version/kind; json parse error: {why}")));
        }
        if strategic {
            if let Some(why) = super::validate::unrestorable(resource, &wanted) {
                return Err(refused(why));
            }
            // The object is made from the map as what it is, whatever the map calls it.
            wanted["apiVersion"] = resource.api_version().into();
            wanted["kind"] = resource.kind.clone().into();
            Schema::whole_numbers(&mut wanted);
        } else if resource.custom {
            for (field, name) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
                if text(&wanted, &format!("/{field}")).is_empty() {
                    return Err(refused(format!("Object '{name}' is missing in '{wanted}'")));
                }
            }
        } else if let Some(why) = prepare::other_kind(resource, text(&wanted, "/apiVersion"), text(&wanted, "/kind")) {
            return Err(refused(why));
        }
        prepare::check_named(&wanted, name)?;
        prepare::fit_to_path(call, &mut wanted, Some(name))?;
        prepare::decode(call, &mut wanted, twice, Origin::Patch(show))?;
        Ok(wanted)
    };
    update::replace(api, call, name, next)
}

/// A patch that says what should be there.
fn run_apply(api: &Api, call: &Call, name: &str) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    if call.params.field_manager.is_empty() {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &vec![error]));
    }
    let decoded = body::yaml(&call.body)
        .map_err(|why| ApiError::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}")))?;
    if !decoded.twice.keys.is_empty() {
        match call.params.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => decoded.twice.keys.iter().cloned().for_each(|warning| call.warn(warning)),
            FieldValidation::Strict => {
                return Err(ApiError::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: {}",
                    prepare::unmarshal_errors(&decoded.twice.keys)
                )));
            }
        }
    }
    let mut config = decoded.value;
    // As the configuration says it: errors name the object by that.
    let namespace = text(&config, "/metadata/namespace").to_owned();
    let (version, kind) = (text(&config, "/apiVersion"), text(&config, "/kind"));
    if version != resource.api_version() || kind != resource.kind {
        let version = if version.is_empty() { "/" } else { version };
        return Err(ApiError::bad_request(format!("invalid object type: {version}, Kind={kind}")));
    }
    prepare::fit_to_path(call, &mut config, Some(name))?;
    if config.pointer("/metadata/managedFields").is_some_and(|managed| !managed.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let applied = &config;
    let schemas = within::schema_of_schemas(resource).into_iter().flat_map(|schema| {
        let strict = within::all(applied).into_iter().filter(|inner| !inner.is_outermost && !inner.is_lenient);
        strict.filter_map(move |inner| {
            let value = applied.pointer(&inner.pointer)?;
            Some((inner.path, value, schema))
        })
    });
    if let Some(why) = apply::misfit(&config, &resource.ownership, schemas) {
        return Err(ApiError::untyped(format!(
            "failed to create typed patch object ({namespace}/{name}; {}/{}, Kind={}): {why}",
            resource.group, resource.version, resource.kind
        )));
    }
    prepare::prune_schemas(resource, &mut config);
    let inconvertible = super::validate::undecodable(resource, &config).filter(|_| !resource.custom).map(|why| {
        let kind = format!("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
        ApiError::untyped(format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable to convert \
             unstructured object to {kind}: error decoding from json: {why}"
        ))
    });
    let convertible = || inconvertible.clone().map_or(Ok(()), Err);
    let manager = create::manager(call, true);
    let force = call.params.force.unwrap_or_default();
    cut(call, &mut config);

    if super::collection(resource)?.get(call.target.namespace(), name).is_none() {
        if call.target.subresource.is_some() {
            return Err(ApiError::not_found(resource, name));
        }
        convertible()?;
        return create_by_apply(api, call, name, &config, &manager);
    }
    let reply = update::change(api, call, name, |_, old| {
        let mut wanted = apply::apply(old, &config, &resource.ownership, &manager, force, api.clock.now())?;
        // Whose the fields are is asked before what is in them.
        convertible()?;
        complete(resource, &mut wanted);
        prepare::drop_empty_metadata(&mut wanted);
        prepare::keep(call, &mut wanted, old);
        super::hooks::before_update(resource, call.target.subresource.as_deref(), &mut wanted, old);
        super::hooks::fill(resource, &mut wanted);
        Ok(wanted)
    });
    match reply {
        // It was deleted since it was looked at: then it is to be made.
        Err(error) if error.code == 404 && call.target.subresource.is_none() => {
            create_by_apply(api, call, name, &config, &manager)
        }
        reply => reply,
    }
}

fn create_by_apply(api: &Api, call: &Call, name: &str, config: &Value, manager: &apply::Manager) -> ApiResult<Reply> {
    let resource = &call.target.resource;
    let text = |field: &str| config.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
    if !text("uid").is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {}, and no existing object was found",
            text("uid")
        );
        return Err(ApiError::conflict(resource, name, &why));
    }
    let mut object = apply::apply(&resource.nothing(), config, &resource.ownership, manager, true, api.clock.now())?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // There is nothing yet that could have another version.
        metadata.remove("resourceVersion");
    }
    complete(resource, &mut object);
    prepare::drop_empty_metadata(&mut object);
    create::finish(api, call, object, None)
}

/// What was applied may leave places that have defaults. A `null` that has none is nothing to a built-in kind; to a custom
/// resource it is a value.
fn complete(resource: &Resource, object: &mut Value) {
    if !resource.custom {
        resource.schema.drop_nulls(object);
    }
    resource.schema.default(object);
}

/// What this endpoint does not write is not applied: the status by the main one, everything else by `/status`.
fn cut(call: &Call, config: &mut Value) {
    let resource = &call.target.resource;
    let Value::Object(fields) = config else { return };
    if call.target.subresource.as_deref() == Some("status") {
        fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "uid" | "resourceVersion"));
        }
    } else if resource.status {
        fields.remove("status");
    }
}

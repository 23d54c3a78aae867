//! The API server's part: prune nulls, apply defaults, validate the schema, evaluate the CEL rules.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator as SchemaValidator;
use konfidence_types::crds;
use kube::core::cel::{CompiledSchema, Validator as CelValidator, apply_defaults, compile_schema};
use serde_json::{Map, Value, json};

struct Kind {
    openapi: Value,
    schema: SchemaValidator,
    rules: CompiledSchema,
}

static KINDS: LazyLock<BTreeMap<String, Kind>> = LazyLock::new(|| {
    crds::all()
        .into_iter()
        .map(|crd| {
            let version = &crd.spec.versions[0];
            let openapi = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
            let openapi = serde_json::to_value(openapi).unwrap();
            let schema = jsonschema::options().should_validate_formats(true).build(&as_json_schema(&openapi)).unwrap();
            let rules = compile_schema(&openapi);
            assert!(!rules.has_errors(), "{:?}", rules.compilation_errors());
            (crd.spec.names.kind, Kind { openapi, schema, rules })
        })
        .collect()
});

/// The schema of a kind as it is installed.
pub(crate) fn openapi(kind: &str) -> &'static Value {
    &KINDS[kind].openapi
}

/// Why the object is refused when it is created; empty: it is accepted.
pub(crate) fn create(object: &Value) -> Vec<String> {
    refusals(object, None)
}

/// Why the object is refused in the place of `old`; empty: it is accepted.
pub(crate) fn update(old: &Value, object: &Value) -> Vec<String> {
    refusals(object, Some(old))
}

fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    let kind = &KINDS[object["kind"].as_str().unwrap()];
    let (object, old) = (kind.stored(object), old.map(|old| kind.stored(old)));
    let mut refusals: Vec<_> = kind
        .schema
        .iter_errors(&object)
        .map(|error| format!("{}: {error}", dotted(error.instance_path().as_str())))
        .collect();
    // As the API server does: rules are not evaluated on what is not even of the right shape.
    if refusals.is_empty()
        && let Err(errors) = CelValidator::new().validate_compiled(&kind.rules, &object, old.as_ref())
    {
        refusals.extend(errors.into_vec().iter().map(ToString::to_string));
    }
    refusals
}

impl Kind {
    fn stored(&self, object: &Value) -> Value {
        apply_defaults(&self.openapi, &without_nulls(object))
    }
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// `OpenAPI` schemas of structural form are JSON schemas but for `nullable`.
fn as_json_schema(openapi: &Value) -> Value {
    match openapi {
        Value::Object(map) => {
            let nullable = map.get("nullable").is_some_and(|nullable| nullable == true);
            map.iter()
                .map(|(key, value)| match value {
                    Value::String(kind) if nullable && key == "type" => (key.clone(), json!([kind, "null"])),
                    value => (key.clone(), as_json_schema(value)),
                })
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(values) => values.iter().map(as_json_schema).collect(),
        other => other.clone(),
    }
}

/// A bad object must be refused when it is created and in the place of a good one, each time by a message with `words`.
#[track_caller]
pub(crate) fn assert_refused(good: &Value, bad: &Value, words: &str) {
    assert_eq!(create(good), [""; 0], "the good object is refused");
    for refusals in [create(bad), update(good, bad)] {
        assert!(refusals.iter().any(|refusal| refusal.contains(words)), "{words:?} is not in {refusals:#?}");
    }
}

/// A change must be refused though both objects are good by themselves.
#[track_caller]
pub(crate) fn assert_immutable(old: &Value, new: &Value, words: &str) {
    assert_eq!(create(old), [""; 0], "the old object is refused");
    assert_eq!(create(new), [""; 0], "the new object is refused");
    let refusals = update(old, new);
    assert!(refusals.iter().any(|refusal| refusal.contains(words)), "{words:?} is not in {refusals:#?}");
}

/// An object must be accepted, alone and in the place of `old`.
#[track_caller]
pub(crate) fn assert_accepted(old: &Value, new: &Value) {
    assert_eq!(create(new), [""; 0]);
    assert_eq!(update(old, new), [""; 0]);
}

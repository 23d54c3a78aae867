//! An API server refuses a definition whose rules could cost too much. Its own estimate was run on these definitions;
//! here a coarser one guards against a list or string without a bound.

use konfidence_types::crds;
use kube::core::cel::{compile_schema, estimate_rule_cost};
use serde_json::Value;

use crate::admission::openapi;

#[test]
fn no_rule_is_too_expensive() {
    let mut rules = 0;
    for crd in crds::all() {
        rules += analyse(&crd.spec.names.kind, openapi(&crd.spec.names.kind));
    }
    assert!(rules >= 20, "only {rules} rules were found");
}

/// How many rules there are in the schema and below.
fn analyse(path: &str, schema: &Value) -> usize {
    let compiled = compile_schema(schema);
    let mut rules = 0;
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let rule = rule["rule"].as_str().unwrap();
        let warnings = estimate_rule_cost(rule, &compiled);
        assert!(warnings.is_empty(), "{path}: {warnings:#?}");
        rules += 1;
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        rules += analyse(&format!("{path}.{name}"), property);
    }
    if schema["items"].is_object() {
        rules += analyse(&format!("{path}[]"), &schema["items"]);
    }
    rules
}

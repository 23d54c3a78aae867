//! The definitions as they are installed.

// clippy's exception for tests does not reach the functions that tests share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_types::{GROUP, VERSION, crds};
use serde_json::Value;

fn crd(kind: &str) -> CustomResourceDefinition {
    crds::all().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap()
}

#[test]
fn the_definitions_are_as_reviewed() {
    for crd in crds::all() {
        let yaml = serde_saphyr::to_string(&crd).unwrap();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(crd.metadata.name.clone().unwrap(), yaml);
        });
    }
}

#[test]
fn all_kinds_are_namespaced_and_of_one_group_version_and_category() {
    let mut names = BTreeSet::new();
    for crd in crds::all() {
        let [version] = crd.spec.versions.as_slice() else { panic!("{} has several versions", crd.spec.names.kind) };
        assert_eq!((crd.spec.group.as_str(), version.name.as_str()), (GROUP, VERSION));
        assert_eq!(crd.spec.scope, "Namespaced");
        assert_eq!(crd.spec.names.categories.unwrap(), ["konfidence", "kden"]);
        assert!(version.subresources.as_ref().unwrap().status.is_some());
        for name in crd.spec.names.short_names.unwrap() {
            assert!(names.insert(name.clone()), "two kinds have the short name {name}");
        }
    }
    assert_eq!(names.len(), 5);
}

#[test]
fn columns_are_those_of_the_specification() {
    for (kind, columns) in [
        ("VectorPromotionConfig", "Source Target Ready Last Vector Age"),
        ("VectorPromotion", "Config Source Target State Sequence Reason Vector Age"),
        ("VectorTemplate", "Ready Reason Upload-Target Latest-Vector Age"),
        ("Landscape", "Display Name Project Namespace Ready Age"),
        ("Stage", "Vector Active Ready Serving Reason Age"),
    ] {
        let shown = crd(kind).spec.versions[0].additional_printer_columns.clone().unwrap();
        assert_eq!(shown.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(" "), columns);
        let wide: Vec<_> =
            shown.iter().filter(|column| column.priority == Some(1)).map(|column| &column.name).collect();
        let expected: &[&str] = if kind.starts_with("VectorPromotion") { &["Vector"] } else { &[] };
        assert_eq!(wide, expected, "wide columns of {kind}");
    }
}

#[test]
fn promotions_are_selected_by_config_and_state() {
    let fields = crd("VectorPromotion").spec.versions[0].selectable_fields.clone().unwrap();
    let fields: Vec<_> = fields.iter().map(|field| field.json_path.as_str()).collect();
    assert_eq!(fields, [".spec.vectorPromotionConfigName", ".status.state"]);
}

#[test]
fn every_rule_says_what_it_wants() {
    for crd in crds::all() {
        for_each(&schema(&crd), &mut |path, node| {
            for rule in node["x-kubernetes-validations"].as_array().into_iter().flatten() {
                assert!(rule["message"].is_string(), "{} {path}: {} has no message", crd.spec.names.kind, rule["rule"]);
            }
        });
    }
}

#[test]
fn fields_are_described_and_absent_rather_than_null() {
    for crd in crds::all() {
        for_each(&schema(&crd), &mut |path, node| {
            let field = format!("{} {path}", crd.spec.names.kind);
            // `status` itself is the derive's, and `null` there means the same as none.
            assert!(node["nullable"].is_null() || path == "status", "{field} may be null");
            let described = node["description"].is_string() || path.is_empty() || path.ends_with("[]");
            assert!(described, "{field} has no description");
        });
    }
}

#[test]
fn no_status_field_is_required_and_states_and_reasons_are_open() {
    for crd in crds::all() {
        let status = &schema(&crd)["properties"]["status"];
        assert!(status["required"].is_null(), "{}: {}", crd.spec.names.kind, status["required"]);
        for_each(status, &mut |path, node| {
            let word = ["state", "reason", "change"].iter().any(|word| path.ends_with(word));
            assert!(!word || node["enum"].is_null(), "{} status.{path} is a closed list", crd.spec.names.kind);
        });
    }
}

#[test]
fn conditions_are_list_maps_by_type() {
    for crd in crds::all() {
        let mut lists = 0;
        for_each(&schema(&crd)["properties"]["status"], &mut |path, node| {
            if path.to_lowercase().ends_with("conditions") {
                lists += 1;
                assert_eq!(node["x-kubernetes-list-type"], "map", "{path}");
                assert_eq!(node["x-kubernetes-list-map-keys"], serde_json::json!(["type"]), "{path}");
            }
        });
        assert!(lists > 0, "{} has no conditions", crd.spec.names.kind);
    }
}

fn schema(crd: &CustomResourceDefinition) -> Value {
    serde_json::to_value(crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap()).unwrap()
}

/// Visits a schema and all that are in it, each with its path.
fn for_each(schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    fn walk(path: &str, node: &Value, visit: &mut dyn FnMut(&str, &Value)) {
        visit(path, node);
        for (name, property) in node["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            walk(&path, property, visit);
        }
        if node["items"].is_object() {
            walk(&format!("{path}[]"), &node["items"], visit);
        }
    }
    walk("", schema, visit);
}

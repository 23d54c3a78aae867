//! Several versions of a kind, and a schema that changes under its objects.
#![allow(clippy::expect_used)]

mod support;

use serde_json::{Value, json};
use support::{get, json_request, server};

fn cakes(properties: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "cakes.bakery.example"},
        "spec": {
            "group": "bakery.example",
            "scope": "Namespaced",
            "names": {"plural": "cakes", "singular": "cake", "kind": "Cake"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object", "properties": properties}}}}},
                {"name": "v1alpha1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
            ],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_under_another_schema_is_shown_under_the_present_one() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let server = server();
    let before = cakes(&json!({"size": {"type": "integer"}, "old": {"type": "string"}}));
    assert_eq!(json_request(&server, "POST", DEFINITIONS, &before).await.code, 201);
    let path = |version: &str, name: &str| format!("/apis/bakery.example/{version}/namespaces/default/cakes{name}");
    let cake = |version: &str, name: &str| {
        json!({"apiVersion": format!("bakery.example/{version}"), "kind": "Cake", "metadata": {"name": name},
            "spec": {"size": 3, "old": "x", "any": "y"}})
    };
    json_request(&server, "POST", &path("v1", ""), &cake("v1", "one")).await;
    // Another version stores what the storage version knows.
    json_request(&server, "POST", &path("v1alpha1", ""), &cake("v1alpha1", "two")).await;
    let spec = get(&server, &path("v1alpha1", "/two")).await.body["spec"].clone();
    assert_eq!(spec, json!({"size": 3, "old": "x"}));

    let mut after = cakes(&json!({"size": {"type": "integer"}, "glaze": {"type": "string", "default": "sugar"}}));
    let present = get(&server, &format!("{DEFINITIONS}/cakes.bakery.example")).await.body;
    after["metadata"] = present["metadata"].clone();
    assert_eq!(json_request(&server, "PUT", &format!("{DEFINITIONS}/cakes.bakery.example"), &after).await.code, 200);
    for version in ["v1", "v1alpha1"] {
        let spec = get(&server, &path(version, "/one")).await.body["spec"].clone();
        assert_eq!(spec, json!({"size": 3, "glaze": "sugar"}), "{version}");
    }
}

//! The forms in which the server tells what it has: discovery, `OpenAPI`, tables, and the order of fields.
#![allow(clippy::expect_used)]

mod support;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use support::{STAGES, get, json_request, send, server, stage};
use tower::ServiceExt;

/// The body of an answer as it is sent.
async fn text(path: &str) -> String {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let config = json!({"metadata": {"name": "menu", "labels": {"a": "b"}}, "data": {"k": "v"}, "immutable": true});
    json_request(&server, "POST", "/api/v1/namespaces/default/configmaps", &config).await;
    let request = Request::get(path).body(Body::empty()).expect("a request");
    let response = server.service().oneshot(request).await.expect("the service never fails");
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part);
        assert!(at.is_some(), "{part} is missing or too early in {text}");
        rest = &rest[at.expect("found") + part.len()..];
    }
}

#[tokio::test(start_paused = true)]
async fn built_in_types_are_written_in_the_order_of_their_fields_and_custom_ones_by_name() {
    let config = text("/api/v1/namespaces/default/configmaps/menu").await;
    assert!(config.starts_with(r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"menu","namespace":"#));
    in_order(&config, &[r#""uid":"#, r#""resourceVersion":"#, r#""creationTimestamp":"#, r#""labels":"#]);
    in_order(&config, &[r#""manager":"#, r#""operation":"#, r#""time":"#, r#""immutable":true"#, r#""data":"#]);
    let list = text("/api/v1/namespaces/default/configmaps").await;
    in_order(&list, &[r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"#, r#""items":[{"metadata":{"name""#]);
    let stage = text(&format!("{STAGES}/dev")).await;
    in_order(&stage, &[r#"{"apiVersion":"#, r#""kind":"Stage""#, r#""metadata":{"creationTimestamp""#, r#""spec":"#]);
    let refusal = text(&format!("{STAGES}/none")).await;
    assert_eq!(
        refusal.trim_end(),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"stages.konfidence.cloud \"none\" not found","reason":"NotFound","details":{"name":"none","group":"konfidence.cloud","kind":"stages"},"code":404}"#
    );
    let watch = text(&format!("{STAGES}?watch=true&timeoutSeconds=1")).await;
    assert!(watch.starts_with(r#"{"type":"ADDED","object":{"apiVersion":"#), "{watch}");
}

#[tokio::test(start_paused = true)]
async fn both_ways_of_discovery_name_the_same_resources_verbs_and_subresources() {
    let server = server();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for root in ["/api", "/apis"] {
        let all = send(&server, "GET", root, &[("accept", accept)], Body::empty()).await.body;
        for group in all["items"].as_array().expect("groups") {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in group["versions"].as_array().expect("versions") {
                let version_name = version["version"].as_str().expect("a name");
                let path = if name.is_empty() {
                    format!("/api/{version_name}")
                } else {
                    format!("/apis/{name}/{version_name}")
                };
                let mut flat: Vec<(String, Value)> = Vec::new();
                for resource in version["resources"].as_array().expect("resources") {
                    let plural = resource["resource"].as_str().expect("a plural");
                    flat.push((plural.to_owned(), resource["verbs"].clone()));
                    for part in resource["subresources"].as_array().into_iter().flatten() {
                        let part_name = part["subresource"].as_str().expect("a name");
                        flat.push((format!("{plural}/{part_name}"), part["verbs"].clone()));
                    }
                }
                let plain = get(&server, &path).await.body;
                let told: Vec<(String, Value)> = plain["resources"]
                    .as_array()
                    .expect("resources")
                    .iter()
                    .map(|one| (one["name"].as_str().expect("a name").to_owned(), one["verbs"].clone()))
                    .collect();
                assert_eq!(told, flat, "{path}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn openapi_names_the_types_that_explain_prints_and_refers_to_nothing_that_is_missing() {
    let server = server();
    let index = get(&server, "/openapi/v3").await.body;
    for (path, entry) in index["paths"].as_object().expect("paths") {
        let url = entry["serverRelativeURL"].as_str().expect("a path");
        let document = get(&server, url).await.body;
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let mut references = Vec::new();
        collect(&document, &mut references);
        for reference in references {
            let name = reference.strip_prefix("#/components/schemas/").expect("a local reference");
            assert!(schemas.contains_key(name), "{path} refers to {name}");
        }
    }
    let core = get(&server, "/openapi/v3/api/v1").await.body;
    let schemas = &core["components"]["schemas"];
    let meta = &schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"];
    assert_eq!(
        meta["ownerReferences"]["items"]["$ref"],
        "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"
    );
    assert_eq!(
        schemas["io.k8s.api.core.v1.NamespaceStatus"]["properties"]["phase"]["enum"],
        json!(["Active", "Terminating"])
    );
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                references.push(reference.clone());
            }
            fields.values().for_each(|below| collect(below, references));
        }
        Value::Array(items) => items.iter().for_each(|below| collect(below, references)),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_described_namespace_finds_no_quotas_and_no_limits_and_nobody_can_make_any() {
    let server = server();
    for (plural, kind) in [("resourcequotas", "ResourceQuota"), ("limitranges", "LimitRange")] {
        let path = format!("/api/v1/namespaces/default/{plural}");
        assert_eq!(get(&server, &path).await.body["items"], json!([]));
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}});
        assert_eq!(json_request(&server, "POST", &path, &object).await.code, 405);
    }
}

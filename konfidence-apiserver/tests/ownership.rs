//! Who owns which field after each kind of write, over the wire.
#![allow(clippy::expect_used)]

mod support;

use konfidence_apiserver::ApiServer;
use serde_json::{Value, json};
use support::{Answer, get, json_request, send};

const LOAVES: &str = "/apis/bakery.example/v1/namespaces/default/loaves";
const LOAF: &str = "/apis/bakery.example/v1/namespaces/default/loaves/rye";

/// A server with a kind that has a status, a scale, a keyed list, a set and a default.
fn server() -> ApiServer {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "loaves.bakery.example"},
        "spec": {
            "group": "bakery.example",
            "scope": "Namespaced",
            "names": {"plural": "loaves", "singular": "loaf", "kind": "Loaf"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "flour": {"type": "string"},
                        "replicas": {"type": "integer", "default": 1},
                        "seeds": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                        "layers": {"type": "array", "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"],
                            "properties": {"name": {"type": "string"}, "grams": {"type": "integer"}}}},
                    }},
                    "status": {"type": "object", "properties": {
                        "phase": {"type": "string"}, "replicas": {"type": "integer"}}},
                }}},
            }],
        },
    });
    let definition = serde_json::from_value(definition).expect("a definition");
    ApiServer::builder().crds([definition]).build().expect("a legal definition")
}

fn loaf(spec: &Value) -> Value {
    json!({"apiVersion": "bakery.example/v1", "kind": "Loaf", "metadata": {"name": "rye"}, "spec": spec})
}

async fn apply(server: &ApiServer, path: &str, manager: &str, force: bool, object: &Value) -> Answer {
    let path = format!("{path}?fieldManager={manager}&force={force}");
    send(server, "PATCH", &path, &[("content-type", "application/apply-patch+yaml")], object.to_string()).await
}

async fn patch(server: &ApiServer, path: &str, kind: &str, manager: &str, change: &Value) -> Answer {
    let path = format!("{path}?fieldManager={manager}");
    send(server, "PATCH", &path, &[("content-type", kind)], change.to_string()).await
}

/// Manager, operation, subresource and fields of each owner, by name.
async fn owners(server: &ApiServer) -> Vec<(String, String, String, Value)> {
    let loaf = get(server, LOAF).await.body;
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let mut owners: Vec<_> = loaf["metadata"]["managedFields"]
        .as_array()
        .expect("owners")
        .iter()
        .map(|one| (text(one, "manager"), text(one, "operation"), text(one, "subresource"), one["fieldsV1"].clone()))
        .collect();
    owners.sort_by(|a, b| (&a.0, &a.1, &a.2).cmp(&(&b.0, &b.1, &b.2)));
    owners
}

fn owner(manager: &str, operation: &str, subresource: &str, fields: Value) -> (String, String, String, Value) {
    (manager.to_owned(), operation.to_owned(), subresource.to_owned(), fields)
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_write_makes_its_writer_the_owner_of_what_it_changed() {
    let server = server();
    let path = format!("{LOAVES}?fieldManager=maker");
    assert_eq!(json_request(&server, "POST", &path, &loaf(&json!({"flour": "rye"}))).await.code, 201);
    let spec = |fields: Value| json!({"f:spec": fields});
    assert_eq!(
        owners(&server).await,
        [owner("maker", "Update", "", spec(json!({".": {}, "f:flour": {}, "f:replicas": {}})))]
    );

    let merge = "application/merge-patch+json";
    patch(&server, LOAF, merge, "merger", &json!({"spec": {"flour": "oats"}})).await;
    let operations = json!([{"op": "add", "path": "/spec/seeds", "value": ["poppy"]}]);
    patch(&server, LOAF, "application/json-patch+json", "patcher", &operations).await;
    patch(&server, &format!("{LOAF}/scale"), merge, "scaler", &json!({"spec": {"replicas": 5}})).await;
    patch(&server, &format!("{LOAF}/status"), merge, "baker", &json!({"status": {"phase": "Hot"}})).await;
    let mut replaced = get(&server, LOAF).await.body;
    replaced["metadata"]["labels"] = json!({"shop": "corner"});
    json_request(&server, "PUT", &format!("{LOAF}?fieldManager=replacer"), &replaced).await;
    assert_eq!(
        owners(&server).await,
        [
            owner("baker", "Update", "status", json!({"f:status": {".": {}, "f:phase": {}}})),
            owner("maker", "Update", "", spec(json!({}))),
            owner("merger", "Update", "", spec(json!({"f:flour": {}}))),
            owner("patcher", "Update", "", spec(json!({"f:seeds": {".": {}, "v:\"poppy\"": {}}}))),
            owner("replacer", "Update", "", json!({"f:metadata": {"f:labels": {".": {}, "f:shop": {}}}})),
            owner("scaler", "Update", "scale", spec(json!({"f:replicas": {}}))),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn appliers_own_by_manager_and_by_key_and_only_the_sole_owner_removes() {
    let server = server();
    let one = loaf(&json!({"flour": "rye", "layers": [{"name": "base", "grams": 1}, {"name": "top"}]}));
    let two = loaf(&json!({"flour": "rye", "layers": [{"name": "top", "grams": 2}]}));
    assert_eq!(apply(&server, LOAF, "one", false, &one).await.code, 201);
    assert_eq!(apply(&server, LOAF, "two", false, &two).await.code, 200);
    let layers = |fields: Value| json!({"f:spec": {"f:flour": {}, "f:layers": fields}});
    assert_eq!(
        owners(&server).await,
        [
            owner(
                "one",
                "Apply",
                "",
                layers(json!({
                    "k:{\"name\":\"base\"}": {".": {}, "f:grams": {}, "f:name": {}},
                    "k:{\"name\":\"top\"}": {".": {}, "f:name": {}},
                }))
            ),
            owner("two", "Apply", "", layers(json!({"k:{\"name\":\"top\"}": {".": {}, "f:grams": {}, "f:name": {}}}))),
        ]
    );
    // The flour and the top layer have another owner, the base layer has none.
    assert_eq!(apply(&server, LOAF, "one", false, &loaf(&json!({}))).await.code, 200);
    let left = get(&server, LOAF).await.body["spec"].clone();
    assert_eq!(left, json!({"flour": "rye", "replicas": 1, "layers": [{"name": "top", "grams": 2}]}));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_lists_owners_and_fields_and_force_takes_them() {
    let server = server();
    let first = loaf(&json!({"flour": "rye", "replicas": 2, "layers": [{"name": "base", "grams": 1}]}));
    apply(&server, LOAF, "one", false, &first).await;
    patch(&server, LOAF, "application/merge-patch+json", "editor", &json!({"spec": {"replicas": 3}})).await;
    let other = loaf(&json!({"flour": "oats", "replicas": 9, "layers": [{"name": "base", "grams": 7}]}));
    let refused = apply(&server, LOAF, "two", false, &other).await;
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.message(),
        "Apply failed with 3 conflicts: conflicts with \"editor\" using bakery.example/v1:\n- .spec.replicas\nconflicts \
         with \"one\":\n- .spec.flour\n- .spec.layers[name=\"base\"].grams"
    );
    assert_eq!(
        refused.body["details"]["causes"][1],
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".spec.flour"})
    );
    assert_eq!(apply(&server, LOAF, "two", true, &other).await.code, 200);
    let managers: Vec<String> = owners(&server).await.into_iter().map(|owner| owner.0).collect();
    assert_eq!(managers, ["one", "two"], "the editor owns nothing any more, one still owns the layer");
}

#[tokio::test(start_paused = true)]
async fn the_status_is_applied_apart_and_by_nobody_else() {
    let server = server();
    let mut whole = loaf(&json!({"flour": "rye"}));
    whole["status"] = json!({"phase": "Hot"});
    apply(&server, LOAF, "owner", false, &whole).await;
    assert_eq!(get(&server, LOAF).await.body.get("status"), None, "the main endpoint writes no status");
    whole["spec"] = json!({"flour": "oats"});
    assert_eq!(apply(&server, &format!("{LOAF}/status"), "baker", false, &whole).await.code, 200);
    let loaf = get(&server, LOAF).await.body;
    assert_eq!((&loaf["spec"]["flour"], &loaf["status"]), (&json!("rye"), &json!({"phase": "Hot"})));
    assert_eq!(
        owners(&server).await,
        [
            owner("baker", "Apply", "status", json!({"f:status": {"f:phase": {}}})),
            owner("owner", "Apply", "", json!({"f:spec": {"f:flour": {}}})),
        ]
    );
    whole["status"] = json!({"phase": "Cold"});
    let refused = apply(&server, &format!("{LOAF}/status"), "seller", false, &whole).await;
    assert_eq!(
        refused.message(),
        "Apply failed with 1 conflict: conflict with \"baker\" with subresource \"status\": .status.phase"
    );
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_does_not_fit_the_schema_is_told_where() {
    let server = server();
    let refused = apply(&server, LOAF, "one", true, &loaf(&json!({"flower": "rose"}))).await;
    assert_eq!(
        (refused.code, refused.message()),
        (
            500,
            "failed to create typed patch object (/rye; bakery.example/v1, Kind=Loaf): .spec.flower: field not \
             declared in schema"
        )
    );
    let twice = loaf(&json!({"layers": [{"name": "a"}, {"name": "a"}]}));
    let refused = apply(&server, LOAF, "one", true, &twice).await;
    assert!(
        refused.message().ends_with(".spec.layers: duplicate entries for key [name=\"a\"]"),
        "{}",
        refused.message()
    );
}

//! Kinds of one's own, events in both views, scale, selectors, and the end of history.

mod support;

use axum::body::Body;
use futures::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use konfidence_apiserver::ApiServer;
use konfidence_types::Stage;
use kube::api::{Api, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::runtime::events::{EventType, Recorder, Reporter};
use kube::{Client, Resource};
use serde_json::{Value, json};
use support::{STAGES, get, json_request, send, server, stage};
use tower::ServiceExt;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MENUS: &str = "/apis/bakery.example/v1/namespaces/default/menus";

fn menus() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "menus.bakery.example"}, "spec": {
            "group": "bakery.example", "scope": "Namespaced",
            "names": {"plural": "menus", "kind": "Menu", "shortNames": ["mn"]},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.pages",
                    "statusReplicasPath": ".status.pages", "labelSelectorPath": ".status.selector"}},
                "selectableFields": [{"jsonPath": ".spec.season"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "pages": {"type": "integer", "default": 1, "maximum": 9},
                        "season": {"type": "string", "x-kubernetes-validations":
                            [{"rule": "self == oldSelf", "message": "season is immutable"}]}}},
                    "status": {"type": "object", "properties": {
                        "pages": {"type": "integer"}, "selector": {"type": "string"}}}}}}}]}})
}

fn menu(name: &str) -> Value {
    json!({"apiVersion": "bakery.example/v1", "kind": "Menu", "metadata": {"name": name}, "spec": {"season": "winter"}})
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_served_at_once_and_takes_its_objects_along_when_it_goes() {
    let server = server();
    let made = json_request(&server, "POST", CRDS, &menus()).await;
    assert_eq!(made.code, 201, "{}", made.body);
    assert_eq!(made.body["spec"]["names"]["listKind"], "MenuList");
    assert_eq!(
        made.body["status"]["acceptedNames"],
        json!({"plural": "", "kind": ""}),
        "nobody has looked at them yet"
    );
    let established = get(&server, &format!("{CRDS}/menus.bakery.example")).await;
    let conditions: Vec<_> = established.body["status"]["conditions"]
        .as_array()
        .expect("conditions")
        .iter()
        .map(|one| (one["type"].clone(), one["status"].clone()))
        .collect();
    assert_eq!(conditions, [(json!("NamesAccepted"), json!("True")), (json!("Established"), json!("True"))]);

    let first = json_request(&server, "POST", MENUS, &menu("winter")).await;
    assert_eq!((first.code, &first.body["spec"]["pages"]), (201, &json!(1)));
    let refused = send(
        &server,
        "PATCH",
        &format!("{MENUS}/winter"),
        &[("content-type", "application/merge-patch+json")],
        r#"{"spec":{"season":"summer","pages":10}}"#,
    )
    .await;
    assert_eq!(
        refused.message(),
        "Menu.bakery.example \"winter\" is invalid: [spec.pages: Invalid value: 10: spec.pages in body should be less \
         than or equal to 9, spec.season: Invalid value: \"summer\": season is immutable]"
    );
    assert_eq!(get(&server, "/apis/bakery.example/v1").await.body["resources"][0]["shortNames"], json!(["mn"]));
    assert!(get(&server, "/openapi/v3").await.body["paths"]["apis/bakery.example/v1"].is_object());

    let gone = send(&server, "DELETE", &format!("{CRDS}/menus.bakery.example"), &[], Body::empty()).await;
    assert_eq!(gone.code, 200);
    assert_eq!(get(&server, &format!("{CRDS}/menus.bakery.example")).await.code, 404);
    assert_eq!(get(&server, MENUS).await.code, 404);
    json_request(&server, "POST", CRDS, &menus()).await;
    assert_eq!(get(&server, MENUS).await.body["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_changed_schema_holds_for_the_next_write() {
    let server = server();
    json_request(&server, "POST", CRDS, &menus()).await;
    json_request(&server, "POST", MENUS, &menu("winter")).await;
    let path = format!("{CRDS}/menus.bakery.example");
    let stricter = r#"[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/season/enum", "value": ["summer"]}]"#;
    let changed = send(&server, "PATCH", &path, &[("content-type", "application/json-patch+json")], stricter).await;
    assert_eq!(changed.code, 200, "{}", changed.body);
    assert_eq!(json_request(&server, "POST", MENUS, &menu("autumn")).await.code, 422);
    let merge = [("content-type", "application/merge-patch+json")];
    let untouched = send(&server, "PATCH", &format!("{MENUS}/winter"), &merge, r#"{"spec":{"pages":2}}"#).await;
    assert_eq!(untouched.code, 200, "what was wrong before and is not touched is let pass: {}", untouched.body);
}

#[tokio::test(start_paused = true)]
async fn bad_definitions_are_refused_with_the_reason() {
    let server = server();
    let refused = |change: fn(&mut Value)| {
        let mut crd = menus();
        change(&mut crd);
        let server = server.clone();
        async move {
            let answer = json_request(&server, "POST", CRDS, &crd).await;
            assert_eq!(answer.code, 422, "{}", answer.body);
            answer.message().to_owned()
        }
    };
    let schema = "spec.validation.openAPIV3Schema";
    for (message, wanted) in [
        (
            refused(|crd| crd["metadata"]["name"] = "x.y".into()).await,
            "metadata.name: Invalid value: \"x.y\": must be spec.names.plural+\".\"+spec.group".to_owned(),
        ),
        (
            refused(|crd| crd["spec"]["scope"] = "Galaxy".into()).await,
            "spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"".to_owned(),
        ),
        (
            refused(|crd| crd["spec"]["versions"][0]["storage"] = false.into()).await,
            "must have exactly one version marked as storage version".to_owned(),
        ),
        (
            refused(|crd| crd["spec"]["versions"][0]["schema"] = Value::Null).await,
            "spec.versions[0].schema.openAPIV3Schema: Required value".to_owned(),
        ),
        (
            refused(|crd| {
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({});
            })
            .await,
            format!("{schema}.properties[spec].type: Required value: must not be empty for specified object fields"),
        ),
        (
            refused(|crd| {
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["pages"]
                    ["default"] = "x".into();
            })
            .await,
            format!("{schema}.properties[spec].properties[pages].default: Invalid value: \"string\""),
        ),
        (
            refused(|crd| {
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
                    json!([{"rule": "self.("}]);
            })
            .await,
            format!("{schema}.x-kubernetes-validations[0].rule: Invalid value: {{\"Rule\":\"self.(\",\"Message\":\"\""),
        ),
    ] {
        assert!(message.contains(&wanted), "{message}\nlacks\n{wanted}");
    }
}

#[tokio::test(start_paused = true)]
async fn scale_reads_and_writes_the_numbers_that_the_definition_names() {
    let server = server();
    json_request(&server, "POST", CRDS, &menus()).await;
    json_request(&server, "POST", MENUS, &menu("winter")).await;
    let path = format!("{MENUS}/winter/scale");
    assert_eq!(get(&server, &path).await.body["spec"]["replicas"], 1);
    let merge = [("content-type", "application/merge-patch+json")];
    let scaled = send(&server, "PATCH", &path, &merge, r#"{"spec":{"replicas":5}}"#).await;
    assert_eq!(
        (scaled.code, &scaled.body["kind"], &scaled.body["spec"]["replicas"]),
        (200, &json!("Scale"), &json!(5))
    );
    assert_eq!(get(&server, &format!("{MENUS}/winter")).await.body["spec"]["pages"], 5);
    assert_eq!(send(&server, "PATCH", &path, &merge, r#"{"spec":{"replicas":10}}"#).await.code, 422);
    assert_eq!(get(&server, &format!("{STAGES}/x/scale")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_leaves_a_selection_is_deleted_for_its_watcher() {
    let server = server();
    let client = Client::new(server.service(), "default");
    let stages: Api<Stage> = Api::default_namespaced(client);
    let mut dev = stage("dev");
    dev["metadata"]["labels"] = json!({"app": "menu"});
    json_request(&server, "POST", STAGES, &dev).await;
    let from = server.engine().revision().to_string();
    let mut events =
        stages.watch(&WatchParams::default().labels("app=menu").timeout(10), &from).await.expect("a watch").boxed();
    let label = |value: Value| Patch::Merge(json!({"metadata": {"labels": {"app": value}}}));
    for value in [json!("other"), json!("menu"), json!("menu")] {
        stages.patch("dev", &PatchParams::default(), &label(value)).await.expect("patched");
    }
    stages
        .patch("dev", &PatchParams::default(), &Patch::Merge(json!({"spec": {"vector": "v2"}})))
        .await
        .expect("patched");
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await.expect("goes on") {
        seen.push(match event {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(_) => "deleted",
            WatchEvent::Bookmark(_) => "bookmark",
            WatchEvent::Error(_) => "error",
        });
    }
    // The last one says, shortly before the end, how far the watch is.
    assert_eq!(seen, ["deleted", "added", "modified", "bookmark"]);
}

#[tokio::test(start_paused = true)]
async fn selectable_fields_select() {
    let server = server();
    json_request(&server, "POST", CRDS, &menus()).await;
    for (name, season) in [("a", "winter"), ("b", "summer")] {
        let mut one = menu(name);
        one["spec"]["season"] = season.into();
        json_request(&server, "POST", MENUS, &one).await;
    }
    let found = get(&server, &format!("{MENUS}?fieldSelector=spec.season%3Dsummer")).await.body;
    assert_eq!(found["items"][0]["metadata"]["name"], "b");
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    let refused = get(&server, &format!("{MENUS}?fieldSelector=spec.pages%3D1")).await;
    assert_eq!((refused.code, refused.message()), (400, "field label not supported: spec.pages"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_before_the_history_is_told_to_list_again() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let old = server.engine().revision() - 1;
    server.engine().compact(server.engine().revision());
    let answer = send(&server, "GET", &format!("{STAGES}?watch=true&resourceVersion={old}"), &[], Body::empty()).await;
    assert_eq!(answer.code, 200);
    assert_eq!(
        (&answer.body["type"], &answer.body["object"]["code"], &answer.body["object"]["reason"]),
        (&json!("ERROR"), &json!(410), &json!("Expired"))
    );
    let list = get(&server, &format!("{STAGES}?resourceVersion={old}&resourceVersionMatch=Exact")).await;
    assert_eq!((list.code, &list.body["reason"]), (410, &json!("Expired")));
    assert_eq!(get(&server, &format!("{STAGES}?watch=true&resourceVersion=nonsense")).await.code, 500);
    assert_eq!(get(&server, &format!("{STAGES}?resourceVersion=999999")).await.code, 504);
}

#[tokio::test(start_paused = true)]
async fn an_event_of_the_newer_group_is_seen_by_who_describes() {
    let server = server();
    let client = Client::new(server.service(), "default");
    let made: Stage =
        serde_json::from_value(json_request(&server, "POST", STAGES, &stage("dev")).await.body).expect("a stage");
    let recorder =
        Recorder::new(client.clone(), Reporter { controller: "konfidence".into(), instance: Some("one".into()) });
    let event = kube::runtime::events::Event {
        type_: EventType::Normal,
        reason: "Promoted".into(),
        note: Some("v1 is in dev".into()),
        action: "Promote".into(),
        secondary: None,
    };
    recorder.publish(&event, &made.object_ref(&())).await.expect("published");
    let events: Api<Event> = Api::default_namespaced(client);
    let uid = made.meta().uid.clone().unwrap_or_default();
    let params = ListParams::default()
        .fields(&format!("involvedObject.kind=Stage,involvedObject.name=dev,involvedObject.uid={uid}"));
    let found = events.list(&params).await.expect("listed").items;
    assert_eq!(found.len(), 1);
    let ObjectReference { kind, .. } = &found[0].involved_object;
    assert_eq!(
        (kind.as_deref(), found[0].message.as_deref(), found[0].reporting_component.as_deref()),
        (Some("Stage"), Some("v1 is in dev"), Some("konfidence"))
    );
}

#[tokio::test(start_paused = true)]
async fn dependants_follow_their_owner_across_kinds() {
    let server = server();
    let owner = json_request(&server, "POST", STAGES, &stage("dev")).await.body;
    let maps = "/api/v1/namespaces/default/configmaps";
    let dependant = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child", "ownerReferences": [
        {"apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage", "name": "dev", "uid": owner["metadata"]["uid"]}]}});
    assert_eq!(json_request(&server, "POST", maps, &dependant).await.code, 201);
    send(&server, "DELETE", &format!("{STAGES}/dev"), &[], Body::empty()).await;
    assert_eq!(get(&server, &format!("{maps}/child")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn open_watches_end_with_the_server() {
    let server: ApiServer = server();
    let request = http::Request::get(format!("{STAGES}?watch=true")).body(Body::empty()).expect("a request");
    let watch = server.service().oneshot(request).await.expect("a watch");
    server.end();
    let lines = watch.into_body().collect().await.expect("ends").to_bytes();
    assert!(lines.is_empty());
}

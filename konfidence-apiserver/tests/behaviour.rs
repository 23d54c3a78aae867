//! Deletion, watches and definitions: what a real kube-apiserver 1.36 answered to the same requests.

mod support;

use axum::body::Body;
use konfidence_apiserver::ApiServer;
use serde_json::{Value, json};
use support::{Answer, STAGES, get, json_request, send, server, stage};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn merge(server: &ApiServer, path: &str, change: Value) -> Answer {
    send(server, "PATCH", path, &[("content-type", "application/merge-patch+json")], change.to_string()).await
}

fn warnings(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("warning").iter().filter_map(|value| value.to_str().ok()).collect()
}

/// Types and names of the events of a watch.
fn events(body: &Value) -> Vec<(String, String)> {
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .map(|event| {
            let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text("/type"), text("/object/metadata/name"))
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_delete_whose_body_has_options_does_not_look_at_its_query() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let path = format!("{STAGES}/dev?dryRun=All");
    let pretended = send(&server, "DELETE", &path, &[], Body::empty()).await;
    assert_eq!((pretended.code, get(&server, &format!("{STAGES}/dev")).await.code), (200, 200));
    let done = json_request(&server, "DELETE", &path, &json!({"propagationPolicy": "Background"})).await;
    assert_eq!((done.code, get(&server, &format!("{STAGES}/dev")).await.code), (200, 404));
}

#[tokio::test(start_paused = true)]
async fn the_write_that_takes_the_last_finalizer_is_answered_as_if_the_object_stayed() {
    let server = server();
    let mut held = stage("dev");
    held["metadata"]["finalizers"] = json!(["bakery.example/hold"]);
    json_request(&server, "POST", STAGES, &held).await;
    let path = format!("{STAGES}/dev");
    let marked = send(&server, "DELETE", &path, &[], Body::empty()).await.body;
    assert_eq!(
        (&marked["metadata"]["generation"], &marked["metadata"]["deletionGracePeriodSeconds"]),
        (&json!(2), &json!(0))
    );
    let again = json_request(&server, "POST", STAGES, &held).await;
    assert_eq!(
        (again.code, again.message()),
        (409, "object is being deleted: stages.konfidence.cloud \"dev\" already exists")
    );
    let last = merge(&server, &path, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!((last.code, &last.body["metadata"]["finalizers"]), (200, &Value::Null));
    assert_eq!(last.body["metadata"]["resourceVersion"], marked["metadata"]["resourceVersion"], "nothing was stored");
    assert_eq!(get(&server, &path).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_watch_says_shortly_before_its_end_how_far_it_is() {
    let server = server();
    let from = server.engine().revision();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let path = format!("{STAGES}?watch=true&resourceVersion={from}&timeoutSeconds=5");
    let plain = get(&server, &path).await.body;
    assert_eq!(events(&plain), [("ADDED".to_owned(), "dev".to_owned())]);
    let told = get(&server, &format!("{path}&allowWatchBookmarks=true")).await.body;
    assert_eq!(events(&told), [("ADDED".to_owned(), "dev".to_owned()), ("BOOKMARK".to_owned(), String::new())]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_initial_events_is_told_to_who_takes_bookmarks() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let path = format!("{STAGES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1");
    assert_eq!(events(&get(&server, &path).await.body), [("ADDED".to_owned(), "dev".to_owned())]);
    let told = events(&get(&server, &format!("{path}&allowWatchBookmarks=true")).await.body);
    assert_eq!(told, [("ADDED".to_owned(), "dev".to_owned()), ("BOOKMARK".to_owned(), String::new())]);
    let wrong = get(&server, &format!("{STAGES}?watch=true&sendInitialEvents=true&timeoutSeconds=1")).await;
    assert_eq!(
        wrong.message(),
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting \
         resourceVersionMatch to NotOlderThan"
    );
}

#[tokio::test(start_paused = true)]
async fn a_selector_that_makes_no_sense_is_told_where() {
    let server = server();
    for (selector, message) in [
        ("labelSelector=a%20b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("labelSelector=a%20in%20(x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("labelSelector=a=,", "found '', expected: identifier after ','"),
        ("fieldSelector=a=b", "\"a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
    ] {
        let answer = get(&server, &format!("{MAPS}?{selector}")).await;
        assert_eq!((answer.code, answer.message()), (400, message), "{selector}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deprecated_version_names_its_successor_and_stores_what_the_storage_version_knows() {
    let server = server();
    let schema = |fields: Value| json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "menus.bakery.example"}, "spec": {
        "group": "bakery.example", "scope": "Cluster", "names": {"plural": "menus", "kind": "Menu"},
        "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": schema(json!({"a": {"type": "string", "default": "one"}}))},
            {"name": "v1beta1", "served": true, "storage": false, "deprecated": true,
                "schema": schema(json!({"a": {"type": "string"}, "b": {"type": "string"}}))},
        ]}});
    let made = json_request(&server, "POST", CRDS, &crd).await;
    assert_eq!(
        (made.code, &made.body["status"]["conditions"]),
        (201, &Value::Null),
        "nobody has looked at the names yet"
    );
    let menus = "/apis/bakery.example/v1beta1/menus";
    let menu = json!({"apiVersion": "bakery.example/v1beta1", "kind": "Menu", "metadata": {"name": "x"}, "spec": {"b": "bee"}});
    let stored = json_request(&server, "POST", menus, &menu).await;
    assert_eq!(stored.body["spec"], json!({"a": "one"}));
    assert_eq!(warnings(&stored), [r#"299 - "bakery.example/v1beta1 Menu is deprecated; use bakery.example/v1 Menu""#]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_is_warned_of_all_the_same() {
    let server = server();
    let mut broken = stage("dev");
    broken["spec"] = json!({"vector": 5, "vektor": "v1"});
    let refused = json_request(&server, "POST", STAGES, &broken).await;
    assert_eq!(refused.code, 422);
    assert_eq!(warnings(&refused), [r#"299 - "unknown field \"spec.vektor\"""#]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_yaml_sets_twice_is_told_by_its_line() {
    let server = server();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: \"1\"\n  k: \"2\"\n";
    let header = [("content-type", "application/yaml")];
    let warned = send(&server, "POST", &format!("{MAPS}?dryRun=All"), &header, yaml).await;
    assert_eq!(warnings(&warned), [r#"299 - "line 6: key \"k\" already set in map""#]);
    let strict = send(&server, "POST", &format!("{MAPS}?fieldValidation=Strict"), &header, yaml).await;
    assert_eq!(
        (strict.code, strict.message()),
        (
            400,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal \
             errors:\n  line 6: key \"k\" already set in map"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_no_json_is_told_as_go_tells_it() {
    let server = server();
    let answer = send(&server, "POST", MAPS, &[("content-type", "application/json")], r#"{"a":"#).await;
    assert_eq!(
        (answer.code, answer.message()),
        (
            400,
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse \
             error: unexpected end of JSON input ({\"a\":)"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn of_what_runs_on_a_cluster_there_is_nothing_and_none_can_be_made() {
    let server = server();
    let pods = "/api/v1/namespaces/default/pods";
    let list = get(&server, pods).await;
    assert_eq!((list.code, &list.body["items"]), (200, &json!([])));
    let gone = send(&server, "DELETE", &format!("{pods}/a"), &[], Body::empty()).await;
    assert_eq!((gone.code, gone.message()), (404, "pods \"a\" not found"));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
    assert_eq!(json_request(&server, "POST", pods, &pod).await.code, 405);
    let apply = [("content-type", "application/apply-patch+yaml")];
    let applied = send(&server, "PATCH", &format!("{pods}/a?fieldManager=anna"), &apply, pod.to_string()).await;
    assert_eq!((applied.code, get(&server, pods).await.body["items"].clone()), (405, json!([])));
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_not_watched_from_before_it_was_there() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let told = get(&server, &format!("{STAGES}?watch=true&resourceVersion=1&timeoutSeconds=1")).await.body;
    assert_eq!((&told["type"], &told["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

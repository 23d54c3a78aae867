//! Bad input, negotiation, and the words of refusals.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use jiff::Timestamp;
use konfidence_apiserver::ApiServer;
use konfidence_sdk::clock::Clock;
use konfidence_sdk::store::engine::{Engine, Options};
use serde_json::{Value, json};
use support::{STAGES, get, json_request, send, server, stage};

#[tokio::test(start_paused = true)]
async fn bodies_that_make_no_sense_are_refused_with_the_right_code() {
    let server = server();
    let json = [("content-type", "application/json")];
    let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let arrays = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut other = stage("dev");
    other["kind"] = "Landscape".into();
    let mut version = stage("dev");
    version["apiVersion"] = "konfidence.cloud/v9".into();
    let mut namespace = stage("dev");
    namespace["metadata"]["namespace"] = "other".into();
    for (what, code, body) in [
        ("malformed", 400, "{\"a\":".to_owned()),
        ("empty", 400, String::new()),
        ("no object", 400, "[1]".to_owned()),
        ("without a kind", 400, "{}".to_owned()),
        ("nested objects", 400, deep.clone()),
        ("nested arrays", 400, arrays),
        ("another kind", 422, other.to_string()),
        ("another version", 400, version.to_string()),
        ("another namespace", 400, namespace.to_string()),
        ("10 MB", 413, format!("{{\"a\":\"{}\"}}", "x".repeat(10 * 1024 * 1024))),
    ] {
        let answer = send(&server, "POST", STAGES, &json, body).await;
        assert_eq!(answer.code, code, "{what}: {}", answer.body);
        assert_eq!(answer.body["kind"], "Status", "{what}");
    }
    let yaml = [("content-type", "application/yaml")];
    assert_eq!(send(&server, "POST", STAGES, &yaml, "a: [b").await.code, 400);
    assert_eq!(send(&server, "POST", STAGES, &yaml, deep).await.code, 400);
    let protobuf = [("content-type", "application/vnd.kubernetes.protobuf")];
    assert_eq!(send(&server, "POST", STAGES, &protobuf, "k8s\0").await.code, 415);
    assert_eq!(send(&server, "POST", STAGES, &[("content-type", "text/plain")], "x").await.code, 415);
    assert_eq!(get(&server, STAGES).await.body["items"], json!([]), "nothing was made");
}

#[tokio::test(start_paused = true)]
async fn yaml_makes_an_object_too() {
    let server = server();
    let yaml = "apiVersion: konfidence.cloud/v1alpha1\nkind: Stage\nmetadata: {name: dev}\nspec: {vector: v1}\n";
    let made = send(&server, "POST", STAGES, &[("content-type", "application/yaml")], yaml).await;
    assert_eq!((made.code, &made.body["spec"]["vector"]), (201, &json!("v1")));
    let shown = send(&server, "GET", &format!("{STAGES}/dev"), &[("accept", "application/yaml")], Body::empty()).await;
    assert!(shown.body.as_str().is_some_and(|text| text.contains("vector: v1")), "{}", shown.body);
}

#[tokio::test(start_paused = true)]
async fn unknown_paths_and_methods_are_told_apart() {
    let server = server();
    for path in ["/nonsense", "/apis/none.example/v1/things", "/apis/konfidence.cloud/v9/stages"] {
        let answer = get(&server, path).await;
        assert_eq!((answer.code, &answer.body), (404, &json!("404 page not found\n")), "{path}");
    }
    let missing = get(&server, "/api/v1/things").await;
    assert_eq!(
        (missing.code, &missing.body["reason"], &missing.body["details"]),
        (404, &json!("NotFound"), &json!({}))
    );
    assert_eq!(get(&server, &format!("{STAGES}/none")).await.message(), "stages.konfidence.cloud \"none\" not found");
    let unnamed = send(&server, "PUT", STAGES, &[], Body::empty()).await;
    assert_eq!((unnamed.code, unnamed.message()), (400, "name must be provided"));
    assert_eq!(send(&server, "PUT", "/api/v1/namespaces", &[], Body::empty()).await.code, 405);
    assert_eq!(send(&server, "BREW", STAGES, &[], Body::empty()).await.code, 405);
    assert_eq!(json_request(&server, "POST", "/version", &json!({})).await.code, 405);
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_ignored_warned_of_or_refused_as_asked() {
    let server = server();
    let mut typo = stage("dev");
    typo["spec"]["vektor"] = "x".into();
    typo["metadata"]["lables"] = json!({});
    let strict = json_request(&server, "POST", &format!("{STAGES}?fieldValidation=Strict"), &typo).await;
    assert_eq!(strict.code, 400);
    assert_eq!(
        strict.message(),
        "Stage in version \"v1alpha1\" cannot be handled as a Stage: strict decoding error: unknown field \
         \"metadata.lables\", unknown field \"spec.vektor\""
    );
    let warned = json_request(&server, "POST", STAGES, &typo).await;
    let warnings: Vec<_> =
        warned.headers.get_all("warning").iter().map(|value| value.to_str().unwrap_or_default()).collect();
    assert_eq!(warned.code, 201);
    assert_eq!(warnings, [r#"299 - "unknown field \"metadata.lables\"""#, r#"299 - "unknown field \"spec.vektor\"""#]);
    assert_eq!(warned.body["spec"], json!({"vector": "v1"}));
    typo["metadata"]["name"] = "test".into();
    let ignored = json_request(&server, "POST", &format!("{STAGES}?fieldValidation=Ignore"), &typo).await;
    assert!(ignored.code == 201 && !ignored.headers.contains_key("warning"));
    let duplicate = r#"{"apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage", "metadata": {"name": "dup"},
        "spec": {"vector": "a", "vector": "b"}}"#;
    let path = format!("{STAGES}?fieldValidation=Strict");
    let refused = send(&server, "POST", &path, &[("content-type", "application/json")], duplicate).await;
    assert!(
        refused.message().ends_with("strict decoding error: duplicate field \"spec.vector\""),
        "{}",
        refused.message()
    );
    assert_eq!(json_request(&server, "POST", &format!("{STAGES}?fieldValidation=Perhaps"), &typo).await.code, 422);
}

#[tokio::test(start_paused = true)]
async fn invalid_names_are_refused_in_the_real_servers_words() {
    let server = server();
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let refused = json_request(&server, "POST", maps, &map("Dev_1")).await;
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.message(),
        "ConfigMap \"Dev_1\" is invalid: metadata.name: Invalid value: \"Dev_1\": a lowercase RFC 1123 \
         subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
         alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    );
    assert_eq!(refused.body["details"]["causes"][0]["field"], "metadata.name");
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "FieldValueInvalid");
    let unnamed = json_request(&server, "POST", maps, &json!({"apiVersion": "v1", "kind": "ConfigMap"})).await;
    assert!(unnamed.message().contains("metadata.name: Required value: name or generateName is required"));
    let longest = "a".repeat(253);
    assert_eq!(json_request(&server, "POST", maps, &map(&longest)).await.code, 201);
    assert_eq!(json_request(&server, "POST", maps, &map(&format!("{longest}a"))).await.code, 422);
}

#[tokio::test(start_paused = true)]
async fn broken_rules_name_their_fields() {
    let server = server();
    let configs = "/apis/konfidence.cloud/v1alpha1/namespaces/default/vectorpromotionconfigs";
    let config = json!({"apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotionConfig",
        "metadata": {"name": "bad"}, "spec": {"source": {"kind": "Nonsense", "name": "x"}, "keepLastPromotions": -1}});
    let refused = json_request(&server, "POST", configs, &config).await;
    assert_eq!(refused.code, 422);
    let causes: Vec<&Value> = refused.body["details"]["causes"].as_array().expect("causes").iter().collect();
    let cause = |field: &str| causes.iter().find(|cause| cause["field"] == field).map(|cause| cause["message"].clone());
    assert_eq!(cause("spec.target"), Some(json!("Required value")));
    assert_eq!(
        cause("spec.keepLastPromotions"),
        Some(json!("Invalid value: -1: spec.keepLastPromotions in body should be greater than or equal to 0"))
    );
    assert_eq!(
        cause("spec.source.kind"),
        Some(json!("Unsupported value: \"Nonsense\": supported values: \"VectorTemplate\", \"Stage\""))
    );
}

#[tokio::test(start_paused = true)]
async fn custom_resources_take_no_strategic_patch_and_no_protobuf() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let path = format!("{STAGES}/dev");
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let refused = send(&server, "PATCH", &path, &strategic, r#"{"spec":{"vector":"x"}}"#).await;
    assert_eq!(refused.code, 415);
    assert_eq!(
        refused.message(),
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
    let only = [("accept", "application/vnd.kubernetes.protobuf")];
    assert_eq!(send(&server, "GET", &path, &only, Body::empty()).await.code, 406);
    let either = [("accept", "application/vnd.kubernetes.protobuf, application/json")];
    assert_eq!(send(&server, "GET", &path, &either, Body::empty()).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn json_patches_are_all_or_nothing() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let path = format!("{STAGES}/dev");
    let kind = [("content-type", "application/json-patch+json")];
    let half =
        r#"[{"op":"replace","path":"/spec/vector","value":"x"},{"op":"test","path":"/spec/vector","value":"y"}]"#;
    assert_eq!(send(&server, "PATCH", &path, &kind, half).await.code, 422);
    assert_eq!(get(&server, &path).await.body["spec"]["vector"], "v1");
    assert_eq!(send(&server, "PATCH", &path, &kind, r#"{"op":"x"}"#).await.code, 400);
}

#[tokio::test(start_paused = true)]
async fn who_asks_is_who_the_headers_say() {
    let server = server();
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let own = send(&server, "POST", path, &[], review).await;
    assert_eq!(own.body["status"]["userInfo"]["username"], "konfidence-dev");
    let other = [("impersonate-user", "ada"), ("impersonate-group", "bakers")];
    let other = send(&server, "POST", path, &other, review).await;
    assert_eq!(other.code, 201);
    assert_eq!(
        other.body["status"]["userInfo"],
        json!({"username": "ada", "groups": ["bakers", "system:authenticated"]})
    );
    let access = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",
        "spec":{"resourceAttributes":{"verb":"get","resource":"stages"}}}"#;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(send(&server, "POST", path, &[], access).await.body["status"]["allowed"], true);
}

#[tokio::test(start_paused = true)]
async fn tables_and_bare_metadata_are_made_on_request() {
    let server = server();
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table = send(&server, "GET", STAGES, &table, Body::empty()).await.body;
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    assert_eq!(table["rows"][0]["cells"][0], "dev");
    assert_eq!(table["rows"][0]["cells"][1], "v1");
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let whole = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let whole = send(&server, "GET", &format!("{STAGES}?includeObject=Object"), &whole, Body::empty()).await.body;
    assert_eq!(whole["rows"][0]["object"]["spec"]["vector"], "v1");
    let partial = [("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let partial = send(&server, "GET", STAGES, &partial, Body::empty()).await.body;
    assert_eq!(partial["kind"], "PartialObjectMetadataList");
    assert_eq!(partial["items"][0].get("spec"), None);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_and_writes_nothing() {
    let server = server();
    let before = server.engine().revision();
    let made = json_request(&server, "POST", &format!("{STAGES}?dryRun=All"), &stage("dev")).await;
    assert_eq!((made.code, &made.body["metadata"]["name"]), (201, &json!("dev")));
    assert_eq!(get(&server, &format!("{STAGES}/dev")).await.code, 404);
    assert_eq!(server.engine().revision(), before);
    json_request(&server, "POST", STAGES, &stage("dev")).await;
    let before = server.engine().revision();
    let path = format!("{STAGES}/dev?dryRun=All");
    let merge = [("content-type", "application/merge-patch+json")];
    let patched = send(&server, "PATCH", &path, &merge, r#"{"spec":{"vector":"x"}}"#).await;
    assert_eq!(patched.body["spec"]["vector"], "x");
    assert_eq!(send(&server, "DELETE", &path, &[], Body::empty()).await.code, 200);
    assert_eq!(server.engine().revision(), before);
    assert_eq!(json_request(&server, "POST", &format!("{STAGES}?dryRun=Some"), &stage("x")).await.code, 422);
}

#[tokio::test(start_paused = true)]
async fn deletes_honour_their_preconditions() {
    let server = server();
    let made = json_request(&server, "POST", STAGES, &stage("dev")).await.body;
    let path = format!("{STAGES}/dev");
    let wrong = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}});
    let refused = json_request(&server, "DELETE", &path, &wrong).await;
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.message(),
        format!(
            "Operation cannot be fulfilled on Stage.konfidence.cloud \"dev\": the UID in the precondition (another) does \
             not match the UID in record ({}). The object might have been deleted and then recreated",
            made["metadata"]["uid"].as_str().unwrap_or_default()
        )
    );
    let right = json!({"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}});
    let gone = json_request(&server, "DELETE", &path, &right).await;
    assert_eq!(
        (gone.code, &gone.body["status"], &gone.body["details"]["kind"]),
        (200, &json!("Success"), &json!("stages"))
    );
}

#[tokio::test(start_paused = true)]
async fn an_update_needs_the_version_that_was_read() {
    let server = server();
    let mut made = json_request(&server, "POST", STAGES, &stage("dev")).await.body;
    let path = format!("{STAGES}/dev");
    let unread = json_request(&server, "PUT", &path, &stage("dev")).await;
    assert_eq!(unread.code, 422);
    assert!(unread.message().contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update"));
    made["spec"]["vector"] = "v2".into();
    assert_eq!(json_request(&server, "PUT", &path, &made).await.code, 200);
    let stale = json_request(&server, "PUT", &path, &made).await;
    assert_eq!(stale.code, 409);
    assert_eq!(
        stale.message(),
        "Operation cannot be fulfilled on stages.konfidence.cloud \"dev\": the object has been modified; please apply \
         your changes to the latest version and try again"
    );
    let elsewhere = json_request(&server, "PUT", &format!("{STAGES}/test"), &made).await;
    assert_eq!(
        (elsewhere.code, elsewhere.message()),
        (400, "the name of the object (dev) does not match the name on the URL (test)")
    );
}

#[tokio::test(start_paused = true)]
async fn a_generated_name_is_there_before_the_rules_look_at_it() {
    let server = server();
    let mut unnamed = stage("x");
    unnamed["metadata"] = json!({"generateName": "s-"});
    let first = json_request(&server, "POST", STAGES, &unnamed).await;
    let second = json_request(&server, "POST", STAGES, &unnamed).await;
    let name = |answer: &support::Answer| answer.body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    assert_eq!((first.code, second.code), (201, 201), "{}", first.body);
    assert!(name(&first).starts_with("s-") && name(&first).len() == 7 && name(&first) != name(&second));
}

#[tokio::test(start_paused = true)]
async fn what_is_served_is_told_one_by_one_and_all_at_once() {
    let server = server();
    let group = get(&server, "/apis/konfidence.cloud").await.body;
    assert_eq!((&group["kind"], &group["preferredVersion"]["version"]), (&json!("APIGroup"), &json!("v1alpha1")));
    let resources = get(&server, "/apis/konfidence.cloud/v1alpha1").await.body;
    let names: Vec<_> =
        resources["resources"].as_array().expect("a list").iter().map(|one| one["name"].clone()).collect();
    assert!(names.contains(&json!("stages")) && names.contains(&json!("stages/status")), "{names:?}");
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let all = send(&server, "GET", "/apis", &[("accept", aggregated)], Body::empty()).await;
    assert_eq!(all.headers["content-type"], "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let groups = all.body["items"].as_array().expect("a list");
    let ours = groups.iter().find(|group| group["metadata"]["name"] == "konfidence.cloud").expect("our group");
    let stages =
        ours["versions"][0]["resources"].as_array().expect("a list").iter().find(|one| one["resource"] == "stages");
    assert_eq!(stages.map(|one| &one["scope"]), Some(&json!("Namespaced")));
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(get(&server, path).await.body, json!("ok"), "{path}");
    }
    let old = send(
        &server,
        "GET",
        "/openapi/v2",
        &[("accept", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")],
        Body::empty(),
    )
    .await;
    assert_eq!(old.code, 200);
    assert!(old.body.as_str().is_some_and(|text| text.contains("cloud.konfidence.v1alpha1.Stage")));
    assert!(get(&server, "/openapi/v2").await.body["definitions"]["cloud.konfidence.v1alpha1.Stage"].is_object());
}

/// A clock that panics while it is armed.
struct Trap(Arc<AtomicBool>);

impl Clock for Trap {
    fn now(&self) -> Timestamp {
        assert!(!self.0.load(Ordering::SeqCst), "the clock is broken");
        Timestamp::UNIX_EPOCH
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_its_own_request_only() {
    let armed = Arc::new(AtomicBool::new(false));
    let engine = Engine::new(Options::new(Arc::new(Timestamp::UNIX_EPOCH)));
    let server =
        ApiServer::builder().engine(engine).clock(Trap(Arc::clone(&armed))).our_kinds().build().expect("legal");
    armed.store(true, Ordering::SeqCst);
    let broken = json_request(&server, "POST", STAGES, &stage("dev")).await;
    assert_eq!((broken.code, &broken.body["reason"]), (500, &json!("InternalError")));
    armed.store(false, Ordering::SeqCst);
    assert_eq!(get(&server, STAGES).await.body["items"], json!([]), "nothing is half written");
    assert_eq!(json_request(&server, "POST", STAGES, &stage("dev")).await.code, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patches_of_many_writers_are_all_applied_once() {
    let server = server();
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "menu"}, "data": {}});
    json_request(&server, "POST", maps, &map).await;
    let writers = (0..8).map(|writer| {
        let server = server.clone();
        tokio::spawn(async move {
            for round in 0..20 {
                let patch = json!({"data": {format!("w{writer}-{round}"): "x"}}).to_string();
                let merge = [("content-type", "application/merge-patch+json")];
                let answer = send(&server, "PATCH", &format!("{maps}/menu"), &merge, patch).await;
                assert_eq!(answer.code, 200, "{}", answer.body);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no panic");
    }
    let data = get(&server, &format!("{maps}/menu")).await.body["data"].as_object().map(serde_json::Map::len);
    assert_eq!(data, Some(160));
}

#[test]
fn a_server_is_not_made_with_a_bad_definition() {
    let mut bad = konfidence_types::crds::all().remove(0);
    bad.spec.scope = "Galaxy".into();
    let refused = ApiServer::builder().crds([bad]).build().expect_err("refused").to_string();
    assert!(refused.contains("spec.scope: Unsupported value: \"Galaxy\""), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn the_path_of_all_namespaces_only_shows() {
    let server = server();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "menu", "namespace": "default"}});
    assert_eq!(json_request(&server, "POST", "/api/v1/configmaps", &map).await.code, 405);
    assert_eq!(send(&server, "DELETE", "/api/v1/configmaps", &[], Body::empty()).await.code, 405);
    assert_eq!(get(&server, "/api/v1/configmaps").await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn an_apply_says_what_it_cannot_own() {
    let server = server();
    let apply = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{STAGES}/dev?fieldManager=one");
    let unknown = "apiVersion: konfidence.cloud/v1alpha1\nkind: Stage\nspec: {vektor: x}\n";
    let refused = send(&server, "PATCH", &path, &apply, unknown).await;
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message(),
        "failed to create typed patch object (/dev; konfidence.cloud/v1alpha1, Kind=Stage): .spec.vektor: field \
         not declared in schema"
    );
    let other = "apiVersion: konfidence.cloud/v9\nkind: Stage\n";
    let refused = send(&server, "PATCH", &path, &apply, other).await;
    assert_eq!((refused.code, refused.message()), (400, "invalid object type: konfidence.cloud/v9, Kind=Stage"));
    let anonymous = send(&server, "PATCH", &format!("{STAGES}/dev"), &apply, unknown).await;
    assert_eq!(
        (anonymous.code, anonymous.message()),
        (422, "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch")
    );
}

//! Limits: what is too large, too deep, too many or too slow costs whoever sends it, and nobody else.
#![allow(clippy::expect_used)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures::StreamExt;
use http::Request;
use http_body_util::BodyExt;
use jiff::Timestamp;
use konfidence_apiserver::ApiServer;
use konfidence_sdk::store::engine::{Engine, Options, Scope};
use serde_json::{Value, json};
use support::{STAGES, get, json_request, send, stage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tower::ServiceExt;

/// The real server's limit on bodies, in bytes.
const MOST: usize = 3_145_728;
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Memory is the process's, so the tests of this file take turns.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// An open watch, read line by line.
struct Watch {
    lines: BodyDataStream,
    text: Vec<u8>,
}

impl Watch {
    async fn open(server: &ApiServer, path: &str) -> Self {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = server.service().oneshot(request).await.expect("the service never fails");
        assert_eq!(response.status(), 200);
        Self { lines: response.into_body().into_data_stream(), text: Vec::new() }
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        self.next_line().await.map(|line| serde_json::from_slice(&line).expect("JSON"))
    }

    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                return Some(self.text.drain(..=end).collect());
            }
            self.text.extend_from_slice(&self.lines.next().await?.expect("the server sends on"));
        }
    }
}

/// Resident memory of this process, in bytes.
fn resident_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("told");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

fn config_map(name: &str, content: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": content}})
}

/// A body of exactly so many bytes.
fn of_length(length: usize) -> String {
    let text = stage("long").to_string();
    let text = text.strip_suffix('}').expect("an object");
    format!(r#"{text},"x":"{}"}}"#, "x".repeat(length - text.len() - r#","x":""}"#.len()))
}

#[tokio::test]
async fn a_body_of_three_mebibytes_is_read_and_one_byte_more_is_refused_with_413() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let headers = [("content-type", "application/json")];
    let one = format!("{STAGES}/long");
    assert_eq!(of_length(MOST).len(), MOST);
    let answer = send(&server, "POST", STAGES, &headers, of_length(MOST)).await;
    assert_eq!(answer.code, 201, "{}", answer.message());
    for (method, path) in [("POST", STAGES), ("PUT", &one), ("DELETE", &one), ("PATCH", &one)] {
        let answer = send(&server, method, path, &headers, of_length(MOST + 1)).await;
        assert_eq!(answer.code, 413, "{method}");
        assert_eq!(answer.body["reason"], "RequestEntityTooLarge");
        assert_eq!(answer.message(), "Request entity too large: limit is 3145728");
    }
    assert_eq!(get(&server, &one).await.code, 200, "nothing was done");
}

#[tokio::test]
async fn a_body_that_never_ends_is_refused_before_memory_is() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let before = resident_memory();
    let chunk = axum::body::Bytes::from(vec![b' '; 1 << 20]);
    let endless = futures::stream::repeat_with(move || Ok::<_, std::convert::Infallible>(chunk.clone()));
    let answer =
        send(&server, "POST", STAGES, &[("content-type", "application/json")], Body::from_stream(endless)).await;
    assert_eq!(answer.code, 413);
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
}

#[tokio::test]
async fn nesting_over_ten_thousand_is_refused_with_400_for_every_verb_and_encoding() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let made = json_request(&server, "POST", CONFIG_MAPS, &config_map("x", "")).await;
    assert_eq!(made.code, 201);
    let one = format!("{CONFIG_MAPS}/x");
    let patch = format!("{one}?fieldManager=baker");
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(10_001), close.repeat(10_001));
        let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x"}},"data":{deep}}}"#);
        for (method, path, content_type) in [
            ("POST", CONFIG_MAPS, "application/json"),
            ("POST", CONFIG_MAPS, "application/yaml"),
            ("PUT", &one, "application/json"),
            ("DELETE", &one, "application/json"),
            ("PATCH", &patch, "application/merge-patch+json"),
            ("PATCH", &patch, "application/strategic-merge-patch+json"),
            ("PATCH", &patch, "application/json-patch+json"),
            ("PATCH", &patch, "application/apply-patch+yaml"),
        ] {
            let answer = send(&server, method, path, &[("content-type", content_type)], body.clone()).await;
            assert_eq!((answer.code, &answer.body["reason"]), (400, &json!("BadRequest")), "{method} {content_type}");
        }
    }
    assert_eq!(get(&server, &one).await.body["data"], json!({"a": ""}));
}

/// A kind with a part of any shape.
fn open_kind() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "loaves.bakery.example"}, "spec": {"group": "bakery.example", "scope": "Namespaced",
        "names": {"plural": "loaves", "singular": "loaf", "kind": "Loaf", "listKind": "LoafList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema}}]}})
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LOAVES: &str = "/apis/bakery.example/v1/namespaces/default/loaves";

/// A value in so many lists.
fn lists(levels: usize) -> String {
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

/// A value in so many objects.
fn objects(levels: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

/// A loaf of which the whole is nested two levels deeper than `layers`.
fn loaf(name: &str, layers: &str) -> String {
    format!(
        r#"{{"apiVersion":"bakery.example/v1","kind":"Loaf","metadata":{{"name":"{name}"}},"spec":{{"x":{layers}}}}}"#
    )
}

/// The answer as text: what it says is nested too deep for a test to parse.
async fn text(server: &ApiServer, method: &str, path: &str, content_type: &str, body: String) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let request = request.body(Body::from(body)).expect("a request");
    let response = server.service().oneshot(request).await.expect("the service never fails");
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (code, String::from_utf8(bytes.to_vec()).expect("UTF-8"))
}

#[tokio::test]
async fn objects_nested_ten_thousand_deep_are_taken_by_every_verb_and_shown_by_lists_and_watches() {
    const JSON: &str = "application/json";
    let _alone = ALONE.lock().await;
    let server = support::server();
    assert_eq!(json_request(&server, "POST", DEFINITIONS, &open_kind()).await.code, 201);
    let mut watch = Watch::open(&server, &format!("{LOAVES}?watch=true")).await;
    let before = resident_memory();
    // Objects in objects have an owner for each of their fields, and of ten thousand that takes a debug build minutes.
    for (name, layers) in [("lists", lists(9_998)), ("objects", objects(1_500))] {
        let one = format!("{LOAVES}/{name}");
        let mut selected = Watch::open(&server, &format!("{LOAVES}?watch=true&labelSelector=a=b")).await;
        let (code, shown) = text(&server, "POST", LOAVES, JSON, loaf(name, &layers)).await;
        assert_eq!(code, 201, "{}", &shown[..300.min(shown.len())]);
        for path in [&one, LOAVES] {
            let (code, shown) = text(&server, "GET", path, JSON, String::new()).await;
            assert!(code == 200 && shown.contains(&layers), "{path}");
        }
        let line = watch.next_line().await.expect("open");
        assert!(line.starts_with(br#"{"type":"ADDED""#) && String::from_utf8_lossy(&line).contains(&layers));

        let labelled = r#"{"metadata":{"labels":{"a":"b"}}}"#.to_owned();
        let json_patch = format!(r#"[{{"op":"add","path":"/spec/y","value":{layers}}}]"#);
        let status = format!(r#"{{"status":{{"x":{layers}}}}}"#);
        for (method, path, content_type, body) in [
            ("PATCH", one.clone(), "application/merge-patch+json", labelled),
            ("PATCH", one.clone(), "application/json-patch+json", json_patch),
            ("PATCH", format!("{one}/status"), "application/merge-patch+json", status),
            (
                "PATCH",
                format!("{one}?fieldManager=anna&force=true"),
                "application/apply-patch+yaml",
                loaf(name, &layers),
            ),
        ] {
            let (code, shown) = text(&server, method, &path, content_type, body).await;
            assert!(code == 200 && shown.contains(&layers), "{code} {method} {path}");
            assert!(watch.next_line().await.is_some_and(|line| line.starts_with(br#"{"type":"MODIFIED""#)));
        }
        assert!(selected.next_line().await.is_some_and(|line| line.starts_with(br#"{"type":"ADDED""#)));
        let (code, _) = text(&server, "DELETE", &one, JSON, String::new()).await;
        assert_eq!(code, 200);
        assert!(watch.next_line().await.is_some_and(|line| line.starts_with(br#"{"type":"DELETED""#)));
    }
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 300 << 20, "{grown} bytes");
    // The definition and all of its objects go, on whatever stack.
    assert_eq!(text(&server, "POST", LOAVES, JSON, loaf("last", &lists(9_998))).await.0, 201);
    let name = "loaves.bakery.example";
    assert_eq!(json_request(&server, "DELETE", &format!("{DEFINITIONS}/{name}"), &json!({})).await.code, 200);
    assert_eq!(get(&server, LOAVES).await.code, 404);
}

#[tokio::test]
async fn what_a_patch_nests_deeper_than_ten_thousand_is_refused_with_422_as_on_a_real_server() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    assert_eq!(json_request(&server, "POST", DEFINITIONS, &open_kind()).await.code, 201);
    let (code, _) = text(&server, "POST", LOAVES, "application/json", loaf("rye", &lists(6_000))).await;
    assert_eq!(code, 201);
    let innermost = format!("/spec/x{}", "/0".repeat(6_000));
    for (levels, wanted, why) in [
        (3_998, 200, ""),
        (3_999, 422, "couldn't get version/kind; json parse error: invalid character '[' exceeded max depth"),
        (4_000, 422, "the server rejected our request due to an error in our request"),
        (9_990, 422, "the server rejected our request due to an error in our request"),
    ] {
        let body = format!(r#"[{{"op":"replace","path":"{innermost}","value":{}}}]"#, lists(levels));
        let path = format!("{LOAVES}/rye?dryRun=All");
        let (code, shown) = text(&server, "PATCH", &path, "application/json-patch+json", body).await;
        assert!(code == wanted && shown.contains(why), "{levels}: {code} {}", &shown[shown.len() - 300..]);
    }
}

#[tokio::test]
async fn who_owns_fields_that_are_too_deep_to_be_noted_is_not_noted() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    assert_eq!(json_request(&server, "POST", DEFINITIONS, &open_kind()).await.code, 201);
    // Lists are owned as a whole, so here only the outer objects count.
    let layers = format!(r#"{{"a":{}}}"#, lists(9_997));
    let (code, shown) = text(&server, "POST", LOAVES, "application/json", loaf("rye", &layers)).await;
    assert!(code == 201 && shown.contains(r#""f:x":{".":{},"f:a":{}}"#));
}

#[tokio::test]
async fn schemas_nested_hundreds_deep_are_served_and_those_that_take_all_memory_refused() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let kind = |levels: usize| {
        let mut kind = open_kind();
        kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!("schema");
        let begin = r#"{"type":"object","properties":{"a":"#.repeat(levels);
        let schema = format!(r#"{begin}{{"type":"string"}}{}"#, "}}".repeat(levels));
        kind.to_string().replace(r#""schema""#, "\u{0}").replacen('\u{0}', r#""schema""#, 1).replace('\u{0}', &schema)
    };
    let before = resident_memory();
    let (code, shown) = text(&server, "POST", DEFINITIONS, "application/json", kind(4_000)).await;
    assert!(code == 422 && shown.contains("nested too deep"), "{code} {}", &shown[..500]);
    let (code, shown) = text(&server, "POST", DEFINITIONS, "application/json", kind(300)).await;
    assert_eq!(code, 201, "{shown}");
    let loaf = |value: &str| {
        let layers = objects(300).replace('1', value);
        let layers = layers.strip_prefix('{').expect("an object").to_owned();
        format!(r#"{{"apiVersion":"bakery.example/v1","kind":"Loaf","metadata":{{"name":"rye"}},{layers}"#)
    };
    let (code, shown) = text(&server, "POST", LOAVES, "application/json", loaf("1")).await;
    assert!(code == 422 && shown.contains("must be of type string"), "{code}");
    let (code, _) = text(&server, "POST", LOAVES, "application/json", loaf(r#""1""#)).await;
    assert_eq!(code, 201);
    for path in ["/openapi/v3/apis/bakery.example/v1", "/openapi/v2"] {
        assert_eq!(text(&server, "GET", path, "application/json", String::new()).await.0, 200, "{path}");
    }
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 300 << 20, "{grown} bytes");
}

#[tokio::test]
async fn a_rule_that_is_nested_deep_costs_its_author_an_answer_and_not_the_server() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    for (rule, code) in [
        (format!("{}self == self{}", "(".repeat(200), ")".repeat(200)), None),
        (format!("{}true", "!".repeat(1_000)), None),
        (format!("{}true{}", "(".repeat(900), ")".repeat(900)), None),
        (format!("{}true{}", "(".repeat(100_000), ")".repeat(100_000)), Some(422)),
        (vec!["true"; 20_000].join(" && "), Some(422)),
    ] {
        let mut kind = open_kind();
        kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
            json!([{"rule": rule}]);
        let answer = json_request(&server, "POST", &format!("{DEFINITIONS}?dryRun=All"), &kind).await;
        assert!(matches!(answer.code, 201 | 422) && code.is_none_or(|code| answer.code == code), "{}", answer.code);
    }
}

#[tokio::test]
async fn a_body_of_nothing_but_mistakes_is_answered_soon_and_tells_a_hundred() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let fields: Vec<String> = (0..100_000).map(|number| format!(r#""u{number}":1"#)).collect();
    let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x"}},{}}}"#, fields.join(","));
    let headers = [("content-type", "application/json")];
    let begin = tokio::time::Instant::now();
    let made = send(&server, "POST", CONFIG_MAPS, &headers, body.clone()).await;
    assert_eq!(made.code, 201);
    assert_eq!(made.headers.get_all("warning").iter().count(), 100, "as many as the real server tells");
    let refused = send(&server, "PUT", &format!("{CONFIG_MAPS}/x?fieldValidation=Strict"), &headers, body).await;
    assert_eq!((refused.code, refused.message().matches("unknown field").count()), (400, 100));

    let secrets = |letter: char| {
        let secrets: Vec<Value> = (0..10_000).map(|number| json!({"name": format!("{letter}{number}")})).collect();
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}, "secrets": secrets});
        account.to_string()
    };
    for letter in ['a', 'b'] {
        let path = format!("/api/v1/namespaces/default/serviceaccounts/x?fieldManager={letter}");
        let headers = [("content-type", "application/apply-patch+yaml")];
        assert!(send(&server, "PATCH", &path, &headers, secrets(letter)).await.code < 300);
    }
    // Seconds in a debug build; a walk through all for each of them takes minutes.
    assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_thousand_watches_see_every_change_and_hold_up_nobody() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let path = format!("{STAGES}?watch=true");
    let mut watches = Vec::new();
    for _ in 0..1000 {
        watches.push(Watch::open(&server, &path).await);
    }
    for number in 0..5 {
        assert_eq!(json_request(&server, "POST", STAGES, &stage(&format!("s{number}"))).await.code, 201);
    }
    assert_eq!(get(&server, STAGES).await.body["items"].as_array().map(Vec::len), Some(5));
    for watch in &mut watches {
        for number in 0..5 {
            let event = watch.next().await.expect("open");
            assert_eq!(event["object"]["metadata"]["name"], format!("s{number}"));
        }
    }
    server.end();
    for watch in &mut watches {
        assert_eq!(watch.next().await, None);
    }
}

#[tokio::test]
async fn a_watch_that_falls_behind_is_cut_off_with_410_and_the_others_miss_nothing() {
    let _alone = ALONE.lock().await;
    let engine = Engine::new(Options { history: 50, ..Options::new(Arc::new(Timestamp::UNIX_EPOCH)) });
    let server = ApiServer::builder().engine(engine).build().expect("legal");
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={}", server.engine().published());
    let mut slow = Watch::open(&server, &path).await;
    let mut fast = Watch::open(&server, &path).await;
    for number in 0..200 {
        let name = format!("c{number}");
        assert_eq!(json_request(&server, "POST", CONFIG_MAPS, &config_map(&name, "")).await.code, 201);
        assert_eq!(fast.next().await.expect("open")["object"]["metadata"]["name"], name);
    }
    let event = slow.next().await.expect("told");
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(slow.next().await, None);
}

#[tokio::test]
async fn a_client_that_never_reads_is_cut_off_while_others_are_served_and_memory_stays_bounded() {
    let _alone = ALONE.lock().await;
    let server = support::server();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn({
        let server = server.clone();
        async move { server.serve(listener, std::future::pending()).await }
    });
    // The system takes little for this client, so that what it leaves unread waits in the server.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("set");
    let mut deaf = socket.connect(address).await.expect("connected");
    let request = format!("GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");
    deaf.write_all(request.as_bytes()).await.expect("sent");
    deaf.read_exact(&mut [0; 1]).await.expect("answered");

    let mut other = Watch::open(&server, &format!("{CONFIG_MAPS}?watch=true")).await;
    let before = resident_memory();
    let content = "x".repeat(500_000);
    for number in 0..300 {
        let name = format!("c{}", number % 2);
        let method =
            if number < 2 { ("POST", CONFIG_MAPS.to_owned()) } else { ("PUT", format!("{CONFIG_MAPS}/{name}")) };
        let body = config_map(&name, &format!("{content}{number}"));
        assert!(json_request(&server, method.0, &method.1, &body).await.code < 300);
        assert!(other.next().await.is_some());
        // All of this runs on one thread: the other connection gets its turn.
        tokio::task::yield_now().await;
    }
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 130 << 20, "300 changes of half a megabyte took {grown} bytes");

    // Half a minute without reading, in virtual time; then comes what was underway, and the end in the middle of a line.
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(31)).await;
    tokio::time::resume();
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_mins(1), deaf.read_to_end(&mut rest)).await;
    assert!(end.is_ok(), "the connection is open still");
    assert!(!rest.ends_with(b"\r\n0\r\n\r\n"), "the watch ended by itself");
    assert_eq!(get(&server, CONFIG_MAPS).await.body["items"].as_array().map(Vec::len), Some(2));
    serving.abort();
}

#[tokio::test]
async fn a_hundred_thousand_objects_are_listed_paged_watched_and_deleted_with_the_right_codes() {
    const COUNT: usize = 100_000;
    let _alone = ALONE.lock().await;
    let server = support::server();
    let before = resident_memory();
    let stored = server.engine().collection(stages());
    for number in 0..COUNT {
        let mut one = stage(&format!("s{number:06}"));
        one["metadata"]["namespace"] = "default".into();
        stored.create(one, Scope::Main).expect("created");
    }
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 400 << 20, "{} bytes an object", grown / COUNT);

    let page = get(&server, &format!("{STAGES}?limit=500")).await;
    let metadata = &page.body["metadata"];
    assert_eq!((page.code, &metadata["remainingItemCount"]), (200, &json!(COUNT - 500)));
    let next = metadata["continue"].as_str().expect("a token").to_owned();
    // The rest of the list stays as it was, whatever happens meanwhile.
    let last = format!("{STAGES}/s{:06}", COUNT - 1);
    assert_eq!(json_request(&server, "DELETE", &last, &json!({})).await.code, 200);
    let request =
        Request::get(format!("{STAGES}?limit={COUNT}&continue={next}")).body(Body::empty()).expect("a request");
    let page = server.service().oneshot(request).await.expect("the service never fails").into_body();
    let page = page.collect().await.expect("a body").to_bytes();
    let page = std::str::from_utf8(&page).expect("text");
    assert_eq!(page.matches(r#""name":"s"#).count(), COUNT - 500);
    assert!(page.contains(&format!(r#""name":"s{:06}""#, COUNT - 1)));

    let before = resident_memory();
    let path = format!(
        "{STAGES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watches = Vec::new();
    for _ in 0..10 {
        watches.push(Watch::open(&server, &path).await);
    }
    let grown = resident_memory().saturating_sub(before);
    assert!(grown < 100 << 20, "ten watches that have not read yet took {grown} bytes");
    drop(watches.split_off(1));
    let mut watch = watches.pop().expect("one");
    for _ in 0..COUNT - 1 {
        assert!(watch.next_line().await.expect("open").starts_with(br#"{"type":"ADDED","#));
    }
    assert_eq!(watch.next().await.expect("open")["type"], "BOOKMARK");
    assert_eq!(get(&server, &last).await.code, 404);
    assert_eq!(json_request(&server, "POST", STAGES, &stage("s000001")).await.code, 409);
    let version = server.engine().published();
    let future = get(&server, &format!("{STAGES}?resourceVersion={}", version + 1)).await;
    assert_eq!(future.code, 504);
    let old = get(&server, &format!("{STAGES}?resourceVersion=2&resourceVersionMatch=Exact")).await;
    assert_eq!(old.code, 410);
    assert_eq!(json_request(&server, "DELETE", &format!("{STAGES}?labelSelector=a=b"), &json!({})).await.code, 200);
    assert_eq!(stored.list(None).items.len(), COUNT - 1);
}

/// Stages as the server stores them.
fn stages() -> konfidence_sdk::store::engine::ResourceType {
    konfidence_sdk::store::engine::ResourceType {
        group: "konfidence.cloud".into(),
        version: "v1alpha1".into(),
        kind: "Stage".into(),
        plural: "stages".into(),
        namespaced: true,
        status_subresource: true,
        counts_generations: true,
    }
}

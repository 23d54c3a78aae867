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

//! `konfidence dev`: how it starts, what it refuses, how it ends.

#![allow(clippy::expect_used, reason = "what fails in a helper fails its test")]

mod support;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::json;
use support::{DEADLINE, Dev, Ended, eventually, folder, konfidence, run, three_stages};

/// `dev` with this manifest, which must not be served.
fn dev_with(name: &str, manifest: &str) -> (Ended, bool) {
    let folder = folder();
    let (file, kubeconfig) = (folder.join(name), folder.join("kubeconfig"));
    fs::write(&file, manifest).expect("a file");
    let mut command = konfidence();
    // A good one before and after it: neither must be served either.
    command.args(["dev", "--listen", "127.0.0.1:0", "--apply", &three_stages(), "--apply"]).arg(&file);
    command.arg("--apply").arg(three_stages()).arg("--kubeconfig").arg(&kubeconfig);
    (run(&mut command), kubeconfig.exists())
}

#[track_caller]
fn refused(name: &str, manifest: &str, words: &[&str]) {
    let (ended, has_kubeconfig) = dev_with(name, manifest);
    ended.fails(1, &[&[name], words].concat());
    assert!(!has_kubeconfig, "nothing is written");
}

#[test]
fn malformed_yaml_is_refused_in_one_line() {
    refused("a.yaml", "apiVersion: v1\nkind: [unclosed\n", &[]);
    refused("a.yaml", "just text", &["not an object"]);
    refused("a.yaml", "kind: Stage\n", &["apiVersion is missing"]);
    refused("a.yaml", "\u{0}\u{1}", &[]);
}

#[test]
fn an_unknown_field_is_refused_by_name() {
    let stage = "apiVersion: konfidence.cloud/v1alpha1\nkind: Stage\nmetadata: {name: dev, namespace: bakery-lab}\n";
    refused("a.yaml", &format!("{stage}spec: {{vector: '', vektor: ''}}\n"), &["spec.vektor"]);
    refused("a.yaml", &format!("{stage}spec: {{vector: 7}}\n"), &["spec.vector"]);
}

#[test]
fn a_kind_that_is_not_served_is_refused_by_name() {
    refused("a.yaml", "apiVersion: v1\nkind: Oven\nmetadata: {name: a}\n", &["no kind Oven of v1"]);
    refused("a.yaml", "apiVersion: bakery/v1\nkind: Stage\nmetadata: {name: a}\n", &["no kind Stage of bakery/v1"]);
}

#[test]
fn a_broken_rule_is_refused_with_field_and_rule() {
    let config = "apiVersion: konfidence.cloud/v1alpha1\nkind: VectorPromotionConfig\nmetadata: {name: a}\n\
                  spec:\n  source: {kind: Stage, name: dev}\n  target: {kind: Stage, landscape: lab, name: test}\n";
    refused("a.yaml", config, &["spec.source", "landscape must be set exactly when kind is Stage"]);
}

#[test]
fn manifests_too_large_or_too_deep_are_refused() {
    let large =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {}}}\n", "x".repeat(10 << 20));
    refused("a.yaml", &large, &["may have at most"]);
    refused("a.json", &format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000)), &[]);
    refused("a.yaml", &format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)), &[]);
}

#[test]
fn a_path_that_is_not_there_is_refused() {
    run(konfidence().args(["dev", "--listen", "127.0.0.1:0", "--apply", "/nonexistent"])).fails(1, &["/nonexistent"]);
    let empty = folder();
    run(konfidence().args(["dev", "--listen", "127.0.0.1:0", "--apply"]).arg(&empty)).fails(1, &["no .yaml"]);
}

#[test]
fn a_wait_for_a_namespace_is_told_while_it_lasts() {
    let folder = folder();
    let (file, stderr) = (folder.join("a.yaml"), folder.join("stderr"));
    let stage = "apiVersion: konfidence.cloud/v1alpha1\nkind: Stage\nmetadata: {name: dev, namespace: nowhere}\n";
    fs::write(&file, format!("{stage}spec: {{vector: ''}}\n")).expect("a file");
    let mut command = konfidence();
    command.args(["dev", "--listen", "127.0.0.1:0", "--apply"]).arg(&file);
    let mut waiting = command.stderr(fs::File::create(&stderr).expect("a file")).spawn().expect("it starts");
    eventually("it says so", || {
        fs::read_to_string(&stderr).expect("text").contains("a.yaml (document 1): waits for namespace nowhere")
    });
    assert_eq!(waiting.try_wait().expect("its own child"), None, "it goes on waiting");
    waiting.kill().expect("its own child");
    waiting.wait().expect("its own child");
}

#[test]
fn a_port_in_use_is_told_with_the_remedy() {
    let dev = Dev::start(&[]);
    let address = dev.url.strip_prefix("http://").expect("a URL");
    run(konfidence().args(["dev", "--listen", address])).fails(1, &[address, "in use", "--listen"]);
    run(konfidence().args(["dev", "--listen", "203.0.113.1:0"])).fails(1, &["203.0.113.1:0", "HOST:PORT"]);
}

#[test]
fn both_signals_end_it_cleanly() {
    for signal in ["-INT", "-TERM"] {
        let dev = Dev::with_three_stages();
        assert_eq!(dev.end_by(signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn an_open_watch_does_not_keep_it_alive() {
    let dev = Dev::with_three_stages();
    let mut watch = std::process::Command::new("kubectl");
    watch.arg("--kubeconfig").arg(dev.folder.join("kubeconfig"));
    let watch = watch.args(["get", "vpc", "-n", "bakery", "-w"]).stdout(std::process::Stdio::piped()).spawn();
    let mut watch = watch.expect("kubectl");
    let mut table = std::io::BufReader::new(watch.stdout.take().expect("piped"));
    let mut first = String::new();
    std::io::BufRead::read_line(&mut table, &mut first).expect("a line");
    assert!(first.starts_with("NAME"), "{first}");
    assert_eq!(dev.end_by("-TERM").code(), Some(0));
    let _ = watch.kill();
    let _ = watch.wait();
}

/// Sends a request whose answer nobody waits for.
fn send(dev: &Dev, method: &str, path: &str, body: &str) -> TcpStream {
    let address = dev.url.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}");
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).expect("sent");
    stream.set_read_timeout(Some(DEADLINE)).expect("set");
    stream
}

#[test]
fn rules_that_take_long_hold_up_neither_others_nor_the_end() {
    let dev = Dev::start(&[]);
    // Nine million turns are within what is allowed, and take a minute or so where nothing is optimized.
    let rule = "self.all(a, self.exists(b, a + b < 0) || true)";
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "loaves.bakery.example"}, "spec": {"group": "bakery.example", "scope": "Namespaced",
        "names": {"plural": "loaves", "singular": "loaf", "kind": "Loaf"}, "versions": [{"name": "v1", "served": true,
        "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"sizes": {"type": "array",
        "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": rule}]}}}}}]}});
    let mut answer = String::new();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    send(&dev, "POST", definitions, &definition.to_string()).read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let loaves = "/apis/bakery.example/v1/namespaces/default/loaves";
    let busy: Vec<TcpStream> = (0..8)
        .map(|number| {
            let loaf = json!({"apiVersion": "bakery.example/v1", "kind": "Loaf", "metadata": {"name": format!("l{number}")},
                "sizes": vec![1; 3000]});
            send(&dev, "POST", loaves, &loaf.to_string())
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    let are_busy = || {
        for stream in &busy {
            stream.set_nonblocking(true).expect("set");
            let answered = stream.peek(&mut [0; 1]).map_err(|error| error.kind());
            assert_eq!(answered, Err(ErrorKind::WouldBlock), "the rule takes long");
        }
    };
    are_busy();
    let mut answer = String::new();
    send(&dev, "GET", "/version", "").read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    are_busy();
    assert_eq!(dev.end_by("-TERM").code(), Some(0));
    for mut stream in busy {
        let mut answer = Vec::new();
        stream.set_nonblocking(false).expect("set");
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 201"), "the end came after the last rule");
    }
}

#[test]
fn the_kubeconfig_has_one_context_and_never_replaces_anothers() {
    let dev = Dev::start(&[]);
    let text = fs::read_to_string(dev.folder.join("kubeconfig")).expect("written");
    assert!(text.contains(&dev.url), "{text}");
    assert_eq!(dev.kubectl(&["config", "get-contexts", "-o", "name"]).ok(), "konfidence\n");

    let other = folder().join("kubeconfig");
    let theirs = "apiVersion: v1\nkind: Config\ncontexts:\n- name: production\n  context: {cluster: a, user: b}\n";
    fs::write(&other, theirs).expect("a file");
    let mut command = konfidence();
    command.args(["dev", "--listen", "127.0.0.1:0", "--kubeconfig"]).arg(&other);
    run(&mut command).fails(1, &["with the context `konfidence` alone", "--kubeconfig"]);
    assert_eq!(fs::read_to_string(&other).expect("still there"), theirs);
    let only: Vec<_> = fs::read_dir(other.parent().expect("a folder")).expect("a folder").collect();
    assert_eq!(only.len(), 1, "nothing half-written is left");

    let mut command = konfidence();
    command.args(["dev", "--listen", "127.0.0.1:0", "--kubeconfig"]).arg(Path::new("/nonexistent/kubeconfig"));
    run(&mut command).fails(1, &["/nonexistent/kubeconfig"]);
}

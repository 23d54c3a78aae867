//! Stock kubectl against the server on a port: what a newcomer types, without special flags.
#![allow(clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use konfidence_apiserver::ApiServer;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// kubectl, a server of its own, and a directory for files.
struct Kubectl {
    server: String,
    files: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    served: Option<std::thread::JoinHandle<()>>,
}

impl Kubectl {
    /// `None`: there is no kubectl here. In CI that is a failure.
    fn start(test: &str) -> Option<Self> {
        let found =
            Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|found| found.status.success());
        if !found {
            assert_ne!(
                std::env::var("CI").as_deref(),
                Ok("true"),
                "kubectl is not on the PATH, and CI=true wants it tested"
            );
            eprintln!("skipped: kubectl is not on the PATH");
            return None;
        }
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let served = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
                let server = ApiServer::builder().our_kinds().build().expect("our definitions are legal");
                let stopped = async {
                    let _ = stopped.await;
                };
                server.serve(listener, stopped).await.expect("served");
            });
        });
        let files = std::env::temp_dir().join(format!("konfidence-kubectl-{}-{test}", std::process::id()));
        fs::create_dir_all(&files).expect("a directory");
        let address = format!("http://{}", told.recv().expect("the server's address"));
        Some(Self { server: address, files, stop: Some(stop), served: Some(served) })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(["--server", &self.server])
            .args(arguments)
            .env("KUBECONFIG", "/dev/null")
            .env("HOME", &self.files)
            .env("EDITOR", self.files.join("editor"));
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().expect("kubectl runs")
    }

    /// What kubectl prints; it has to succeed.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {arguments:?} failed:\n{out}{err}");
        out.into_owned()
    }

    /// What kubectl complains; it has to fail.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(
            !output.status.success(),
            "kubectl {arguments:?} succeeded: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.files.join(name);
        fs::write(&path, content).expect("written");
        path.to_string_lossy().into_owned()
    }

    fn stage(&self, vector: &str) -> String {
        self.file(
            "stage.yaml",
            &format!(
                "apiVersion: konfidence.cloud/v1alpha1\nkind: Stage\nmetadata:\n  name: dev\n  labels: {{app: menu}}\n\
                 spec:\n  vector: {vector}\n"
            ),
        )
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(served) = self.served.take() {
            let _ = served.join();
        }
        let _ = fs::remove_dir_all(&self.files);
    }
}

#[test]
fn create_get_and_describe() {
    let Some(kubectl) = Kubectl::start("get") else { return };
    assert_eq!(kubectl.run(&["create", "namespace", "bakery"]), "namespace/bakery created\n");
    kubectl.run(&["create", "configmap", "menu", "--from-literal=a=1", "-n", "bakery"]);
    kubectl.run(&["create", "secret", "generic", "key", "--from-literal=p=x", "-n", "bakery"]);
    kubectl.run(&["create", "serviceaccount", "baker", "-n", "bakery"]);
    assert_eq!(kubectl.run(&["get", "configmap", "menu", "-n", "bakery", "-o", "jsonpath={.data.a}"]), "1");
    let stage = kubectl.stage("v1");
    assert_eq!(kubectl.run(&["create", "-f", &stage]), "stage.konfidence.cloud/dev created\n");
    let table = kubectl.run(&["get", "stages"]);
    let mut lines = table.lines();
    assert!(lines.next().is_some_and(|header| header.starts_with("NAME   VECTOR")), "{table}");
    assert!(lines.next().is_some_and(|row| row.starts_with("dev    v1")), "{table}");
    assert!(kubectl.run(&["get", "stages", "-A", "-o", "wide"]).starts_with("NAMESPACE   NAME"));
    assert!(kubectl.run(&["get", "stage", "dev", "-o", "yaml"]).contains("vector: v1"));
    assert_eq!(kubectl.run(&["get", "stage", "-l", "app=menu", "-o", "name"]), "stage.konfidence.cloud/dev\n");
    let described = kubectl.run(&["describe", "stage", "dev"]);
    assert!(described.contains("Vector:  v1") && described.contains("Events:  "), "{described}");
    assert!(kubectl.run(&["describe", "namespace", "bakery"]).contains("Status:       Active"));
    assert!(kubectl.fails(&["get", "stage", "none"]).contains("stages.konfidence.cloud \"none\" not found"));
    assert!(kubectl.run(&["auth", "whoami"]).contains("konfidence-dev"));
    assert!(kubectl.run(&["auth", "whoami", "--as", "ada"]).contains("ada"));
}

#[test]
fn apply_from_the_client_and_from_the_server() {
    let Some(kubectl) = Kubectl::start("apply") else { return };
    assert_eq!(kubectl.run(&["apply", "-f", &kubectl.stage("v1")]), "stage.konfidence.cloud/dev created\n");
    assert_eq!(kubectl.run(&["apply", "-f", &kubectl.stage("v1")]), "stage.konfidence.cloud/dev unchanged\n");
    assert_eq!(kubectl.run(&["apply", "-f", &kubectl.stage("v2")]), "stage.konfidence.cloud/dev configured\n");
    let by_server = ["apply", "--server-side", "-f"];
    let applied = kubectl.run(&[by_server.as_slice(), &[&kubectl.stage("v3")]].concat());
    assert_eq!(applied, "stage.konfidence.cloud/dev serverside-applied\n");
    let fourth = kubectl.stage("v4");
    let other = [by_server.as_slice(), &[&fourth, "--field-manager", "other"]].concat();
    let conflict = kubectl.fails(&other);
    assert!(conflict.contains("Apply failed with 1 conflict: conflict with \"kubectl\": .spec.vector"), "{conflict}");
    kubectl.run(&[other.as_slice(), &["--force-conflicts"]].concat());
    let bad =
        kubectl.file("bad.yaml", &fs::read_to_string(kubectl.stage("v1")).expect("read").replace("vector", "vektor"));
    let refused = kubectl.fails(&["create", "-f", &bad]);
    assert!(refused.contains("strict decoding error: unknown field \"spec.vektor\""), "{refused}");
    assert!(kubectl.output(&["diff", "-f", &kubectl.stage("v9")]).status.code() == Some(1));
    assert_eq!(kubectl.run(&["get", "stage", "dev", "-o", "jsonpath={.spec.vector}"]), "v4");
}

#[test]
fn change_watch_wait_and_delete() {
    let Some(kubectl) = Kubectl::start("change") else { return };
    kubectl.run(&["create", "-f", &kubectl.stage("v1")]);
    let editor = kubectl.file("editor", "#!/bin/sh\nsed -i 's/vector: .*/vector: edited/' \"$1\"\n");
    assert!(Command::new("chmod").args(["+x", &editor]).status().is_ok_and(|done| done.success()));
    assert_eq!(kubectl.run(&["edit", "stage", "dev"]), "stage.konfidence.cloud/dev edited\n");
    kubectl.run(&["wait", "--for=jsonpath={.spec.vector}=edited", "stage/dev", "--timeout=20s"]);
    kubectl.run(&["patch", "stage", "dev", "--type", "merge", "-p", r#"{"spec":{"vector":"v3"}}"#]);
    kubectl.run(&[
        "patch",
        "stage",
        "dev",
        "--type",
        "json",
        "-p",
        r#"[{"op":"replace","path":"/spec/vector","value":"v4"}]"#,
    ]);
    kubectl.run(&["label", "stage", "dev", "team=bakers"]);
    kubectl.run(&["annotate", "stage", "dev", "note=x"]);
    let shown = kubectl.run(&[
        "get",
        "stage",
        "dev",
        "-o",
        "jsonpath={.spec.vector} {.metadata.labels.team} {.metadata.annotations.note}",
    ]);
    assert_eq!(shown, "v4 bakers x");
    let watching = kubectl
        .command(&["get", "stage", "dev", "-w", "--output-watch-events", "-o", "name", "--request-timeout=20s"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    let deleted = kubectl.run(&["delete", "stage", "dev"]);
    assert_eq!(deleted, "stage.konfidence.cloud \"dev\" deleted\n");
    kubectl.run(&["wait", "--for=delete", "stage/dev", "--timeout=20s"]);
    let mut watching = watching;
    let _ = watching.kill();
    let _ = watching.wait();
    kubectl.run(&["create", "namespace", "bakery"]);
    kubectl.run(&["create", "configmap", "menu", "-n", "bakery"]);
    kubectl.run(&["delete", "namespace", "bakery", "--timeout=20s"]);
    assert!(kubectl.fails(&["get", "namespace", "bakery"]).contains("not found"));
}

#[test]
fn get_watches() {
    use std::io::{BufRead, BufReader};
    let Some(kubectl) = Kubectl::start("watch") else { return };
    kubectl.run(&["create", "-f", &kubectl.stage("v1")]);
    let mut watching = kubectl
        .command(&["get", "stages", "-w", "--output-watch-events"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    let mut lines = BufReader::new(watching.stdout.take().expect("its output")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert!(next().starts_with("EVENT      NAME   VECTOR"));
    assert!(next().starts_with("ADDED      dev    v1"));
    kubectl.run(&["patch", "stage", "dev", "--type", "merge", "-p", r#"{"spec":{"vector":"v2"}}"#]);
    assert!(next().starts_with("MODIFIED   dev    v2"));
    kubectl.run(&["delete", "stage", "dev"]);
    assert!(next().starts_with("DELETED    dev    v2"));
    let _ = watching.kill();
    let _ = watching.wait();
}

#[test]
fn explain_and_api_resources() {
    let Some(kubectl) = Kubectl::start("explain") else { return };
    let explained = kubectl.run(&["explain", "vectorpromotionconfig.spec", "--recursive"]);
    assert!(explained.contains("keepLastPromotions\t<integer>") && explained.contains("-required-"), "{explained}");
    assert!(kubectl.run(&["explain", "stage"]).contains("GROUP:      konfidence.cloud"));
    assert!(kubectl.run(&["explain", "configmap.data"]).contains("FIELD: data <map[string]string>"));
    let resources = kubectl.run(&["api-resources", "--api-group", "konfidence.cloud"]);
    for kind in ["Landscape", "Stage", "VectorPromotion", "VectorPromotionConfig", "VectorTemplate"] {
        assert!(resources.lines().any(|line| line.ends_with(kind)), "{resources}");
    }
    assert!(kubectl.run(&["api-versions"]).contains("konfidence.cloud/v1alpha1"));
    assert!(kubectl.run(&["version"]).contains("Server Version: v1.36"));
    assert!(kubectl.run(&["get", "crds"]).contains("stages.konfidence.cloud"));
}

//! The binary on a server with a port, from start to SIGTERM, and its lease.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows tests by their attribute only")]

mod cluster;

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Cluster, MANAGED, PROJECT, until};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;
use konfidence_controllers::runtime::Election;
use konfidence_controllers::wiring::{DomainName, Process};
use konfidence_sdk::types::Stage;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

async fn holder(client: &Client) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), PROJECT);
    leases.get_opt("konfidence-promotion").await.unwrap()?.spec?.holder_identity
}

async fn on_stage(cluster: &Cluster, vector: &str) -> bool {
    cluster.get::<Stage>(MANAGED, "dev").await.spec.vector == vector
}

/// One GET over a plain socket: status and body.
async fn ask(address: &str, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn started(kubeconfig: &std::path::Path) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_promotion-controller"))
        .args(["--listen", "127.0.0.1:0", "--namespace", PROJECT])
        .env("KUBECONFIG", kubeconfig)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    let address = first["fields"]["address"].as_str().unwrap().to_owned();
    // A pipe that nobody reads would stop the process in the end.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_binary_promotes_tells_about_itself_and_hands_its_lease_over() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn({
        let server = cluster.server.clone();
        async move { server.serve(listener, std::future::pending()).await }
    });
    let directory = std::env::temp_dir().join(format!("konfidence-binary-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let kubeconfig = directory.join("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    std::fs::write(&kubeconfig, config.to_string()).unwrap();

    let (mut child, address) = started(&kubeconfig).await;
    until("it is ready", async || ask(&address, "/readyz").await.0 == 200).await;
    cluster.assemble("menu:1").await;
    until("the vector is on the stage", async || on_stage(&cluster, "menu:1").await).await;
    assert_eq!(ask(&address, "/healthz").await.0, 200);
    let metrics = async || ask(&address, "/metrics").await.1;
    until("it is counted", async || metrics().await.contains("konfidence_promotions{state=\"Succeeded\"} 1")).await;
    let events: Api<Event> = Api::namespaced(cluster.store.client().clone(), PROJECT);
    let posted = async || events.list(&ListParams::default()).await.unwrap().items;
    let tells = |event: &Event| {
        event.reporting_controller.as_deref() == Some("konfidence.cloud/promotion-controller")
            && event.reason.as_deref() == Some("PromotionSucceeded")
    };
    until("its success is told", async || posted().await.iter().any(tells)).await;
    assert!(holder(cluster.store.client()).await.is_some());

    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
    let ended = tokio::time::timeout(Duration::from_secs(20), child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
    assert_eq!(holder(cluster.store.client()).await, None);
    std::fs::remove_dir_all(&directory).unwrap();
    serving.abort();
}

fn elected(cluster: &Cluster, identity: &str) -> (Arc<Process>, CancellationToken, tokio::task::JoinHandle<()>) {
    let election = Election { namespace: PROJECT.into(), identity: identity.into() };
    let process = Process::new(cluster.client(), [DomainName::Promotion]).with_election(election);
    let (process, stop) = (Arc::new(process.with_clock(Arc::new(cluster.clock))), CancellationToken::new());
    let task = tokio::spawn({
        let (process, stop) = (process.clone(), stop.clone());
        async move { process.run(&stop).await }
    });
    (process, stop, task)
}

/// In real time: the lease has a clock of its own.
#[tokio::test]
async fn one_process_works_at_a_time_and_the_next_takes_a_lease_that_was_handed_over_at_once() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let (_, stop_one, one) = elected(&cluster, "one");
    until("one leads", async || holder(cluster.store.client()).await.as_deref() == Some("one")).await;
    cluster.assemble("menu:1").await;
    until("the vector is on the stage", async || on_stage(&cluster, "menu:1").await).await;

    let (standby, stop_standby, standing_by) = elected(&cluster, "standby");
    until("the one standing by is ready", async || standby.health().is_ready().0).await;
    cluster.assemble("menu:2").await;
    until("the vector is on the stage", async || on_stage(&cluster, "menu:2").await).await;
    assert!(!standby.metrics().text().unwrap().contains("konfidence_reconciles_total{"), "it stands by");
    stop_standby.cancel();
    standing_by.await.unwrap();
    assert_eq!(holder(cluster.store.client()).await.as_deref(), Some("one"), "who stands by hands nothing over");

    stop_one.cancel();
    one.await.unwrap();
    assert_eq!(holder(cluster.store.client()).await, None);
    cluster.assemble("menu:3").await;
    let (_, stop_next, next) = elected(&cluster, "next");
    until("the next one promotes", async || on_stage(&cluster, "menu:3").await).await;
    stop_next.cancel();
    next.await.unwrap();
}

//! On a port: clients over TCP, leases, and an end that nobody holds up.
#![allow(clippy::expect_used)]

mod support;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use konfidence_apiserver::ApiServer;
use konfidence_types::Stage;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Config};
use kube_lease_manager::LeaseManagerBuilder;
use support::stage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

#[tokio::test]
async fn a_client_over_tcp_works_until_the_server_ends_and_no_open_watch_delays_the_end() {
    let server = support::server();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let running = {
        let server = server.clone();
        tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            server.serve(listener, stopped).await
        })
    };
    let client = Client::try_from(Config::new(format!("http://{address}").parse().expect("a URL"))).expect("a client");
    let stages: Api<Stage> = Api::default_namespaced(client);
    let dev: Stage = serde_json::from_value(stage("dev")).expect("a stage");
    stages.create(&PostParams::default(), &dev).await.expect("created");
    assert_eq!(stages.list(&ListParams::default()).await.expect("listed").items.len(), 1);

    let mut watch = TcpStream::connect(address).await.expect("connected");
    let request = format!("GET {}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n", support::STAGES);
    watch.write_all(request.as_bytes()).await.expect("sent");
    let mut first = [0; 1];
    watch.read_exact(&mut first).await.expect("answered");
    stop.send(()).expect("running");
    timeout(Duration::from_secs(4), running).await.expect("ends soon").expect("no panic").expect("no error");
}

#[tokio::test]
async fn leases_are_held_by_one() {
    let server: ApiServer = support::server();
    let client = Client::new(server.service(), "default");
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    let manager = |identity: &str| {
        LeaseManagerBuilder::new(client.clone(), "leader").with_identity(identity).with_duration(2).with_grace(1)
    };
    let (mut first, task) = manager("one").build().await.expect("a manager").watch().await;
    timeout(Duration::from_secs(10), first.wait_for(|leads| *leads)).await.expect("in time").expect("runs");
    let lease = leases.get("leader").await.expect("a lease");
    assert_eq!(lease.spec.and_then(|spec| spec.holder_identity).as_deref(), Some("one"));
    let (mut second, other) = manager("two").build().await.expect("a manager").watch().await;
    let waits = timeout(Duration::from_secs(1), second.wait_for(|leads| *leads)).await.is_err();
    assert!(waits, "one leads, so two does not");
    drop(first);
    task.await.expect("no panic").expect("the lease is let go");
    timeout(Duration::from_secs(10), second.wait_for(|leads| *leads)).await.expect("in time").expect("runs");
    drop(second);
    let _ = other.await;
}

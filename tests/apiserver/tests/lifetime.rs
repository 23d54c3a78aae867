//! The server comes up, knows its roles, and is gone with whoever started it.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute only")]

use std::process::{Command, Output};

use real_apiserver::{Real, Role, Server, real};

fn kubectl(server: &Server, role: Role, arguments: &[&str]) -> Output {
    let mut command = Command::new(server.binaries().kubectl());
    command.arg("--kubeconfig").arg(server.kubeconfig(role)).args(arguments);
    command.output().unwrap()
}

#[test]
fn a_server_knows_its_roles_and_stops_with_its_value() {
    let Some(Real::Own(server)) = real() else { return };
    assert!(kubectl(server, Role::Admin, &["auth", "can-i", "*", "*"]).status.success());
    for role in [Role::Controllers, Role::Approver, Role::Viewer] {
        let refused = kubectl(server, role, &["get", "namespaces"]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains(&format!("User \"{}\" cannot list", role.user())), "{told}");
    }
    let [etcd, api_server] = server.resident_memory().unwrap();
    assert!(etcd > 1 << 20 && api_server > 1 << 20, "{etcd} {api_server}");

    let second = Server::start(real_apiserver::Disk::Synced).unwrap();
    let url = second.url();
    assert_ne!(url, server.url());
    drop(second);
    let port = url.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "{url} still answers");
}

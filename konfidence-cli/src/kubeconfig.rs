//! The kubeconfig that leads kubectl and every other client to the embedded server.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext};

use crate::failure::Failure;

/// Name of the context, the cluster and the user.
const NAME: &str = "konfidence";

/// Refuses a file that was not written by this command: it may hold the way to somebody's cluster.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    match fs::read_to_string(path) {
        Ok(present) if !is_ours(&present) => Err(failed(
            path,
            &"it is not a kubeconfig with the context `konfidence` alone; name another file with --kubeconfig",
        )),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path, &error)),
    }
}

/// Writes a kubeconfig for the server at `address` to `path`, in one step, where [`check`] allows it.
pub(crate) fn write(path: &Path, address: SocketAddr) -> Result<(), Failure> {
    check(path)?;
    let failed = |error: &dyn Display| failed(path, error);
    let text = serde_saphyr::to_string(&kubeconfig(address)).map_err(|error| failed(&error))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)).map_err(|error| {
        // Nothing half-written is left behind.
        let _ = fs::remove_file(&beside);
        failed(&error)
    })
}

fn failed(path: &Path, error: &dyn Display) -> Failure {
    Failure::Other(format!("{}: {error}", path.display()))
}

fn is_ours(text: &str) -> bool {
    text.trim().is_empty()
        || Kubeconfig::from_yaml(text).is_ok_and(|present| present.contexts.iter().all(|context| context.name == NAME))
}

fn kubeconfig(address: SocketAddr) -> Kubeconfig {
    let cluster = Cluster { server: Some(format!("http://{address}")), ..Cluster::default() };
    let context = Context { cluster: NAME.into(), user: Some(NAME.into()), ..Context::default() };
    Kubeconfig {
        api_version: Some("v1".into()),
        kind: Some("Config".into()),
        clusters: vec![NamedCluster { name: NAME.into(), cluster: Some(cluster), ..NamedCluster::default() }],
        contexts: vec![NamedContext { name: NAME.into(), context: Some(context), ..NamedContext::default() }],
        auth_infos: vec![NamedAuthInfo {
            name: NAME.into(),
            auth_info: Some(AuthInfo::default()),
            ..NamedAuthInfo::default()
        }],
        current_context: Some(NAME.into()),
        ..Kubeconfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_leads_to_the_server() {
        let text = serde_saphyr::to_string(&kubeconfig(([127, 0, 0, 1], 4711).into())).expect("yaml");
        let read = Kubeconfig::from_yaml(&text).expect("a kubeconfig");
        assert_eq!(read.current_context.as_deref(), Some("konfidence"));
        let cluster = read.clusters[0].cluster.as_ref().expect("a cluster");
        assert_eq!(cluster.server.as_deref(), Some("http://127.0.0.1:4711"));
        assert!(is_ours(&text));
    }

    #[test]
    fn a_kubeconfig_of_somebody_else_is_not_ours() {
        assert!(!is_ours("contexts:\n- name: production\n  context: {cluster: a, user: b}\n"));
        assert!(!is_ours("no kubeconfig at all"));
        assert!(is_ours(""));
    }
}

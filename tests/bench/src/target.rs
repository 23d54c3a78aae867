//! What is measured: how it starts, how it is reached, how much memory it has.

use std::process::Stdio;
use std::sync::Arc;

use kube::client::ConfigExt;
use real_apiserver::{Disk, Role, Server, go_is_there};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::{BenchResult, failed};

/// One column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Floor,
    Memory,
    Durable,
    Real,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Floor, Self::Memory, Self::Durable, Self::Real];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Memory => "memory",
            Self::Durable => "durable",
            Self::Real => "real",
        }
    }
}

/// A running server.
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) address: Address,
    process: Process,
}

/// How to reach it.
#[derive(Clone)]
pub(crate) struct Address {
    /// `127.0.0.1:4711`.
    pub(crate) authority: String,
    /// `Bearer …`; empty: none.
    pub(crate) authorization: String,
    /// For servers that speak TLS alone.
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
}

enum Process {
    Ours { child: Child, _directory: Option<tempfile::TempDir> },
    Real(Server),
}

impl Target {
    /// Starts it; `None` where the real server cannot be built.
    pub(crate) async fn start(kind: Kind) -> BenchResult<Option<Self>> {
        let broken = failed(kind.name());
        if kind == Kind::Real {
            if !go_is_there() {
                return Ok(None);
            }
            let server = tokio::task::spawn_blocking(|| Server::start(Disk::Synced)).await;
            let server = server.map_err(|error| broken(&error))?.map_err(|error| broken(&error))?;
            let kubeconfig = kube::config::Kubeconfig::read_from(server.kubeconfig(Role::Admin));
            let kubeconfig = kubeconfig.map_err(|error| broken(&error))?;
            let options = kube::config::KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
            let config = config.map_err(|error| broken(&error))?;
            let mut tls = config.rustls_client_config().map_err(|error| broken(&error))?;
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            let address = Address {
                authority: server.url().trim_start_matches("https://").to_owned(),
                authorization: format!("Bearer {}", Role::Admin.token()),
                tls: Some(Arc::new(tls)),
            };
            return Ok(Some(Self { kind, address, process: Process::Real(server) }));
        }
        let program = std::env::current_exe().map_err(|error| broken(&error))?;
        let directory = match kind {
            // Beside the program, which is on a disk; the system's folder for temporary files may be in memory.
            Kind::Durable => {
                let folder = program.parent().map_or_else(|| ".".into(), std::path::Path::to_path_buf);
                Some(tempfile::tempdir_in(folder).map_err(|error| broken(&error))?)
            }
            _ => None,
        };
        let mut command = Command::new(&program);
        command.args(["serve", kind.name()]).args(directory.as_ref().map(tempfile::TempDir::path));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| broken(&error))?;
        let stdout = child.stdout.take().ok_or_else(|| broken(&"it has no output"))?;
        let url = BufReader::new(stdout).lines().next_line().await.map_err(|error| broken(&error))?;
        let url = url.ok_or_else(|| broken(&"it does not start"))?;
        let address = Address {
            authority: url.trim_start_matches("http://").to_owned(),
            authorization: String::new(),
            tls: None,
        };
        Ok(Some(Self { kind, address, process: Process::Ours { child, _directory: directory } }))
    }

    /// Resident memory of all its processes, in bytes.
    pub(crate) fn resident_memory(&self) -> BenchResult<u64> {
        let broken = failed("memory");
        match &self.process {
            Process::Real(server) => Ok(server.resident_memory().map_err(|error| broken(&error))?.into_iter().sum()),
            Process::Ours { child, .. } => {
                let process = child.id().ok_or_else(|| broken(&"the server has ended"))?;
                let status =
                    std::fs::read_to_string(format!("/proc/{process}/status")).map_err(|error| broken(&error))?;
                let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
                let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
                kilobytes.map(|kilobytes| kilobytes * 1024).ok_or_else(|| broken(&"the system does not tell it"))
            }
        }
    }
}

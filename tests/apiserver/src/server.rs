//! One API server with its etcd and its controller manager, in a directory of its own.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build::Binaries;
use crate::process::{Supervised, detached, kill};
use crate::{Error, Role, build};

/// A cold start on a busy machine has taken 20 seconds.
const READY_WITHIN: Duration = Duration::from_mins(2);

/// From then on a process that is not there has ended.
const STARTED_WITHIN: Duration = Duration::from_secs(5);

/// What a write has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// Nothing: a crash of the machine loses writes. For tests.
    Unsynced,
    /// `fsync`, as in production. For measurements.
    Synced,
}

/// A running server. It stops with this value, and with the process that holds it.
#[derive(Debug)]
pub struct Server {
    /// In the order in which they have to stop: an API server without its etcd takes long to go.
    _processes: Vec<Supervised>,
    directory: tempfile::TempDir,
    binaries: Binaries,
    port: u16,
}

impl Server {
    /// Builds what is missing, and starts everything on free loopback ports. Answers when `/readyz` does.
    ///
    /// # Errors
    /// [`Error::Build`], or [`Error::Start`] with the end of the logs.
    pub fn start(disk: Disk) -> Result<Self, Error> {
        let binaries = build()?;
        let directory = tempfile::Builder::new()
            .prefix("konfidence-apiserver-")
            .tempdir()
            .map_err(Error::file("make a directory for the API server"))?;
        let layout = Layout::write(directory.path(), disk)?;
        let mut processes = Vec::new();
        for (name, binary, arguments) in layout.commands(&binaries) {
            processes.insert(0, Supervised::start(&binary, &arguments, &layout.log(name))?);
            if name == "kube-apiserver" {
                layout.wait_until_ready(&binaries)?;
            }
        }
        Ok(Self { _processes: processes, directory, binaries, port: layout.port })
    }

    /// The kubeconfig of a role.
    pub fn kubeconfig(&self, role: Role) -> PathBuf {
        kubeconfig(self.directory.path(), role)
    }

    /// `https://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The certificate that the server shows, PEM.
    pub fn certificate(&self) -> PathBuf {
        certificate(self.directory.path())
    }

    /// What it was started from.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Resident memory of etcd and of the API server, bytes.
    ///
    /// # Errors
    /// [`Error::Start`] when one of them is gone.
    pub fn resident_memory(&self) -> Result<[u64; 2], Error> {
        let of = |name: &str| {
            resident_memory(self.directory.path(), name)
                .ok_or_else(|| Error::Start(format!("{name} does not run any more")))
        };
        Ok([of("etcd")?, of("kube-apiserver")?])
    }
}

/// Starts a server that stays, with its files in `directory`.
///
/// # Errors
/// [`Error::Start`] when one runs from there already, else as [`Server::start`].
pub fn up(directory: &Path) -> Result<(), Error> {
    let state = directory.join(STATE);
    if state.exists() {
        return Err(Error::Start(format!(
            "{} says that a server was started from there; stop it with `cargo xtask apiserver down`",
            state.display()
        )));
    }
    let binaries = build()?;
    let layout = Layout::write(directory, Disk::Unsynced)?;
    let mut started: Vec<Value> = Vec::new();
    for (name, binary, arguments) in layout.commands(&binaries) {
        let process = detached(&binary, &arguments, &layout.log(name))?;
        started.insert(0, json!({"process": process, "binary": binary}));
        fs::write(&state, Value::from(started.clone()).to_string())
            .map_err(Error::file("write the list of processes"))?;
        if name == "kube-apiserver" {
            layout.wait_until_ready(&binaries)?;
        }
    }
    Ok(())
}

/// Stops what [`up`] started from `directory`, and removes its files. Answers whether there was anything.
///
/// # Errors
/// [`Error::File`] when the list of processes cannot be read or the files not be removed.
pub fn down(directory: &Path) -> Result<bool, Error> {
    let state = directory.join(STATE);
    if !state.exists() {
        return Ok(false);
    }
    let text = fs::read_to_string(&state).map_err(Error::file(format!("read {}", state.display())))?;
    let started: Vec<Value> = serde_json::from_str(&text)
        .map_err(|error| Error::Start(format!("{} is no list of processes: {error}", state.display())))?;
    for entry in started {
        let process = entry["process"].as_u64().and_then(|process| u32::try_from(process).ok());
        if let (Some(process), Some(binary)) = (process, entry["binary"].as_str()) {
            kill(process, Path::new(binary));
        }
    }
    fs::remove_dir_all(directory).map_err(Error::file(format!("remove {}", directory.display())))?;
    Ok(true)
}

const STATE: &str = "processes.json";

/// The files and ports of one server.
struct Layout {
    directory: PathBuf,
    disk: Disk,
    port: u16,
    client: u16,
    peer: u16,
}

impl Layout {
    fn write(directory: &Path, disk: Disk) -> Result<Self, Error> {
        let directory = std::path::absolute(directory).map_err(Error::file("find the directory of the API server"))?;
        let [port, client, peer] = free_ports()?;
        fs::create_dir_all(&directory).map_err(Error::file(format!("create {}", directory.display())))?;
        let write = |name: &str, text: String| {
            let path = directory.join(name);
            fs::write(&path, text).map_err(Error::file(format!("write {}", path.display())))
        };
        let key = rcgen::KeyPair::generate().map_err(|error| Error::Start(format!("no key is made: {error}")))?;
        write("service-accounts.key", key.serialize_pem())?;
        write("service-accounts.pub", key.public_key_pem())?;
        write("tokens.csv", Role::ALL.map(Role::line).concat())?;
        for role in Role::ALL {
            write(&format!("{}.kubeconfig", role.user()), client_config(&directory, port, role).to_string())?;
        }
        Ok(Self { directory, disk, port, client, peer })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.log"))
    }

    /// Name, binary and arguments, in the order in which they start.
    fn commands(&self, binaries: &Binaries) -> [(&'static str, PathBuf, Vec<String>); 3] {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let Self { port, client, peer, .. } = self;
        let mut etcd = vec![
            format!("--data-dir={}", path("etcd")),
            format!("--listen-client-urls=http://127.0.0.1:{client}"),
            format!("--advertise-client-urls=http://127.0.0.1:{client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
        ];
        if self.disk == Disk::Unsynced {
            etcd.push("--unsafe-no-fsync".to_owned());
        }
        let api_server = vec![
            format!("--etcd-servers=http://127.0.0.1:{client}"),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", path("certificates")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", path("service-accounts.pub")),
            format!("--service-account-signing-key-file={}", path("service-accounts.key")),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            format!("--token-auth-file={}", path("tokens.csv")),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ];
        let controllers = vec![
            format!("--kubeconfig={}", kubeconfig(&self.directory, Role::Admin).display()),
            "--controllers=garbage-collector-controller,namespace-controller".to_owned(),
            "--leader-elect=false".to_owned(),
            "--use-service-account-credentials=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        [
            ("etcd", binaries.etcd(), etcd),
            ("kube-apiserver", binaries.kube_apiserver(), api_server),
            ("kube-controller-manager", binaries.kube_controller_manager(), controllers),
        ]
    }

    fn wait_until_ready(&self, binaries: &Binaries) -> Result<(), Error> {
        #[allow(clippy::disallowed_methods, reason = "waits for a process outside of any runtime")]
        let since = Instant::now();
        loop {
            let asked = Command::new(binaries.kubectl())
                .arg("--kubeconfig")
                .arg(kubeconfig(&self.directory, Role::Admin))
                .args(["get", "--raw", "/readyz", "--request-timeout=5s"])
                .output();
            if asked.is_ok_and(|output| output.status.success()) {
                return Ok(());
            }
            let gone = since.elapsed() > STARTED_WITHIN
                && ["etcd", "kube-apiserver"].iter().any(|name| resident_memory(&self.directory, name).is_none());
            if gone || since.elapsed() > READY_WITHIN {
                let ends = ["etcd", "kube-apiserver"].map(|name| end_of(&self.log(name))).join("\n");
                let waited = since.elapsed().as_secs();
                return Err(Error::Start(format!("the API server is not ready after {waited} s:\n{ends}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn kubeconfig(directory: &Path, role: Role) -> PathBuf {
    directory.join(format!("{}.kubeconfig", role.user()))
}

fn certificate(directory: &Path) -> PathBuf {
    directory.join("certificates/apiserver.crt")
}

/// JSON is YAML. The server makes its certificate for itself and signs it itself: the file is its own authority.
fn client_config(directory: &Path, port: u16, role: Role) -> Value {
    let cluster = json!({
        "server": format!("https://127.0.0.1:{port}"),
        "certificate-authority": certificate(directory),
    });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": role.user(), "user": {"token": role.token()}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": role.user()}}],
        "current-context": "test",
    })
}

/// Held together until all are known, so that they differ.
fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    let listeners: Vec<_> = (0..N)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect::<Result<_, _>>()
        .map_err(Error::file("find a free port"))?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr().map_err(Error::file("find a free port"))?.port();
    }
    Ok(ports)
}

fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let last = lines.len().saturating_sub(10);
    format!("{}:\n{}", log.display(), lines.get(last..).unwrap_or_default().join("\n"))
}

/// Of the process that runs `binary` with `directory` in its arguments.
fn resident_memory(directory: &Path, binary: &str) -> Option<u64> {
    let directory = directory.display().to_string();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let runs =
            fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.file_name().is_some_and(|name| name == binary));
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if runs && String::from_utf8_lossy(&arguments).contains(&directory) {
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            return Some(kibibytes * 1024);
        }
    }
    None
}

//! Both servers, and kubectl sent to each.

use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use konfidence_apiserver::ApiServer;
use real_apiserver::{Real, Role, Server, real};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::repository;
use crate::text::Text;
use crate::transcript::{Case, Step};

/// A command that takes longer hangs.
const PATIENCE: &str = "120";

/// What a command gave, normalised.
#[derive(PartialEq, Eq)]
pub(crate) struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        write!(f, "{}", self.stdout)?;
        for line in self.stderr.lines() {
            writeln!(f, "stderr: {line}")?;
        }
        writeln!(f, "exit code: {code}")
    }
}

/// The embedded API on a port, and the real one.
pub(crate) struct Servers {
    /// Configurations of kubectl: of the embedded server and of the real one.
    configs: [Value; 2],
    real: &'static Server,
    directory: TempDir,
}

impl Servers {
    /// `None`, and a line that says so, where one of the two sides or kubectl is not to be had.
    pub(crate) fn start() -> Option<Self> {
        let found = Command::new("kubectl").args(["version", "--client"]).output();
        if !found.is_ok_and(|found| found.status.success()) {
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "kubectl is not on the PATH");
            eprintln!("SKIPPED: kubectl is not on the PATH");
            return None;
        }
        let real = match real()? {
            Real::Own(server) => server,
            Real::Users(_) => {
                eprintln!("SKIPPED on a user's cluster: the cases make namespaces and definitions of their own");
                return None;
            }
        };
        let config = fs::read_to_string(real.kubeconfig(Role::Admin)).expect("a configuration");
        let real_config: Value = serde_json::from_str(&config).expect("JSON");
        let mut embedded = real_config.clone();
        embedded["clusters"][0]["cluster"] = json!({"server": serve()});
        let directory = tempfile::Builder::new().prefix("kc-").tempdir().expect("a directory");
        Some(Self { configs: [embedded, real_config], real, directory })
    }

    /// kubectl as it was built with the real server.
    pub(crate) fn kubectl_of_the_servers_version(&self) -> Option<PathBuf> {
        Some(self.real.binaries().kubectl()).filter(|path| path.exists())
    }

    /// Makes what the cases expect: definitions, and a namespace each.
    pub(crate) fn prepare(&self, kubectl: &Path, cases: &[&Case]) {
        let run = version(kubectl);
        let namespaces: Vec<String> = cases
            .iter()
            .map(|case| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace(&run)}}))
            .map(|namespace| namespace.to_string())
            .collect();
        let file = self.directory.path().join(format!("namespaces-{run}.json"));
        fs::write(&file, namespaces.join("\n")).expect("written");
        let kinds = repository().join("deploy/crds");
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubectl/setup.yaml");
        let prepare = |server: usize| {
            let directory = self.directory.path().join(format!("setup-{run}-{server}"));
            let files = [&kinds, &setup, &file].map(|path| format!("-f {}", path.display())).join(" ");
            let command = format!("kubectl apply --server-side --force-conflicts {files}");
            let done = self.shell(kubectl, server, "default", &directory, &command);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        // A thread that panics does so here, too.
        std::thread::scope(|scope| {
            for server in 0..2 {
                scope.spawn(move || prepare(server));
            }
        });
    }

    /// The outcomes of a case's commands from each server.
    pub(crate) fn run(&self, kubectl: &Path, case: &Case) -> [Vec<Outcome>; 2] {
        std::thread::scope(|scope| {
            [0, 1]
                .map(|server| scope.spawn(move || self.run_on(kubectl, server, case)))
                .map(|running| running.join().expect("no panic"))
        })
    }

    fn run_on(&self, kubectl: &Path, server: usize, case: &Case) -> Vec<Outcome> {
        let namespace = case.namespace(&version(kubectl));
        let directory = self.directory.path().join(format!("{namespace}-{server}"));
        fs::create_dir_all(&directory).expect("a directory");
        let text = Text::new(&namespace, &directory);
        let mut outcomes = Vec::new();
        for step in &case.steps {
            match step {
                Step::File { name, content } => {
                    let path = directory.join(name);
                    fs::write(&path, content).expect("written");
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
                }
                Step::Run { command, .. } => {
                    let output = self.shell(kubectl, server, &namespace, &directory, command);
                    outcomes.push(Outcome {
                        code: output.status.code(),
                        stdout: text.normal(&output.stdout),
                        stderr: text.normal(&output.stderr),
                    });
                }
            }
        }
        outcomes
    }

    fn shell(&self, kubectl: &Path, server: usize, namespace: &str, directory: &Path, command: &str) -> Output {
        let home = directory.join(".home");
        fs::create_dir_all(home.join("bin")).expect("a directory");
        let mut config = self.configs[server].clone();
        config["contexts"][0]["context"]["namespace"] = namespace.into();
        fs::write(home.join("config"), config.to_string()).expect("written");
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        if kubectl.is_absolute() {
            let link = home.join("bin/kubectl");
            if !link.exists() {
                symlink(kubectl, &link).expect("linked");
            }
            let mut with = home.join("bin").into_os_string();
            with.push(":");
            with.push(path);
            path = with;
        }
        Command::new("timeout")
            .args([PATIENCE, "sh", "-c", command])
            .current_dir(directory)
            .env("PATH", path)
            .env("HOME", &home)
            .env("KUBECONFIG", home.join("config"))
            .env("KUBECACHEDIR", self.directory.path().join(format!("cache-{}-{server}", version(kubectl))))
            .env("NAMESPACE", namespace)
            .env("REPOSITORY", repository())
            // A third of kubectl's short life is garbage collection.
            .env("GOGC", "off")
            .env("GOMEMLIMIT", "1GiB")
            .stdin(Stdio::null())
            .output()
            .expect("a shell")
    }
}

/// Tells the runs of two kubectls apart.
fn version(kubectl: &Path) -> String {
    if kubectl.is_absolute() { "newer".to_owned() } else { "stock".to_owned() }
}

/// Starts the embedded server, for as long as the process lives. Its address.
fn serve() -> String {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
            let server = ApiServer::builder().build().expect("nothing is wrong with nothing");
            server.serve(listener, std::future::pending()).await.expect("served");
        });
    });
    format!("http://{}", told.recv().expect("the server's address"))
}

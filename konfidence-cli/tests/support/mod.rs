//! The real binary on a real port, and stock kubectl beside it.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::expect_used, clippy::panic, reason = "what fails here fails its test")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing here takes a second; a machine that compiles beside it may need many.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);
const GLANCE: Duration = Duration::from_millis(50);
/// The same for kubectl.
pub(crate) const TIMEOUT: &str = "--timeout=120s";

/// The folder of the three-stage flow.
pub(crate) fn three_stages() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/three-stages").display().to_string()
}

/// A folder of the test's own.
pub(crate) fn folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// The binary, blind to whatever cluster the machine knows.
pub(crate) fn konfidence() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_konfidence"));
    command.env_remove("KUBECONFIG").env_remove("RUST_LOG").env("HOME", "/nonexistent").stdin(Stdio::null());
    command
}

/// What a command ended with.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Ended {
    /// Insists on success.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self.stdout
    }

    /// Insists on this exit code, nothing on stdout, and one line on stderr that says all of `words`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "one line: {}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} in {:?}", self.stderr);
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    command.output().expect("it runs").into()
}

/// `konfidence dev` on a free port.
pub(crate) struct Dev {
    child: Child,
    stderr: PathBuf,
    pub(crate) url: String,
    pub(crate) folder: PathBuf,
}

impl Dev {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_by(konfidence(), arguments)
    }

    /// The same by a command that ends in the binary.
    pub(crate) fn start_by(mut command: Command, arguments: &[&str]) -> Self {
        let folder = folder();
        let stderr = folder.join("stderr");
        let mut child = command
            .args(["dev", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(folder.join("kubeconfig"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr).expect("a file"))
            .spawn()
            .expect("it starts");
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = sender.send(line);
            }
        });
        let mut dev = Self { child, stderr, url: String::new(), folder };
        let ready = lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("not ready: {}", dev.stderr()));
        ready.strip_prefix("ready: ").unwrap_or_else(|| panic!("not the ready line: {ready}")).clone_into(&mut dev.url);
        dev
    }

    /// With the three-stage flow.
    pub(crate) fn with_three_stages() -> Self {
        Self::start(&["--apply", &three_stages()])
    }

    /// What it wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// A command against this server, in the project's namespace.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = konfidence();
        command.args(arguments).args(["--server", &self.url, "--namespace", "bakery"]);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn konfidence(&self, arguments: &[&str]) -> Ended {
        run(&mut self.command(arguments))
    }

    /// Runs kubectl to its end.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.folder.join("kubeconfig"));
        command.arg("--cache-dir").arg(self.folder.join("cache"));
        run(command.args(arguments).stdin(Stdio::null()))
    }

    /// Assembly publishes a vector.
    pub(crate) fn publish(&self, version: &str) {
        let status = json!({"status": {"latestVector": vector(version)}}).to_string();
        let patch = ["patch", "vectortemplate", "menu", "-n", "bakery", "--subresource=status", "--type=merge", "-p"];
        self.kubectl(&[&patch[..], &[&status]].concat()).ok();
    }

    /// Waits until a promotion exists and is in a state.
    #[track_caller]
    pub(crate) fn until_promotion_is(&self, name: &str, state: &str) {
        let object = format!("vectorpromotion/{name}");
        self.kubectl(&["wait", "-n", "bakery", &object, "--for=create", TIMEOUT]).ok();
        let condition = format!("--for=jsonpath={{.status.state}}={state}");
        self.kubectl(&["wait", "-n", "bakery", &object, &condition, TIMEOUT]).ok();
    }

    /// One object.
    #[track_caller]
    pub(crate) fn object(&self, namespace: &str, kind: &str, name: &str) -> Value {
        let text = self.kubectl(&["get", "-n", namespace, kind, name, "-o", "json"]).ok();
        serde_json::from_str(&text).expect("JSON")
    }

    /// What a Stage is to run.
    #[track_caller]
    pub(crate) fn vector_of(&self, namespace: &str, stage: &str) -> Value {
        self.object(namespace, "stage", stage)["spec"]["vector"].clone()
    }

    /// Name and state of the promotions of a config.
    #[track_caller]
    pub(crate) fn promotions_of(&self, config: &str) -> Vec<(String, String)> {
        let all: Value =
            serde_json::from_str(&self.konfidence(&["get", "promotions", "-o", "json"]).ok()).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = all["items"].as_array().expect("items").iter();
        of.filter(|promotion| promotion["spec"]["vectorPromotionConfigName"] == config)
            .map(|promotion| (text(&promotion["metadata"]["name"]), text(&promotion["status"]["state"])))
            .collect()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end_by(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        let mut status = None;
        eventually("it ends", || {
            status = self.child.try_wait().expect("its own child");
            status.is_some()
        });
        status.expect("it has ended")
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The vector of a version of the menu.
pub(crate) fn vector(version: &str) -> String {
    format!("registry.example/bakery//menu:{version}")
}

/// Waits until something that no watch tells is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let mut left = DEADLINE;
    while !holds() {
        left = left.checked_sub(GLANCE).unwrap_or_else(|| panic!("never: {what}"));
        thread::sleep(GLANCE);
    }
}

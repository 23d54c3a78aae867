//! Building the binaries once, by the hash of what they are built from.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Where each binary is.
#[derive(Clone, Debug)]
pub struct Binaries {
    directory: PathBuf,
    version: String,
}

impl Binaries {
    /// The store.
    pub fn etcd(&self) -> PathBuf {
        self.directory.join("etcd")
    }

    /// The API server.
    pub fn kube_apiserver(&self) -> PathBuf {
        self.directory.join("kube-apiserver")
    }

    /// Garbage collector and namespace life cycle.
    pub fn kube_controller_manager(&self) -> PathBuf {
        self.directory.join("kube-controller-manager")
    }

    /// The `kubectl` of the server's version.
    pub fn kubectl(&self) -> PathBuf {
        self.directory.join("kubectl")
    }

    /// The Kubernetes version, such as `v1.36.1`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// Commands of the module `kubernetes/`.
const COMMANDS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kubectl"];

/// Whether a Go toolchain answers.
pub fn go_is_there() -> bool {
    Command::new("go").arg("version").output().is_ok_and(|output| output.status.success())
}

/// Builds what is not yet in the cache: `$XDG_CACHE_HOME/konfidence/apiserver/<hash>`, or the same under `~/.cache`.
///
/// # Errors
/// [`Error::Build`] with the compiler's words, [`Error::File`] when the cache cannot be written.
pub fn build() -> Result<Binaries, Error> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR"));
    let version = kubernetes_version(&modules.join("kubernetes/go.mod"))?;
    let cache = cache_directory()?;
    fs::create_dir_all(&cache).map_err(Error::file(format!("create {}", cache.display())))?;
    // One build at a time, whoever asks.
    let lock = cache.join("lock");
    let lock = fs::File::create(&lock).map_err(Error::file(format!("create {}", lock.display())))?;
    lock.lock().map_err(Error::file("lock the cache of binaries"))?;
    let directory = cache.join(hash_of(modules)?);
    let binaries = Binaries { directory, version };
    fs::create_dir_all(&binaries.directory).map_err(Error::file(format!("create {}", binaries.directory.display())))?;
    if !binaries.etcd().exists() {
        go_build(&modules.join("etcd"), ".", "-s -w", &binaries.etcd())?;
    }
    for command in COMMANDS {
        let binary = binaries.directory.join(command);
        if !binary.exists() {
            let package = format!("k8s.io/kubernetes/cmd/{command}");
            go_build(&modules.join("kubernetes"), &package, &stamp(&binaries.version), &binary)?;
        }
    }
    Ok(binaries)
}

/// Without its version a server calls itself v0.0.0, and newer features switch themselves off.
fn stamp(version: &str) -> String {
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let of = "k8s.io/component-base/version";
    format!("-s -w -X {of}.gitVersion={version} -X {of}.gitMajor={major} -X {of}.gitMinor={minor}")
}

fn go_build(module: &Path, package: &str, ldflags: &str, binary: &Path) -> Result<(), Error> {
    eprintln!("building {} (minutes on a cold cache)", binary.display());
    let unfinished = binary.with_extension("unfinished");
    let output = Command::new("go")
        .current_dir(module)
        .args(["build", "-trimpath", "-ldflags", ldflags, "-o"])
        .arg(&unfinished)
        .arg(package)
        .env("CGO_ENABLED", "0")
        .output()
        .map_err(|error| {
            Error::Build(format!("`go` does not run: {error}; install a Go toolchain of 1.26 or newer"))
        })?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Build(format!("`go build {package}` failed: {}", told.trim())));
    }
    fs::rename(&unfinished, binary).map_err(Error::file(format!("name {}", binary.display())))
}

fn cache_directory() -> Result<PathBuf, Error> {
    let base = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => return Err(Error::Build("neither XDG_CACHE_HOME nor HOME says where to cache binaries".to_owned())),
    };
    Ok(base.join("konfidence/apiserver"))
}

fn hash_of(modules: &Path) -> Result<String, Error> {
    let mut hasher = DefaultHasher::new();
    for file in [
        "kubernetes/go.mod",
        "kubernetes/go.sum",
        "kubernetes/commands.go",
        "etcd/go.mod",
        "etcd/go.sum",
        "etcd/main.go",
    ] {
        let path = modules.join(file);
        fs::read(&path).map_err(Error::file(format!("read {}", path.display())))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn kubernetes_version(go_mod: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(go_mod).map_err(Error::file(format!("read {}", go_mod.display())))?;
    let line =
        text.lines().find_map(|line| line.trim().trim_start_matches("require ").strip_prefix("k8s.io/kubernetes "));
    line.and_then(|rest| rest.split_whitespace().next())
        .map(str::to_owned)
        .ok_or_else(|| Error::Build(format!("{} requires no k8s.io/kubernetes", go_mod.display())))
}

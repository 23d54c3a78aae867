//! Whether a test gets its real server, and what it says if not.

use std::env;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::{Disk, Role, Server, go_is_there};

/// The real API server of a test process.
#[derive(Clone, Debug)]
pub enum Real {
    /// One that was started for this process alone.
    Own(&'static Server),
    /// A user's cluster, named by `KUBECONFIG`: only namespaces of the suite's own may be touched.
    Users(PathBuf),
}

impl Real {
    /// The kubeconfig of `role`; a user's cluster has but one.
    pub fn kubeconfig(&self, role: Role) -> PathBuf {
        match self {
            Self::Own(server) => server.kubeconfig(role),
            Self::Users(kubeconfig) => kubeconfig.clone(),
        }
    }
}

/// The real server of this process, started at the first call. `None`, and a line that says so, where no Go toolchain
/// is there to build it. With `CI=true` that is no excuse.
///
/// # Panics
/// Where the server does not start, or may not be missing.
pub fn real() -> Option<Real> {
    static STARTED: Mutex<Option<Real>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if started.is_none() {
        *started = start();
    }
    started.clone()
}

#[allow(clippy::panic, reason = "how a test fails that has no server")]
fn start() -> Option<Real> {
    if let Some(users) = env::var_os("KUBECONFIG").filter(|path| !path.is_empty()) {
        return Some(Real::Users(users.into()));
    }
    if !go_is_there() {
        assert!(
            env::var_os("CI").is_none_or(|ci| ci != "true"),
            "no Go toolchain: the real API server cannot be built"
        );
        eprintln!("SKIPPED on the real API server: no Go toolchain builds it");
        return None;
    }
    match Server::start(Disk::Unsynced) {
        // Lives until the process ends, and is killed with it.
        Ok(server) => Some(Real::Own(Box::leak(Box::new(server)))),
        Err(error) => panic!("the real API server: {error}"),
    }
}

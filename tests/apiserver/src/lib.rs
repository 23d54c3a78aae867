//! A real kube-apiserver with etcd, for end-to-end tests and side-by-side measurements.
//!
//! ```text
//!   kubernetes/go.mod  etcd/go.mod --build()--> etcd, kube-apiserver, kube-controller-manager, kubectl
//!                                                    |           (cached outside the work tree)
//!        Server::start() -- supervised: dies with the process that started it
//!        up() / down()   -- stays until it is told to go
//!                                                    |
//!            a directory with one kubeconfig per Role, on free loopback ports, RBAC on
//! ```
//!
//! Nothing of Kubernetes is in this repository: exact versions in `go.mod`, checksums in `go.sum`, and a file of
//! imports. The ordinary `go` client fetches and builds them; the first build takes several minutes, later ones none.

mod build;
mod process;
mod role;
mod server;
mod wanted;

pub use build::{Binaries, build, go_is_there};
pub use role::Role;
pub use server::{Disk, Server, down, up};
pub use wanted::{Real, real};

/// What kept a real API server from being built, started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Go toolchain is missing or refused.
    #[error("{0}")]
    Build(String),
    /// A process did not start or did not become ready.
    #[error("{0}")]
    Start(String),
    /// A file could not be written or read.
    #[error("{what}: {source}")]
    File {
        /// Which one, and what for.
        what: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    fn file(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::File { what, source }
    }
}

//! A real kube-apiserver with etcd, to look at from a shell.

use std::path::PathBuf;

use clap::Subcommand;
use real_apiserver::Role;

use crate::{TaskError, TaskResult};

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Build etcd, kube-apiserver, kube-controller-manager and kubectl, unless they are in the cache
    Build,
    /// Start them on free ports; says which kubeconfigs there are
    Up {
        /// Where its files go
        #[arg(long, default_value_os_t = directory())]
        directory: PathBuf,
    },
    /// Stop them and remove their files
    Down {
        /// Where they were started
        #[arg(long, default_value_os_t = directory())]
        directory: PathBuf,
    },
}

pub(crate) fn run(task: &Task) -> TaskResult {
    let told = match task {
        Task::Build => real_apiserver::build().map(|binaries| {
            let kubectl = binaries.kubectl();
            let directory = kubectl.parent().map_or_else(String::new, |directory| directory.display().to_string());
            format!("Kubernetes {} and etcd are in {directory}", binaries.version())
        }),
        Task::Up { directory } => real_apiserver::up(directory).map(|()| {
            let lines =
                Role::ALL.map(|role| format!("export KUBECONFIG={}/{}.kubeconfig", directory.display(), role.user()));
            format!("ready; as one of\n{}", lines.join("\n"))
        }),
        Task::Down { directory } => real_apiserver::down(directory)
            .map(|was_up| if was_up { "stopped" } else { "nothing was started there" }.to_owned()),
    };
    println!("{}", told.map_err(|error| TaskError::new(error.to_string()))?);
    Ok(())
}

fn directory() -> PathBuf {
    std::env::temp_dir().join("konfidence-apiserver")
}

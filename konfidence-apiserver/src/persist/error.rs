//! Why a data directory is not used.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why a data directory is not used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it open.
    #[error("the data directory {} is in use by another process: stop that one, or name another directory", directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
    /// It was written by a newer version.
    #[error(
        "{} has format {found}, and this version reads formats up to {known}: use a newer version, or another directory",
        path.display()
    )]
    Newer {
        /// The file that says so.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format that is known here.
        known: u64,
    },
    /// It does not hold what was written to it.
    #[error(
        "{} is damaged: {why}; put the whole directory back from a copy, or move it away to begin with an empty one",
        path.display()
    )]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// How that shows.
        why: String,
    },
    /// The system does not let it be read or written.
    #[error("{} cannot be used: {source}; the data directory has to be readable, writable and on a disk with space", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn damaged(path: &Path, why: impl Display) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }

    /// For errors of the system about `path`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

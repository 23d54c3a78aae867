//! Objects that outlive the process: a data directory, which takes every write before it is acknowledged.
//!
//! ```text
//!   DIR/lock           held by the process that uses the directory
//!   DIR/objects.redb   all objects, their kinds, the revision; a transaction for each group of writes
//!   DIR/revision       the newest acknowledged revision, and the format
//! ```
//!
//! The database alone cannot tell a last transaction that never finished from one that finished and was damaged later:
//! it would fall back to the one before, and with it would go what was acknowledged. The revision beside it tells. It is
//! written after the database and before the acknowledgement, so it is never ahead of what the database holds.
//!
//! Everything is verified before anything is used: the pages by the database, each record by a checksum of its own, and
//! all records together by their number and the sum of their checksums. What does not fit is refused, never half read.

mod database;
mod directory;
mod error;
mod mark;

#[cfg(test)]
mod tests;

use std::path::Path;

use konfidence_sdk::store::engine::{Engine, Options};

pub use self::error::OpenError;
use crate::stack::{DEEPEST, fitting};

/// The newest format that this version reads and writes.
const FORMAT: u64 = 1;

/// An engine over the objects in a directory, which is made if it is not there. Every write is on disk before it is
/// acknowledged, or seen by anybody; all that come while the disk is busy share one transaction. The resource versions go
/// on from the last one.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("konfidence-doc-{}", std::process::id()));
/// use std::sync::Arc;
/// use konfidence_apiserver::{ApiServer, persist};
/// use konfidence_sdk::clock::SystemClock;
/// use konfidence_sdk::store::engine::Options;
///
/// let engine = persist::open(&folder, Options::new(Arc::new(SystemClock)))?;
/// let server = ApiServer::builder().engine(engine).our_kinds().build()?;
/// server.engine().committed().await?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When another process uses the directory, when what is in it is damaged or of a newer format, and when the system does
/// not let it be read and written.
pub fn open(directory: &Path, options: Options) -> Result<Engine, OpenError> {
    // What is there may be nested deep.
    fitting(DEEPEST, || {
        let (directory, saved) = directory::Directory::open(directory)?;
        let path = directory.path().to_owned();
        Engine::restore(options, saved, Box::new(directory)).map_err(|error| OpenError::damaged(&path, error))
    })
}

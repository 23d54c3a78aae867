//! The directory: one process at a time, made in an order that a crash cannot break.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use konfidence_sdk::store::engine::{Journal, Record, Saved};

use super::OpenError;
use super::database::Database;
use super::mark::Mark;
use crate::stack::{DEEPEST, fitting};

const LOCK: &str = "lock";
const OBJECTS: &str = "objects.redb";
/// The database until it is whole.
const NEW: &str = "objects.redb.new";
const REVISION: &str = "revision";

/// A data directory that this process has to itself.
pub(super) struct Directory {
    path: PathBuf,
    /// `None` after a failure, until it is opened anew: what the disk holds then is known only by looking.
    database: Option<Database>,
    mark: Mark,
    /// Whether the last commit failed; each trouble is told once.
    in_trouble: bool,
    /// The lock goes with the file.
    _lock: File,
}

impl Directory {
    /// Opens the directory, which is made if it is not there, and reads what it holds.
    pub(super) fn open(path: &Path) -> Result<(Self, Saved), OpenError> {
        // Secrets are among the objects.
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(OpenError::io(path))?;
        let lock = lock(path)?;
        let (objects, revision) = (path.join(OBJECTS), path.join(REVISION));
        if !objects.try_exists().map_err(OpenError::io(&objects))? {
            begin(path)?;
        }
        let mark = match options().create(false).open(&revision) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(OpenError::damaged(&revision, "it is missing"));
            }
            opened => Mark::new(opened.map_err(OpenError::io(&revision))?),
        };
        let acknowledged = mark.read(&revision)?;
        let (database, saved) = open_database(&objects)?;
        if saved.revision < acknowledged {
            let why = format!("it ends at revision {}, and {acknowledged} was acknowledged", saved.revision);
            return Err(OpenError::damaged(&objects, why));
        }
        let path = path.to_owned();
        Ok((Self { path, database: Some(database), mark, in_trouble: false, _lock: lock }, saved))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn keep(&mut self, records: &[Record]) -> io::Result<()> {
        let Some(last) = records.last().map(|record| record.event.revision) else { return Ok(()) };
        let database = match &mut self.database {
            Some(database) => database,
            empty => {
                let path = self.path.join(OBJECTS);
                // What it holds is known already, and goes where there is the stack for it.
                let opened = fitting(DEEPEST, || open_database(&path).map(|(database, _)| database));
                empty.insert(opened.map_err(io::Error::other)?)
            }
        };
        // A commit that failed may have reached the disk all the same.
        if database.revision() < last {
            database.commit(records).map_err(io::Error::other)?;
        }
        self.mark.write(last)
    }
}

impl Journal for Directory {
    fn commit(&mut self, records: &[Record]) -> io::Result<()> {
        let kept = self.keep(records);
        let directory = self.path.display();
        match &kept {
            Ok(()) if self.in_trouble => {
                self.in_trouble = false;
                tracing::warn!(%directory, "the data directory takes writes again");
            }
            Ok(()) => {}
            Err(error) => {
                self.database = None;
                if !std::mem::replace(&mut self.in_trouble, true) {
                    tracing::error!(%directory, %error, "the data directory takes no writes; they are refused until it does");
                }
            }
        }
        kept
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}

fn lock(directory: &Path) -> Result<File, OpenError> {
    let path = directory.join(LOCK);
    let file = options().open(&path).map_err(OpenError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { directory: directory.to_owned() }),
        Err(TryLockError::Error(error)) => Err(OpenError::io(&path)(error)),
    }
}

/// Makes an empty database. It gets its name last, so that a crash leaves either none or a whole one.
fn begin(directory: &Path) -> Result<(), OpenError> {
    let (objects, new, revision) = (directory.join(OBJECTS), directory.join(NEW), directory.join(REVISION));
    let file = options().open(&revision).map_err(OpenError::io(&revision))?;
    let is_new = file.metadata().map_err(OpenError::io(&revision))?.len() == 0;
    let mark = Mark::new(file);
    if !is_new && mark.read(&revision)? > 0 {
        return Err(OpenError::damaged(&objects, "it is missing, and it had objects"));
    }
    mark.write(0).and_then(|()| mark.sync()).map_err(OpenError::io(&revision))?;
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(OpenError::io(&new)(error)),
        _ => {}
    }
    // Made here, so that it is for the owner alone.
    options().open(&new).map_err(OpenError::io(&new))?;
    Database::create(&new).map_err(|error| OpenError::io(&new)(io::Error::other(error)))?;
    fs::rename(&new, &objects).map_err(OpenError::io(&objects))?;
    // The names, too, have to outlive the machine's power.
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(OpenError::io(directory))
}

/// The database promises an error for whatever is in the file; a panic is taken for one, too.
fn open_database(path: &Path) -> Result<(Database, Saved), OpenError> {
    catch_unwind(AssertUnwindSafe(|| Database::open(path)))
        .unwrap_or_else(|_| Err(OpenError::damaged(path, "it cannot be read")))
}

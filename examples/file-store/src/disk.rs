//! The directory: what is where, who may touch it, and how a change becomes whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object;

/// So many changes are kept for watches to catch up.
const HISTORY: u64 = 1000;

/// One change of one object, as it stands in `changes/`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) place: Place,
    pub(crate) before: Option<Value>,
    /// Absent: the object is gone.
    pub(crate) after: Option<Value>,
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// `<Kind>.<group>`.
    pub(crate) kind: String,
    /// Empty for what is in no namespace.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The directory.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    root: PathBuf,
}

/// The directory while nobody else touches it.
pub(crate) struct Locked<'a> {
    disk: &'a Disk,
    revision: u64,
    /// Unlocked when it is closed.
    _lock: File,
}

impl Disk {
    pub(crate) fn open(root: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(root.join("objects"))?;
        fs::create_dir_all(root.join("changes"))?;
        Ok(Self { root })
    }

    /// Waits until nobody else has the directory, and finishes what a crash has left half-done.
    pub(crate) fn lock(&self) -> io::Result<Locked<'_>> {
        let lock = File::options().create(true).truncate(false).write(true).open(self.root.join("lock"))?;
        lock.lock()?;
        let mut locked = Locked { disk: self, revision: self.revision()?, _lock: lock };
        while let Some(change) = self.change(locked.revision + 1)? {
            locked.apply(&change)?;
        }
        Ok(locked)
    }

    /// Of the last change that is applied. A new directory begins with 1: of a watch, 0 asks for what is there.
    pub(crate) fn revision(&self) -> io::Result<u64> {
        match fs::read_to_string(self.root.join("revision")) {
            Ok(text) => text.trim().parse().map_err(|error| io::Error::new(ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(1),
            Err(error) => Err(error),
        }
    }

    fn change(&self, revision: u64) -> io::Result<Option<Change>> {
        read(&self.change_path(revision))
    }

    fn change_path(&self, revision: u64) -> PathBuf {
        self.root.join("changes").join(format!("{revision}.json"))
    }

    fn kind_path(&self, kind: &str) -> PathBuf {
        self.root.join("objects").join(kind)
    }

    fn object_path(&self, place: &Place) -> PathBuf {
        self.kind_path(&place.kind).join(folder(&place.namespace)).join(format!("{}.json", place.name))
    }
}

impl Locked<'_> {
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, place: &Place) -> io::Result<Option<Value>> {
        read(&self.disk.object_path(place))
    }

    /// Whether there has ever been an object of the kind.
    pub(crate) fn knows(&self, kind: &str) -> bool {
        self.disk.kind_path(kind).is_dir()
    }

    /// All objects of a kind, or those in one namespace, ordered by namespace and name.
    pub(crate) fn list(&self, kind: &str, namespace: Option<&str>) -> io::Result<Vec<Value>> {
        let namespaces = match namespace {
            Some(namespace) => vec![self.disk.kind_path(kind).join(folder(namespace))],
            None => entries(&self.disk.kind_path(kind))?,
        };
        let mut objects: Vec<Value> = Vec::new();
        for folder in namespaces {
            for path in entries(&folder)? {
                objects.extend(read::<Value>(&path)?);
            }
        }
        objects.sort_by(|one, other| {
            let key = |object| (object::text(object, "namespace").to_owned(), object::text(object, "name").to_owned());
            key(one).cmp(&key(other))
        });
        Ok(objects)
    }

    /// Everything there is.
    pub(crate) fn all(&self) -> io::Result<Vec<(Place, Value)>> {
        let mut all = Vec::new();
        for kind in entries(&self.disk.root.join("objects"))? {
            let kind = kind.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            for object in self.list(&kind, None)? {
                let field = |field| object::text(&object, field).to_owned();
                all.push((Place { kind: kind.clone(), namespace: field("namespace"), name: field("name") }, object));
            }
        }
        Ok(all)
    }

    /// Makes `after` of what was `before`, under the next revision; answers it as it is stored.
    pub(crate) fn commit(
        &mut self,
        place: &Place,
        mut before: Option<Value>,
        mut after: Option<Value>,
    ) -> io::Result<Option<Value>> {
        let revision = self.revision + 1;
        // The last state of an object that goes carries the version of its end.
        let versioned = if after.is_some() { &mut after } else { &mut before };
        if let Some(object) = versioned {
            object::set_version(object, revision);
        }
        let change = Change { revision, place: place.clone(), before, after };
        write(&self.disk.change_path(revision), &serde_json::to_vec(&change)?)?;
        self.apply(&change)?;
        Ok(change.after)
    }

    /// Brings the object's file up to a change. May be done twice.
    fn apply(&mut self, change: &Change) -> io::Result<()> {
        let path = self.disk.object_path(&change.place);
        match &change.after {
            Some(object) => {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                write(&path, &serde_json::to_vec_pretty(object)?)?;
            }
            None => remove(&path)?,
        }
        write(&self.disk.root.join("revision"), change.revision.to_string().as_bytes())?;
        self.revision = change.revision;
        if let Some(old) = change.revision.checked_sub(HISTORY) {
            remove(&self.disk.change_path(old))?;
        }
        Ok(())
    }

    /// The changes after `revision`, in order. `None`: some of them are forgotten, or it has not come yet.
    pub(crate) fn changes_after(&self, revision: u64) -> io::Result<Option<Vec<Change>>> {
        if revision > self.revision {
            return Ok(None);
        }
        (revision + 1..=self.revision).map(|revision| self.disk.change(revision)).collect()
    }

    /// Forgets all changes so far.
    pub(crate) fn forget(&self) -> io::Result<()> {
        entries(&self.disk.root.join("changes"))?.iter().try_for_each(|path| remove(path))
    }
}

/// A folder has to have a name.
fn folder(namespace: &str) -> &str {
    if namespace.is_empty() { "_" } else { namespace }
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whole or not at all, also when the power fails.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is in a folder, but for what a crash has left; nothing, if there is no folder.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_none_or(|it| it != "unfinished")).collect())
}

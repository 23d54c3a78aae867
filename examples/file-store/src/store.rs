//! The port, on files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use konfidence_sdk::clock::{Clock, SystemClock};
use konfidence_sdk::store::{
    Index, Key, Listed, Object, ObjectRef, ObjectStore, Patch, Precondition, Query, StoreError, Unreadable,
};
use serde_json::Value;

use crate::disk::{Disk, Locked, Place};
use crate::garbage;
use crate::object::{self, Part};

/// Objects of any kind in a directory. Clones, and other stores of the same directory, are the same store.
///
/// ```
/// use file_store::FileStore;
/// use konfidence_sdk::store::{Key, ObjectStore, StoreError};
/// use konfidence_sdk::types::{Stage, StageSpec};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let store = FileStore::open(directory.path())?;
/// let mut dev = Stage::new("dev", StageSpec { vector: "bakery//menu:1".into() });
/// dev.metadata.namespace = Some("bakery-eu".into());
/// store.create(&dev).await?;
///
/// let again = FileStore::open(directory.path())?;
/// let dev = again.get(&Key::<Stage>::new("bakery-eu", "dev")).await?;
/// assert_eq!(dev.map(|dev| dev.spec.vector.clone()).as_deref(), Some("bakery//menu:1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileStore {
    pub(crate) disk: Arc<Disk>,
    clock: Arc<dyn Clock>,
}

impl FileStore {
    /// The store in `directory`, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(directory: impl AsRef<Path>) -> io::Result<Self> {
        let disk = Disk::open(directory.as_ref().to_owned())?;
        Ok(Self { disk: Arc::new(disk), clock: Arc::new(SystemClock) })
    }

    /// Forgets all changes so far: a watch that has not seen them has to list again.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn forget_history(&self) -> io::Result<()> {
        self.disk.lock()?.forget()
    }

    /// Reads, decides and writes, and nobody else does in between.
    fn locked<K: Object, T>(
        &self,
        key: &Key<K>,
        work: impl FnOnce(&mut Locked<'_>, &Place) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let object = ObjectRef::named(key);
        let place = place(key).ok_or_else(|| invalid(&object, "that is no name"))?;
        let mut disk = self.disk.lock().map_err(|error| unavailable(&object, error))?;
        work(&mut disk, &place).map_err(|failure| match failure {
            Failure::Store(error) => error,
            Failure::Disk(error) => unavailable(&object, error),
        })
    }

    fn write<K: Object>(&self, key: &Key<K>, patch: &Patch<K>, part: Part) -> Result<Arc<K>, StoreError> {
        let object = ObjectRef::named(key);
        if patch.expected.resource_version.is_empty() {
            return Err(invalid(&object, "the patch names no resourceVersion: read the object first"));
        }
        let expected = Precondition {
            uid: Some(patch.expected.uid.clone()).filter(|uid| !uid.is_empty()),
            resource_version: Some(patch.expected.resource_version.clone()),
        };
        let written = self.locked(key, |disk, place| {
            let current = present(disk, place, &object, &expected)?;
            let next = object::patched(&current, &patch.merge, part).map_err(|why| invalid(&object, &why))?;
            if next == current {
                return Ok(current);
            }
            if object::is_deleting(&next) && object::list(&next, "finalizers").is_empty() {
                disk.commit(place, Some(current), None)?;
                garbage::collect(disk, self.clock.now())?;
                return Ok(next);
            }
            let stored = disk.commit(place, Some(current), Some(next.clone()))?;
            Ok(stored.unwrap_or(next))
        })?;
        parse(&written)
    }
}

#[async_trait]
impl<K: Object> ObjectStore<K> for FileStore {
    async fn get(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        let found = self.locked(key, |disk, place| Ok(disk.get(place)?))?;
        found.as_ref().map(parse).transpose()
    }

    async fn list(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        let selection = Selection::of(query)?;
        let all = ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""));
        let disk = self.disk.lock().map_err(|error| unavailable(&all, error))?;
        let objects = disk.list(&kind::<K>(), query.namespace.as_deref()).map_err(|error| unavailable(&all, error))?;
        let mut listed = Listed { resource_version: disk.revision().to_string(), ..Listed::default() };
        for object in objects.iter().filter(|object| selection.contains(object)) {
            match parse(object) {
                Ok(object) => listed.items.push(object),
                Err(StoreError::Unreadable(unreadable)) => listed.unreadable.push(*unreadable),
                Err(error) => return Err(error),
            }
        }
        Ok(listed)
    }

    async fn get_live(&self, key: &Key<K>) -> Result<Option<Arc<K>>, StoreError> {
        self.get(key).await
    }

    async fn list_live(&self, query: &Query<K>) -> Result<Listed<K>, StoreError> {
        self.list(query).await
    }

    async fn create(&self, object: &K) -> Result<Arc<K>, StoreError> {
        let key = Key::of(object);
        let named = ObjectRef::named(&key);
        let wanted = serde_json::to_value(object).map_err(|error| invalid(&named, &error.to_string()))?;
        let now = self.clock.now();
        let made = self.locked(&key, |disk, place| {
            if disk.get(place)?.is_some() {
                return Err(Failure::Store(StoreError::AlreadyExists { object: named.clone() }));
            }
            let made = object::created(wanted, now);
            let is_owned = !object::list(&made, "ownerReferences").is_empty();
            let stored = disk.commit(place, None, Some(made.clone()))?.unwrap_or(made);
            if is_owned {
                garbage::collect(disk, now)?;
            }
            Ok(stored)
        })?;
        parse(&made)
    }

    async fn patch(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.write(key, patch, Part::Main)
    }

    async fn patch_status(&self, key: &Key<K>, patch: &Patch<K>) -> Result<Arc<K>, StoreError> {
        self.write(key, patch, Part::Status)
    }

    async fn delete(&self, key: &Key<K>, precondition: &Precondition) -> Result<(), StoreError> {
        let (object, now) = (ObjectRef::named(key), self.clock.now());
        self.locked(key, |disk, place| {
            let current = present(disk, place, &object, precondition)?;
            let after = object::deleted(&current, now);
            if after.as_ref() != Some(&current) {
                disk.commit(place, Some(current), after)?;
                garbage::collect(disk, now)?;
            }
            Ok(())
        })
    }
}

/// Why work on the directory ended.
enum Failure {
    Store(StoreError),
    Disk(io::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

/// The object, if it is the expected one in the expected state.
fn present(disk: &Locked<'_>, place: &Place, named: &ObjectRef, expected: &Precondition) -> Result<Value, Failure> {
    let found = disk.get(place)?.ok_or_else(|| StoreError::NotFound { object: named.clone() })?;
    let holds =
        |expected: &Option<String>, field| expected.as_deref().is_none_or(|it| it == object::text(&found, field));
    if holds(&expected.uid, "uid") && holds(&expected.resource_version, "resourceVersion") {
        return Ok(found);
    }
    Err(StoreError::Conflict { object: named.clone() }.into())
}

/// What a query selects of its kind.
pub(crate) struct Selection(Option<(Index, String)>);

impl Selection {
    pub(crate) fn of<K: Object>(query: &Query<K>) -> Result<Self, StoreError> {
        let Some((name, value)) = &query.index else { return Ok(Self(None)) };
        let declared = K::INDEXES.iter().find(|index| index.name == *name);
        let all = ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""));
        let index = declared.ok_or_else(|| invalid(&all, &format!("there is no index {name} of this kind")))?;
        Ok(Self(Some((*index, value.clone()))))
    }

    pub(crate) fn contains(&self, object: &Value) -> bool {
        self.0.as_ref().is_none_or(|(index, value)| (index.values)(object).contains(value))
    }
}

/// Folder of a kind: its name and group, as owner references have them.
pub(crate) fn kind<K: Object>() -> String {
    format!("{}.{}", K::kind(&()), K::group(&()))
}

/// `None`: the name would lead elsewhere.
fn place<K: Object>(key: &Key<K>) -> Option<Place> {
    let is_name = |name: &str| name.chars().all(|it| it.is_ascii_alphanumeric() || "-.".contains(it));
    let is_legal = is_name(key.namespace()) && is_name(key.name()) && !key.name().is_empty();
    let is_path = [key.namespace(), key.name()].iter().any(|name| name.starts_with('.'));
    (is_legal && !is_path).then(|| Place {
        kind: kind::<K>(),
        namespace: key.namespace().into(),
        name: key.name().into(),
    })
}

pub(crate) fn parse<K: Object>(object: &Value) -> Result<Arc<K>, StoreError> {
    K::deserialize(object).map(Arc::new).map_err(|error| {
        let key = Key::<K>::new(object::text(object, "namespace"), object::text(object, "name"));
        let named = ObjectRef { uid: object::text(object, "uid").into(), ..ObjectRef::named(&key) };
        let raw = Arc::new(object.clone());
        StoreError::Unreadable(Box::new(Unreadable { object: named, message: error.to_string(), raw }))
    })
}

pub(crate) fn unavailable(object: &ObjectRef, error: io::Error) -> StoreError {
    let message = format!("the directory cannot be read or written: {error}");
    StoreError::Unavailable { object: object.clone(), message, source: Some(Box::new(error)) }
}

fn invalid(object: &ObjectRef, message: &str) -> StoreError {
    StoreError::Invalid { object: object.clone(), message: message.to_owned(), fields: Vec::new() }
}

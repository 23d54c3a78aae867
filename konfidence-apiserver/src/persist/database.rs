//! The database: every object under its place, with a checksum, and the sum of all of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use konfidence_sdk::store::engine::{Record, ResourceType, Saved};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::{FORMAT, OpenError};
use crate::http::syntax;
use crate::stack::fitting;

/// Memory for pages. All objects are in the engine, so the database is read once and then only written.
const CACHE: usize = 16 << 20;

/// Checksum length at the front of every value.
const SUM: usize = 8;

/// Group, plural, namespace, name.
type ObjectKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// `format`, `revision`, `records`, `sum`.
const FACTS: TableDefinition<&str, u64> = TableDefinition::new("facts");
/// Group and plural to what the kind is like.
const KINDS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("kinds");
const OBJECTS: TableDefinition<ObjectKey, &[u8]> = TableDefinition::new("objects");

/// A group and a plural.
type Kind = (String, String);

/// An open database.
pub(super) struct Database {
    redb: redb::Database,
    /// The kinds as they are described in it.
    kinds: BTreeMap<Kind, Arc<ResourceType>>,
    revision: u64,
}

impl Database {
    /// Makes an empty database in an empty file.
    pub(super) fn create(path: &Path) -> Result<Self, redb::Error> {
        let redb = redb::Builder::new().set_cache_size(CACHE).create(path)?;
        let mut database = Self { redb, kinds: BTreeMap::new(), revision: 0 };
        database.commit(&[])?;
        Ok(database)
    }

    /// Opens a database and reads and verifies all that is in it.
    pub(super) fn open(path: &Path) -> Result<(Self, Saved), OpenError> {
        let mut builder = redb::Builder::new();
        builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
        let redb = builder.open(path).map_err(|error| refusal(path, error.into()))?;
        let mut database = Self { redb, kinds: BTreeMap::new(), revision: 0 };
        let saved = database.read(path)?;
        Ok((database, saved))
    }

    /// The revision of the last committed write.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    fn read(&mut self, path: &Path) -> Result<Saved, OpenError> {
        let failed = |error: redb::Error| refusal(path, error);
        let damaged = |why: String| OpenError::damaged(path, why);
        let transaction = self.redb.begin_read().map_err(|error| failed(error.into()))?;
        let facts = transaction.open_table(FACTS).map_err(|error| failed(error.into()))?;
        let fact = |name: &str| -> Result<u64, OpenError> {
            let found = facts.get(name).map_err(|error| failed(error.into()))?;
            found.map(|found| found.value()).ok_or_else(|| damaged(format!("it does not say its {name}")))
        };
        let format = fact("format")?;
        if format > FORMAT {
            return Err(OpenError::Newer { path: path.to_owned(), found: format, known: FORMAT });
        }
        let mut all = Total::default();
        let mut resources: BTreeMap<Kind, (ResourceType, Vec<Value>)> = BTreeMap::new();
        let kinds = transaction.open_table(KINDS).map_err(|error| failed(error.into()))?;
        for entry in kinds.iter().map_err(|error| failed(error.into()))? {
            let (key, value) = entry.map_err(|error| failed(error.into()))?;
            let (group, plural) = key.value();
            let name = || format!("the kind {plural}.{group}");
            let described = all.open(&[group, plural], value.value()).ok_or_else(|| wrong(path, &name()))?;
            let resource = kind(group, plural, described).ok_or_else(|| wrong(path, &name()))?;
            resources.insert((group.to_owned(), plural.to_owned()), (resource, Vec::new()));
        }
        let objects = transaction.open_table(OBJECTS).map_err(|error| failed(error.into()))?;
        for entry in objects.iter().map_err(|error| failed(error.into()))? {
            let (key, value) = entry.map_err(|error| failed(error.into()))?;
            let (group, plural, namespace, name) = key.value();
            let told = || format!("the {plural} {name:?} in namespace {namespace:?}");
            let bytes = all.open(&[group, plural, namespace, name], value.value());
            let object =
                bytes.and_then(|bytes| syntax::parse(bytes, |_| ()).ok()).ok_or_else(|| wrong(path, &told()))?;
            let kind = resources.get_mut(&(group.to_owned(), plural.to_owned()));
            kind.ok_or_else(|| damaged(format!("{} is of a kind that is not there", told())))?.1.push(object);
        }
        if (all.records, all.sum) != (fact("records")?, fact("sum")?) {
            return Err(damaged("records are missing or too many".into()));
        }
        self.revision = fact("revision")?;
        let described = resources.iter().map(|(key, (resource, _))| (key.clone(), Arc::new(resource.clone())));
        self.kinds = described.collect();
        Ok(Saved { revision: self.revision, resources: resources.into_values().collect() })
    }

    /// Keeps these writes in one transaction, synced to the disk.
    pub(super) fn commit(&mut self, records: &[Record]) -> Result<(), redb::Error> {
        let mut described = Vec::new();
        let transaction = self.redb.begin_write()?;
        {
            let mut facts = transaction.open_table(FACTS)?;
            let mut kinds = transaction.open_table(KINDS)?;
            let mut objects = transaction.open_table(OBJECTS)?;
            let number = |facts: &redb::Table<&str, u64>, name| -> Result<u64, redb::Error> {
                Ok(facts.get(name)?.map(|found| found.value()).unwrap_or_default())
            };
            let mut all = Total { records: number(&facts, "records")?, sum: number(&facts, "sum")? };
            for record in records {
                let resource = &record.resource;
                let (group, plural) = (&*resource.group, &*resource.plural);
                let key = (group.to_owned(), plural.to_owned());
                let known = described.iter().rev().find(|(one, _)| *one == key).map(|(_, resource)| resource);
                if known.or_else(|| self.kinds.get(&key)).is_none_or(|known| known != resource) {
                    let value = all.seal(&[group, plural], description(resource).to_string().as_bytes());
                    all.forget(kinds.insert((group, plural), value.as_slice())?.map(|old| checksum(old.value())));
                    described.push((key, Arc::clone(resource)));
                }
                let object = &record.event.object;
                let place = (group, plural, object.namespace(), object.name());
                if record.is_kept() {
                    let json = fitting(object.nesting(), || serde_json::to_vec(object.json())).map_err(invalid)?;
                    let value = all.seal(&[group, plural, place.2, place.3], &json);
                    all.forget(objects.insert(place, value.as_slice())?.map(|old| checksum(old.value())));
                } else {
                    all.forget(objects.remove(place)?.map(|old| checksum(old.value())));
                }
            }
            let revision = records.last().map_or(self.revision, |record| record.event.revision);
            let new = [("format", FORMAT), ("revision", revision), ("records", all.records), ("sum", all.sum)];
            for (name, value) in new {
                facts.insert(name, value)?;
            }
        }
        transaction.commit()?;
        self.revision = records.last().map_or(self.revision, |record| record.event.revision);
        self.kinds.extend(described);
        Ok(())
    }
}

/// How many records there are, and the sum of their checksums: one that is lost, doubled or put elsewhere shows.
#[derive(Default)]
struct Total {
    records: u64,
    sum: u64,
}

impl Total {
    /// A value with its checksum in front.
    fn seal(&mut self, key: &[&str], content: &[u8]) -> Vec<u8> {
        let sum = sum(key, content);
        self.records = self.records.wrapping_add(1);
        self.sum = self.sum.wrapping_add(sum);
        let mut value = Vec::with_capacity(SUM + content.len());
        value.extend_from_slice(&sum.to_le_bytes());
        value.extend_from_slice(content);
        value
    }

    /// A value's content, if it is the one that was sealed under this key.
    fn open<'a>(&mut self, key: &[&str], value: &'a [u8]) -> Option<&'a [u8]> {
        let (_, content) = value.split_at_checked(SUM)?;
        let sum = sum(key, content);
        self.records = self.records.wrapping_add(1);
        self.sum = self.sum.wrapping_add(sum);
        (checksum(value) == sum).then_some(content)
    }

    /// Takes out a value that is replaced or removed.
    fn forget(&mut self, sum: Option<u64>) {
        if let Some(sum) = sum {
            self.records = self.records.wrapping_sub(1);
            self.sum = self.sum.wrapping_sub(sum);
        }
    }
}

/// The checksum in front of a value.
fn checksum(value: &[u8]) -> u64 {
    value.first_chunk::<SUM>().map_or(0, |sum| u64::from_le_bytes(*sum))
}

fn sum(key: &[&str], content: &[u8]) -> u64 {
    // No part of a key holds a zero byte, so no two keys look the same.
    let key = xxh3_64(key.join("\0").as_bytes());
    xxhash_rust::xxh3::xxh3_64_with_seed(content, key)
}

fn description(resource: &ResourceType) -> Value {
    json!({
        "version": resource.version,
        "kind": resource.kind,
        "namespaced": resource.namespaced,
        "statusSubresource": resource.status_subresource,
        "countsGenerations": resource.counts_generations,
    })
}

fn kind(group: &str, plural: &str, description: &[u8]) -> Option<ResourceType> {
    let description: Value = serde_json::from_slice(description).ok()?;
    let text = |field: &str| Some(Cow::from(description.get(field)?.as_str()?.to_owned()));
    let flag = |field: &str| description.get(field)?.as_bool();
    Some(ResourceType {
        group: group.to_owned().into(),
        version: text("version")?,
        kind: text("kind")?,
        plural: plural.to_owned().into(),
        namespaced: flag("namespaced")?,
        status_subresource: flag("statusSubresource")?,
        counts_generations: flag("countsGenerations")?,
    })
}

fn invalid(error: serde_json::Error) -> redb::Error {
    redb::Error::Io(error.into())
}

fn wrong(path: &Path, what: &str) -> OpenError {
    OpenError::damaged(path, format!("the checksum of {what} is wrong"))
}

/// What an error at opening means: what the system refuses is not damage.
fn refusal(path: &Path, error: redb::Error) -> OpenError {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match error {
        redb::Error::Io(source) if !matches!(source.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
            OpenError::Io { path: path.to_owned(), source }
        }
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse { directory: path.to_owned() },
        error => OpenError::damaged(path, error),
    }
}

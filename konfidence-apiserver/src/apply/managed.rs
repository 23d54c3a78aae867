//! `metadata.managedFields`: who owns which fields, and since when.

use serde_json::{Map, Value, json};

use super::fieldset::FieldSet;
use crate::stack::DEEPEST;

/// Entries of plain updates beyond this many are folded into one, the oldest first, so that a thousand writers do not
/// make an object of a megabyte.
const MOST_UPDATERS: usize = 10;

/// How many levels of an object an entry's fields are below: the object, its metadata, the list, the entry, `fieldsV1`.
const LEVELS_ABOVE: usize = 5;

/// Whose fields: an identity is a name, how it writes, through which subresource, and for updates in which version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manager {
    /// The name that the writer gives itself (`kubectl`, `konfidence/promotion`).
    pub name: String,
    /// Whether it applies (and so removes what it stops applying) or just writes.
    pub applies: bool,
    /// Version in which it wrote.
    pub api_version: String,
    /// `status`, or empty.
    pub subresource: String,
}

impl Manager {
    /// Their order in reports: of one name who applies comes first.
    pub(super) fn order(&self) -> (&str, bool, &str, &str) {
        (&self.name, !self.applies, &self.api_version, &self.subresource)
    }

    /// Whether both are the same owner. An applier is the same in every version.
    fn is(&self, other: &Self) -> bool {
        self.name == other.name
            && self.applies == other.applies
            && self.subresource == other.subresource
            && (self.applies || self.api_version == other.api_version)
    }
}

/// As conflict reports name it.
impl std::fmt::Display for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        if !self.applies {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// One entry: a manager, its fields and the time of its last change of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) manager: Manager,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managed(pub(super) Vec<Entry>);

impl Managed {
    /// The entries of an object. An unreadable list counts as none: ownership starts anew.
    pub(super) fn of(object: &Value) -> Self {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let decoded: Option<Vec<Entry>> = entries.into_iter().flatten().map(decode).collect();
        Self(decoded.unwrap_or_default())
    }

    /// The entries that a write starts from. A writer of the whole object may set them itself; one empty entry means
    /// "forget all of them"; anything unreadable, and every write of a subresource, starts from the live ones.
    pub(super) fn of_write(live: &Value, new: &Value, subresource: bool) -> Self {
        if subresource {
            return Self::of(live);
        }
        let reset = json!([{}]);
        if new.pointer("/metadata/managedFields") == Some(&reset) {
            return Self::default();
        }
        let own = Self::of(new);
        if own.0.is_empty() { Self::of(live) } else { own }
    }

    pub(super) fn get(&self, manager: &Manager) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.manager.is(manager))
    }

    pub(super) fn is_same(manager: &Manager, other: &Manager) -> bool {
        manager.is(other)
    }

    /// Sets a manager's fields; none: it is dropped.
    pub(super) fn set(&mut self, manager: &Manager, fields: FieldSet, time: Option<String>) {
        let previous = self.0.iter().position(|entry| entry.manager.is(manager)).map(|at| self.0.remove(at));
        if !fields.is_empty() {
            let time = time.or_else(|| previous.and_then(|entry| entry.time));
            self.0.push(Entry { manager: manager.clone(), time, fields });
        }
    }

    /// Writes the entries into an object's metadata.
    pub(super) fn write_to(mut self, object: &mut Value) {
        // The real server stores an object that it cannot read again, or leaves such an entry out; it is left out here.
        self.0.retain(|entry| LEVELS_ABOVE + entry.fields.levels() <= DEEPEST);
        self.fold_oldest();
        self.0.sort_by(|a, b| {
            let key = |entry: &Entry| {
                let manager = &entry.manager;
                (
                    !manager.applies,
                    entry.time.clone(),
                    manager.name.clone(),
                    manager.api_version.clone(),
                    manager.subresource.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if self.0.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), self.0.iter().map(encode).collect());
        }
    }

    fn fold_oldest(&mut self) {
        let updaters = self.0.iter().filter(|entry| !entry.manager.applies).count();
        let Some(surplus) = updaters.checked_sub(MOST_UPDATERS).filter(|surplus| *surplus > 0) else { return };
        let mut oldest: Vec<usize> =
            (0..self.0.len()).filter(|at| self.0.get(*at).is_some_and(|entry| !entry.manager.applies)).collect();
        oldest.sort_by_key(|at| self.0.get(*at).and_then(|entry| entry.time.clone()));
        oldest.truncate(surplus + 1);
        oldest.sort_unstable();
        let folded: Vec<Entry> = oldest.into_iter().rev().map(|at| self.0.remove(at)).collect();
        for entry in folded {
            let ancient = Manager { name: "ancient-changes".to_owned(), subresource: String::new(), ..entry.manager };
            let fields =
                self.get(&ancient).map_or_else(|| entry.fields.clone(), |known| known.fields.union(&entry.fields));
            self.set(&ancient, fields, entry.time);
        }
    }
}

fn decode(entry: &Value) -> Option<Entry> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let applies = match text("operation").as_str() {
        "Apply" => true,
        "Update" => false,
        _ => return None,
    };
    Some(Entry {
        manager: Manager {
            name: text("manager"),
            applies,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
        },
        time: entry.get("time").and_then(Value::as_str).map(str::to_owned),
        fields: entry.get("fieldsV1").map_or(Some(FieldSet::default()), FieldSet::decode)?,
    })
}

fn encode(entry: &Entry) -> Value {
    let mut fields = Map::new();
    fields.insert("manager".into(), entry.manager.name.clone().into());
    fields.insert("operation".into(), if entry.manager.applies { "Apply" } else { "Update" }.into());
    fields.insert("apiVersion".into(), entry.manager.api_version.clone().into());
    if let Some(time) = &entry.time {
        fields.insert("time".into(), time.clone().into());
    }
    fields.insert("fieldsType".into(), "FieldsV1".into());
    fields.insert("fieldsV1".into(), entry.fields.encode());
    if !entry.manager.subresource.is_empty() {
        fields.insert("subresource".into(), entry.manager.subresource.clone().into());
    }
    Value::Object(fields)
}

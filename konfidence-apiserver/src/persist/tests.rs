use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use jiff::Timestamp;
use konfidence_sdk::store::Precondition;
use konfidence_sdk::store::engine::{Collection, EngineError, Listing, ResourceType, Scope, seeded};
use redb::{ReadableDatabase, TableDefinition};
use serde_json::{Value, json};

use super::*;
use crate::stack::{DEEPEST, fitting};

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("konfidence-persist-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn copy(&self) -> Self {
        let copy = Self::new();
        for name in ["objects.redb", "revision", "lock"] {
            fs::copy(self.0.join(name), copy.0.join(name)).unwrap();
        }
        copy
    }

    fn open(&self) -> Result<Engine, OpenError> {
        open(&self.0, Options::new(Arc::new("2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap())))
    }

    /// Why it is not opened. Nothing in it may have been changed, and it says where the trouble is and what helps.
    fn refusal(&self) -> OpenError {
        let refused = self.open().map(|_| ()).unwrap_err();
        let told = refused.to_string();
        assert!(told.contains(self.0.to_str().unwrap()), "{told}");
        assert!(told.contains(" directory"), "{told}");
        refused
    }

    fn is_damaged(&self, why: &str) {
        match self.refusal() {
            OpenError::Damaged { why: told, .. } => assert!(told.contains(why), "{told}"),
            other => panic!("{other}"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn menus(engine: &Engine) -> Collection {
    engine.collection(ResourceType {
        group: "bakery.example".into(),
        version: "v1".into(),
        kind: "Menu".into(),
        plural: "menus".into(),
        namespaced: true,
        status_subresource: true,
        counts_generations: true,
    })
}

fn write(engine: &Engine, number: u64) {
    let name = format!("menu-{number}");
    let menu = json!({"metadata": {"namespace": "bakery", "name": name}, "spec": {"pages": "x".repeat(200)}});
    menus(engine).create(menu, Scope::Main).unwrap();
}

/// A folder with some objects, some of them changed and some deleted, and what it holds.
fn filled(objects: u64) -> (Folder, Listing) {
    let folder = Folder::new();
    let engine = folder.open().unwrap();
    for number in 0..objects {
        write(&engine, number);
    }
    block_on(engine.committed()).unwrap();
    let menus = menus(&engine);
    for number in (0..objects).step_by(3) {
        let name = format!("menu-{number}");
        let changed = menus.update("bakery", &name, &Precondition::default(), Scope::Main, |menu| {
            let mut menu = menu.json().clone();
            menu["spec"]["pages"] = number.into();
            menu["metadata"]["finalizers"] = json!(["bakery.example/hold"]);
            Ok::<_, EngineError>(menu)
        });
        changed.unwrap();
        menus.delete("bakery", &name, &Precondition::default(), None).unwrap();
        let next = format!("menu-{}", number + 1);
        if number + 1 < objects {
            menus.delete("bakery", &next, &Precondition::default(), None).unwrap();
        }
    }
    block_on(engine.committed()).unwrap();
    let listing = menus.list_published(None);
    (folder, listing)
}

fn held(engine: &Engine) -> Listing {
    menus(engine).list_published(None)
}

#[test]
fn what_was_written_is_there_again_to_the_last_field() {
    let (folder, listing) = filled(50);
    for _ in 0..2 {
        assert_eq!(held(&folder.open().unwrap()), listing);
    }
    let engine = folder.open().unwrap();
    write(&engine, 1000);
    assert_eq!(engine.revision(), listing.revision + 1, "versions go on where they were");
}

#[test]
fn what_is_nested_ten_thousand_deep_is_there_again() {
    let folder = Folder::new();
    let engine = folder.open().unwrap();
    let mut pages = json!(1);
    for _ in 0..9_998 {
        pages = Value::Array(vec![pages]);
    }
    fitting(DEEPEST, || {
        let menu = json!({"metadata": {"namespace": "bakery", "name": "deep"}, "spec": {"pages": pages}});
        menus(&engine).create(menu, Scope::Main).unwrap();
        drop(pages);
    });
    block_on(engine.committed()).unwrap();
    let listing = menus(&engine).list_published(None);
    drop(engine);
    let again = held(&folder.open().unwrap());
    assert!(fitting(DEEPEST, || again == listing));
}

#[test]
fn a_second_user_of_the_directory_is_refused() {
    let folder = Folder::new();
    let engine = folder.open().unwrap();
    assert!(matches!(folder.refusal(), OpenError::InUse { .. }));
    write(&engine, 1);
    block_on(engine.committed()).unwrap();
    drop(engine);
    folder.open().unwrap();
}

#[test]
fn secrets_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = Folder::new();
    let folder = parent.0.join("new").join("data");
    open(&folder, Options::new(Arc::new(Timestamp::UNIX_EPOCH))).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.clone()), 0o700);
    assert_eq!(mode(folder.join("objects.redb")) & 0o077, 0);
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let (folder, _) = filled(200);
    let length = fs::metadata(folder.0.join("objects.redb")).unwrap().len();
    for kept in [0, 1, 100, 4096, length / 3, length / 2, length - 4096, length - 1] {
        let copy = folder.copy();
        fs::OpenOptions::new().write(true).open(copy.0.join("objects.redb")).unwrap().set_len(kept).unwrap();
        copy.is_damaged("");
    }
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_is() {
    let (folder, _) = filled(5);
    let mut chance = seeded(1);
    let noise: Vec<u8> = (0..100_000).map(|_| chance().to_le_bytes()[0]).collect();
    for other in [noise, b"not a database".repeat(1000)] {
        let copy = folder.copy();
        fs::write(copy.0.join("objects.redb"), &other).unwrap();
        copy.is_damaged("");
        assert_eq!(fs::read(copy.0.join("objects.redb")).unwrap(), other);
    }
}

#[test]
fn a_flipped_bit_anywhere_is_refused_or_changes_nothing() {
    let (folder, listing) = filled(120);
    let bytes = fs::read(folder.0.join("objects.redb")).unwrap();
    let mut chance = seeded(3);
    let mut refused = 0;
    for round in 0..150 {
        let copy = folder.copy();
        let mut damaged = bytes.clone();
        // Every fourth time in the first page, which says where everything is.
        let bound = if round % 4 == 0 { 512 } else { damaged.len() as u64 };
        let place = usize::try_from(chance() % bound).unwrap();
        damaged[place] ^= 1 << (chance() % 8);
        fs::write(copy.0.join("objects.redb"), &damaged).unwrap();
        match copy.open() {
            Ok(engine) => assert_eq!(held(&engine), listing, "bit at {place}"),
            Err(OpenError::Damaged { .. }) => refused += 1,
            Err(other) => panic!("byte {place}: {other}"),
        }
    }
    assert!(refused > 10, "only {refused} flips hit anything");
}

#[test]
fn a_database_that_is_older_than_what_was_acknowledged_is_refused() {
    let (folder, _) = filled(5);
    let older = fs::read(folder.0.join("objects.redb")).unwrap();
    let engine = folder.open().unwrap();
    write(&engine, 1000);
    block_on(engine.committed()).unwrap();
    drop(engine);
    fs::write(folder.0.join("objects.redb"), older).unwrap();
    folder.is_damaged("was acknowledged");
}

#[test]
fn a_file_that_is_missing_is_damage_once_something_was_acknowledged() {
    let (folder, _) = filled(5);
    let copy = folder.copy();
    fs::remove_file(copy.0.join("objects.redb")).unwrap();
    copy.is_damaged("it had objects");
    let copy = folder.copy();
    fs::remove_file(copy.0.join("revision")).unwrap();
    copy.is_damaged("missing");
    // What a crash in the very first moment leaves behind is no damage.
    let empty = Folder::new();
    drop(empty.open().unwrap());
    fs::rename(empty.0.join("objects.redb"), empty.0.join("objects.redb.new")).unwrap();
    fs::OpenOptions::new().write(true).open(empty.0.join("objects.redb.new")).unwrap().set_len(100).unwrap();
    empty.open().unwrap();
}

#[test]
fn every_byte_of_the_revision_counts() {
    let (folder, listing) = filled(3);
    let path = folder.0.join("revision");
    let bytes = fs::read(&path).unwrap();
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 4;
        fs::write(&path, damaged).unwrap();
        match place {
            0..8 => folder.is_damaged("what it is"),
            // A number that is wrong looks like one that is newer: how that is checked cannot be known.
            8..16 => assert!(matches!(folder.refusal(), OpenError::Newer { .. })),
            _ => folder.is_damaged("checksum"),
        }
    }
    fs::write(&path, &bytes[..20]).unwrap();
    folder.is_damaged("too short");
    fs::write(&path, bytes).unwrap();
    assert_eq!(held(&folder.open().unwrap()), listing);
}

#[test]
fn a_newer_format_is_refused_by_its_number_wherever_it_is_written() {
    let (folder, _) = filled(3);
    let newer = |refused: OpenError| matches!(refused, OpenError::Newer { found: 7, known: 1, .. });
    let copy = folder.copy();
    fs::write(copy.0.join("revision"), mark::encode(7, 3)).unwrap();
    assert!(newer(copy.refusal()));
    // A newer format need not have its checksum where this one has it, nor the same one.
    let mut other = mark::encode(7, 3).to_vec();
    other[24..].fill(0);
    fs::write(copy.0.join("revision"), &other).unwrap();
    assert!(newer(copy.refusal()));
    other.extend([9; 40]);
    fs::write(copy.0.join("revision"), &other).unwrap();
    assert!(newer(copy.refusal()));

    let facts = TableDefinition::<&str, u64>::new("facts");
    let database = redb::Database::open(folder.0.join("objects.redb")).unwrap();
    assert_eq!(
        database.begin_read().unwrap().open_table(facts).unwrap().get("format").unwrap().unwrap().value(),
        FORMAT
    );
    let transaction = database.begin_write().unwrap();
    transaction.open_table(facts).unwrap().insert("format", 7).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(newer(folder.refusal()));
}

#[test]
fn a_record_that_is_lost_or_moved_inside_a_sound_database_is_refused() {
    let objects = TableDefinition::<(&str, &str, &str, &str), &[u8]>::new("objects");
    let key = |name| ("bakery.example", "menus", "bakery", name);
    let (folder, _) = filled(6);
    for (lost, why) in [(true, "missing or too many"), (false, "checksum")] {
        let copy = folder.copy();
        let database = redb::Database::open(copy.0.join("objects.redb")).unwrap();
        let transaction = database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(objects).unwrap();
            let value = table.remove(key("menu-2")).unwrap().unwrap().value().to_vec();
            if !lost {
                table.insert(key("menu-9"), value.as_slice()).unwrap();
            }
        }
        transaction.commit().unwrap();
        drop(database);
        copy.is_damaged(why);
    }
}

//! The engine: JSON objects with the semantics of a Kubernetes API server, in memory.
//!
//! ```text
//!   MemoryStore (typed)     API server (HTTP)
//!            \                 /
//!          Collection: get, list, create, update, delete, watch     one per resource
//!                     |
//!      State, one lock: objects by resource | history | who owns whom     one revision over all
//! ```
//!
//! **One revision** counts every write of every resource; `metadata.resourceVersion` is the revision of the write that
//! made that state. The history of the last writes is held, so that any state of a collection can be had as it stood at
//! any held revision, and a watch from there misses nothing.
//!
//! **Nothing is kept** beyond the process, unless a [`Journal`] keeps it: [`Engine::restore`].
//!
//! **The server's part** is done here for every kind: uid, creationTimestamp, resourceVersion, generation, what is
//! immutable, the status apart from the rest, finalizers, and the collection of objects whose owners are gone. What
//! depends on a kind's schema (defaults, validation, field ownership) is the caller's: [`Collection::update`] runs the
//! caller's change on the present state under the lock.
//!
//! ```
//! use std::sync::Arc;
//! use konfidence_sdk::store::engine::{Engine, Options, ResourceType, Scope};
//! use konfidence_sdk::clock::SystemClock;
//! use serde_json::json;
//!
//! let engine = Engine::new(Options::new(Arc::new(SystemClock)));
//! let menus = engine.collection(ResourceType {
//!     group: "bakery.example".into(),
//!     version: "v1".into(),
//!     kind: "Menu".into(),
//!     plural: "menus".into(),
//!     namespaced: true,
//!     status_subresource: true,
//!     counts_generations: true,
//! });
//! let menu = json!({"metadata": {"namespace": "bakery", "name": "winter"}, "spec": {"pages": 2}});
//! let made = menus.create(menu, Scope::Main).unwrap().object;
//! let changed = menus
//!     .update("bakery", "winter", &Default::default(), Scope::Main, |menu| {
//!         let mut menu = menu.json().clone();
//!         menu["spec"]["pages"] = 3.into();
//!         Ok::<_, konfidence_sdk::store::engine::EngineError>(menu)
//!     })
//!     .unwrap()
//!     .object;
//! assert_eq!(changed.json()["metadata"]["generation"], 2);
//! assert_eq!(menus.list_at(made.revision(), None).unwrap().items, [made]);
//! ```

mod collection;
mod document;
mod entropy;
mod error;
mod garbage;
mod history;
mod index;
mod journal;
mod metadata;
mod resource;
mod state;
mod watch;
mod write;

#[cfg(test)]
mod tests;

pub use collection::{Collection, Listing};
pub use document::{Document, SHALLOW, nesting};
pub use entropy::{Entropy, seeded};
pub use error::EngineError;
pub use history::{Change, Event};
pub use journal::{Journal, Record, RestoreError, Saved, Whole};
pub use resource::{Collector, Propagation, ResourceType, Scope};
pub use watch::Watch;
pub use write::{Outcome, Written};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use self::journal::Keeper;
use self::state::State;
use crate::clock::Clock;

/// What an engine is made with.
pub struct Options {
    /// Where creation and deletion times come from.
    pub clock: Arc<dyn Clock>,
    /// Where uids and generated names come from.
    pub entropy: Entropy,
    /// How many of the last writes are held as history. Fewer are where they take more than about 64 MiB.
    pub history: usize,
    /// When objects without owners are collected.
    pub collector: Collector,
}

impl Options {
    /// Uids from seed 0, a history of 10,000 writes, immediate garbage collection.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, entropy: seeded(0), history: 10_000, collector: Collector::Immediate }
    }
}

/// JSON objects of any kinds under one revision. Clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    collector: Collector,
    state: Arc<Mutex<State>>,
    /// The state's, for those who do not hold it.
    nesting: Arc<AtomicUsize>,
    journal: Option<Keeper>,
}

impl Engine {
    /// An empty engine.
    pub fn new(options: Options) -> Self {
        let Options { clock, entropy, history, collector } = options;
        let state = State::new(entropy, history);
        let nesting = Arc::clone(&state.nesting);
        let state = Arc::new(Mutex::new(state));
        Self(Arc::new(Shared { clock, collector, state, nesting, journal: None }))
    }

    /// The objects of a resource. A resource that was asked for before, under the same group and plural, is the same
    /// one, and from now on the given description holds for it.
    pub fn collection(&self, resource: ResourceType) -> Collection {
        let number = self.write(|state, _| state.register(resource));
        Collection { engine: self.clone(), number }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.read(|state| state.revision)
    }

    /// The newest revision that may be told to others: the last write's, or where there is a journal that of the last
    /// write that it has taken.
    pub fn published(&self) -> u64 {
        self.read(|state| state.published)
    }

    /// How deep the deepest object is nested that has been here: see [`Document::nesting`]. Writes may copy any object, so
    /// whoever makes one needs a stack for it.
    pub fn nesting(&self) -> usize {
        self.0.nesting.load(Ordering::Relaxed)
    }

    /// A name that begins with `base`, as `metadata.generateName` asks for: for a server that has to know the name before
    /// it creates the object.
    pub fn generate_name(&self, base: &str) -> String {
        self.with_state(|state| entropy::name(base, &mut state.entropy))
    }

    /// A uid that no object has: for a server that shows an object without making it.
    pub fn generate_uid(&self) -> String {
        self.with_state(|state| entropy::uid(&mut state.entropy))
    }

    /// Forgets the history up to `revision`: watches and lists from before it are answered with
    /// [`EngineError::Expired`].
    pub fn compact(&self, revision: u64) {
        self.with_state(|state| state.compact(revision));
    }

    /// Collects objects whose owners are gone, until there are none, and answers how many writes it took. Needed with
    /// [`Collector::OnRequest`] only.
    pub fn collect_garbage(&self) -> u64 {
        let now = self.0.clock.now();
        self.waking(|state| state.collect(now))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A caller's change may panic under the lock, but never while the state is half written.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.lock())
    }

    fn with_state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.lock())
    }

    /// Runs a write, collects what it left behind, and wakes the watches once the lock is released.
    fn write<T>(&self, write: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let now = self.0.clock.now();
        self.waking(|state| {
            let written = write(state, now);
            if self.0.collector == Collector::Immediate {
                state.collect(now);
            }
            written
        })
    }

    fn waking<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        let (written, woken) = self.with_state(|state| (write(state), std::mem::take(&mut state.woken)));
        if let Some(journal) = &self.0.journal {
            journal.ring();
        }
        woken.into_iter().for_each(std::task::Waker::wake);
        written
    }
}

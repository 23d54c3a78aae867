//! Keeping what is written: a journal takes every write before anybody is told of it.
//!
//! ```text
//!   writer ── lock ── next state, history ──┐                         ┌── answers the writer
//!   writer ── lock ── next state, history ──┼─ pending ── commit ─────┼── answers the writer
//!   writer ── lock ── next state, history ──┘  (one thread, one sync) └── reads and watches show it
//! ```
//!
//! With a journal an engine has two revisions. Writers see and change the newest one, so that they never wait for each
//! other; everybody else sees the **published** one, which is what the journal has taken. So nobody is ever shown a write
//! that a crash could undo. All writes that come while the journal is busy go to it together: the more writers, the fewer
//! syncs each of them costs. Reads never wait.
//!
//! Whoever writes calls [`Engine::committed`] before it tells anybody, also before it tells of a refusal, since the
//! refusal may rest on a write that is not kept yet.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::channel::oneshot;
use serde_json::Value;

use super::state::{Place, State};
use super::{Change, Engine, EngineError, Event, Options, ResourceType, Shared};

/// How long a journal that failed is left alone before it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Where the writes of an engine are kept.
pub trait Journal: Send {
    /// Keeps these writes, all of them or none, before it returns. They come in the order of their revisions, none left
    /// out and none twice; after an error the same ones come again, and it is for the journal to find out whether they
    /// had been kept nevertheless.
    ///
    /// # Errors
    /// Why they are not known to be kept. Until a later call succeeds, the engine refuses to write.
    fn commit(&mut self, records: &[Record]) -> io::Result<()>;
}

/// One write and the kind of its object.
#[derive(Clone, Debug)]
pub struct Record {
    /// The kind as it is described now.
    pub resource: Arc<ResourceType>,
    /// The write.
    pub event: Arc<Event>,
    pub(super) number: usize,
}

/// What a journal has kept: where an engine begins again.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The revision of the last write; 0 if there was none.
    pub revision: u64,
    /// Every kind that had objects, and its objects as they stood.
    pub resources: Vec<(ResourceType, Vec<Value>)>,
}

/// Something that no engine has written. It is damaged, or made by hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {plural} {name:?} cannot be an object of this engine: {why}")]
pub struct RestoreError {
    plural: String,
    name: String,
    why: &'static str,
}

/// While it lives, the writes of its holder go to the journal together with those that follow: a crash leaves all or
/// none of them. Hold it for the moment between two writes, never longer.
pub struct Whole<'a>(#[expect(dead_code, reason = "it is held, not looked at")] Option<RwLockReadGuard<'a, ()>>);

/// What the writers and the journal's thread share.
pub(super) struct Commits {
    state: Arc<Mutex<State>>,
    /// Rung when there is something to keep, and at the end.
    bell: Condvar,
    /// Held by writers between writes that belong together; the journal takes what is pending only in between.
    gate: RwLock<()>,
}

/// The part of the state that only engines with a journal use.
#[derive(Default)]
pub(super) struct Unpublished {
    /// Writes that the journal has not taken.
    records: Vec<Record>,
    /// Who waits for which revision, in order.
    waiting: VecDeque<(u64, oneshot::Sender<Result<(), EngineError>>)>,
    /// Why the journal does not take writes at the moment.
    stalled: Option<Arc<str>>,
    ended: bool,
}

impl Unpublished {
    pub(super) fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    /// # Errors
    /// When the journal takes no writes.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.stalled.as_ref().map_or(Ok(()), |message| Err(unavailable(message)))
    }

    fn fail(&mut self, message: &Arc<str>) {
        for (_, waiter) in self.waiting.drain(..) {
            // A waiter that is gone does not need to know.
            let _ = waiter.send(Err(unavailable(message)));
        }
        self.stalled = Some(Arc::clone(message));
    }
}

fn unavailable(message: &Arc<str>) -> EngineError {
    EngineError::Unavailable { message: message.to_string() }
}

impl Engine {
    /// An engine that goes on from what `journal` has kept, and gives every write to it before anybody else sees it.
    /// The history begins here: watches from before it are answered with [`EngineError::Expired`].
    ///
    /// The journal gets a thread of its own, which ends with the engine's last clone.
    ///
    /// # Errors
    /// When an object is none that an engine has written, and when the thread cannot be started.
    pub fn restore(options: Options, saved: Saved, journal: Box<dyn Journal>) -> Result<Self, RestoreError> {
        let Options { clock, entropy, history, collector } = options;
        let mut state = State::new(entropy, history);
        state.unpublished = Some(Unpublished::default());
        state.restore(saved)?;
        let nesting = Arc::clone(&state.nesting);
        let state = Arc::new(Mutex::new(state));
        let commits = Arc::new(Commits { state: Arc::clone(&state), bell: Condvar::new(), gate: RwLock::new(()) });
        let thread = std::thread::Builder::new().name("journal".into()).spawn({
            let commits = Arc::clone(&commits);
            move || commits.run(journal)
        });
        let thread = thread.map_err(|_| RestoreError {
            plural: "threads".into(),
            name: "journal".into(),
            why: "the system starts no more threads",
        })?;
        Ok(Self(Arc::new(Shared {
            clock,
            collector,
            state,
            nesting,
            journal: Some(Keeper { commits, thread: Some(thread) }),
        })))
    }

    /// Waits until everything that has been written so far is kept and seen by all. Without a journal that is so at once.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] when the journal cannot keep it now: it is not known whether it will be there after
    /// a crash.
    pub fn committed(&self) -> impl Future<Output = Result<(), EngineError>> + Send + use<> {
        let waiter = self.0.journal.is_some().then(|| self.with_state(State::await_commit));
        async move {
            match waiter {
                None | Some(Committed::Already) => Ok(()),
                Some(Committed::Never(error)) => Err(error),
                Some(Committed::Later(answer)) => answer.await.unwrap_or_else(|_| {
                    Err(EngineError::Unavailable { message: "the engine ended before the write was kept".into() })
                }),
            }
        }
    }

    /// Keeps several writes together: see [`Whole`].
    pub fn whole(&self) -> Whole<'_> {
        let gate = self.0.journal.as_ref().map(|journal| &journal.commits.gate);
        Whole(gate.map(|gate| gate.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

enum Committed {
    Already,
    Never(EngineError),
    Later(oneshot::Receiver<Result<(), EngineError>>),
}

impl State {
    fn await_commit(&mut self) -> Committed {
        let (revision, published) = (self.revision, self.published);
        match &mut self.unpublished {
            Some(unpublished) if published < revision => {
                if let Err(error) = unpublished.check() {
                    return Committed::Never(error);
                }
                let (sender, receiver) = oneshot::channel();
                unpublished.waiting.push_back((revision, sender));
                Committed::Later(receiver)
            }
            _ => Committed::Already,
        }
    }

    fn restore(&mut self, saved: Saved) -> Result<(), RestoreError> {
        self.revision = self.revision.max(saved.revision);
        self.published = self.revision;
        self.floor = self.revision;
        for (resource, objects) in saved.resources {
            let number = self.register(resource);
            self.contents[number].history.begin(self.revision);
            for json in objects {
                self.restore_object(number, json)?;
            }
        }
        Ok(())
    }

    fn restore_object(&mut self, number: usize, json: Value) -> Result<(), RestoreError> {
        let revision = super::metadata::text(&json, "resourceVersion").parse().unwrap_or_default();
        let object = self.document(json, revision);
        let place =
            Place { resource: number, namespace: object.namespace().to_owned(), name: object.name().to_owned() };
        let damaged = |why| {
            let resource = &self.contents[number].resource;
            Err(RestoreError { plural: resource.plural.to_string(), name: place.name.clone(), why })
        };
        if place.name.is_empty() || object.uid().is_empty() {
            return damaged("it has no name or no uid");
        }
        if revision == 0 || revision > self.revision {
            return damaged("its resourceVersion is none that has happened");
        }
        if self.at(&place).is_some() || self.by_uid.contains_key(object.uid()) {
            return damaged("it is there twice");
        }
        self.adopt(&place, &object);
        Ok(())
    }

    /// What the journal has taken is shown to everybody.
    fn publish(&mut self, records: &[Record]) {
        let Some(revision) = records.last().map(|record| record.event.revision) else { return };
        self.published = revision;
        for record in records {
            let waiting = &mut self.contents[record.number].waiting;
            self.woken.extend(std::mem::take(waiting).into_values());
        }
        self.trim();
        if let Some(unpublished) = &mut self.unpublished {
            unpublished.stalled = None;
            while let Some((_, waiter)) = unpublished.waiting.pop_front_if(|(wanted, _)| *wanted <= revision) {
                // A waiter that is gone does not need to know.
                let _ = waiter.send(Ok(()));
            }
        }
    }
}

impl Commits {
    fn run(&self, mut journal: Box<dyn Journal>) {
        while let Some(records) = self.next() {
            while let Err(error) = keep(&mut *journal, &records) {
                if !self.stall(&error) {
                    return;
                }
            }
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.publish(&records);
            let woken = std::mem::take(&mut state.woken);
            drop(state);
            woken.into_iter().for_each(std::task::Waker::wake);
        }
    }

    /// Everything that is pending, as soon as something is; `None` at the end.
    fn next(&self) -> Option<Vec<Record>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let unpublished = state.unpublished.as_ref()?;
            if !unpublished.records.is_empty() {
                break;
            }
            if unpublished.ended {
                return None;
            }
            state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let _between_writes = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.unpublished.as_mut().map(|unpublished| std::mem::take(&mut unpublished.records))
    }

    /// Refuses writes for a while. Whether it is worth another try.
    fn stall(&self, error: &io::Error) -> bool {
        let message: Arc<str> = error.to_string().into();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(unpublished) = &mut state.unpublished else { return false };
        unpublished.fail(&message);
        let goes_on = |state: &mut State| state.unpublished.as_ref().is_some_and(|unpublished| !unpublished.ended);
        let (mut state, _) =
            self.bell.wait_timeout_while(state, RETRY, goes_on).unwrap_or_else(PoisonError::into_inner);
        goes_on(&mut state)
    }
}

/// A journal that panics must not leave its writers waiting.
fn keep(journal: &mut dyn Journal, records: &[Record]) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(|| journal.commit(records)))
        .unwrap_or_else(|_| Err(io::Error::other("the journal panicked; this is a bug")))
}

/// Ends the journal's thread with the engine, after what is pending.
pub(super) struct Keeper {
    commits: Arc<Commits>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn ring(&self) {
        self.commits.bell.notify_one();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut state = self.commits.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(unpublished) = &mut state.unpublished {
            unpublished.ended = true;
        }
        drop(state);
        self.ring();
        if let Some(thread) = self.thread.take() {
            // What it panicked over was answered as an error.
            let _ = thread.join();
        }
    }
}

impl Record {
    /// Whether the object is there after the write.
    pub fn is_kept(&self) -> bool {
        self.event.change != Change::Deleted
    }
}

//! Events for people: the port, and a recording sink.
//!
//! Whoever makes a transition's write emits its event, after the write, best effort (P47). The port is synchronous and
//! must not block: a sink that talks to a server queues the event and posts it in order, off the path of the decision.

use std::sync::{Arc, Mutex, PoisonError};

use crate::store::ObjectRef;

/// What happened to which object, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The object that the event is about.
    pub regarding: ObjectRef,
    /// Whether somebody should look.
    pub severity: Severity,
    /// Machine-readable reason, `CamelCase`, at most 128 characters: `PromotionStarted`.
    pub reason: &'static str,
    /// What was done, `CamelCase`, at most 128 characters: `Promote`.
    pub action: &'static str,
    /// One sentence for people; sinks cut it to the 1,024 bytes that the API takes.
    pub note: String,
}

/// Kubernetes' two types of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Things go as they should.
    Normal,
    /// Somebody should look.
    Warning,
}

impl Severity {
    /// The API's word: `Normal` or `Warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Where events go. Best effort, in order, never blocking.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);
}

impl<E: EventSink + ?Sized> EventSink for &E {
    fn emit(&self, event: Event) {
        (**self).emit(event);
    }
}

impl<E: EventSink + ?Sized> EventSink for Arc<E> {
    fn emit(&self, event: Event) {
        (**self).emit(event);
    }
}

/// A sink that drops everything: for tools that tell their users in other ways.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _: Event) {}
}

/// A sink that keeps events in memory, in order. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct RecordedEvents(Arc<Mutex<Vec<Event>>>);

impl RecordedEvents {
    /// Takes out all events recorded since the last call.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The reasons of all events recorded since the last [`take`](Self::take), in order.
    pub fn reasons(&self) -> Vec<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|event| event.reason).collect()
    }
}

impl EventSink for RecordedEvents {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

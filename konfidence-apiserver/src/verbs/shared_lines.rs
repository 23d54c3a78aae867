//! Lines of watches, written once for everybody who watches: a thousand watches of a kind cost one serialization a
//! change.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;

/// How many lines are kept. Beyond that all are forgotten; whoever is behind writes them again.
const MOST: usize = 1024;

/// What a line says: which write, as which type of event, in which version of the kind.
type Key = (u64, &'static str, String);

/// The newest lines of a server.
#[derive(Default)]
pub(crate) struct SharedLines(Mutex<HashMap<Key, Bytes>>);

impl SharedLines {
    /// The line, made if nobody has made it.
    pub(super) fn get(&self, key: Key, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&key) {
            return line.clone();
        }
        if lines.len() >= MOST {
            lines.clear();
        }
        // Made under the lock: everybody else who waits here wants the same line.
        let line = make();
        lines.insert(key, line.clone());
        line
    }
}

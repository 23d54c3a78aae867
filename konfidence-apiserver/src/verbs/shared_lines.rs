//! Lines of watches, written once for everybody who watches: a thousand watches of a kind cost one serialization a
//! change.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;

/// How many bytes of lines are kept. Beyond that all are forgotten; whoever is behind writes them again.
const MOST: usize = 8 << 20;

/// What a line says: which write, as which type of event, in which version of the kind.
type Key = (u64, &'static str, String);

/// The newest lines of a server.
#[derive(Default)]
pub(crate) struct SharedLines(Mutex<Lines>);

#[derive(Default)]
struct Lines {
    by_key: HashMap<Key, Bytes>,
    bytes: usize,
}

impl SharedLines {
    /// The line, made if nobody has made it.
    pub(super) fn get(&self, key: Key, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.by_key.get(&key) {
            return line.clone();
        }
        if lines.bytes > MOST {
            *lines = Lines::default();
        }
        // Made under the lock: everybody else who waits here wants the same line.
        let line = make();
        lines.bytes += line.len();
        lines.by_key.insert(key, line.clone());
        line
    }
}

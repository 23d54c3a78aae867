//! Compiled schemas, shared by everything in a process that has the same one.
//!
//! Compiling the rules of our kinds takes some hundred milliseconds in a debug build; a test binary makes a server per
//! test, and a server compiles each definition when it is checked and when it is served.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::Value;

use super::Schema;

/// How many schemas are kept. Beyond that all are forgotten; those in use stay with their users.
const MOST: usize = 256;

static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);

impl Schema {
    /// The compiled form of `source`.
    ///
    /// # Errors
    /// As [`Schema::compile`].
    pub(crate) fn shared(source: &Value) -> Result<Arc<Self>, String> {
        let text = source.to_string();
        let lock = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&text) {
            return Ok(Arc::clone(known));
        }
        // Compiled outside the lock: two may do the same work, nobody waits for another's.
        let schema = Arc::new(Self::compile(source.clone())?);
        let mut compiled = lock();
        if compiled.len() >= MOST {
            compiled.clear();
        }
        compiled.insert(text, Arc::clone(&schema));
        Ok(schema)
    }
}

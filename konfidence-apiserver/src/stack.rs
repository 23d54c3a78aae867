//! Stacks for values that are nested deep.
//!
//! The API takes values nested up to [`DEEPEST`] levels, and whatever goes through one by calling itself (a copy, a
//! comparison, a schema, serialization, the end of its life) needs a stack as deep as the value. The stacks of a runtime's
//! threads are not, and a thread that comes to the end of its stack takes the process with it. So a request runs on a
//! stack that fits the deepest value that it can meet: its own body, or any object that was ever stored. Nobody pays for
//! that before somebody sends such a value.

use konfidence_sdk::store::engine::SHALLOW;

/// Values nested deeper than this are refused, as on a real server.
pub(crate) const DEEPEST: usize = 10_000;

/// What one level may take, in bytes, in all calls that go through it. The system gives memory only for what is used.
const LEVEL: usize = if cfg!(debug_assertions) { 32 << 10 } else { 8 << 10 };

/// Runs `work` on a stack for values nested so many levels deep.
pub(crate) fn fitting<T>(levels: usize, work: impl FnOnce() -> T) -> T {
    if levels <= SHALLOW {
        return work();
    }
    // A patch may build a value that is twice as deep as the object and its own body, before it is refused.
    let size = LEVEL * 2 * levels.min(2 * DEEPEST);
    stacker::maybe_grow(size / 2, size, work)
}

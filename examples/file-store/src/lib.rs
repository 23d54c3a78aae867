//! Konfidence's objects as plain files, for tools that have no API server: one JSON file an object.
//!
//! ```text
//!   <directory>/lock                                      held while anything is read or written
//!               revision                                  of the last change that is applied
//!               objects/<Kind>.<group>/<namespace>/<name>.json
//!               changes/<revision>.json                   what happened, the newest thousand: what watches read
//! ```
//!
//! A write is one file in `changes/`, which appears whole or not at all; the file of the object follows from it, also
//! after a crash between the two. Several processes may use one directory: the lock orders their writes, and versions
//! grow for as long as the directory is there. [`FileStore`] implements the ports of the SDK, so every rule of it runs
//! on these files; what an implementation owes is stated, and tried, by `konfidence_sdk::store::conformance`.
//!
//! Files are read and written in the calling thread: this is an example, and files this small are read from memory.

mod disk;
mod garbage;
mod object;
mod store;
mod watch;

pub use store::FileStore;

//! What runs a domain, whichever it is.
//!
//! ```text
//!   caches --changes--> follow (whom does it concern?) --keys--> Queue --one a key--> reconcile
//!                                                                  ^                     |
//!                                                                  +--- wake-up, back-off, floor
//!   Installation: are the CRDs there, with our fields?     Election: is it our turn?
//! ```
//!
//! Nothing here knows a rule of a domain. Safety does not rest on anything here either: not on the lease, not on the
//! order of events, not on a key having one worker; each only makes conflicts rare.

mod controller;
mod election;
mod followers;
mod installation;
pub mod queue;

pub use controller::{Controller, Domain, Failure, Reconciled};
pub use election::{Election, campaign};
pub use followers::{Followers, readable};
pub use installation::{awaited, missing};

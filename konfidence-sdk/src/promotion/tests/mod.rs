//! The specification of promotion, statement by statement, on the store in memory.
//!
//! Each test names the statement that it proves. [`world`] holds what they share.

mod world;

mod approval_gate;
mod choosing;
mod cleanup;
mod config_status;
mod contest;
mod cost;
mod delay;
mod drift;
mod events;
mod execution;
mod hold;
mod inbox;
mod protocol;
mod references;
mod simulated;
mod state;

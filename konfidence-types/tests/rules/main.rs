//! What the API server accepts and refuses: schema, defaults and CEL rules of every kind, on create and on update.
//!
//! Each test names the rule that it proves: a good object passes, and the same object made bad in one place is refused
//! with a message that names the field and says what is wrong.

// clippy's exception for tests does not reach the functions that tests share.
#![allow(clippy::unwrap_used)]

mod admission;
mod cost;
mod durations;
mod example;
mod landscape;
mod references;
mod stage;
mod stored_before;
mod vector_promotion;
mod vector_promotion_config;
mod vector_template;

//! Konfidence end to end, written once and run on three servers.
//!
//! ```text
//!   tests/promotion/    the statements of promotion.md that the API shows, one test each and server
//!   tests/conformance   the laws of a store
//!            |
//!   Server   in process | over TCP | real kube-apiserver, RBAC on        Wire    notes and meddles with requests
//!                                                                        Shifted a clock that tests move
//! ```
//!
//! The embedded server is new for every test. Of real ones there are a few, and tests take turns on them, each with a
//! project of its own: controllers see the whole cluster, so two sets of them would not be apart. They are built by the
//! crate `real-apiserver`, which says when they cannot be, and fails then where `CI=true`. The controllers run there as
//! the service account of `deploy/rbac`, and the people as a user with a role of their own.
//!
//! `KUBECONFIG` may name a user's own cluster instead. Then its CRDs have to be those of `deploy/crds`, it must hold no
//! object of ours, nothing is made in it but namespaces of the tests, which go with them, and everything runs with the
//! user's rights.
//!
//! # What is not shown here
//!
//! | statement | why | where it is shown |
//! |---|---|---|
//! | P37, P38, P44, P51 to the second | tests move the controllers' clock and wake them by a change: real minutes are not waited for | `konfidence-controllers`, in virtual time |
//! | P8's bound of 256 entries, P13's largest number | thousands of requests for a rule that the server has no part in | `konfidence-sdk` |
//! | P12's late controller, R1 to R14 | need a cache that is held back | `konfidence_sdk::sim` |
//! | P50 over half a day, C3 with a hundred configs | time, requests | `konfidence-controllers`, in virtual time |
//! | a Stage that does not parse | the server's schema refuses it | `konfidence-controllers` |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this crate is for tests only")]
#![allow(clippy::missing_panics_doc, reason = "a panic is how a test fails")]

mod clock;
mod install;
mod meddling;
mod server;
mod turn;

pub use clock::Shifted;
pub use install::manifests;
pub use meddling::{Meddling, Wire};
pub use server::{Kind, Server};
pub use turn::Turn;
pub use wire::Call;

//! The simulator: whole promotion worlds in virtual time, from a seed.
//!
//! ```text
//!        people: sources, approvers, owners of Stages      garbage collector
//!                         \            |                     /
//!   controller A --view--> [ one linearizable store in memory ] <--view-- controller B
//!     reconcile()          every write goes past the checker              reconcile()
//!     as a future                      |                                  as a future
//!                              safety, numbers, rest
//! ```
//!
//! A [`World`] holds one store, several active controllers and everybody else. Nothing in it happens by itself: each
//! [`Step`] lets one thing happen, such as one request of one controller, one change that reaches one cache, or one
//! deed of one person. There are no threads, no executor and no clock but the world's: a reconcile is the very
//! [`reconcile`](crate::promotion::reconcile()) of this crate, a future that is polled by hand and waits for its turn
//! before each request. One that is dropped is a process that died; one that is not polled is a process that sleeps.
//!
//! Each controller sees every kind as a prefix of its history, of an age of its own, and after a restart an older one.
//! After each write the checker compares the history with the specification (S1 to S5, P12, P13, P22, P28); when the
//! faults stop, [`Step::Settle`] lets the world come to rest and checks liveness (S6), silence and the audit rules.
//!
//! The same seed gives the same world on every machine, and a [`Survey`] of many seeds the same answer on any number of
//! threads. A failing world is shrunk to a few steps, and tells its story.
//!
//! # Flows of one's own
//!
//! A [`Scenario`] is made of configs; everything that they refer to is made with the world. [`run`] lets chance drive:
//! what can go wrong does, as often as the [`Mood`] says, and people do the scenario's [`Deed`]s.
//!
//! ```
//! use konfidence_sdk::sim::{Deed, Scenario, run};
//! use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
//!
//! let mut config = VectorPromotionConfig::new(
//!     "menu-to-dev",
//!     VectorPromotionConfigSpec::new(SourceRef::template("menu"), TargetRef::stage("eu", "dev")),
//! );
//! config.metadata.namespace = Some("bakery".into());
//!
//! let flow = Scenario::of("my flow", vec![config]).with(&[(Deed::EditStage, 1)]);
//! for seed in 0..5 {
//!     let tally = run(&flow, seed, 100).unwrap_or_else(|failure| panic!("{failure}"));
//!     assert!(tally.writes > 0);
//! }
//! ```
//!
//! A [`Script`] lets the caller decide who does what when, and keeps a [`Timeline`] of what came of it. [`replay`] and
//! [`World::step`] let one [`Step`] happen after the other:
//!
//! ```
//! use konfidence_sdk::sim::{Kind, Scenario, Step, replay};
//!
//! let flow = Scenario::named("automatic").unwrap();
//! let story = replay(&flow, &[
//!     Step::Begin { controller: 0, flow: 0 },
//!     // The config gets its number base; the controller dies before it has seen that.
//!     Step::Read { controller: 0, flow: 0 },
//!     Step::Turn { controller: 0, flow: 0, mishap: None },
//!     Step::Turn { controller: 0, flow: 0, mishap: None },
//!     Step::Crash { controller: 0, ages: [0, 1, 0, 0, 0] },
//!     Step::Settle { healthy: 2 },
//! ]);
//! println!("{}", story.unwrap());
//! ```

mod chance;
mod check;
mod controller;
mod driver;
#[cfg(test)]
mod lie;
mod meter;
mod people;
mod run;
mod scenario;
mod script;
mod server;
mod settle;
mod shrink;
mod states;
mod step;
mod story;
mod survey;
mod tally;
mod timeline;
mod view;
mod world;

#[cfg(test)]
mod tests;

pub use check::Violation;
pub use meter::{Profile, Stopwatch};
pub use run::{Failure, replay, run, run_seeds};
pub use scenario::{Mood, Scenario};
pub use script::{Script, ScriptError};
pub use step::{Deed, Kind, Mishap, Step};
pub use story::Story;
pub use survey::{Report, Survey};
pub use tally::{Nuisance, Tally};
pub use timeline::{Entry, Timeline};
pub use world::World;

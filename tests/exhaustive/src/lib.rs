//! Every interleaving of small worlds.
//!
//! Two controllers that are active at once decide from views that are as old as they like, kind by kind, and stop
//! between any two writes, for a while or for ever; people and the clock do what they may. Every state that can be
//! reached so is visited, and the statements of the specification are held against it. The rules are not modelled:
//! they are run (`load`, `decide`, `verify`, `apply`).
//!
//! ```text
//!   scenario  what is in a small world, and what may happen to it          table: all of them
//!   world     a state: history per kind, plans that wait, the clock
//!   model     the steps from a state       views: whatever a controller decides from       people: what they do
//!   rules     decisions and plans, run and remembered                                      server: conditional writes
//!   feasible  what of a plan can still be done          settled, unread: what makes no difference, and is forgotten
//!   check     S1 to S5, P12, P13, P22, P28, R14 after each write          rest: S6 from each state
//!   story     the way to a violation
//! ```

mod answer;
mod check;
mod feasible;
mod flaw;
mod model;
mod people;
mod report;
mod rest;
mod rules;
mod run;
mod scenario;
mod server;
mod settled;
mod shelf;
mod story;
mod table;
mod unread;
mod views;
mod world;

pub use check::Numbers;
pub use flaw::Flaw;
pub use model::{Exploration, Step};
pub use report::{into_page, row, table};
pub use run::{Found, Limits, explore};
pub use scenario::{AUTO, BASE, Config, GATED, HandMade, Left, Scenario};
pub use table::scenarios;
pub use world::World;

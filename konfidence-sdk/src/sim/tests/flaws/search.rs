//! Finding the steps that show a flaw. It runs when somebody asks for it; the tests replay what it found.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Variant, scripts, variants};
use crate::sim::chance::Chance;
use crate::sim::run::{drive, drive_only};
use crate::sim::{Mishap, Mood, Scenario, Step};

/// Lengths of worlds, in steps.
const STEPS: [usize; 3] = [40, 80, 160];
/// So many worlds that show a flaw are shrunk, out of so many; the shortest is kept.
const HITS: usize = 8;
const OUT_OF: u64 = 500;
/// So many worlds are looked at for one variant.
const WORLDS: u64 = 4000;

/// What a search found.
struct Found {
    /// How many worlds were looked at until the first that shows the flaw.
    worlds: u64,
    steps: Vec<Step>,
}

/// The fewest steps that show `variant`.
fn find(variant: &Variant) -> Option<Found> {
    let mut found: Option<Found> = None;
    let mut others = BTreeMap::<&str, u32>::new();
    let mut hits = 0;
    for seed in 0..WORLDS {
        let (steps, statement) = one_world(variant, seed);
        if statement != Some(variant.violates) {
            *others.entry(statement.unwrap_or("nothing")).or_default() += 1;
            continue;
        }
        if !shows(variant, &steps) {
            *others.entry("fails without the flaw too").or_default() += 1;
            continue;
        }
        let steps = shrink(variant, steps);
        hits += 1;
        match &mut found {
            None => found = Some(Found { worlds: seed + 1, steps }),
            Some(best) if steps.len() < best.steps.len() => best.steps = steps,
            Some(_) => {}
        }
        if hits == HITS || seed >= OUT_OF {
            break;
        }
    }
    if found.is_none() {
        eprintln!("{}: not found; {others:?}", variant.name);
    }
    found
}

/// What happened in one world in a mood of its own, and which statement fell.
fn one_world(variant: &Variant, seed: u64) -> (Vec<Step>, Option<&'static str>) {
    let mood = Mood::random(&mut Chance::new(seed));
    let scenario = Scenario { mood, ..variant.scenario.clone() };
    let mut world = variant.world(&scenario, true);
    let length = STEPS[usize::try_from(seed).unwrap() % STEPS.len()];
    let (steps, violation) = variant.with(true, || {
        // A settled world does many things in one step; what falls before it has come to rest is to be seen without.
        if variant.is_seen_at_rest() { drive(&mut world, seed, length) } else { drive_only(&mut world, seed, length) }
    });
    (steps, violation.map(|violation| violation.statement))
}

/// Whether these steps violate the statement with the flaw, and nothing without it.
fn shows(variant: &Variant, steps: &[Step]) -> bool {
    variant.violation(steps).is_some_and(|violation| violation.statement == variant.violates)
        && variant.violation_without_flaw(steps).is_none()
}

/// Leaves out and simplifies whatever can be, until nothing can.
fn shrink(variant: &Variant, mut steps: Vec<Step>) -> Vec<Step> {
    loop {
        let before = steps.clone();
        let mut chunk = steps.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < steps.len() {
                let mut fewer = steps.clone();
                fewer.drain(at..(at + chunk).min(steps.len()));
                if shows(variant, &fewer) { steps = fewer } else { at += chunk }
            }
            chunk /= 2;
        }
        for at in 0..steps.len() {
            for simpler in simpler(steps[at]) {
                let mut other = steps.clone();
                other[at] = simpler;
                if shows(variant, &other) {
                    steps = other;
                    break;
                }
            }
        }
        if steps == before {
            return steps;
        }
    }
}

/// What may take a step's place because it says less, or does more at once.
fn simpler(step: Step) -> Vec<Step> {
    match step {
        Step::Turn { controller, flow, mishap: Some(_) } => vec![Step::Turn { controller, flow, mishap: None }],
        Step::Deliver { controller, kind, .. } => vec![Step::Relist { controller, kind }],
        Step::Crash { controller, ages } if ages != [0; 5] => vec![Step::Crash { controller, ages: [0; 5] }],
        Step::Settle { healthy } if healthy > 1 => vec![Step::Settle { healthy: 1 }],
        Step::Wait { seconds } if seconds > 301 => vec![Step::Wait { seconds: 301 }],
        _ => Vec::new(),
    }
}

/// The scripts of all variants as a file of Rust. One that is not found anew stays as it was. With `KONFIDENCE_FLAW`
/// only the variant of that name is looked for.
pub(super) fn scripts() -> String {
    let only = std::env::var("KONFIDENCE_FLAW").ok();
    let mut text = String::from(
        "//! The steps that show each flaw. Found by `cargo xtask flaws --search`; do not edit.\n\n\
         #![cfg_attr(rustfmt, rustfmt_skip)]\n\n\
         use super::Script;\nuse super::search::short::*;\nuse crate::sim::{Deed, Kind, Step};\nuse crate::store::Fault;\n\n\
         pub(super) const ALL: &[Script] = &[\n",
    );
    for variant in variants::all() {
        let is_wanted = only.as_ref().is_none_or(|only| variant.name.starts_with(only));
        let stored = scripts::ALL.iter().find(|script| script.variant == variant.name);
        let stored = stored.map(|script| Found { worlds: script.worlds, steps: script.steps.to_vec() });
        // Chance took too long: these were written by hand, after the protocol's page, and are only shrunk.
        let is_by_hand = stored.as_ref().is_some_and(|stored| stored.worlds == 0 && shows(&variant, &stored.steps));
        let shrunk = |found: Found| Found { steps: shrink(&variant, found.steps), ..found };
        let found = match stored {
            stored if !is_wanted => stored,
            stored if is_by_hand => stored.map(shrunk),
            stored => find(&variant).or(stored),
        };
        let Some(found) = found else { continue };
        eprintln!("{}: {} steps, {} worlds", variant.name, found.steps.len(), found.worlds);
        let _ = writeln!(text, "    Script {{ variant: {:?}, worlds: {}, steps: &[", variant.name, found.worlds);
        for step in found.steps {
            let _ = writeln!(text, "        {},", text_of(step));
        }
        text.push_str("    ] },\n");
    }
    text + "];\n"
}

/// A step in the words of [`short`].
fn text_of(step: Step) -> String {
    let who = |controller| if controller == 0 { "A" } else { "B" };
    match step {
        Step::Begin { controller, flow } => format!("begin({}, {flow})", who(controller)),
        Step::Turn { controller, flow, mishap: None } => format!("turn({}, {flow})", who(controller)),
        Step::Turn { controller, flow, mishap: Some(Mishap { fault, carried_out }) } => {
            format!("fails({}, {flow}, Fault::{fault:?}, {carried_out})", who(controller))
        }
        Step::Read { controller, flow } => format!("read({}, {flow})", who(controller)),
        Step::Relist { controller, kind } => format!("see_all({}, Kind::{kind:?})", who(controller)),
        Step::Deliver { controller, kind, told: true } => format!("see({}, Kind::{kind:?})", who(controller)),
        Step::Stir { controller, flow } => format!("stir({}, {flow})", who(controller)),
        Step::Crash { controller, ages: [0, 0, 0, 0, 0] } => format!("crash({})", who(controller)),
        Step::Wait { seconds } => format!("wait({seconds})"),
        Step::Deed { deed, flow, pick } => format!("deed(Deed::{deed:?}, {flow}, {pick})"),
        Step::Settle { healthy } => format!("settle({healthy})"),
        other => format!("Step::{other:?}"),
    }
}

/// Steps in few words.
#[allow(dead_code)] // which of them the scripts need is chance
pub(super) mod short {
    use crate::sim::{Deed, Kind, Mishap, Step};
    use crate::store::Fault;

    pub(in super::super) const A: usize = 0;
    pub(in super::super) const B: usize = 1;

    pub(in super::super) const fn begin(controller: usize, flow: usize) -> Step {
        Step::Begin { controller, flow }
    }

    pub(in super::super) const fn turn(controller: usize, flow: usize) -> Step {
        Step::Turn { controller, flow, mishap: None }
    }

    pub(in super::super) const fn fails(controller: usize, flow: usize, fault: Fault, carried_out: bool) -> Step {
        Step::Turn { controller, flow, mishap: Some(Mishap { fault, carried_out }) }
    }

    pub(in super::super) const fn read(controller: usize, flow: usize) -> Step {
        Step::Read { controller, flow }
    }

    pub(in super::super) const fn see(controller: usize, kind: Kind) -> Step {
        Step::Deliver { controller, kind, told: true }
    }

    pub(in super::super) const fn see_all(controller: usize, kind: Kind) -> Step {
        Step::Relist { controller, kind }
    }

    pub(in super::super) const fn stir(controller: usize, flow: usize) -> Step {
        Step::Stir { controller, flow }
    }

    pub(in super::super) const fn crash(controller: usize) -> Step {
        Step::Crash { controller, ages: [0; 5] }
    }

    pub(in super::super) const fn wait(seconds: u32) -> Step {
        Step::Wait { seconds }
    }

    pub(in super::super) const fn deed(deed: Deed, flow: usize, pick: usize) -> Step {
        Step::Deed { deed, flow, pick }
    }

    pub(in super::super) const fn settle(healthy: usize) -> Step {
        Step::Settle { healthy }
    }
}

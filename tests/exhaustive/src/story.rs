//! A path of the search, told so that a person can follow it.

use std::fmt::Write;
use std::sync::Arc;

use konfidence_sdk::promotion::{Attempt, Phase, controller_uid};
use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, annotation};

use crate::model::{Exploration, Move, Step};
use crate::server::Server;
use crate::shelf::{Kind, Stored};
use crate::views::Look;
use crate::world::{Waits, World};

impl Exploration {
    /// The steps, each with what it changed, and what is wrong at the end.
    pub(crate) fn story(&self, path: &[(World, Option<Step>)]) -> String {
        let mut told = String::new();
        for (number, pair) in path.windows(2).enumerate() {
            let [(before, Some(step)), (after, _)] = pair else { continue };
            line(&mut told, &format!("{:>3}. {}", number + 1, self.told(before, step)));
            for effect in changes(before, after) {
                line(&mut told, &format!("       {effect}"));
            }
        }
        let Some((last, _)) = path.last() else { return told };
        if last.broken.is_none() {
            line(&mut told, "From here one controller with the newest views goes on alone:");
            let mut lines = Vec::new();
            let server = Server::new(last.live());
            let _ = self.comes_to_rest(&server, self.instant(last.now), &mut |done| lines.push(done));
            for done in lines {
                line(&mut told, &format!("     - {done}"));
            }
        }
        if let Some(violation) = self.violation(last) {
            line(&mut told, &violation.to_string());
        }
        told
    }

    fn told(&self, world: &World, step: &Step) -> String {
        match &step.0 {
            Move::Begin(look) => {
                let (planned, _) = self.decide(world, look);
                format!("a controller {} and begins: {}", self.seen(world, look), actions(&planned.plan.steps))
            }
            Move::Look(look) => {
                let (planned, _) = self.decide(world, look);
                let plan = actions(&planned.plan.steps);
                format!("a controller {}, looks live, and is to do: {plan}", self.seen(world, look))
            }
            Move::GoOn(slot) => match world.pending.get(*slot).map(|pending| &pending.waits) {
                Some(Waits::Plan { planned, asks }) => {
                    let left = planned.plan.steps.get(asks.told.len()..).unwrap_or_default();
                    format!("the controller that was to do {} goes on", actions(left))
                }
                _ => "a controller goes on".to_owned(),
            },
            Move::Crash(_) => "a controller dies and starts again".to_owned(),
            Move::Deed(deed) => deed.to_string(),
        }
    }

    /// From which views.
    fn seen(&self, world: &World, look: &Look) -> String {
        let mut old = Vec::new();
        for kind in Kind::ALL {
            let behind = world.of(kind).shelves.len() - 1 - look.view[kind.index()];
            if behind > 0 {
                old.push(format!("{} {behind} old", kind.name()));
            }
        }
        if look.now < world.now {
            old.push(format!("at {}", self.instant(look.now).strftime("%H:%M:%S")));
        }
        if old.is_empty() { "sees everything".to_owned() } else { format!("sees {}", old.join(", ")) }
    }
}

fn line(told: &mut String, line: &str) {
    // Writing into a String cannot fail.
    let _ = writeln!(told, "{line}");
}

fn actions(steps: &[konfidence_sdk::promotion::Step]) -> String {
    steps.iter().map(|step| format!("{:?} {}", step.action, step.subject)).collect::<Vec<_>>().join(", ")
}

/// What differs between two states.
fn changes(before: &World, after: &World) -> Vec<String> {
    let (before, after) = (before.live(), after.live());
    let mut told = Vec::new();
    for kind in Kind::ALL {
        let (old, new) = (before.of(kind), after.of(kind));
        let gone = old.objects.iter().filter(|it| new.get(&it.namespace, &it.name).is_none());
        told.extend(gone.map(|it| format!("{} {} is gone", kind.name(), it.name)));
        let is_new = |it: &&Arc<Stored>| old.get(&it.namespace, &it.name).is_none_or(|old| old.hash != it.hash);
        told.extend(
            new.objects.iter().filter(is_new).map(|it| {
                format!("{} {} @{} is {}", kind.name(), it.name, it.version.resource_version, state(kind, it))
            }),
        );
    }
    told
}

fn state(kind: Kind, object: &Stored) -> String {
    let told = match kind {
        Kind::Promotion => object.parsed::<VectorPromotion>().map(|it| promotion(&it)),
        Kind::Config => object.parsed::<VectorPromotionConfig>().map(|it| {
            let sequence = it.status.as_ref().and_then(|status| status.sequence);
            format!("at sequence {sequence:?}, uid {}", object.uid())
        }),
        Kind::Stage => object.parsed::<Stage>().map(|it| stage(&it)),
        Kind::Landscape => object
            .parsed::<Landscape>()
            .map(|it| it.status.as_ref().and_then(|status| status.namespace.clone()).unwrap_or_default()),
        Kind::Template => object
            .parsed::<VectorTemplate>()
            .map(|it| it.status.as_ref().and_then(|status| status.latest_vector.clone()).unwrap_or_default()),
    };
    told.unwrap_or_default()
}

fn promotion(promotion: &VectorPromotion) -> String {
    let mut told = format!("{:?}, {}", Phase::of_promotion(promotion), promotion.spec.vector);
    let _ = write!(told, ", sequence {}", promotion.spec.sequence);
    let _ = match controller_uid(promotion) {
        Some(uid) => write!(told, ", owner {uid}"),
        None => write!(told, ", by hand"),
    };
    if let Some(attempt) = Attempt::of(promotion) {
        let _ = write!(told, ", attempt {}", attempt.number);
    }
    told
}

fn stage(stage: &Stage) -> String {
    let mut told = format!("{:?}", stage.spec.vector);
    for name in [annotation::PROMOTIONS, annotation::FENCED] {
        if let Some(value) = stage.metadata.annotations.as_ref().and_then(|annotations| annotations.get(name)) {
            let _ = write!(told, ", {} {value}", name.trim_start_matches("konfidence.cloud/"));
        }
    }
    told
}

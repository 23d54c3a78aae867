//! A failure is told in few steps, and soon.

use konfidence_types::VectorPromotion;

use crate::promotion::Phase;
use crate::sim::run::{Course, replay};
use crate::sim::world::World;
use crate::sim::{Deed, Scenario, Step};
use crate::store::engine::Event;

/// Stands for a violation that takes a story: somebody starts a promotion and does not end it for five minutes, and
/// somebody retires it.
fn timed_out(event: &Event) -> bool {
    event.object.parse::<VectorPromotion>().is_ok_and(|it| Phase::of_promotion(&it) == Phase::TimedOut)
}

#[test]
fn a_long_story_shrinks_to_what_it_needs() {
    let (mut longest, mut told) = (0, 0);
    for seed in 0.. {
        let scenario = Scenario::random(seed);
        let make = || {
            let mut world = World::new(&scenario);
            world.checker.forbidden = Some(timed_out);
            world
        };
        let mut course = Course::run(make(), seed, 400);
        let Some(violation) = course.violation.take() else { continue };
        longest = longest.max(course.taken.len());
        let failure = course.tell(&make, violation);
        assert_eq!(failure.violation.statement, "forbidden");
        assert!(failure.steps.len() <= 40, "seed {seed}: {} steps\n{failure}", failure.steps.len());
        told += 1;
        if told == 4 {
            break;
        }
    }
    assert!(longest > 100, "nothing was long enough to need shrinking: {longest}");
}

/// What is printed can be pasted: the steps alone lead to the same story.
#[test]
fn the_steps_of_a_story_tell_it_again() {
    let scenario = Scenario::named("automatic").unwrap();
    let steps = [
        Step::Deed { deed: Deed::Assemble, flow: 0, pick: 1 },
        Step::Begin { controller: 0, flow: 0 },
        Step::Read { controller: 0, flow: 0 },
        Step::Turn { controller: 0, flow: 0, mishap: None },
        Step::Settle { healthy: 1 },
    ];
    let story = replay(&scenario, &steps).unwrap();
    assert_eq!(replay(&scenario, &steps).unwrap().lines(), story.lines());
}

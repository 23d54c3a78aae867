//! Four days of March: four vectors, two people with working hours.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use konfidence_sdk::sim::{Script, ScriptError};
use konfidence_sdk::store::Key;

use crate::flow::{config, menu, scenario};

const TASTER: &str = "the taster";
const HEAD_BAKER: &str = "the head baker";
const OVEN: &str = "the oven";

/// What happens between two hours, besides the week itself.
pub(crate) type Between<'a> = &'a mut dyn FnMut(&mut Script) -> Result<(), ScriptError>;

/// The flow, and nobody has done anything yet.
pub(crate) fn script() -> Script {
    Script::new(&scenario())
}

/// From Friday noon to Monday evening, hour by hour. The oven never rests; people look at what waits once an hour while
/// they work, and only the newest is worth their time.
pub(crate) fn play(script: &mut Script, between: Between<'_>) -> Result<(), ScriptError> {
    script.rest()?;
    for hour in 0..80 {
        match hour {
            1 => script.publish(OVEN, &menu(), "bakery//menu:friday")?,
            4 => script.publish(OVEN, &menu(), "bakery//menu:friday-late")?,
            20 => script.publish(OVEN, &menu(), "bakery//menu:saturday")?,
            52 => script.publish(OVEN, &menu(), "bakery//menu:sunday")?,
            _ => {}
        }
        if is_working_hour(script.now()) {
            decide(script, TASTER, "test-to-tasting")?;
            decide(script, HEAD_BAKER, "preview-to-prod")?;
        }
        between(script)?;
        script.wait(SignedDuration::from_hours(1))?;
    }
    Ok(())
}

/// The newest that has waited for half an hour is approved: whoever comes back from lunch reads first.
fn decide(script: &mut Script, who: &str, name: &str) -> Result<(), ScriptError> {
    let half_an_hour = SignedDuration::from_mins(30);
    let now = script.now();
    let newest = script.waiting(&config(name)).into_iter().find(|promotion| {
        let made = promotion.metadata.creation_timestamp.as_ref();
        made.is_some_and(|made| now.duration_since(made.0) >= half_an_hour)
    });
    newest.map_or(Ok(()), |promotion| script.approve(who, &Key::of(&*promotion)))
}

fn is_working_hour(now: Timestamp) -> bool {
    let now = now.to_zoned(TimeZone::UTC);
    !matches!(now.weekday(), Weekday::Saturday | Weekday::Sunday) && (9..17).contains(&now.hour())
}

#[cfg(test)]
mod tests {
    use konfidence_sdk::sim::Mood;

    use super::*;
    use crate::flow::stage;

    /// What stands where on Monday evening.
    fn vectors(script: &Script) -> Vec<String> {
        let stages = ["dev", "test", "tasting", "preview", "prod"];
        stages.into_iter().filter_map(|name| script.vector(&stage(name))).collect()
    }

    #[test]
    fn the_weeks_timeline_is_the_same_on_every_machine() {
        let mut script = script();
        play(&mut script, &mut |_| Ok(())).expect("a sound week");
        insta::assert_snapshot!(script.timeline().to_string());
    }

    #[test]
    fn nobody_decides_on_a_weekend_and_mondays_newest_reaches_prod() {
        let mut script = script();
        play(&mut script, &mut |_| Ok(())).expect("a sound week");
        for entry in script.timeline().entries().iter().filter(|entry| [TASTER, HEAD_BAKER].contains(&&*entry.who)) {
            assert!(is_working_hour(entry.at), "{entry:?}");
        }
        assert_eq!(vectors(&script), ["bakery//menu:sunday"; 5]);
        script.settle().expect("rest");
    }

    #[test]
    fn crashes_losses_and_delays_change_when_but_not_what() {
        for seed in 0..4 {
            let mut scenario = scenario();
            scenario.mood =
                Mood { lost_one_in: 6, repeat: 4, relist: 2, crash: 2, pause: 2, mishap_one_in: 12, ..Mood::CALM };
            let mut script = Script::new(&scenario);
            let mut hour = 0;
            play(&mut script, &mut |script| {
                hour += 1;
                script.disturb(seed * 1000 + hour, 30)
            })
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", script.timeline()));
            assert_eq!(vectors(&script), ["bakery//menu:sunday"; 5], "seed {seed}\n{}", script.timeline());
        }
    }
}

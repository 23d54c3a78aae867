//! A flow by hand: the caller says who does what and when, and reads what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use konfidence_types::{
    Condition, Stage, VectorPromotion, VectorPromotionConfig, VectorTemplate, condition, condition_type,
};
use serde_json::json;

use super::check::{Author, Violation};
use super::driver::Driver;
use super::people::{Word, change, say, told};
use super::scenario::{Mood, Scenario};
use super::step::Step;
use super::timeline::Timeline;
use super::world::World;
use crate::event::Severity;
use crate::promotion::{Inbox, Phase, Refusal, conditions_of, controller_uid, explain, load};
use crate::store::engine::{Change, Document, Scope};
use crate::store::{Key, MemoryStore};

/// Who does what the rules say, in timelines.
const KONFIDENCE: &str = "konfidence";

/// Why a script did not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A person's word was not taken; nothing was written for it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A statement of the specification does not hold.
    #[error(transparent)]
    Violated(#[from] Violation),
    /// The source that was to get a vector is not there.
    #[error("{0} does not exist: name a source of one of the scenario's configs")]
    NoSource(String),
}

/// A world whose story somebody has written: sources get vectors, people decide, time passes, and everything that
/// follows by the rules happens in between. Every write is checked as in random worlds.
///
/// Whatever people do through the SDK has a method here. Anything else is a deed on [`store`](Self::store), and
/// anything that goes wrong is a [`Step`] of the [`world`](Self::world) or left to chance by
/// [`disturb`](Self::disturb).
///
/// ```
/// use konfidence_sdk::sim::{Scenario, Script};
/// use konfidence_sdk::store::Key;
/// use konfidence_sdk::types::{SourceRef, Stage, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};
///
/// let config = |name: &str, source, target| {
///     let mut config = VectorPromotionConfig::new(name, VectorPromotionConfigSpec::new(source, target));
///     config.metadata.namespace = Some("bakery".into());
///     config
/// };
/// let flow = Scenario::of("two stages", vec![
///     config("menu-to-dev", SourceRef::template("menu"), TargetRef::stage("eu", "dev")),
///     // A Stage as the source: somebody has to approve.
///     config("dev-to-prod", SourceRef::stage("eu", "dev"), TargetRef::stage("eu", "prod")),
/// ]);
/// let mut script = Script::new(&flow);
/// script.publish("the oven", &Key::new("bakery", "menu"), "bakery//menu:winter")?;
/// script.wait("90m".parse()?)?;
///
/// let to_prod = Key::new("bakery", "dev-to-prod");
/// let waiting = script.waiting(&to_prod);
/// script.approve("the head baker", &Key::of(&*waiting[0]))?;
/// let prod = Key::<Stage>::new("bakery-eu", "prod");
/// assert_eq!(script.vector(&prod).as_deref(), Some("bakery//menu:winter"));
/// println!("{}", script.timeline());
/// # assert!(script.timeline().to_string().contains("waits for somebody's approval"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Script {
    world: World,
    timeline: Timeline,
    /// Up to which revision the history was told.
    told: u64,
    /// What each flow was last said to wait for.
    waits: BTreeMap<Key<VectorPromotionConfig>, String>,
}

impl Script {
    /// Everything of `scenario` stands, and nobody has looked at it yet. Its deeds and its mood are not used, but by
    /// [`disturb`](Self::disturb).
    pub fn new(scenario: &Scenario) -> Self {
        let mut world = World::new(scenario);
        world.tell();
        Self { world, timeline: Timeline::default(), told: 0, waits: BTreeMap::new() }
    }

    /// A template gets a vector, as after an assembly. Then everything that follows at once happens.
    ///
    /// # Errors
    /// [`ScriptError::NoSource`] when there is no such template.
    pub fn publish(&mut self, by: &str, template: &Key<VectorTemplate>, vector: &str) -> Result<(), ScriptError> {
        if self.store().collection::<VectorTemplate>().get(template.namespace(), template.name()).is_none() {
            return Err(ScriptError::NoSource(format!("VectorTemplate {template}")));
        }
        self.timeline.note(self.now(), by, format!("publishes {vector} by template {}", template.name()));
        change(self.world.store(), template, Scope::Status, |object| object["status"]["latestVector"] = json!(vector));
        self.world.look(Author::People)?;
        self.rest()
    }

    /// Somebody writes a vector into a Stage by hand. Then everything that follows at once happens.
    ///
    /// # Errors
    /// [`ScriptError::NoSource`] when there is no such Stage.
    pub fn write(&mut self, by: &str, stage: &Key<Stage>, vector: &str) -> Result<(), ScriptError> {
        if self.store().collection::<Stage>().get(stage.namespace(), stage.name()).is_none() {
            return Err(ScriptError::NoSource(format!("Stage {stage}")));
        }
        self.timeline.note(self.now(), by, format!("writes {vector} to Stage {stage} by hand"));
        change(self.world.store(), stage, Scope::Main, |object| object["spec"]["vector"] = json!(vector));
        self.world.look(Author::People)?;
        self.rest()
    }

    /// `by` approves a promotion; see [`approve`](crate::promotion::approve()).
    pub fn approve(&mut self, by: &str, promotion: &Key<VectorPromotion>) -> Result<(), ScriptError> {
        self.say(by, Word::Approve(promotion.clone()))
    }

    /// `by` rejects a promotion; see [`reject`](crate::promotion::reject()).
    pub fn reject(&mut self, by: &str, promotion: &Key<VectorPromotion>, reason: &str) -> Result<(), ScriptError> {
        self.say(by, Word::Reject(promotion.clone(), reason.to_owned()))
    }

    /// `by` tries a promotion again; see [`retry`](crate::promotion::retry()).
    pub fn retry(&mut self, by: &str, promotion: &Key<VectorPromotion>) -> Result<(), ScriptError> {
        self.say(by, Word::Retry(promotion.clone()))
    }

    /// `by` promotes a vector by hand; see [`promote`](crate::promotion::promote()).
    pub fn promote(&mut self, by: &str, config: &Key<VectorPromotionConfig>, vector: &str) -> Result<(), ScriptError> {
        self.say(by, Word::Promote(config.clone(), vector.to_owned()))
    }

    /// `by` ends a hold; see [`release`](crate::promotion::release()).
    pub fn release(&mut self, by: &str, config: &Key<VectorPromotionConfig>) -> Result<(), ScriptError> {
        self.say(by, Word::Release(config.clone()))
    }

    /// `by` suspends a config; see [`suspend`](crate::promotion::suspend()).
    pub fn suspend(&mut self, by: &str, config: &Key<VectorPromotionConfig>) -> Result<(), ScriptError> {
        self.say(by, Word::Suspend(config.clone()))
    }

    /// `by` resumes a config; see [`resume`](crate::promotion::resume()).
    pub fn resume(&mut self, by: &str, config: &Key<VectorPromotionConfig>) -> Result<(), ScriptError> {
        self.say(by, Word::Resume(config.clone()))
    }

    fn say(&mut self, by: &str, word: Word) -> Result<(), ScriptError> {
        self.timeline.note(self.now(), by, told(&word));
        // The store in memory answers at once.
        let saying = say(self.world.store(), &self.world.clock, by, word).now_or_never();
        let answer = saying.unwrap_or(Ok(()));
        self.world.look(Author::Operation)?;
        if let Err(refusal) = &answer {
            self.timeline.note(self.now(), by, format!("is told: {refusal}"));
        }
        self.rest()?;
        Ok(answer?)
    }

    /// Time passes; whatever becomes due in between happens when it is due.
    pub fn wait(&mut self, time: SignedDuration) -> Result<(), ScriptError> {
        self.wait_until(self.now().saturating_add(time).unwrap_or(Timestamp::MAX))
    }

    /// Time passes until `until`. One that has passed already: nothing happens but what follows at once.
    pub fn wait_until(&mut self, until: Timestamp) -> Result<(), ScriptError> {
        loop {
            self.rest()?;
            let due = self.world.next_wake_up().filter(|due| *due <= until);
            if !self.world.wait_until(due.unwrap_or(until)) {
                return Ok(());
            }
        }
    }

    /// Everything happens that can without that time passes.
    pub fn rest(&mut self) -> Result<(), ScriptError> {
        self.world.come_to_rest()?;
        self.collect();
        Ok(())
    }

    /// Lets chance drive for `steps` steps, in the mood of the scenario: what is under way is delayed, lost, repeated and
    /// crashes. No time passes, and nobody does anything that is not in the script. [`Mood::CALM`] disturbs nothing.
    pub fn disturb(&mut self, seed: u64, steps: usize) -> Result<(), ScriptError> {
        let mood = self.world.scenario.mood;
        self.world.scenario.mood = Mood { time: 0, deed: 0, ..mood };
        let mut driver = Driver::new(seed);
        let done = (0..steps).try_for_each(|_| {
            let step = driver.next(&self.world);
            self.world.step(step).map(|_| ())
        });
        self.world.scenario.mood = mood;
        done?;
        self.wake_everybody()
    }

    fn wake_everybody(&mut self) -> Result<(), ScriptError> {
        for controller in 0..self.world.controllers.len() {
            self.world.step(Step::Continue { controller })?;
        }
        // A lost event is made good by the slow resync.
        self.world.resync();
        Ok(())
    }

    /// The present instant of the world.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// The promotions of a config that wait for somebody's approval, newest first.
    pub fn waiting(&self, config: &Key<VectorPromotionConfig>) -> Vec<Arc<VectorPromotion>> {
        let mut own = self.world.people.promotions(config);
        own.retain(|promotion| Phase::of_promotion(promotion) == Phase::Waiting);
        own
    }

    /// The vector of a Stage; `None` when there is no such Stage.
    pub fn vector(&self, stage: &Key<Stage>) -> Option<String> {
        let stored = self.store().collection::<Stage>().get(stage.namespace(), stage.name())?;
        stored.parse::<Stage>().ok().map(|stage| stage.spec.vector.clone())
    }

    /// What happened so far.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The store as a linearizable read shows it, for reading and for deeds that have no method here.
    pub fn store(&self) -> &MemoryStore {
        self.world.store()
    }

    /// The world, for steps of one's own: a crash, a pause, an event that is lost. Its story tells every request.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Faults stop for good, everything comes to rest, and liveness and the audit rules are checked.
    pub fn settle(&mut self) -> Result<(), ScriptError> {
        let healthy = self.world.controllers.len();
        self.world.step(Step::Settle { healthy })?;
        Ok(())
    }

    fn tell_promotions(&mut self, now: Timestamp) {
        let past = self.store().collection::<VectorPromotion>().events_after(self.told).unwrap_or_default();
        self.told = self.store().engine().revision();
        let read = |document: &Document| document.parse::<VectorPromotion>().ok();
        for (at, event) in past.iter().enumerate() {
            let Some(promotion) = read(&event.object).filter(|_| event.change != Change::Deleted) else { continue };
            let name = event.object.name();
            if event.change == Change::Added {
                let who = controller_uid(&promotion).map_or("somebody", |_| KONFIDENCE);
                self.timeline.note(now, who, format!("makes promotion {name} of {}", promotion.spec.vector));
            }
            let before = event.previous.as_ref().and_then(|previous| read(previous));
            let Some(told) = outcome(&promotion) else { continue };
            let is_news = before.as_deref().and_then(outcome).is_none_or(|before| before.reason != told.reason);
            // An execution that is over at once is told by its end.
            let goes_on = past.iter().skip(at + 1).any(|later| later.object.uid() == event.object.uid());
            if is_news && !(Phase::of_promotion(&promotion) == Phase::InProgress && goes_on) {
                self.timeline.note(now, KONFIDENCE, format!("{name}: {}", told.message));
            }
        }
    }

    /// What has happened since it was last looked at, and what is waited for by now.
    fn collect(&mut self) {
        let now = self.now();
        self.tell_promotions(now);
        // What happens to promotions is told from their history, in its order and with nothing left out.
        for event in self.world.events.take().into_iter().filter(|event| event.severity == Severity::Warning) {
            if event.regarding.kind == "VectorPromotionConfig" {
                self.timeline.note(now, KONFIDENCE, format!("{}: {}", event.regarding.name, event.note));
            }
        }
        for key in self.world.keys.clone() {
            let loaded = load(self.world.store(), &Inbox::default(), &key).now_or_never();
            let Some(Ok(snapshot)) = loaded else { continue };
            let waits: Vec<_> = explain(&snapshot, now)
                .promotions
                .iter()
                .flat_map(|it| {
                    it.waits_for.iter().map(|wait| format!("{} ({}) {wait}", short(&it.promotion), it.vector))
                })
                .collect();
            let waits = waits.join("; ");
            let last = self.waits.insert(key.clone(), waits.clone()).unwrap_or_default();
            if !waits.is_empty() && waits != last {
                self.timeline.note(now, key.name(), waits);
            }
        }
    }
}

/// What has become of an execution or instead of one, as a condition tells it.
fn outcome(promotion: &VectorPromotion) -> Option<&Condition> {
    condition(conditions_of(promotion), condition_type::SUCCEEDED)
}

/// The name without the namespace.
fn short(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

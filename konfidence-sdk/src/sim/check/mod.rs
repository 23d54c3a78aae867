//! The checker: looks at every write of every author, in the order in which the server made them.
//!
//! It knows nothing of decisions. From the linearizable history alone it keeps who is in progress, who wrote which
//! Stage object and who owns what, and holds each write against the statements of the specification:
//!
//! ```text
//!   safety     S1 S2 S3 S4 S5 P12 P22 P28   after each write
//!   number     P13                          after each write, where numbers are handed out by the machinery alone
//!   cleanup    R14 P43 P44                  after each deletion, and at rest
//!   readable   section 1                    after each write, and at rest
//!   rest       S6 P40-P42                   once the world has come to rest
//! ```

mod cleanup;
mod describe;
mod number;
mod readable;
pub(super) mod rest;
mod safety;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{Stage, VectorPromotion, VectorPromotionConfig};

use super::states::States;
use super::step::Kind;
use super::story::Story;
use crate::promotion::Phase;
use crate::store::engine::{Change, Event};
use crate::store::{Key, MemoryStore};

/// A statement of the specification that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `S1`.
    pub statement: &'static str,
    /// What is wrong, with names and versions.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is violated: {}", self.statement, self.what)
    }
}

impl std::error::Error for Violation {}

pub(super) fn violates<T>(statement: &'static str, what: impl Into<String>) -> Result<T, Violation> {
    Err(Violation { statement, what: what.into() })
}

/// Who made a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    Controller,
    /// A person through a public operation.
    Operation,
    /// A person with an editor.
    People,
    Collector,
}

/// What is known of one promotion, also after it is gone.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) promotion: Arc<VectorPromotion>,
    pub(super) phase: Phase,
    pub(super) is_gone: bool,
    /// Uids of the Stage objects that it wrote.
    pub(super) wrote: BTreeSet<String>,
    /// Uids of those whose record of it somebody removed: the evidence is gone, and nobody can know any more.
    pub(super) erased: BTreeSet<String>,
}

pub(super) struct Checker {
    seen: u64,
    pub(super) promotions: BTreeMap<String, Known>,
    /// In progress, by namespace and config name.
    pub(super) running: BTreeMap<(String, String), BTreeSet<String>>,
    pub(super) configs: BTreeMap<Key<VectorPromotionConfig>, Arc<VectorPromotionConfig>>,
    pub(super) stages: BTreeMap<Key<Stage>, Arc<Stage>>,
    /// `None`: numbers come from elsewhere too, and P13 holds only in part.
    numbers: Option<number::Numbers>,
    /// The present instant, and how far the clock of a controller may be ahead of it.
    pub(super) now: Timestamp,
    pub(super) ahead: SignedDuration,
    /// The least cap that each config ever had.
    caps: BTreeMap<Key<VectorPromotionConfig>, u32>,
    /// Configs that were ever deleted.
    interrupted: BTreeSet<Key<VectorPromotionConfig>>,
    /// `None`: nobody counts them.
    pub(super) states: Option<States>,
    /// Stands for a statement, so that a test of what becomes of violations has one.
    #[cfg(test)]
    pub(super) forbidden: Option<fn(&Event) -> bool>,
    /// A statement whose violation is passed over, so that a test can see what it leads to.
    #[cfg(test)]
    pub(super) passed_over: Option<&'static str>,
}

impl Checker {
    pub(super) fn new(numbers_are_exact: bool) -> Self {
        Self {
            seen: 0,
            promotions: BTreeMap::new(),
            running: BTreeMap::new(),
            configs: BTreeMap::new(),
            stages: BTreeMap::new(),
            numbers: numbers_are_exact.then(number::Numbers::default),
            now: Timestamp::UNIX_EPOCH,
            ahead: SignedDuration::ZERO,
            caps: BTreeMap::new(),
            interrupted: BTreeSet::new(),
            states: None,
            #[cfg(test)]
            forbidden: None,
            #[cfg(test)]
            passed_over: None,
        }
    }

    /// Begins to count in how many states the world is.
    pub(super) fn count_states(&mut self, server: &MemoryStore) {
        let mut states = States::default();
        for kind in Kind::ALL {
            let past = kind.collection(server).events_after(0).unwrap_or_default();
            for event in &past {
                states.see(kind, event);
            }
        }
        self.states = Some(states);
    }

    /// Looks at all writes since it last looked; all of them are `author`'s.
    pub(super) fn see(&mut self, server: &MemoryStore, author: Author, story: &mut Story) -> Result<(), Violation> {
        let mut events: Vec<(Kind, Arc<Event>)> = Vec::new();
        for kind in Kind::ALL {
            let news = kind.collection(server).events_after(self.seen).unwrap_or_default();
            events.extend(news.into_iter().map(|event| (kind, event)));
        }
        events.sort_by_key(|(_, event)| event.revision);
        self.seen = server.engine().revision();
        for (kind, event) in events {
            story.effect(|| describe::effect(kind, &event));
            if let Some(states) = &mut self.states {
                states.see(kind, &event);
            }
            let seen = self.see_one(kind, &event, author);
            #[cfg(test)]
            let seen =
                seen.or_else(
                    |violation| {
                        if Some(violation.statement) == self.passed_over { Ok(()) } else { Err(violation) }
                    },
                );
            seen?;
        }
        Ok(())
    }

    fn see_one(&mut self, kind: Kind, event: &Event, author: Author) -> Result<(), Violation> {
        #[cfg(test)]
        if self.forbidden.is_some_and(|is_forbidden| is_forbidden(event)) {
            return violates("forbidden", event.object.name());
        }
        readable::check_write(kind, event, author)?;
        if !readable::is_readable(kind, &event.object) {
            self.see_unreadable(kind, event);
            return Ok(());
        }
        match kind {
            Kind::Promotion => self.see_promotion(event, author)?,
            Kind::Config => self.see_config(event, author)?,
            Kind::Stage => self.see_stage(event, author)?,
            Kind::Landscape | Kind::Template => {}
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.see(kind, event, author)?;
        }
        Ok(())
    }

    /// What does not parse is as it was when it did, until it is gone.
    fn see_unreadable(&mut self, kind: Kind, event: &Event) {
        if let Some(numbers) = &mut self.numbers {
            numbers.excuse(event.revision);
        }
        if event.change != Change::Deleted {
            return;
        }
        let (namespace, name) = (event.object.namespace(), event.object.name());
        match kind {
            Kind::Promotion => {
                if let Some(known) = self.promotions.get_mut(event.object.uid()) {
                    known.is_gone = true;
                }
                self.running.values_mut().for_each(|running| {
                    running.remove(event.object.uid());
                });
            }
            Kind::Config => {
                let key = Key::new(namespace, name);
                self.configs.remove(&key);
                self.interrupted.insert(key);
            }
            Kind::Stage => {
                self.stages.remove(&Key::new(namespace, name));
            }
            Kind::Landscape | Kind::Template => {}
        }
    }

    fn see_promotion(&mut self, event: &Event, author: Author) -> Result<(), Violation> {
        let Ok(promotion) = event.object.parse::<VectorPromotion>() else { return Ok(()) };
        let uid = event.object.uid().to_owned();
        let before = self.promotions.get(&uid).map(|known| known.phase);
        let phase = Phase::of_promotion(&promotion);
        let is_gone = event.change == Change::Deleted;
        match author {
            Author::Controller => self.check_transition(event, &promotion, before, phase)?,
            Author::Operation => Self::check_operation(event, &promotion, before, phase)?,
            Author::People | Author::Collector => {}
        }
        let group = (event.object.namespace().to_owned(), promotion.spec.vector_promotion_config_name.clone());
        let running = self.running.entry(group.clone()).or_default();
        if phase == Phase::InProgress && !is_gone {
            running.insert(uid.clone());
        } else {
            running.remove(&uid);
        }
        let known = self.promotions.entry(uid).or_insert_with(|| Known {
            promotion: Arc::clone(&promotion),
            phase,
            is_gone,
            wrote: BTreeSet::new(),
            erased: BTreeSet::new(),
        });
        (known.promotion, known.phase, known.is_gone) = (promotion, phase, is_gone);
        self.check_one_in_progress(&group)
    }

    fn see_config(&mut self, event: &Event, author: Author) -> Result<(), Violation> {
        let Ok(config) = event.object.parse::<VectorPromotionConfig>() else { return Ok(()) };
        let key = Key::of(&*config);
        if author == Author::Controller {
            self.check_config_write(&config)?;
        }
        let group = (key.namespace().to_owned(), key.name().to_owned());
        self.note_cap(&config);
        if event.change == Change::Deleted {
            self.interrupted.insert(key.clone());
        }
        match event.change {
            Change::Deleted => self.configs.remove(&key),
            _ => self.configs.insert(key, config),
        };
        self.check_one_in_progress(&group)
    }

    fn see_stage(&mut self, event: &Event, author: Author) -> Result<(), Violation> {
        let Ok(stage) = event.object.parse::<Stage>() else { return Ok(()) };
        if author == Author::Controller {
            self.check_stage_write(event, &stage)?;
        } else {
            self.note_erased(event, &stage);
        }
        let key = Key::of(&*stage);
        match event.change {
            Change::Deleted => self.stages.remove(&key),
            _ => self.stages.insert(key, stage),
        };
        Ok(())
    }
}

//! What must hold after each write, stated over the history alone: nothing here knows of decisions.
//!
//! The simulator's checker states the same once more. It follows one history and keeps all that ever was; a search
//! branches at every step and holds two states for one where nothing that is kept differs, so what is kept here is as
//! little as the statements need, and goes when it can make no difference any more. What both need of a promotion
//! (`Phase`, `Record`, the gate) is the library's. That two texts say it keeps either from being wrong unseen.
//!
//! | statement | looked at |
//! |---|---|
//! | S1 | promotions in progress, at each write of a promotion or config |
//! | S2, S4 | the promotion behind each record that a controller writes on a Stage |
//! | S3, P12 | the record that was there before |
//! | P26 | what is live below the promotion that a Stage is written for |
//! | S5 | what the promotion wrote, at its end |
//! | P22, P28 | each write of a controller to a promotion |
//! | R14 | the number in the config's status, at each write and each deletion |
//! | P13 | each creation ([`Numbers::Exact`]), or each vector put on a Stage ([`Numbers::Harmless`]) |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use konfidence_sdk::promotion::{Phase, Record, conditions_of, controller_uid, gate_is_open};
use konfidence_sdk::sim::Violation;
use konfidence_types::{Landscape, Stage, VectorPromotion, VectorPromotionConfig, annotation};

use crate::server::Effect;
use crate::shelf::{Kind, View};

pub(crate) fn violates<T>(statement: &'static str, what: impl Into<String>) -> Result<T, Violation> {
    Err(Violation { statement, what: what.into() })
}

/// How much of P13 a scenario can promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// No second promotion for one drift, none for an outdated vector.
    Exact,
    /// A surplus promotion may be made, but no vector is put on a Stage twice for one drift, nor back to an outdated
    /// one.
    Harmless,
    /// Neither: a person deletes promotions (I1).
    Free,
}

/// Who makes a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    Controller,
    Person,
}

/// What the present state does not tell any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ledger {
    /// Which promotion wrote which Stage object, by uid.
    wrote: BTreeSet<(String, String)>,
    /// Phase and vector of promotions that are gone, by uid.
    gone: BTreeMap<String, (Phase, String)>,
    /// What the machinery made last, by config name.
    made: BTreeMap<String, Made>,
    /// What the machinery last put on a Stage, by its namespace and name.
    put: BTreeMap<(String, String), Put>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Made {
    name: String,
    sequence: i64,
    vector: String,
    target: String,
    source: Option<(String, u64)>,
    /// Something has happened since that is a reason for the same once more.
    has_reason: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Put {
    source: (String, u64),
    has_reason: bool,
}

impl Ledger {
    /// Forgets what no write can make a difference to any more: who wrote which Stage matters until its end is written,
    /// and what is gone as long as a plan waits to write it on a Stage.
    pub(crate) fn forget(ledger: &mut Arc<Self>, live: &View, is_awaited: impl Fn(&str) -> bool) {
        let promotions = &live.of(Kind::Promotion).objects;
        let is_live = |uid: &str| promotions.iter().any(|it| it.is_live && it.uid() == uid);
        let is_done = |(writer, _): &(String, String)| !is_live(writer);
        if ledger.wrote.iter().any(is_done) {
            Arc::make_mut(ledger).wrote.retain(|wrote| !is_done(wrote));
        }
        if ledger.gone.keys().any(|uid| !is_awaited(uid)) {
            Arc::make_mut(ledger).gone.retain(|uid, _| is_awaited(uid));
        }
    }

    /// Forgets the last promotion when no other is made, and a vector on a Stage that may be put there once more when it
    /// is the only one: then none is outdated.
    pub(crate) fn forget_last(ledger: &mut Arc<Self>, makes_more: bool, has_one_vector: bool) {
        if !makes_more && !ledger.made.is_empty() {
            Arc::make_mut(ledger).made.clear();
        }
        if has_one_vector && ledger.put.values().any(|put| put.has_reason) {
            Arc::make_mut(ledger).put.retain(|_, put| !put.has_reason);
        }
    }
}

/// Looks at one write.
pub(crate) fn check(
    ledger: &mut Arc<Ledger>,
    before: &View,
    after: &View,
    effect: &Effect,
    author: Author,
    numbers: Numbers,
) -> Result<(), Violation> {
    match effect.kind {
        Kind::Promotion => promotion(ledger, before, after, effect, author, numbers),
        Kind::Config => config(ledger, after, effect, author),
        Kind::Stage => stage(ledger, before, effect, author, numbers),
        Kind::Landscape | Kind::Template => {
            if author == Author::Person && effect.kind == Kind::Landscape {
                give_reason(ledger);
            }
            Ok(())
        }
    }
}

/// Whatever a person changed: the same promotion once more is justified.
fn give_reason(ledger: &mut Arc<Ledger>) {
    let ledger = Arc::make_mut(ledger);
    ledger.made.values_mut().for_each(|made| made.has_reason = true);
    ledger.put.values_mut().for_each(|put| put.has_reason = true);
}

fn promotion(
    ledger: &mut Arc<Ledger>,
    before: &View,
    after: &View,
    effect: &Effect,
    author: Author,
    numbers: Numbers,
) -> Result<(), Violation> {
    let old = effect.before.as_ref().and_then(|it| it.parsed::<VectorPromotion>());
    let new = effect.after.as_ref().and_then(|it| it.parsed::<VectorPromotion>());
    let by_controller = author == Author::Controller;
    match (old, new) {
        (None, Some(new)) if by_controller => made(ledger, &new, numbers)?,
        (Some(old), Some(new)) => {
            let phase = Phase::of_promotion(&new);
            if by_controller {
                transition(&old, Phase::of_promotion(&old), phase)?;
                end(ledger, after, &new, phase)?;
            }
            if matches!(phase, Phase::TimedOut | Phase::Refused | Phase::Rejected) {
                let config = &new.spec.vector_promotion_config_name;
                if let Some(made) = Arc::make_mut(ledger).made.get_mut(config) {
                    made.has_reason = true;
                }
            }
        }
        (Some(old), None) => {
            let phase = Phase::of_promotion(&old);
            if by_controller {
                cleaned_up(before, &old, phase)?;
            }
            let uid = old.metadata.uid.clone().unwrap_or_default();
            Arc::make_mut(ledger).gone.insert(uid, (phase, old.spec.vector.clone()));
        }
        _ => {}
    }
    let parsed = effect.after.as_ref().and_then(|it| it.parsed::<VectorPromotion>());
    parsed.map_or(Ok(()), |it| one_in_progress(after, &it.spec.vector_promotion_config_name))
}

fn name(promotion: &VectorPromotion) -> &str {
    promotion.metadata.name.as_deref().unwrap_or_default()
}

fn standing_config(view: &View, name: &str) -> Option<Arc<VectorPromotionConfig>> {
    view.of(Kind::Config).all::<VectorPromotionConfig>().find(|config| config.metadata.name.as_deref() == Some(name))
}

/// S1.
fn one_in_progress(view: &View, config: &str) -> Result<(), Violation> {
    let running: Vec<_> = view
        .of(Kind::Promotion)
        .all::<VectorPromotion>()
        .filter(|it| it.spec.vector_promotion_config_name == config && Phase::of_promotion(it) == Phase::InProgress)
        .collect();
    if running.len() < 2 {
        return Ok(());
    }
    let owner = standing_config(view, config).and_then(|config| config.metadata.uid.clone());
    let is_member = |it: &&Arc<VectorPromotion>| controller_uid(it).is_none_or(|uid| Some(uid) == owner.as_deref());
    let members: Vec<_> = running.iter().filter(is_member).map(|it| name(it)).collect();
    if members.len() > 1 {
        return violates("S1", format!("{} are in progress at once", members.join(" and ")));
    }
    Ok(())
}

/// P22, P28, and the table of transitions.
fn transition(promotion: &VectorPromotion, before: Phase, after: Phase) -> Result<(), Violation> {
    let name = name(promotion);
    if before.is_terminal() {
        return violates("P22", format!("{name} was {before:?} and is written again, to {after:?}"));
    }
    let is_legal = matches!(
        (before, after),
        (Phase::Waiting, Phase::Waiting | Phase::Superseded)
            | (Phase::Ready | Phase::Blocked, Phase::Blocked | Phase::InProgress | Phase::Superseded)
            | (Phase::InProgress, Phase::InProgress | Phase::Succeeded | Phase::TimedOut | Phase::Refused)
    );
    if is_legal {
        return Ok(());
    }
    let statement = if before == Phase::InProgress { "P28" } else { "P20" };
    violates(statement, format!("{name} goes from {before:?} to {after:?}"))
}

/// S5: the ends of an execution tell the truth about the Stage.
fn end(ledger: &Ledger, view: &View, promotion: &VectorPromotion, phase: Phase) -> Result<(), Violation> {
    let uid = promotion.metadata.uid.as_deref().unwrap_or_default();
    let wrote = |stage: &str| ledger.wrote.iter().any(|(writer, written)| writer == uid && written == stage);
    match phase {
        Phase::TimedOut | Phase::Refused => {
            match view.of(Kind::Stage).objects.iter().find(|stage| wrote(stage.uid())) {
                Some(stage) => {
                    violates("S5", format!("{} ends {phase:?}, and it wrote Stage {}", name(promotion), stage.name))
                }
                None => Ok(()),
            }
        }
        Phase::Succeeded if !ledger.wrote.iter().any(|(writer, _)| writer == uid) => {
            violates("S5", format!("{} ends Succeeded, and it wrote no Stage", name(promotion)))
        }
        _ => Ok(()),
    }
}

/// R14: only what is terminal is deleted, and only when its number is stored.
fn cleaned_up(view: &View, promotion: &VectorPromotion, phase: Phase) -> Result<(), Violation> {
    let name = name(promotion);
    if !phase.is_terminal() {
        return violates("P43", format!("{name} is deleted by a controller while it is {phase:?}"));
    }
    let config = standing_config(view, &promotion.spec.vector_promotion_config_name);
    let Some(config) = config.filter(|config| config.metadata.uid.as_deref() == controller_uid(promotion)) else {
        return Ok(());
    };
    let stored = config.status.as_ref().and_then(|status| status.sequence).unwrap_or(0);
    if stored < promotion.spec.sequence {
        return violates("R14", format!("{name} is cleaned up while the config's status says sequence {stored}"));
    }
    Ok(())
}

fn config(ledger: &mut Arc<Ledger>, after: &View, effect: &Effect, author: Author) -> Result<(), Violation> {
    let parsed = |it: &Arc<crate::shelf::Stored>| it.parsed::<VectorPromotionConfig>();
    let (old, new) = (effect.before.as_ref().and_then(parsed), effect.after.as_ref().and_then(parsed));
    if author == Author::Person {
        give_reason(ledger);
    } else if let (Some(old), Some(new)) = (&old, &new) {
        let sequence = |it: &VectorPromotionConfig| it.status.as_ref().and_then(|status| status.sequence);
        if sequence(old) > sequence(new) {
            return violates("R14", format!("the sequence falls from {:?} to {:?}", sequence(old), sequence(new)));
        }
    }
    let name = old.or(new).and_then(|it| it.metadata.name.clone()).unwrap_or_default();
    one_in_progress(after, &name)
}

/// P13, where it holds exactly.
fn made(ledger: &mut Arc<Ledger>, promotion: &VectorPromotion, numbers: Numbers) -> Result<(), Violation> {
    let config = promotion.spec.vector_promotion_config_name.clone();
    let new = Made {
        name: name(promotion).to_owned(),
        sequence: promotion.spec.sequence,
        vector: promotion.spec.vector.clone(),
        target: promotion.spec.target.to_string(),
        source: source_of(promotion),
        has_reason: false,
    };
    if numbers == Numbers::Exact
        && let Some(last) = ledger.made.get(&config)
    {
        if new.sequence <= last.sequence {
            let what = format!("{} is made with sequence {} after {}", new.name, new.sequence, last.sequence);
            return violates("P13", what);
        }
        if is_older(new.source.as_ref(), last.source.as_ref()) {
            return violates("P13", format!("{} is made for an older vector than {}", new.name, last.name));
        }
        let repeats = new.source == last.source && new.vector == last.vector && new.target == last.target;
        if repeats && !last.has_reason {
            return violates("P13", format!("{} repeats {} for no reason", new.name, last.name));
        }
    }
    if numbers == Numbers::Exact {
        Arc::make_mut(ledger).made.insert(config, new);
    }
    Ok(())
}

/// The object and version of the source that a promotion was made for.
fn source_of(promotion: &VectorPromotion) -> Option<(String, u64)> {
    let text = promotion.metadata.annotations.as_ref()?.get(annotation::SOURCE_VERSION)?;
    let (object, version) = text.rsplit_once('/')?;
    Some((object.to_owned(), version.parse().ok()?))
}

fn is_older(new: Option<&(String, u64)>, last: Option<&(String, u64)>) -> bool {
    matches!((new, last), (Some((object, new)), Some((before, last))) if object == before && new < last)
}

fn stage(
    ledger: &mut Arc<Ledger>,
    view: &View,
    effect: &Effect,
    author: Author,
    numbers: Numbers,
) -> Result<(), Violation> {
    if author == Author::Person {
        give_reason(ledger);
        return Ok(());
    }
    let parsed = |it: &Arc<crate::shelf::Stored>| it.parsed::<Stage>();
    let (Some(old), Some(new)) = (effect.before.as_ref().and_then(parsed), effect.after.as_ref().and_then(parsed))
    else {
        return violates("P4", "a Stage is made or deleted by a controller");
    };
    let stage = new.metadata.name.clone().unwrap_or_default();
    let (was, is) = (records(&old), records(&new));
    if let Some(lost) = was.keys().find(|name| !is.contains_key(*name)) {
        return violates("S3", format!("the record of {lost} disappears from Stage {stage}"));
    }
    let changed: Vec<_> = is.iter().filter(|(name, record)| was.get(*name) != Some(record)).collect();
    let [(config, record)] = changed.as_slice() else {
        if old.spec.vector != new.spec.vector || !changed.is_empty() {
            return violates("S4", format!("Stage {stage} is written with {} records", changed.len()));
        }
        return Ok(()); // A fence, which changes no vector.
    };
    let standing = view.of(Kind::Promotion).objects.iter().find(|it| it.uid() == record.promotion);
    let promotion = standing.and_then(|it| it.parsed::<VectorPromotion>());
    promoted(ledger, &stage, &new, &record.promotion, promotion.as_deref())?;
    let uid = new.metadata.uid.clone().unwrap_or_default();
    Arc::make_mut(ledger).wrote.insert((record.promotion.clone(), uid));
    let landscape = view.of(Kind::Landscape).all::<Landscape>().next();
    let managed = landscape.and_then(|landscape| landscape.status.as_ref()?.namespace.clone());
    if managed != new.metadata.namespace {
        // It was started before the Landscape meant another Stage, which lacks the vector still.
        give_reason(ledger);
    }
    if let Some(before) = was.get(*config) {
        in_order(view, &stage, config, before, record)?;
    }
    if numbers == Numbers::Harmless && old.spec.vector != new.spec.vector {
        let place = (new.metadata.namespace.clone().unwrap_or_default(), stage);
        return put(ledger, place, promotion.as_deref());
    }
    Ok(())
}

fn records(stage: &Stage) -> BTreeMap<String, Record> {
    let annotations = stage.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get(annotation::PROMOTIONS));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// S2, S4.
fn promoted(
    ledger: &Ledger,
    stage: &str,
    new: &Stage,
    uid: &str,
    promotion: Option<&VectorPromotion>,
) -> Result<(), Violation> {
    let (phase, vector) = match (promotion, ledger.gone.get(uid)) {
        (Some(promotion), _) => (Phase::of_promotion(promotion), promotion.spec.vector.as_str()),
        // A write in flight is not stopped by deleting its promotion (I4).
        (None, Some((phase, vector))) => (*phase, vector.as_str()),
        (None, None) => return violates("S4", format!("Stage {stage} gets a record of {uid}, which never was")),
    };
    // One that succeeded may: its Stage was made again between two attempts, and both wrote.
    if phase.is_terminal() && phase != Phase::Succeeded {
        return violates("S2", format!("Stage {stage} is written for {uid}, which was {phase:?}"));
    }
    if !matches!(phase, Phase::InProgress | Phase::Succeeded) || new.spec.vector != vector {
        return violates("S4", format!("Stage {stage} gets {} for {uid}, which is {phase:?}", new.spec.vector));
    }
    let is_open = promotion.is_none_or(|it| gate_is_open(conditions_of(it), it.spec.require_approval));
    if !is_open {
        return violates("S4", format!("Stage {stage} is written for {uid}, which nobody approved"));
    }
    Ok(())
}

/// P26, where sequences are given in the order of creation: whoever started what a Stage is written for has superseded
/// the lower ones.
pub(crate) fn nothing_waits_below(after: &View, effect: &Effect) -> Result<(), Violation> {
    let stage = effect.after.as_ref().and_then(|it| it.parsed::<Stage>());
    for (config, record) in stage.iter().flat_map(|stage| records(stage)) {
        let lower = after.of(Kind::Promotion).all::<VectorPromotion>().find(|it| {
            it.spec.vector_promotion_config_name == config
                && it.spec.sequence < record.sequence
                && Phase::of_promotion(it).may_yet_run()
        });
        if let Some(lower) = lower {
            return violates("P26", format!("{} is still live below what is executed", name(&lower)));
        }
    }
    Ok(())
}

/// S3, P12.
fn in_order(view: &View, stage: &str, config: &str, old: &Record, new: &Record) -> Result<(), Violation> {
    let standing = standing_config(view, config).and_then(|it| it.metadata.uid.clone());
    let is_standing = |owner: &str| Some(owner) == standing.as_deref();
    if is_standing(&old.owner) && !is_standing(&new.owner) {
        let what = format!("{} overwrites on Stage {stage} what the config that stands promoted", new.promotion);
        return violates("P12", what);
    }
    let is_one_config = old.owner == new.owner || old.owner.is_empty();
    if is_one_config && old.promotion != new.promotion && old.sequence >= new.sequence {
        let what = format!("Stage {stage} goes from sequence {} to {}", old.sequence, new.sequence);
        return violates("S3", what);
    }
    Ok(())
}

/// P13's harm: a vector twice for one drift, or an outdated one.
fn put(
    ledger: &mut Arc<Ledger>,
    place: (String, String),
    promotion: Option<&VectorPromotion>,
) -> Result<(), Violation> {
    let last = ledger.put.get(&place).cloned();
    let Some(source) = promotion.and_then(source_of) else {
        // Made by hand: whatever it replaces is to come back.
        if let Some(put) = Arc::make_mut(ledger).put.get_mut(&place) {
            put.has_reason = true;
        }
        return Ok(());
    };
    let told = promotion.map(name).unwrap_or_default();
    if let Some(last) = last {
        if is_older(Some(&source), Some(&last.source)) {
            return violates("P13", format!("{told} takes Stage {} back to an outdated vector", place.1));
        }
        if source == last.source && !last.has_reason {
            return violates("P13", format!("{told} puts a vector on Stage {} a second time for one drift", place.1));
        }
    }
    Arc::make_mut(ledger).put.insert(place, Put { source, has_reason: false });
    Ok(())
}

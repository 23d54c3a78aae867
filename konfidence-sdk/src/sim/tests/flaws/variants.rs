//! What is broken, where, and which statement falls.

use jiff::SignedDuration;

use super::{Broken, Variant};
use crate::promotion::flaw::Flaw;
use crate::sim::lie::Lie;
use crate::sim::{Deed, Scenario};

/// One of the crate's own scenarios, with other deeds. Controllers read without a barrier: safety has to hold so too.
fn world(name: &str, deeds: &[(Deed, u32)]) -> Scenario {
    let mut scenario = Scenario::all().into_iter().find(|scenario| scenario.name == name).unwrap();
    scenario.deeds = deeds.to_vec();
    scenario.has_barrier = false;
    scenario
}

/// One flow, and people who do nothing but this besides changing its source.
fn flow(deed: Option<Deed>) -> Scenario {
    let deeds: Vec<_> = deed.into_iter().map(|deed| (deed, 2)).chain([(Deed::Assemble, 2)]).collect();
    world("automatic", &deeds)
}

/// The clock of B is so far ahead that it retires what A has just started.
fn ahead(scenario: Scenario) -> Scenario {
    Scenario { clock_offset: SignedDuration::from_secs(400), ..scenario }
}

fn rule(name: &'static str, rule: &'static str, what: &'static str, flaw: Flaw) -> Variant {
    Variant {
        name,
        rule,
        what,
        broken: Broken::Rule(flaw),
        scenario: flow(None),
        counts: false,
        passes_over: None,
        violates: "",
    }
}

fn lie(name: &'static str, of: &'static str, what: &'static str, lie: Lie) -> Variant {
    Variant { broken: Broken::Server(lie), ..rule(name, of, what, Flaw::NoFence) }
}

impl Variant {
    fn within(self, scenario: Scenario) -> Self {
        Self { scenario, ..self }
    }

    fn violates(self, violates: &'static str) -> Self {
        Self { violates, ..self }
    }

    fn counted(self) -> Self {
        Self { counts: true, ..self }
    }

    fn passing_over(self, statement: &'static str) -> Self {
        Self { passes_over: Some(statement), ..self }
    }
}

/// All of them, by rule.
pub(super) fn all() -> Vec<Variant> {
    [one_prefix_to_floor(), handshake(), evidence(), numbers(), safety()].into_iter().flatten().collect()
}

fn one_prefix_to_floor() -> Vec<Variant> {
    let recreated = || world("re-created config", &[(Deed::ToggleConfig, 3), (Deed::HandMake, 3), (Deed::Assemble, 1)]);
    let repointed = || world("repointed", &[(Deed::Repoint, 3), (Deed::HandMake, 3), (Deed::ToggleStage, 2)]);
    vec![
        lie("OVERLAY", "R1 T2", "own writes are laid over an older view", Lie::Overlay)
            .within(flow(Some(Deed::HandMake)))
            .violates("S1"),
        rule("ANY_OWNER", "R2 T4", "another owner's uid raises no doubt", Flaw::AnyOwnerIsCertain)
            .within(recreated())
            .violates("S1"),
        rule("ANY_OWNER_WRITES", "R2", "another owner's uid raises no doubt", Flaw::AnyOwnerIsCertain)
            .within(recreated())
            .violates("P12"),
        rule("LOWER_OVERTAKES", "R3 T3", "a lower one overtakes a blocked one", Flaw::LowerOvertakesBlocked)
            .within(repointed())
            .violates("S1"),
        rule("SUPERSEDES_NOBODY", "R4 T1", "lower ones are left alone", Flaw::SupersedesNobody).violates("S1"),
        rule("SUPERSEDES_LATE", "R4 T1", "lower ones are superseded after the start", Flaw::SupersedesAfterStart)
            .violates("S1"),
        rule("STARTS_BESIDE", "R4", "one is started beside another", Flaw::StartsBesideOneInProgress).violates("S1"),
        rule("NO_FLOOR", "R5 T16", "what was executed is no floor", Flaw::NoFloor)
            .within(flow(Some(Deed::HandMake)))
            .violates("S3"),
        rule("EQUAL_PASSES", "R5 T17", "an equal number is above the floor", Flaw::EqualIsAboveFloor)
            .within(flow(Some(Deed::HandMake)))
            .violates("S3"),
    ]
}

fn handshake() -> Vec<Variant> {
    let churn = || flow(Some(Deed::ToggleStage));
    vec![
        rule("NO_ATTEMPT", "R6 T7", "a resumption does not write the promotion", Flaw::NoAttempt).violates("S2"),
        lie("ATTEMPT_IS_A_READ", "R6 T8", "a resumption reads live instead of writing", Lie::AttemptIsARead)
            .violates("S2"),
        rule("ASKS_THE_FENCE", "R6 T8b", "a resumption goes by what the fence says", Flaw::AsksTheFence)
            .within(churn())
            .violates("S2"),
        lie("STAGE_UNCONDITIONALLY", "R6 T9", "the Stage is written on any version", Lie::StageWithoutVersion)
            .violates("S2"),
        rule("NO_FENCE", "R7 T5", "no fence", Flaw::NoFence).violates("S2"),
        rule("FENCE_LATE", "R7 T5", "the fence comes after the failure", Flaw::FencesAfterFailing).violates("S2"),
        rule("FENCE_TWICE_THE_SAME", "R7 T6", "the fence does not name the version", Flaw::FenceNamesNoVersion)
            .within(ahead(flow(None)))
            .violates("S2"),
        lie("BLIND_FENCE", "R7 T10", "the fence is written on any version", Lie::BlindFence).violates("S5"),
        rule("BELIEVES_IN_ABSENCE", "R7", "a Stage that the view does not show is absent", Flaw::BelievesInAbsence)
            .within(churn())
            .violates("S2"),
    ]
}

fn evidence() -> Vec<Variant> {
    let moved = || flow(Some(Deed::ToggleLandscape)).with(&[(Deed::ToggleStage, 1)]);
    vec![
        rule("DEADLINE_FIRST", "R8 T11", "the deadline is looked at before the record", Flaw::DeadlineFirst)
            .violates("S5"),
        rule("NAME_IS_EVIDENCE", "R8 T11", "the promotion's name is evidence", Flaw::NameIsEvidence)
            .within(world("re-created config", &[(Deed::ToggleConfig, 2), (Deed::Assemble, 1)]))
            .violates("S5"),
        rule("RESOLVES_AGAIN", "R9", "an execution goes on where the target resolves now", Flaw::ResolvesAgain)
            .within(moved())
            .violates("S2"),
        rule("RESOLVES_AGAIN_LOST", "R9", "an execution goes on where the target resolves now", Flaw::ResolvesAgain)
            .within(moved())
            .violates("S5"),
        rule("STORES_NO_STAGE", "R9", "the start does not store its Stage", Flaw::StartStoresNoStage).violates("S2"),
    ]
}

fn numbers() -> Vec<Variant> {
    let recreated = || world("re-created config", &[(Deed::ToggleConfig, 2), (Deed::Assemble, 2)]);
    let cleaned = || {
        let mut scenario = flow(Some(Deed::ToggleStage));
        scenario.configs[0].spec.keep_last_promotions = 0;
        scenario
    };
    vec![
        lie("GENERATED_NAMES", "R10 T12", "names do not carry numbers", Lie::GeneratedNames).violates("P13"),
        rule("TAKEN_NAME", "R10", "a name that is taken is tried again", Flaw::TakenNameIsTriedAgain)
            .within(flow(Some(Deed::HandMake)))
            .violates("P50"),
        rule("HAND_MADE", "R10 T19", "hand-made promotions hold no numbers", Flaw::HandMadeHoldNoNumber)
            .within(flow(Some(Deed::HandMake)))
            .violates("S6"),
        rule("NO_R11A", "R11 T13", "the record need not name the newest success", Flaw::NoR11a).violates("P13"),
        rule("FOREIGN_RECORD", "R11", "the record of the config before is none", Flaw::ForeignRecordIsNone)
            .within(recreated())
            .counted()
            .violates("P13"),
        rule("NO_R11B", "R11 T13", "the numbers need not agree", Flaw::NoR11b).violates("P13"),
        rule("NO_R11C", "R11", "the newest member may be superseded", Flaw::NoR11c)
            .within(recreated())
            .counted()
            .violates("P13"),
        lie("LIVE_READS_CACHED", "R11 R13", "live reads come from the cache", Lie::LiveReadsFromCache).violates("P13"),
        rule("NO_NUMBER_BASE", "R12 T15", "nothing is stored before the first creation", Flaw::NoNumberBase)
            .within(recreated())
            .counted()
            .violates("P13"),
        rule("OLD_SOURCE", "R13 T14", "no view of the source is too old", Flaw::AnySourceIsNew).violates("P13"),
        rule("OLD_CONFIG", "R13", "no view of the config is too old", Flaw::AnyConfigIsNew)
            .within(world("repointed", &[(Deed::Repoint, 3), (Deed::Assemble, 1)]))
            .violates("P13"),
        rule("CLEANS_UP_FIRST", "R14", "clean-up does not wait for the number", Flaw::CleansUpBeforeStoring)
            .within(cleaned())
            .counted()
            .passing_over("R14")
            .violates("P13"),
        rule("NUMBER_FALLS", "R14", "the stored number follows the members down", Flaw::NumberFalls)
            .within(cleaned())
            .counted()
            .passing_over("R14")
            .violates("P13"),
    ]
}

fn safety() -> Vec<Variant> {
    vec![
        rule("GATE_IS_OPEN", "S4", "the gate is not looked at", Flaw::GateIsOpen)
            .within(world("approval", &[(Deed::Assemble, 2), (Deed::Approve, 1)]))
            .passing_over("P20")
            .violates("S4"),
        rule("PRESENT_VECTOR", "S4", "the Stage gets what the source holds now", Flaw::WritesPresentVector)
            .violates("S4"),
        rule("NOBODY_GOES_ON", "S6 T18", "nobody resumes, and nobody retires", Flaw::NobodyGoesOn).violates("S6"),
        lie("PROMOTION_UNCONDITIONALLY", "P23", "promotions are written on any version", Lie::PromotionWithoutVersion)
            .violates("P22"),
    ]
}

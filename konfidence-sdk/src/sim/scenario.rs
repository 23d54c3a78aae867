//! Scenarios: which flows there are, what people do to them, and how much goes wrong.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use konfidence_types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec};

use super::chance::Chance;
use super::step::Deed;

/// The namespace of every project here that has no other.
const PROJECT: &str = "bakery";

/// When worlds begin that do not say when.
const BEGINNING: &str = "2026-03-01T12:00:00Z";

/// A kind of world. The world makes whatever the configs refer to: templates, Landscapes with a managed namespace
/// `<project>-<landscape>`, Stages without a vector.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What the story is called.
    pub name: String,
    /// When the world begins.
    pub beginning: Timestamp,
    /// The flows. Names and namespaces are kept; status, uid and versions are the world's.
    pub configs: Vec<VectorPromotionConfig>,
    /// What people do, each with its weight.
    pub deeds: Vec<(Deed, u32)>,
    /// What else happens, and how often.
    pub mood: Mood,
    /// How far the clock of the last controller is ahead of the others' (behind if negative).
    pub clock_offset: SignedDuration,
    /// Whether a cached read waits until the watch has delivered the controller's own writes of that kind (R1). Safety
    /// has to hold without.
    pub has_barrier: bool,
    /// How many controllers are active at once.
    pub controllers: usize,
    /// Whether Stages that refuse every write go on so when the faults stop. Such a world comes to no rest, but to a
    /// slow pace (P38).
    pub refusals_stay: bool,
    /// Whether objects that do not parse stay so when the faults stop. Their own configs stop, and no others.
    pub unreadable_stay: bool,
}

/// Weights of what happens. A weight of 0: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mood {
    /// A reconcile goes on by one request.
    pub turn: u32,
    /// A queued flow is taken up.
    pub begin: u32,
    /// A view moves on by one change.
    pub deliver: u32,
    /// Of so many delivered changes one touches no flow: the event is lost behind the cache. 0: none.
    pub lost_one_in: usize,
    /// A change that was seen is delivered once more.
    pub repeat: u32,
    /// A view jumps to the present.
    pub relist: u32,
    /// A flow is queued for no reason.
    pub stir: u32,
    /// A controller dies and starts again.
    pub crash: u32,
    /// A controller stops, or goes on.
    pub pause: u32,
    /// Of so many requests one goes wrong. 0: none.
    pub mishap_one_in: usize,
    /// Time passes.
    pub time: u32,
    /// The garbage collector runs.
    pub collect: u32,
    /// Somebody does something.
    pub deed: u32,
}

impl Mood {
    /// Nothing goes wrong but what always may: changes take time to be seen.
    pub const CALM: Self = Self {
        turn: 60,
        begin: 20,
        deliver: 40,
        lost_one_in: 0,
        repeat: 0,
        relist: 0,
        stir: 1,
        crash: 0,
        pause: 0,
        mishap_one_in: 0,
        time: 1,
        collect: 2,
        deed: 3,
    };

    /// A mixture of its own for each seed, so that also rare ones come together undisturbed by the frequent.
    pub(super) fn random(chance: &mut Chance) -> Self {
        let mut of = |weights: &[u32]| chance.pick(weights).unwrap_or_default();
        let lost = of(&[0, 0, 3, 12]);
        let mishap = of(&[0, 0, 4, 10, 40]);
        Self {
            turn: of(&[30, 60, 120]),
            begin: of(&[5, 20, 40]),
            deliver: of(&[3, 10, 40, 80]),
            lost_one_in: lost as usize,
            repeat: of(&[0, 0, 2, 6]),
            relist: of(&[0, 0, 1, 4]),
            stir: of(&[0, 1, 4]),
            crash: of(&[0, 0, 1, 3]),
            pause: of(&[0, 1, 3]),
            mishap_one_in: mishap as usize,
            time: of(&[0, 1, 3, 6]),
            collect: of(&[0, 1, 4]),
            deed: of(&[1, 3, 8]),
        }
    }
}

impl Scenario {
    /// A scenario of these flows in which sources change and people approve, and nothing goes wrong.
    pub fn of(name: impl Into<String>, configs: Vec<VectorPromotionConfig>) -> Self {
        Self {
            name: name.into(),
            beginning: BEGINNING.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            configs,
            deeds: vec![(Deed::Assemble, 4), (Deed::Approve, 4)],
            mood: Mood::CALM,
            clock_offset: SignedDuration::ZERO,
            has_barrier: true,
            controllers: 2,
            refusals_stay: false,
            unreadable_stay: false,
        }
    }

    /// The same with these deeds besides.
    #[must_use]
    pub fn with(mut self, deeds: &[(Deed, u32)]) -> Self {
        self.deeds.extend_from_slice(deeds);
        self
    }

    /// The scenarios that the checks of this crate run, by name.
    pub fn all() -> Vec<Self> {
        let template = || SourceRef::template("menu");
        let to = |stage| TargetRef::stage("eu", stage);
        let dev = || config("menu-to-dev", template(), to("dev"));
        let test = || config("dev-to-test", SourceRef::stage("eu", "dev"), to("test"));
        let churn: &[(Deed, u32)] = &[(Deed::EditStage, 2), (Deed::ToggleStage, 2), (Deed::StripRecord, 1)];
        let noise: &[(Deed, u32)] = &[(Deed::TouchStage, 1), (Deed::TouchPromotion, 1)];
        let mut capped = dev();
        capped.spec.keep_last_promotions = 1;
        capped.spec.ttl_after_finished = "10m".parse().ok();
        let us = TargetRef::stage("us", "dev");
        let mut gated = dev();
        gated.spec.require_approval = Some(true);
        let approve_only = vec![(Deed::Assemble, 2), (Deed::Approve, 2)];
        let everything: Vec<_> = Deed::ALL.iter().map(|deed| (*deed, 1)).collect();
        vec![
            Self { deeds: vec![(Deed::Assemble, 1)], ..Self::of("automatic", vec![dev()]) },
            Self { deeds: approve_only, ..Self::of("approval", vec![gated.clone()]) },
            Self::of("approval and rejection", vec![dev(), test()]).with(&[(Deed::Reject, 1), (Deed::EditStage, 1)]),
            Self::of("Stage churn", vec![dev()]).with(churn).with(noise),
            Self::of("clean-up", vec![capped.clone()]).with(&[
                (Deed::Tune, 1),
                (Deed::EditPromotion, 1),
                (Deed::Hold, 1),
                (Deed::EditStage, 1),
            ]),
            Self::of("re-created config", vec![dev()]).with(&[(Deed::ToggleConfig, 3), (Deed::HandMake, 2)]),
            Self::of("re-created config, approval", vec![gated.clone()]).with(&[
                (Deed::ToggleConfig, 3),
                (Deed::HandMake, 2),
                (Deed::DeletePromotion, 1),
            ]),
            Self::of("hand-made", vec![dev()]).with(&[(Deed::HandMake, 4), (Deed::DeletePromotion, 1)]).with(churn),
            Self::of(
                "two configs on one Stage",
                vec![dev(), config("other-to-dev", SourceRef::template("other"), to("dev"))],
            )
            .with(&[(Deed::EditStage, 1)]),
            Self::of("repointed", vec![dev(), config("other-to-test", SourceRef::template("other"), to("test"))])
                .with(&[(Deed::Repoint, 3), (Deed::ToggleStage, 1)]),
            Self::of("suspended", vec![dev(), test()]).with(&[(Deed::Suspend, 4), (Deed::ToggleLandscape, 1)]),
            Self::of("refusing Stage", vec![dev()]).with(&[(Deed::Refuse, 3), (Deed::ToggleStage, 1)]).with(noise),
            Self::of("missing references", vec![dev(), test()]).with(&[
                (Deed::ToggleLandscape, 2),
                (Deed::ToggleTemplate, 1),
                (Deed::ToggleStage, 2),
                (Deed::Hold, 1),
            ]),
            Self::of("by hand", vec![dev(), test()]).with(&[
                (Deed::Promote, 2),
                (Deed::Retry, 2),
                (Deed::Release, 1),
                (Deed::Reject, 1),
                (Deed::EditStage, 1),
            ]),
            Self { deeds: everything, ..Self::of("everything", vec![dev(), test()]) },
            Self::of("bursts", vec![gated]).with(&[(Deed::Burst, 3), (Deed::Reject, 1), (Deed::TouchSource, 1)]),
            Self::of("changing gates", vec![dev(), test()]).with(&[(Deed::Gate, 3), (Deed::Burst, 1)]),
            Self::of("names held by others", vec![dev(), test()]).with(&[
                (Deed::TakeName, 4),
                (Deed::EditStage, 1),
                (Deed::DeletePromotion, 1),
            ]),
            Self::of("unreadable objects", vec![dev(), test()]).with(&[
                (Deed::Spoil, 4),
                (Deed::EditStage, 1),
                (Deed::DeletePromotion, 1),
            ]),
            Self::of("moving Landscapes", vec![dev(), config("dev-to-us", SourceRef::stage("eu", "dev"), us)]).with(&[
                (Deed::MoveLandscape, 3),
                (Deed::ToggleLandscape, 1),
                (Deed::EditStage, 1),
            ]),
            Self::of(
                "clean-up, repointed",
                vec![capped, config("other-to-test", SourceRef::template("other"), to("test"))],
            )
            .with(&[
                (Deed::Repoint, 3),
                (Deed::Tune, 2),
                (Deed::EditPromotion, 1),
                (Deed::EditStage, 2),
                (Deed::DeletePromotion, 1),
                (Deed::Promote, 1),
            ]),
        ]
    }

    /// The one of [`all`](Self::all) that has this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|scenario| scenario.name == name)
    }

    /// One of [`all`](Self::all), [moody](Self::moody).
    pub fn random(seed: u64) -> Self {
        // Made once: a short world takes hardly longer than all of them.
        static ALL: LazyLock<Vec<Scenario>> = LazyLock::new(Scenario::all);
        let at = Chance::new(seed ^ 0x00a1_15ce).below(ALL.len());
        ALL[at].clone().moody(seed)
    }

    /// The same flows and deeds, with everything that can go wrong about them as the seed will have it: how often, how
    /// far the last controller's clock is off, whether reads wait for own writes, whether refusals and objects that do
    /// not parse stay.
    #[must_use]
    pub fn moody(mut self, seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ 0x05ce_a410);
        self.mood = Mood::random(&mut chance);
        self.refusals_stay = chance.one_in(3);
        self.unreadable_stay = chance.one_in(3);
        self.has_barrier = !chance.one_in(4);
        self.clock_offset = SignedDuration::from_secs(chance.pick(&[0, 0, 30, -30, 400, -400]).unwrap_or(0));
        self
    }

    /// Whether numbers are only ever handed out by the machinery, and names never freed: then P13 holds exactly.
    pub(super) fn hands_out_numbers_alone(&self) -> bool {
        use Deed::{DeletePromotion, EditPromotion, HandMake, Promote, Retry, Spoil, TakeName, ToggleConfig, Tune};
        let frees = |deed: &Deed| {
            matches!(
                deed,
                DeletePromotion | EditPromotion | HandMake | Promote | Retry | Spoil | TakeName | ToggleConfig | Tune
            )
        };
        !self.deeds.iter().any(|(deed, weight)| *weight > 0 && frees(deed))
            && self
                .configs
                .iter()
                .all(|config| config.spec.ttl_after_finished.is_none() && config.spec.keep_last_promotions >= 1000)
    }
}

/// A config in the project's namespace.
fn config(name: &str, source: SourceRef, target: TargetRef) -> VectorPromotionConfig {
    let mut config = VectorPromotionConfig::new(name, VectorPromotionConfigSpec::new(source, target));
    config.metadata.namespace = Some(PROJECT.to_owned());
    config.spec.keep_last_promotions = 1000;
    config
}

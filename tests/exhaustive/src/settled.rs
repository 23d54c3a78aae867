//! Which moments make no difference any more, and are forgotten.
//!
//! From an old moment, whatever else is viewed beside it, these writes can begin a plan:
//!
//! | first write of the plan | can it still succeed? |
//! |---|---|
//! | of a promotion that the moment shows live | not when each that may come first has another version by now, or is gone |
//! | a creation | not when the name is taken for good, or no more are made; or it is the creation that the present gives too |
//! | the number in the config's status | where nothing is ever deleted it could have been written when the moment was new; else not when the config has that number |
//! | a fence | it is one that no retirement can follow: what it makes fail could have crashed |
//! | a deletion | nothing is cleaned up here |
//!
//! *Which may come first*: a plan goes on with what is in progress, then supersedes what is plainly overtaken, then says
//! of a promotion that it waits for approval, then supersedes the lower ones before it starts the next, lowest first. A
//! plan whose first write fails ends. A Stage's record is never above a live promotion where sequences are given in
//! the order of creation: that is checked (P26). Elsewhere each may come first.
//!
//! *The creation that the present gives too*: where promotions are made by one config alone and never deleted, numbers
//! have no gap, so a name that is free means that the moment shows the same promotions as the present, some of them in
//! an earlier phase. Had the newest the source's vector, it would pin it while it is live, and it is the same in both
//! once it has ended. So the vector is one that no promotion has, and then neither a failure nor a correction is counted:
//! the object depends on config and source. The present gives it beside the Stage that its newest success wrote, which
//! is in the history; unless something is in progress, with which a plan goes on before it creates.
//!
//! *When the moment was new*: writes of two kinds commute. What looks live in between sees the higher number, which is
//! no higher than that of a promotion that it sees as well, so nothing comes of it.
//!
//! Where promotions can be deleted, a name becomes free again, and a moment may be needed for what is created from it.
//! Of two moments that create the same the newer one is enough: when, for each owner that a config may have, either both
//! show the same, or the newest promotion of both pins the only vector that there is, and nothing is created at all.
//!
//! A Stage from which a newer moment differs in its version and fence alone is forgotten too. No rule reads the fence,
//! a live read finds the older one unchanged only when the present is the same, and a write on the older version fails.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use konfidence_sdk::naming::promotion_name;
use konfidence_sdk::promotion::{Phase, conditions_of, controller_uid};
use konfidence_types::{VectorPromotion, VectorPromotionConfig, condition, condition_type};

use crate::model::Exploration;
use crate::scenario::{AUTO, PROJECT, vector};
use crate::shelf::{Kind, Shelf, Stored, View, hash_of};
use crate::world::World;

impl Exploration {
    /// Forgets the moments that are settled.
    pub(crate) fn forget_settled(&self, world: &mut World, live: &View) {
        Self::forget_fenced(world);
        let cleans_up = self.scenario.configs.iter().any(|config| config.keep < 10);
        if cleans_up || !self.scenario.foreign.is_empty() {
            return;
        }
        let removes = self.scenario.removes();
        if removes {
            self.forget_repeated(world, live);
            if self.names_become_free(world, live) {
                return;
            }
        }
        let newest = live.of(Kind::Promotion);
        let makes_more = removes || world.left.creations > 0;
        world.forget(Kind::Promotion, |moment| {
            let gives_nothing_new = !makes_more
                || (!removes && self.gives_what_the_present_gives(moment, newest))
                || self.next_names(moment).iter().all(|name| newest.get(PROJECT, name).is_some());
            !self.writes_first(moment, newest) && gives_nothing_new && (!removes || self.is_recorded(moment, live))
        });
    }

    /// Forgets Stages from which a newer moment differs in versions and fences alone.
    fn forget_fenced(world: &mut World) {
        let mut newer = HashSet::new();
        world.forget_from_newest(Kind::Stage, |moment| {
            let contents: Vec<_> = moment.objects.iter().map(|stage| stage.content).collect();
            !newer.insert(contents)
        });
    }

    /// Where promotions may be removed: forgets moments that make what a newer one makes.
    fn forget_repeated(&self, world: &mut World, live: &View) {
        let newest = live.of(Kind::Promotion);
        let makes_more = world.left.creations > 0;
        let standing = live.of(Kind::Config).objects.first().map(|it| it.uid().to_owned());
        let mut newer = HashSet::new();
        world.forget_from_newest(Kind::Promotion, |moment| {
            let is_new = newer.insert(self.creations_of(moment, makes_more, standing.as_deref()));
            !is_new && !self.writes_first(moment, newest) && self.stores_no_number(moment, live)
        });
    }

    /// The same for two moments from which, whatever is viewed beside them, the same is created and the same number
    /// base stored: what they show by owner, or only that the newest promotion pins the one vector that there is.
    fn creations_of(&self, moment: &Shelf, makes_more: bool, standing: Option<&str>) -> u64 {
        let all: Vec<_> = moment.all::<VectorPromotion>().zip(&moment.objects).collect();
        let owner_of = |it: &VectorPromotion| controller_uid(it).map(str::to_owned);
        let mut owners: BTreeSet<_> = all.iter().map(|(it, _)| owner_of(it)).chain([None]).collect();
        if !makes_more {
            // All that a creation may still do is to store the number of a name that is taken, in the config that
            // stands or will.
            owners.retain(|owner| owner.is_none() || owner.as_deref() == standing);
        }
        let of_owner = |owner: &Option<String>| {
            let is_member = |it: &VectorPromotion| controller_uid(it).is_none_or(|uid| Some(uid) == owner.as_deref());
            let members = || all.iter().filter(|(it, _)| is_member(it));
            let newest_live = members().filter(|(_, stored)| stored.is_live).max_by_key(|(it, _)| it.spec.sequence);
            if newest_live.is_some_and(|(it, _)| self.pins_whatever_there_is(it)) {
                return vec![0];
            }
            members().map(|(_, stored)| stored.hash).collect()
        };
        let by_owner: Vec<_> = owners.iter().map(|owner| (owner, of_owner(owner))).collect();
        let names: Vec<_> = all.iter().map(|(it, stored)| (&stored.name, it.spec.sequence, owner_of(it))).collect();
        hash_of(&(by_owner, names))
    }

    fn pins_whatever_there_is(&self, promotion: &VectorPromotion) -> bool {
        self.scenario.has_one_vector()
            && promotion.spec.vector == vector(AUTO.source, 1)
            && promotion.spec.target.name == "dev"
    }

    /// Whether a plan from this moment may begin with a write of a promotion, and that could succeed.
    fn writes_first(&self, moment: &Shelf, newest: &Shelf) -> bool {
        let live = moment.objects.iter().filter(|it| it.is_live && is_unchanged(it, newest));
        if !self.scenario.numbers_promotions_in_order() {
            return live.count() > 0;
        }
        live.filter_map(|it| it.parsed::<VectorPromotion>()).any(|it| {
            let flow = &it.spec.vector_promotion_config_name;
            let first = first_written(moment, flow);
            first.iter().any(|name| Some(name) == it.metadata.name.as_ref())
        })
    }

    fn gives_what_the_present_gives(&self, moment: &Shelf, newest: &Shelf) -> bool {
        let scenario = &self.scenario;
        if newest.all::<VectorPromotion>().any(|it| Phase::of_promotion(&it) == Phase::InProgress) {
            return false;
        }
        let is_alone = scenario.hand_made.is_empty() || scenario.configs.is_empty();
        let stages_stay = scenario.vectors == 1 || (scenario.left.stages == 0 && scenario.left.landscapes == 0);
        let uids = |shelf: &Shelf| shelf.objects.iter().map(|it| it.uid().to_owned()).collect::<BTreeSet<_>>();
        is_alone && stages_stay && uids(moment) == uids(newest)
    }

    /// The names that a config would give its next promotion, whichever uid it had.
    fn next_names(&self, moment: &Shelf) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for config in self.scenario.configs {
            let own = || {
                let all = moment.all::<VectorPromotion>();
                all.filter(|it| it.spec.vector_promotion_config_name == config.name)
            };
            let owners: BTreeSet<_> = own().map(|it| controller_uid(&it).map(str::to_owned)).chain([None]).collect();
            for owner in owners {
                let members = own().filter(|it| controller_uid(it).is_none_or(|uid| Some(uid) == owner.as_deref()));
                let highest = members.map(|it| it.spec.sequence).max().unwrap_or(0);
                names.insert(promotion_name(config.name, highest + 1));
            }
        }
        names
    }

    /// Whether each config has stored a number that is no lower than any of the moment.
    fn is_recorded(&self, moment: &Shelf, live: &View) -> bool {
        self.scenario.configs.iter().all(|config| {
            let stored = live.of(Kind::Config).get(PROJECT, config.name).and_then(number);
            stored.is_some_and(|stored| stored >= highest(moment, config.name, |_| true))
        })
    }

    /// Whether no plan from this moment has a number to store but the base, with which a config begins that is still to
    /// come or has none: that one has stored no lower one than that of any member.
    fn stores_no_number(&self, moment: &Shelf, live: &View) -> bool {
        self.scenario.configs.iter().all(|config| {
            let Some(standing) = live.of(Kind::Config).get(PROJECT, config.name) else { return true };
            let is_member = |it: &VectorPromotion| controller_uid(it).is_none_or(|owner| owner == standing.uid());
            number(standing).is_none_or(|stored| stored >= highest(moment, config.name, is_member))
        })
    }
}

/// The number in a config's status.
fn number(config: &Arc<Stored>) -> Option<i64> {
    config.parsed::<VectorPromotionConfig>()?.status.as_ref()?.sequence
}

/// The highest number of the promotions of a flow.
fn highest(moment: &Shelf, flow: &str, is_counted: impl Fn(&VectorPromotion) -> bool) -> i64 {
    let own = moment.all::<VectorPromotion>().filter(|it| it.spec.vector_promotion_config_name == flow);
    own.filter(|it| is_counted(it)).map(|it| it.spec.sequence).max().unwrap_or(0)
}

/// Whether the promotion is what it was.
fn is_unchanged(promotion: &Stored, newest: &Shelf) -> bool {
    newest.get(&promotion.namespace, &promotion.name).is_some_and(|now| now.hash == promotion.hash)
}

/// The promotions of a flow that a plan from this moment may write first: what is in progress; or else the first that
/// is plainly overtaken, is to say that it waits for approval, or goes before the one that starts. That a Stage's
/// record is above a live one does not happen where nobody makes promotions by hand: P26 is checked.
fn first_written(moment: &Shelf, flow: &str) -> Vec<String> {
    let mut members: Vec<_> =
        moment.all::<VectorPromotion>().filter(|it| it.spec.vector_promotion_config_name == flow).collect();
    members.sort_by_key(|it| it.spec.sequence);
    let phase = |it: &Arc<VectorPromotion>| Phase::of_promotion(it);
    let name = |it: &Arc<VectorPromotion>| it.metadata.name.clone().unwrap_or_default();
    let executed = members.iter().filter(|it| phase(it) == Phase::Succeeded).map(|it| it.spec.sequence).max();
    let mut first: Vec<_> = members.iter().filter(|it| phase(it) == Phase::InProgress).map(name).collect();
    let pending: Vec<_> =
        members.iter().filter(|it| phase(it).may_yet_run() && phase(it) != Phase::InProgress).collect();
    let newest = members.iter().rev().find(|it| phase(it).may_yet_run());
    let is_repeated = |it: &Arc<VectorPromotion>| {
        phase(it) == Phase::Waiting
            && newest.is_some_and(|newest| {
                newest.spec.sequence > it.spec.sequence
                    && (&newest.spec.vector, &newest.spec.target) == (&it.spec.vector, &it.spec.target)
            })
    };
    let is_overtaken =
        |it: &&&Arc<VectorPromotion>| executed.is_some_and(|executed| executed >= it.spec.sequence) || is_repeated(it);
    let is_untold = |it: &&&Arc<VectorPromotion>| {
        phase(it) == Phase::Waiting && condition(conditions_of(it), condition_type::APPROVED).is_none()
    };
    let plain = pending.iter().find(is_overtaken).or_else(|| pending.iter().find(is_untold));
    match plain {
        Some(it) => first.push(name(it)),
        None if first.is_empty() => {
            let next = pending.iter().rposition(|it| matches!(phase(it), Phase::Ready | Phase::Blocked));
            let lowest = next.and_then(|_| pending.first());
            first.extend(lowest.into_iter().chain(next.and_then(|next| pending.get(next))).map(|it| name(it)));
        }
        None => {}
    }
    first
}

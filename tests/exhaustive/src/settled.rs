//! Which moments of promotions make no difference any more, and are forgotten.
//!
//! From an old moment, whatever else is viewed beside it, these writes can begin a plan:
//!
//! | first write of the plan | can it still succeed? |
//! |---|---|
//! | of a promotion that the moment shows live | not when each of them has another version by now, or is gone |
//! | a creation | not when the name is taken for good; or it is the creation that the present gives too |
//! | the number in the config's status | where nothing is ever deleted it could have been written when the moment was new; else not when the config has that number |
//! | a fence | it is one that no retirement can follow, like any other write to the Stage |
//! | a deletion | nothing is cleaned up here |
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

use std::collections::BTreeSet;
use std::sync::Arc;

use konfidence_sdk::naming::promotion_name;
use konfidence_sdk::promotion::{Phase, controller_uid};
use konfidence_types::{VectorPromotion, VectorPromotionConfig};

use crate::model::Exploration;
use crate::people::is_orphan;
use crate::scenario::PROJECT;
use crate::shelf::{Kind, Shelf, Stored, View};
use crate::world::World;

impl Exploration {
    /// Forgets the moments that are settled.
    pub(crate) fn forget_settled(&self, world: &mut World, live: &View) {
        let cleans_up = self.scenario.configs.iter().any(|config| config.keep < 10);
        let removes = self.scenario.left.promotions > 0 || self.scenario.left.configs > 0;
        if cleans_up || !self.scenario.foreign.is_empty() || (removes && may_remove(world, live, self)) {
            return;
        }
        let newest = live.of(Kind::Promotion);
        world.forget(Kind::Promotion, |moment| {
            let is_unchanged =
                |it: &Arc<Stored>| newest.get(&it.namespace, &it.name).is_some_and(|now| now.hash == it.hash);
            let gives_nothing_new = !removes && self.gives_what_the_present_gives(moment, newest);
            !moment.objects.iter().any(|it| it.is_live && is_unchanged(it))
                && (gives_nothing_new || self.next_names(moment).iter().all(|name| newest.get(PROJECT, name).is_some()))
                && (!removes || self.is_recorded(moment, live))
        });
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

    /// Whether each config that stands has stored a number that is no lower than any of the moment.
    fn is_recorded(&self, moment: &Shelf, live: &View) -> bool {
        self.scenario.configs.iter().all(|config| {
            let own = moment.all::<VectorPromotion>().filter(|it| it.spec.vector_promotion_config_name == config.name);
            let highest = own.map(|it| it.spec.sequence).max().unwrap_or(0);
            let standing = live.of(Kind::Config).get(PROJECT, config.name);
            let standing = standing.and_then(|it| it.parsed::<VectorPromotionConfig>());
            standing.and_then(|it| it.status.as_ref()?.sequence).is_some_and(|stored| stored >= highest)
        })
    }
}

/// Whether anything may remove a promotion from here on.
fn may_remove(world: &World, live: &View, exploration: &Exploration) -> bool {
    let stands = |name: &str| live.of(Kind::Config).get(PROJECT, name).is_some();
    world.left.promotions > 0
        || world.left.configs > 0
        || !exploration.scenario.configs.iter().all(|config| stands(config.name))
        || live.of(Kind::Promotion).all::<VectorPromotion>().any(|promotion| is_orphan(live, &promotion))
}

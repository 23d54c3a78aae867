//! Whose promotions these are, and from which number the next ones count (R2, R12).

use crate::promotion::record::Records;
use crate::promotion::snapshot::{Seen, controller_uid};
use crate::promotion::verify::{Doubt, Verdict};

use super::Deciding;

impl Deciding<'_> {
    /// Whether a live read has settled `doubt` in favour of the view.
    ///
    /// # Errors
    /// The doubt itself while nobody has looked.
    pub(super) fn settled(&self, doubt: Doubt) -> Result<bool, Doubt> {
        flawed!(BelievesInAbsence => if matches!(doubt, Doubt::Gone(_)) { return Ok(true) });
        match self.snapshot.confirmed.get(&doubt) {
            None => Err(doubt),
            Some(verdict) => Ok(*verdict == Verdict::Agrees),
        }
    }

    /// R2: where another owner's uid stands under the config's name, on a promotion or in a Stage's record, the view
    /// may be of a config that is gone by now, or not show the one that is there. Dropped, a leftover's owner overwrites
    /// its successor's Stage (P12), and two decisions with different members start two promotions (S1, trace T4). Nobody's
    /// record beside a config that is viewed is such a case too: a promotion made by hand went on without the config, and
    /// what it replaced on the Stage would be failed though it was written (S5).
    pub(super) fn owner_is_certain(&self) -> Result<bool, Doubt> {
        flawed!(AnyOwnerIsCertain => return Ok(true));
        let owner = self.snapshot.owner();
        let mut promoted = self.snapshot.promotions.iter().filter_map(|promotion| controller_uid(promotion));
        let mut recorded =
            self.snapshot.stages.values().filter_map(Seen::found).filter_map(|stage| {
                Records::of(stage).named(self.snapshot.key.name()).map(|record| record.owner.clone())
            });
        let foreign = promoted.any(|uid| Some(uid) != owner)
            || recorded.any(|uid| Some(uid.as_str()).filter(|uid| !uid.is_empty()) != owner);
        if foreign { self.settled(Doubt::Owner) } else { Ok(true) }
    }

    /// R12: the number base of a config that has none yet: the highest number that any promotion of its name holds,
    /// whoever owns it. Nothing is created before it is stored.
    pub(super) fn initial_sequence(&self) -> Result<Option<i64>, Doubt> {
        flawed!(NoNumberBase => return Ok(None));
        let Some(config) = self.config() else { return Ok(None) };
        if config.status.as_ref().and_then(|status| status.sequence).is_some() {
            return Ok(None);
        }
        let viewed = self.snapshot.promotions.iter().map(|promotion| promotion.spec.sequence).max().unwrap_or(0);
        match self.snapshot.confirmed.get(&Doubt::Initialise) {
            Some(Verdict::Highest(live)) => Ok(Some(viewed.max(*live))),
            _ => Err(Doubt::Initialise),
        }
    }
}

//! Chance that repeats itself.

/// A sequence of draws, the same for the same seed (splitmix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64, number: usize) -> Self {
        Self(seed.wrapping_mul(1_000_003).wrapping_add(number as u64))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or_default()
    }

    /// True in `percent` of a hundred draws.
    pub(super) fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a pool.
    pub(super) fn one<'a>(&mut self, pool: &[&'a str]) -> &'a str {
        let at = self.below(pool.len());
        pool.get(at).copied().unwrap_or_default()
    }
}

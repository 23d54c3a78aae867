//! Everybody but the controllers: who makes the world, changes sources, approves, and edits what the API permits.
//!
//! Whoever uses an editor makes one request on the present state; being told of a conflict and trying again is the
//! same as being later. Whoever uses the public operations is a [`Person`], whose requests meet those of the
//! controllers one by one.

mod edit;
mod make;
mod person;
mod raw;
mod spoil;

use std::sync::Arc;

use konfidence_types::{Stage, TargetRef, VectorPromotion, VectorPromotionConfig};

pub(super) use self::person::{Person, Said, Word, say, told};
pub(super) use self::raw::change;
use super::server::Server;
use super::step::Deed;
use crate::promotion::Phase;
use crate::store::{Key, MemoryStore};

pub(super) struct People {
    configs: Vec<VectorPromotionConfig>,
    server: Server,
    /// How many vectors and hand-made promotions there were.
    vectors: usize,
    hand_made: usize,
}

impl People {
    pub(super) fn new(configs: Vec<VectorPromotionConfig>, server: Server) -> Self {
        Self { configs, server, vectors: 0, hand_made: 0 }
    }

    /// The flows: every config, and a name without one.
    pub(super) fn keys(&self) -> Vec<Key<VectorPromotionConfig>> {
        let loose = self.configs.first().map(|config| Key::new(Key::of(config).namespace(), "loose"));
        self.configs.iter().map(Key::of).chain(loose).collect()
    }

    /// What to say, for the deeds that go through an operation.
    pub(super) fn word(&mut self, deed: Deed, flow: usize, pick: usize) -> Option<Word> {
        let key = self.keys().get(flow)?.clone();
        let promotions = self.promotions(&key);
        let of = |test: fn(Phase) -> bool| {
            let all = promotions.iter().filter(|it| test(Phase::of_promotion(it)));
            all.map(|it| Key::of(&**it)).collect::<Vec<_>>().into_iter().nth_around(pick)
        };
        match deed {
            Deed::Approve => of(|phase| phase == Phase::Waiting).map(Word::Approve),
            Deed::Reject => of(|phase| matches!(phase, Phase::Waiting | Phase::Ready | Phase::Blocked))
                .map(|key| Word::Reject(key, "stale bread".to_owned())),
            Deed::Retry => of(Phase::is_terminal).map(Word::Retry),
            Deed::Promote => Some(Word::Promote(key, self.some_vector(pick))),
            Deed::Release => Some(Word::Release(key)),
            Deed::Suspend => {
                let config = self.store().collection::<VectorPromotionConfig>().get(key.namespace(), key.name())?;
                let suspended = config.json()["spec"]["suspend"].as_bool().unwrap_or(false);
                Some(if suspended { Word::Resume(key) } else { Word::Suspend(key) })
            }
            _ => None,
        }
    }

    /// The promotions that wait for approval and are the newest of their flow to do so.
    pub(super) fn newest_waiting(&self) -> Vec<Key<VectorPromotion>> {
        let waits = |it: &Arc<VectorPromotion>| {
            Phase::of_promotion(it) == Phase::Waiting && it.metadata.deletion_timestamp.is_none()
        };
        let newest = |key| self.promotions(&key).into_iter().find(waits);
        self.keys().into_iter().filter_map(newest).map(|it| Key::of(&*it)).collect()
    }

    fn store(&self) -> &MemoryStore {
        self.server.store()
    }

    fn new_vector(&mut self) -> String {
        self.vectors += 1;
        vector(self.vectors)
    }

    /// A new vector three times of four, else an earlier one.
    fn some_vector(&mut self, pick: usize) -> String {
        if !pick.is_multiple_of(4) || self.vectors == 0 {
            return self.new_vector();
        }
        vector(1 + (pick / 4) % self.vectors)
    }

    fn stage_of(&self, namespace: &str, target: &TargetRef) -> Key<Stage> {
        Key::new(self.server.managed(namespace, &target.landscape), &target.name)
    }

    /// The promotions that name the flow, newest first.
    pub(super) fn promotions(&self, key: &Key<VectorPromotionConfig>) -> Vec<Arc<VectorPromotion>> {
        let listing = self.store().collection::<VectorPromotion>().list(Some(key.namespace()));
        let parsed = listing.items.iter().filter_map(|object| object.parse::<VectorPromotion>().ok());
        let mut own: Vec<_> =
            parsed.filter(|promotion| promotion.spec.vector_promotion_config_name == key.name()).collect();
        own.sort_by_key(|promotion| std::cmp::Reverse((promotion.spec.sequence, promotion.metadata.uid.clone())));
        own
    }
}

trait NthAround<T> {
    fn nth_around(self, pick: usize) -> Option<T>;
}

impl<T, I: ExactSizeIterator<Item = T>> NthAround<T> for I {
    fn nth_around(mut self, pick: usize) -> Option<T> {
        let count = self.len();
        self.nth(pick.checked_rem(count)?)
    }
}

fn vector(number: usize) -> String {
    format!("bakery//menu:{number}")
}

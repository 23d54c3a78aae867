//! The keyed queue.
//!
//! A key stands for one unit of serialization: it is worked on by one worker at a time, however often it is asked for
//! meanwhile; different keys side by side. Whoever has been due longest is next, so that a busy key starves nobody.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The first wait after a failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait after failures, to which up to as much again is added at random.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// How long a key rests at most: the floor that repairs what a lost event left behind. At rest it writes nothing.
const FLOOR: Duration = Duration::from_hours(1);

/// What a key is made of.
pub trait QueueKey: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static {}

impl<K: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static> QueueKey for K {}

/// How the work on a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Well; to be looked at again at this instant, or at the floor if that is earlier.
    Rest(Option<Instant>),
    /// There is nothing left under this key.
    Forget,
    /// Badly: again after a back-off, which starts anew where something was written before the failure.
    Failed {
        /// Whether something was.
        progressed: bool,
    },
}

#[derive(Default)]
struct Slot {
    /// Its place among the due ones. While it is worked on: when it is due after that.
    due: Option<(Instant, u64)>,
    working_since: Option<Instant>,
    backoff: Option<ExponentialBackoff>,
    /// After a failure: not even an event brings it forward of this.
    not_before: Option<Instant>,
}

struct State<K> {
    slots: HashMap<K, Slot>,
    /// All keys that are due some time and not worked on.
    due: BTreeSet<(Instant, u64, K)>,
    /// Keeps those that became due at the same instant in the order in which they were asked for.
    turn: u64,
}

/// How a queue is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Keys that are due and wait for a worker.
    pub waiting: usize,
    /// How long the one that waits longest has been due.
    pub longest_wait: Duration,
    /// Keys that are being worked on.
    pub working: usize,
    /// How long the oldest work has been going on.
    pub longest_work: Duration,
}

/// See the module.
pub struct Queue<K> {
    state: Mutex<State<K>>,
    news: Notify,
}

impl<K: QueueKey> Default for Queue<K> {
    fn default() -> Self {
        let state = State { slots: HashMap::new(), due: BTreeSet::new(), turn: 0 };
        Self { state: Mutex::new(state), news: Notify::new() }
    }
}

impl<K: QueueKey> State<K> {
    /// Makes `key` due at `at`, or leaves it due earlier.
    fn schedule(&mut self, key: &K, at: Instant) {
        let turn = self.turn;
        let slot = self.slots.entry(key.clone()).or_default();
        let at = slot.not_before.map_or(at, |not_before| at.max(not_before));
        match slot.due {
            Some((earlier, _)) if earlier <= at => return,
            Some((later, turn)) => drop(self.due.remove(&(later, turn, key.clone()))),
            None => {}
        }
        slot.due = Some((at, turn));
        if slot.working_since.is_none() {
            self.due.insert((at, turn, key.clone()));
        }
        self.turn += 1;
    }
}

impl<K: QueueKey> Queue<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to `key`: it is due now. After a failure it waits out the first step of the back-off all the
    /// same, so that noise on an object cannot make a failing key spin.
    pub fn add(&self, key: &K) {
        self.state().schedule(key, Instant::now());
        self.news.notify_one();
    }

    /// The next key that is due; it is being worked on until [`done`](Self::done) is called with it. Waits for one.
    pub async fn next(&self) -> K {
        loop {
            let news = self.news.notified();
            let until = {
                let mut state = self.state();
                let now = Instant::now();
                match state.due.first() {
                    Some((at, _, _)) if *at <= now => {
                        if let Some((_, _, key)) = state.due.pop_first() {
                            let slot = state.slots.entry(key.clone()).or_default();
                            slot.due = None;
                            slot.working_since = Some(now);
                            return key;
                        }
                        None
                    }
                    Some((at, _, _)) => Some(*at),
                    None => None,
                }
            };
            match until {
                // Early or late makes no difference: the loop looks again.
                Some(at) => drop(tokio::time::timeout_at(at, news).await),
                None => news.await,
            }
        }
    }

    /// The work on `key` has ended.
    pub fn done(&self, key: &K, done: Done) {
        let now = Instant::now();
        let mut state = self.state();
        let Some(slot) = state.slots.get_mut(key) else { return };
        slot.working_since = None;
        slot.not_before = None;
        let asked_for = slot.due.take();
        match done {
            Done::Rest(_) => slot.backoff = None,
            Done::Forget => {
                state.slots.remove(key);
            }
            Done::Failed { progressed } => {
                slot.not_before = Some(now + FIRST_WAIT);
                if progressed {
                    slot.backoff = None;
                }
            }
        }
        let next = match done {
            Done::Rest(at) => {
                let floor = now + floor(key);
                Some(at.map_or(floor, |at| at.min(floor)))
            }
            Done::Forget => None,
            Done::Failed { .. } => {
                let backoff = state.slots.get_mut(key).map(|slot| slot.backoff.get_or_insert_with(back_off));
                backoff.and_then(Iterator::next).map(|wait| now + wait)
            }
        };
        for at in asked_for.map(|(at, _)| at).into_iter().chain(next) {
            state.schedule(key, at);
        }
        drop(state);
        self.news.notify_one();
    }

    /// Makes every key due that waits out a back-off, after the first step of it: the server answers again, and the
    /// cause may be gone.
    pub fn retry_failed(&self) {
        let mut state = self.state();
        let failed = state.slots.iter().filter(|(_, slot)| slot.backoff.is_some());
        let failed: Vec<_> = failed.map(|(key, _)| key.clone()).collect();
        for key in failed {
            state.schedule(&key, Instant::now());
        }
        drop(state);
        self.news.notify_one();
    }

    /// Makes every key due now that the queue knows of; back-offs are over.
    pub fn wake_all(&self) {
        let mut state = self.state();
        let keys: Vec<_> = state.slots.keys().cloned().collect();
        for key in keys {
            if let Some(slot) = state.slots.get_mut(&key) {
                (slot.not_before, slot.backoff) = (None, None);
            }
            state.schedule(&key, Instant::now());
        }
        drop(state);
        self.news.notify_one();
    }

    /// How it is doing.
    pub fn pulse(&self) -> Pulse {
        let now = Instant::now();
        let state = self.state();
        let since = |at: Instant| now.saturating_duration_since(at);
        let waiting = state.due.iter().take_while(|(at, _, _)| *at <= now).count();
        let working = state.slots.values().filter_map(|slot| slot.working_since);
        Pulse {
            waiting,
            longest_wait: state.due.first().map(|(at, _, _)| since(*at)).unwrap_or_default(),
            working: working.clone().count(),
            longest_work: working.min().map(since).unwrap_or_default(),
        }
    }
}

fn back_off() -> ExponentialBackoff {
    let builder = ExponentialBuilder::new().with_min_delay(FIRST_WAIT).with_max_delay(LONGEST_WAIT);
    builder.with_jitter().without_max_times().build()
}

/// Each key has a floor of its own, between three and five quarters of the hour, so that a process that began with all
/// keys at once does not look at all of them at once for ever.
fn floor<K: Hash>(key: &K) -> Duration {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    FLOOR.mul_f64(f64::from(u16::try_from(hasher.finish() % 1024).unwrap_or_default()).mul_add(0.5 / 1024.0, 0.75))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    type Names = Queue<&'static str>;

    const FAILED: Done = Done::Failed { progressed: false };

    /// The key that is due now, if any.
    async fn due_now(queue: &Names) -> Option<&'static str> {
        tokio::time::timeout(Duration::ZERO, queue.next()).await.ok()
    }

    /// How long the queue waits for its next key, and which it is.
    async fn next(queue: &Names) -> (Duration, &'static str) {
        let start = Instant::now();
        let key = queue.next().await;
        (start.elapsed(), key)
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_asked_for_often_is_worked_on_once() {
        let queue = Names::default();
        for _ in 0..100 {
            queue.add(&"menu");
        }
        assert_eq!(due_now(&queue).await, Some("menu"));
        assert_eq!(due_now(&queue).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_never_worked_on_twice_at_a_time_and_an_event_meanwhile_is_not_lost() {
        let queue = Names::default();
        queue.add(&"menu");
        queue.add(&"soup");
        assert_eq!(due_now(&queue).await, Some("menu"));
        queue.add(&"menu");
        assert_eq!(due_now(&queue).await, Some("soup"));
        assert_eq!(due_now(&queue).await, None);
        queue.done(&"menu", Done::Rest(None));
        assert_eq!(due_now(&queue).await, Some("menu"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_been_due_longest_is_next() {
        let queue = Names::default();
        queue.add(&"soup");
        queue.add(&"menu");
        queue.add(&"cake");
        assert_eq!(due_now(&queue).await, Some("soup"));
        queue.done(&"soup", Done::Rest(Some(Instant::now())));
        for expected in ["menu", "cake", "soup"] {
            assert_eq!(due_now(&queue).await, Some(expected));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn p33_a_wake_up_is_exact_and_an_event_comes_before_it() {
        let queue = Names::default();
        queue.add(&"menu");
        let key = queue.next().await;
        queue.done(&key, Done::Rest(Some(Instant::now() + Duration::from_mins(5))));
        assert_eq!(next(&queue).await, (Duration::from_mins(5), "menu"));

        queue.done(&key, Done::Rest(Some(Instant::now() + Duration::from_mins(5))));
        queue.add(&"menu");
        assert_eq!(due_now(&queue).await, Some("menu"));
        // The new answer replaces the old wake-up.
        queue.done(&key, Done::Rest(Some(Instant::now() + Duration::from_mins(10))));
        assert_eq!(next(&queue).await, (Duration::from_mins(10), "menu"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleeping_worker_wakes_for_what_is_due_earlier() {
        let queue = Arc::new(Names::default());
        queue.add(&"menu");
        let key = queue.next().await;
        queue.done(&key, Done::Rest(None));
        let worker = tokio::spawn({
            let queue = queue.clone();
            async move { next(&queue).await }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        queue.add(&"soup");
        assert_eq!(worker.await.unwrap(), (Duration::from_secs(5), "soup"));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_back_off_exponentially_and_success_forgets_them() {
        let queue = Names::default();
        queue.add(&"menu");
        let key = queue.next().await;
        let mut waits = Vec::new();
        for _ in 0..12 {
            queue.done(&key, FAILED);
            waits.push(next(&queue).await.0);
        }
        for (n, wait) in waits.iter().enumerate() {
            let step = FIRST_WAIT.saturating_mul(1 << n).min(LONGEST_WAIT);
            assert!(*wait >= step && *wait <= step * 2 + Duration::from_millis(2), "{n}: {wait:?}");
        }
        queue.done(&key, Done::Rest(Some(Instant::now())));
        assert_eq!(due_now(&queue).await, Some("menu"));
        queue.done(&key, FAILED);
        assert!(next(&queue).await.0 <= FIRST_WAIT * 2 + Duration::from_millis(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_after_progress_is_the_first_one_of_something_else() {
        let queue = Names::default();
        queue.add(&"menu");
        let key = queue.next().await;
        for _ in 0..8 {
            queue.done(&key, FAILED);
            queue.next().await;
        }
        queue.done(&key, Done::Failed { progressed: true });
        assert!(next(&queue).await.0 <= FIRST_WAIT * 2 + Duration::from_millis(2));
        queue.done(&key, FAILED);
        let (second, _) = next(&queue).await;
        assert!(second >= FIRST_WAIT * 2 && second <= FIRST_WAIT * 4 + Duration::from_millis(2), "{second:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_keys_and_no_others_are_tried_again_when_the_server_is_back() {
        let queue = Names::default();
        for key in ["menu", "soup"] {
            queue.add(&key);
            queue.next().await;
        }
        queue.done(&"soup", Done::Rest(None));
        for _ in 0..8 {
            queue.done(&"menu", FAILED);
            queue.next().await;
        }
        queue.done(&"menu", FAILED);
        queue.retry_failed();
        assert_eq!(next(&queue).await, (FIRST_WAIT, "menu"));
        queue.retry_failed();
        assert_eq!(due_now(&queue).await, None, "it is being worked on");
    }

    #[tokio::test(start_paused = true)]
    async fn noise_does_not_make_a_failing_key_spin_but_shortens_a_long_wait() {
        let queue = Names::default();
        queue.add(&"menu");
        let key = queue.next().await;
        for _ in 0..8 {
            queue.done(&key, FAILED);
            queue.next().await;
        }
        queue.add(&"menu");
        queue.done(&key, FAILED);
        queue.add(&"menu");
        assert_eq!(next(&queue).await, (FIRST_WAIT, "menu"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_floor_looks_again_about_once_an_hour_and_not_at_all_keys_at_once() {
        let queue = Names::default();
        let mut waits = BTreeSet::new();
        for key in ["menu", "soup", "cake", "bread"] {
            queue.add(&key);
            assert_eq!(due_now(&queue).await, Some(key));
            queue.done(&key, Done::Rest(None));
            let (wait, woken) = next(&queue).await;
            assert_eq!(woken, key);
            assert!(wait >= FLOOR * 3 / 4 && wait <= FLOOR * 5 / 4, "{wait:?}");
            queue.done(&key, Done::Forget);
            waits.insert(wait);
        }
        assert_eq!(waits.len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_key_is_gone_unless_it_is_asked_for_again() {
        let queue = Names::default();
        queue.add(&"menu");
        let key = queue.next().await;
        queue.done(&key, Done::Forget);
        assert!(tokio::time::timeout(FLOOR * 3, queue.next()).await.is_err());
        assert!(queue.state().slots.is_empty());

        queue.add(&"menu");
        let key = queue.next().await;
        queue.add(&"menu");
        queue.done(&key, Done::Forget);
        assert_eq!(due_now(&queue).await, Some("menu"));
    }

    #[tokio::test(start_paused = true)]
    async fn all_keys_can_be_woken_at_once() {
        let queue = Names::default();
        for key in ["menu", "soup"] {
            queue.add(&key);
            queue.next().await;
        }
        queue.done(&"menu", Done::Rest(None));
        queue.done(&"soup", FAILED);
        assert_eq!(due_now(&queue).await, None);
        queue.wake_all();
        assert_eq!(BTreeSet::from_iter([due_now(&queue).await, due_now(&queue).await]).len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pulse_tells_how_long_work_and_waiting_last() {
        let queue = Names::default();
        queue.add(&"menu");
        queue.add(&"soup");
        queue.next().await;
        tokio::time::sleep(Duration::from_secs(7)).await;
        let seven = Duration::from_secs(7);
        assert_eq!(queue.pulse(), Pulse { waiting: 1, longest_wait: seven, working: 1, longest_work: seven });
    }
}

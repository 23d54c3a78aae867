//! Metrics (P49), as `OpenMetrics`: every label from a list that is known when the program is built.
//!
//! Names of configs, promotions or namespaces are never labels: their number has no bound.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use konfidence_sdk::store::{Key, StoreError};
use konfidence_sdk::types::{PromotionState, VectorPromotionConfig};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds in seconds, from an in-process reconcile to one that waits for an API server that is away.
const RECONCILE: [f64; 10] = [0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0];

/// Upper bounds in seconds, from "at once" to a week of waiting for somebody's approval.
const WAIT: [f64; 12] = [1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0, 604_800.0];

/// Upper bounds of queue lengths.
const LENGTH: [u64; 8] = [0, 1, 2, 3, 5, 10, 50, 100];

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// At rest.
    Rest,
    /// The API server could not answer for certain.
    Unavailable,
    /// The API server refuses a write or a read.
    Refused,
    /// Somebody else writes the same objects all the time, or another error.
    Restless,
    /// A bug.
    Panic,
}

impl Outcome {
    /// The outcome that a store's error makes.
    pub fn of(error: &StoreError) -> Self {
        match error {
            StoreError::Unavailable { .. } => Self::Unavailable,
            error if error.is_refusal() => Self::Refused,
            _ => Self::Restless,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
            Self::Restless => "restless",
            Self::Panic => "panic",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DomainLabel {
    domain: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    domain: &'static str,
    outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    kind: String,
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

impl EncodeLabelValue for Outcome {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), fmt::Error> {
        self.as_str().encode(encoder)
    }
}

#[derive(Clone)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// All metrics of a process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<ReconcileLabels, Counter>,
    durations: Family<DomainLabel, Histogram, Buckets>,
    writes: Family<WriteLabels, Counter>,
    promotions: Family<StateLabel, Gauge>,
    transitions: Family<ReasonLabel, Counter>,
    drift_to_stage: Histogram,
    approval_wait: Histogram,
    live: Live,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("konfidence");
        let reconciles = Family::default();
        registry.register("reconciles", "Reconciles by how they ended", reconciles.clone());
        let durations = Family::new_with_constructor(Buckets(&RECONCILE));
        registry.register_with_unit("reconcile_duration", "How long reconciles take", Unit::Seconds, durations.clone());
        let writes = Family::default();
        registry.register("write_requests", "Write requests to the API server, events apart", writes.clone());
        let promotions = Family::default();
        registry.register("promotions", "Promotions that exist, by state", promotions.clone());
        for state in PromotionState::ALL {
            // All states are there from the start: an absent series cannot be told from a scrape that failed.
            promotions.get_or_create_owned(&StateLabel { state: state.as_str() });
        }
        let transitions = Family::default();
        registry.register(
            "promotion_transitions",
            "Transitions of promotions that this process made, by reason",
            transitions.clone(),
        );
        let drift_to_stage = Histogram::new(WAIT);
        registry.register_with_unit(
            "drift_to_stage",
            "From the creation of a promotion to its success",
            Unit::Seconds,
            drift_to_stage.clone(),
        );
        let approval_wait = Histogram::new(WAIT);
        registry.register_with_unit(
            "approval_wait",
            "From the creation of a promotion to its approval",
            Unit::Seconds,
            approval_wait.clone(),
        );
        let live = Live::default();
        registry.register_collector(Box::new(live.clone()));
        Self {
            registry: Arc::new(registry),
            reconciles,
            durations,
            writes,
            promotions,
            transitions,
            drift_to_stage,
            approval_wait,
            live,
        }
    }
}

impl Metrics {
    /// A reconcile of `domain` ended.
    pub fn reconciled(&self, domain: &'static str, outcome: Outcome, took: Duration) {
        self.reconciles.get_or_create_owned(&ReconcileLabels { domain, outcome }).inc();
        self.durations.get_or_create_owned(&DomainLabel { domain }).observe(took.as_secs_f64());
    }

    /// A write request is about to be made.
    pub fn wrote(&self, kind: &str, verb: &'static str) {
        self.writes.get_or_create_owned(&WriteLabels { kind: kind.to_owned(), verb }).inc();
    }

    /// A promotion of `config` is now in `after` (`None`: gone) and was in `before` (`None`: new).
    pub fn promotion_moved(
        &self,
        config: &Key<VectorPromotionConfig>,
        before: Option<PromotionState>,
        after: Option<PromotionState>,
    ) {
        if before == after {
            return;
        }
        let gauge = |state: PromotionState| self.promotions.get_or_create_owned(&StateLabel { state: state.as_str() });
        if let Some(state) = before {
            gauge(state).dec();
        }
        if let Some(state) = after {
            gauge(state).inc();
        }
        self.live.moved(config, is_live(before), is_live(after));
    }

    /// This process made a transition of a promotion, for `reason`.
    pub fn transition(&self, reason: &'static str) {
        self.transitions.get_or_create_owned(&ReasonLabel { reason }).inc();
    }

    /// A promotion reached its Stage so long after it was made.
    pub fn reached_stage(&self, after: Duration) {
        self.drift_to_stage.observe(after.as_secs_f64());
    }

    /// A promotion was approved so long after it was made.
    pub fn approved(&self, after: Duration) {
        self.approval_wait.observe(after.as_secs_f64());
    }

    /// All of it in the `OpenMetrics` text format.
    ///
    /// # Errors
    /// None that a `String` could give.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn is_live(state: Option<PromotionState>) -> bool {
    use PromotionState::{Blocked, InProgress, Ready, Waiting};
    matches!(state, Some(Waiting | Ready | InProgress | Blocked))
}

/// Live promotions of each config that has any promotion, shown as a histogram over configs.
///
/// It is a snapshot, not a count since the start: read its buckets as they are, without `rate()`.
#[derive(Clone, Debug, Default)]
struct Live(Arc<Mutex<HashMap<Key<VectorPromotionConfig>, u64>>>);

impl Live {
    fn moved(&self, config: &Key<VectorPromotionConfig>, was: bool, is: bool) {
        let mut lengths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (was, is) {
            (false, true) => *lengths.entry(config.clone()).or_default() += 1,
            (true, false) => {
                if let Some(length) = lengths.get_mut(config) {
                    *length -= 1;
                    if *length == 0 {
                        lengths.remove(config);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Collector for Live {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let lengths: Vec<u64> = self.0.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect();
        let mut metric = encoder.encode_descriptor(
            "config_queue_length",
            "Live promotions per config that has any; a snapshot over configs, not to be rated",
            None,
            MetricType::Histogram,
        )?;
        let mut buckets = Vec::with_capacity(LENGTH.len() + 1);
        let mut above = None;
        for bound in LENGTH {
            let within = lengths.iter().filter(|length| **length <= bound && above.is_none_or(|low| **length > low));
            buckets.push((f64::from(u32::try_from(bound).unwrap_or(u32::MAX)), within.count() as u64));
            above = Some(bound);
        }
        buckets.push((
            f64::INFINITY,
            lengths.iter().filter(|length| above.is_some_and(|low| **length > low)).count() as u64,
        ));
        let sum = u32::try_from(lengths.iter().sum::<u64>()).unwrap_or(u32::MAX);
        metric.encode_histogram::<[(&str, &str); 0]>(f64::from(sum), lengths.len() as u64, &buckets, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(metrics: &Metrics, prefix: &str) -> Vec<String> {
        let text = metrics.text().unwrap();
        text.lines().filter(|line| line.starts_with(prefix)).map(str::to_owned).collect()
    }

    #[test]
    fn p49_states_and_queue_lengths_follow_the_promotions_without_naming_configs() {
        let metrics = Metrics::default();
        let (menu, soup) = (Key::new("bakery", "menu"), Key::new("bakery", "soup"));
        for _ in 0..3 {
            metrics.promotion_moved(&menu, None, Some(PromotionState::Waiting));
        }
        metrics.promotion_moved(&soup, None, Some(PromotionState::Ready));
        metrics.promotion_moved(&soup, Some(PromotionState::Ready), Some(PromotionState::InProgress));
        let text = metrics.text().unwrap();
        assert!(text.contains("konfidence_promotions{state=\"Waiting\"} 3"), "{text}");
        assert!(text.contains("konfidence_promotions{state=\"Ready\"} 0"), "{text}");
        assert!(text.contains("konfidence_config_queue_length_bucket{le=\"1.0\"} 1"), "{text}");
        assert!(text.contains("konfidence_config_queue_length_bucket{le=\"3.0\"} 2"), "{text}");
        assert!(text.contains("konfidence_config_queue_length_bucket{le=\"+Inf\"} 2"), "{text}");
        assert!(text.contains("konfidence_config_queue_length_sum 4"), "{text}");
        assert!(!text.contains("menu"), "{text}");

        for _ in 0..3 {
            metrics.promotion_moved(&menu, Some(PromotionState::Waiting), Some(PromotionState::Superseded));
        }
        assert!(metrics.text().unwrap().contains("konfidence_config_queue_length_count 1"));
    }

    #[test]
    fn p49_every_family_is_there_and_the_text_ends_as_openmetrics_wants() {
        let metrics = Metrics::default();
        metrics.reconciled("promotion", Outcome::Rest, Duration::from_millis(3));
        metrics.wrote("Stage", "patch");
        metrics.transition("PromotionSucceeded");
        metrics.reached_stage(Duration::from_secs(3));
        metrics.approved(Duration::from_secs(90));
        for line in [
            "konfidence_reconciles_total{domain=\"promotion\",outcome=\"rest\"} 1",
            "konfidence_write_requests_total{kind=\"Stage\",verb=\"patch\"} 1",
            "konfidence_promotion_transitions_total{reason=\"PromotionSucceeded\"} 1",
            "konfidence_drift_to_stage_seconds_count 1",
            "konfidence_approval_wait_seconds_sum 90.0",
        ] {
            assert_eq!(lines(&metrics, line), [line]);
        }
        assert!(metrics.text().unwrap().ends_with("# EOF\n"));
    }
}

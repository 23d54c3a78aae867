//! Conditions: a pure merge.
//!
//! When `lastTransitionTime` moves is the domain's choice ([`Moves`]): deadlines and TTLs of promotions read it, so a
//! changed reason moves it there (P21); elsewhere only the status does, as is usual in Kubernetes.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use konfidence_types::Condition;

/// Which change of a condition moves its `lastTransitionTime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// A change of the status alone.
    OnStatus,
    /// A change of the status or of the reason.
    OnReason,
}

/// The condition `type_` as it is to stand after now.
///
/// `status` is `True`, `False` or `Unknown`. The transition time is kept from `before` unless `moves` says otherwise.
pub fn merge(
    before: Option<&Condition>,
    type_: &str,
    (status, reason): (&str, &str),
    message: impl Into<String>,
    observed_generation: Option<i64>,
    moves: Moves,
    now: Timestamp,
) -> Condition {
    let kept = before.filter(|before| before.status == status && (moves == Moves::OnStatus || before.reason == reason));
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        observed_generation,
        last_transition_time: kept
            .map_or_else(|| Time(to_the_second(now)), |before| before.last_transition_time.clone()),
    }
}

/// `conditions` with `condition` in the place of the one of its type, or at the end.
pub fn with(conditions: &[Condition], condition: Condition) -> Vec<Condition> {
    let mut all = conditions.to_vec();
    match all.iter_mut().find(|other| other.type_ == condition.type_) {
        Some(place) => *place = condition,
        None => all.push(condition),
    }
    all
}

/// The wire form of Kubernetes times has whole seconds; what is finer would be lost on the way and differ after it.
pub fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

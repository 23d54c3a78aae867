//! Waiting for a promotion to end, by watching it.

use std::time::Duration;

use clap::Args;
use konfidence_sdk::promotion::{Phase, conditions_of};
use konfidence_types::{GoDuration, VectorPromotion, condition, condition_type};
use kube::runtime::wait::await_condition;

use crate::cluster::Cluster;
use crate::failure::{Failure, told};

/// Longer than the five minutes after which a promotion in progress is retired.
const LONG_ENOUGH: &str = "10m";

/// Whether to wait, and how long.
#[derive(Args, Clone, Debug)]
pub(crate) struct WaitArgs {
    /// Wait until the promotion has ended, at most so long (a Go duration such as 90s or 5m)
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = LONG_ENOUGH)]
    wait: Option<GoDuration>,
}

impl WaitArgs {
    /// Waits, if that was asked for. Answers the promotion that succeeded, and what its condition says.
    pub(crate) async fn run(
        &self,
        cluster: &Cluster,
        name: &str,
    ) -> Result<Option<(VectorPromotion, String)>, Failure> {
        let Some(limit) = &self.wait else { return Ok(None) };
        let api = cluster.api::<VectorPromotion>();
        // One that is gone has ended too: it was cleaned up.
        let ended = |promotion: Option<&VectorPromotion>| {
            promotion.is_none_or(|promotion| Phase::of_promotion(promotion).is_terminal())
        };
        let limit_text = limit.to_string();
        let limit = Duration::from_nanos(limit.as_nanos());
        let promotion = match tokio::time::timeout(limit, await_condition(api, name, ended)).await {
            Ok(Ok(promotion)) => promotion,
            Ok(Err(error)) => return Err(Failure::Other(told(&error))),
            Err(_) => {
                return Err(Failure::TimedOut(format!(
                    "promotion {namespace}/{name} has not ended after {limit_text}: `konfidence explain \
                     promotion/{name} -n {namespace}` says what it waits for",
                    namespace = cluster.namespace
                )));
            }
        };
        let Some(promotion) = promotion else {
            return Err(Failure::Unsuccessful(format!("promotion {}/{name} is gone", cluster.namespace)));
        };
        let succeeded = condition(conditions_of(&promotion), condition_type::SUCCEEDED);
        let message = succeeded.map_or_else(String::new, |condition| condition.message.clone());
        match Phase::of_promotion(&promotion) {
            Phase::Succeeded => Ok(Some((promotion, message))),
            phase => Err(Failure::Unsuccessful(format!(
                "promotion {}/{name} is {}: {message}",
                cluster.namespace,
                phase.state()
            ))),
        }
    }
}

//! `konfidence approve`: a person's yes.

use std::sync::Arc;

use clap::Args;
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::promotion;
use konfidence_sdk::store::Key;
use konfidence_types::VectorPromotion;

use crate::cluster::{Cluster, ClusterArgs};
use crate::failure::Failure;
use crate::name;
use crate::outcome::OutcomeArgs;

/// Approve a promotion, in the name of who the server says you are
#[derive(Args)]
pub(crate) struct Approve {
    /// The promotion
    #[arg(value_parser = name::object)]
    name: String,

    #[command(flatten)]
    outcome: OutcomeArgs,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Approve {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let caller = cluster.caller().await?;
        let approved = approve(&cluster, &self.name, &caller).await?;
        let done = |_: &VectorPromotion| format!("promotion {}/{} approved by {caller}", cluster.namespace, self.name);
        self.outcome.run(&cluster, &approved, done).await
    }
}

/// Approves the promotion `name` in the name of `caller`.
pub(crate) async fn approve(cluster: &Cluster, name: &str, caller: &str) -> Result<Arc<VectorPromotion>, Failure> {
    let key = Key::new(&cluster.namespace, name);
    cluster
        .with_events(async |events| Ok(promotion::approve(&cluster.store, &SystemClock, events, &key, caller).await?))
        .await
}

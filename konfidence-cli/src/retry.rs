//! `konfidence retry`: once more.

use clap::Args;
use konfidence_sdk::promotion;
use konfidence_sdk::store::Key;

use crate::cluster::ClusterArgs;
use crate::failure::Failure;
use crate::name;
use crate::outcome::{OutcomeArgs, created};

/// Make the next promotion of the same vector, after one that failed, was rejected or was superseded
#[derive(Args)]
pub(crate) struct Retry {
    /// The promotion that has ended
    #[arg(value_parser = name::object)]
    name: String,

    #[command(flatten)]
    outcome: OutcomeArgs,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Retry {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let caller = cluster.caller().await?;
        let key = Key::new(&cluster.namespace, self.name);
        let made = cluster
            .with_events(async |events| Ok(promotion::retry(&cluster.store, events, &key, &caller).await?))
            .await?;
        self.outcome.run(&cluster, &made, created).await
    }
}

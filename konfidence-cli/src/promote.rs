//! `konfidence promote`: a vector of a person's choice.

use clap::Args;
use konfidence_sdk::promotion;
use konfidence_sdk::store::Key;

use crate::cluster::ClusterArgs;
use crate::failure::Failure;
use crate::name;
use crate::outcome::{OutcomeArgs, created};

/// Make the next promotion of a config, for a vector of your choice: a rollback, say
///
/// Where the vector is not the source's present one, the config is held: nothing more is made until the source has a
/// new vector, or somebody runs `konfidence release`.
#[derive(Args)]
pub(crate) struct Promote {
    /// The config
    #[arg(value_parser = name::object)]
    config: String,

    /// The vector, `<repository>//<component>:<version>`
    #[arg(value_parser = name::vector)]
    vector: String,

    #[command(flatten)]
    outcome: OutcomeArgs,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Promote {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let caller = cluster.caller().await?;
        let key = Key::new(&cluster.namespace, self.config);
        let made = cluster
            .with_events(async |events| {
                Ok(promotion::promote(&cluster.store, events, &key, &self.vector, &caller).await?)
            })
            .await?;
        self.outcome.run(&cluster, &made, created).await
    }
}

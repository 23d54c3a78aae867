//! `konfidence release`: the end of a hold.

use clap::Args;
use konfidence_sdk::promotion;
use konfidence_sdk::store::Key;

use crate::cluster::ClusterArgs;
use crate::failure::Failure;
use crate::format::say;
use crate::name;

/// Let a config follow its source again, after a promotion by hand
#[derive(Args)]
pub(crate) struct Release {
    /// The config
    #[arg(value_parser = name::object)]
    config: String,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Release {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let caller = cluster.caller().await?;
        let key = Key::new(&cluster.namespace, self.config);
        promotion::release(&cluster.store, &key, &caller).await?;
        say(format!("config {key} follows its source again"))
    }
}

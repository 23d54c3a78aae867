//! `konfidence suspend` and `konfidence resume`: stopping a flow and letting it go on.

use clap::Args;
use konfidence_sdk::promotion;
use konfidence_sdk::store::Key;

use crate::cluster::ClusterArgs;
use crate::failure::Failure;
use crate::format::say;
use crate::name;

/// The config that is to be suspended or resumed.
#[derive(Args)]
pub(crate) struct Suspension {
    /// The config
    #[arg(value_parser = name::object)]
    config: String,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Suspension {
    /// Runs `konfidence suspend`.
    pub(crate) async fn suspend(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let key = Key::new(&cluster.namespace, self.config);
        let done = promotion::suspend(&cluster.store, &key).await?;
        say(format!("config {key} {}", if done.changed { "suspended" } else { "was suspended already" }))
    }

    /// Runs `konfidence resume`.
    pub(crate) async fn resume(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let key = Key::new(&cluster.namespace, self.config);
        let done = promotion::resume(&cluster.store, &key).await?;
        say(format!("config {key} {}", if done.changed { "resumed" } else { "was not suspended" }))
    }
}

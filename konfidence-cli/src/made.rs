//! What `retry` and `promote` say about the promotion that they made.

use clap::Args;
use konfidence_types::VectorPromotion;
use kube::ResourceExt;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::format::{ObjectFormat, say};
use crate::wait::WaitArgs;

/// How the new promotion is shown, and whether it is waited for.
#[derive(Args)]
pub(crate) struct MadeArgs {
    #[command(flatten)]
    wait: WaitArgs,

    /// Print the new promotion
    #[arg(short, long, value_enum)]
    output: Option<ObjectFormat>,
}

impl MadeArgs {
    /// Shows the promotion and waits for its end, as far as that was asked for.
    pub(crate) async fn run(&self, cluster: &Cluster, made: &VectorPromotion) -> Result<(), Failure> {
        let name = made.name_any();
        if let Some(format) = self.output {
            format.print(made)?;
        } else {
            let hint = if made.spec.require_approval { ", which has to be approved" } else { "" };
            say(format!("promotion {}/{name} created for vector {}{hint}", cluster.namespace, made.spec.vector))?;
        }
        self.wait.run(cluster, &name).await
    }
}

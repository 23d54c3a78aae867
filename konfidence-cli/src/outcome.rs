//! What `approve`, `retry` and `promote` say about a promotion, at once or after its end.

use clap::Args;
use konfidence_types::VectorPromotion;
use kube::ResourceExt;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::format::{ObjectFormat, say};
use crate::wait::WaitArgs;

/// How the promotion is shown, and whether its end is waited for.
#[derive(Args)]
pub(crate) struct OutcomeArgs {
    #[command(flatten)]
    wait: WaitArgs,

    /// Print the promotion, as it is after the wait if there is one
    #[arg(short, long, value_enum)]
    output: Option<ObjectFormat>,
}

impl OutcomeArgs {
    /// Says `done`, waits for the end of `promotion` if that was asked for, and says that; or prints the promotion.
    pub(crate) async fn run(
        &self,
        cluster: &Cluster,
        promotion: &VectorPromotion,
        done: impl FnOnce(&VectorPromotion) -> String,
    ) -> Result<(), Failure> {
        let name = promotion.name_any();
        if let Some(format) = self.output {
            let succeeded = self.wait.run(cluster, &name).await?;
            return format.print(succeeded.as_ref().map_or(promotion, |(promotion, _)| promotion));
        }
        say(done(promotion))?;
        match self.wait.run(cluster, &name).await? {
            Some((_, message)) => say(format!("promotion {}/{name} succeeded: {message}", cluster.namespace)),
            None => Ok(()),
        }
    }
}

/// What is said about a promotion that was made.
pub(crate) fn created(promotion: &VectorPromotion) -> String {
    let hint = if promotion.spec.require_approval { ", which has to be approved" } else { "" };
    let namespace = promotion.namespace().unwrap_or_default();
    format!("promotion {namespace}/{} created for vector {}{hint}", promotion.name_any(), promotion.spec.vector)
}

//! `konfidence reject`: a person's no.

use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::promotion;
use konfidence_sdk::store::Key;
use konfidence_types::VectorPromotion;

use crate::cluster::{Cluster, ClusterArgs};
use crate::failure::Failure;
use crate::format::{ObjectFormat, say};
use crate::name;

/// Reject a promotion that has not started, in the name of who the server says you are
#[derive(Args)]
pub(crate) struct Reject {
    /// The promotion
    #[arg(value_parser = name::object)]
    name: String,

    /// Why, for everybody to read
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: String,

    /// Print the promotion
    #[arg(short, long, value_enum)]
    output: Option<ObjectFormat>,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Reject {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let cluster = self.cluster.connect().await?;
        let caller = cluster.caller().await?;
        let rejected = reject(&cluster, &self.name, &caller, &self.reason).await?;
        match self.output {
            Some(format) => format.print(&*rejected)?,
            None => say(format!("promotion {}/{} rejected by {caller}", cluster.namespace, self.name))?,
        }
        Ok(())
    }
}

/// Rejects the promotion `name` in the name of `caller`.
pub(crate) async fn reject(
    cluster: &Cluster,
    name: &str,
    caller: &str,
    reason: &str,
) -> Result<Arc<VectorPromotion>, Failure> {
    let key = Key::new(&cluster.namespace, name);
    cluster
        .with_events(async |events| {
            Ok(promotion::reject(&cluster.store, &SystemClock, events, &key, caller, reason).await?)
        })
        .await
}

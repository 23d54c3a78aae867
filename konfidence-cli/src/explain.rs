//! `konfidence explain`: what waits for what.

use clap::{Args, ValueEnum};
use konfidence_sdk::clock::{Clock, SystemClock};
use konfidence_sdk::promotion::{self, Explanation, Inbox, PromotionExplanation, Snapshot};
use konfidence_sdk::store::{Key, ObjectStore};
use konfidence_types::{VectorPromotion, VectorPromotionConfig};

use crate::cluster::{Cluster, ClusterArgs};
use crate::failure::Failure;
use crate::format::{ObjectFormat, say};
use crate::get::Kind;
use crate::name;

/// Say what a config or a promotion waits for, and what happens next
#[derive(Args)]
pub(crate) struct Explain {
    /// config/NAME or promotion/NAME; a NAME alone is the config of that name, else the promotion
    subject: String,

    /// Print it as data
    #[arg(short, long, value_enum)]
    output: Option<ObjectFormat>,

    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Explain {
    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let name = self.subject.split_once('/').map_or(self.subject.as_str(), |(_, name)| name);
        name::object(name).map_err(|why| Failure::Usage(format!("{name:?} cannot be explained: {why}")))?;
        let cluster = self.cluster.connect().await?;
        match self.subject.split_once('/') {
            Some((kind, name)) => match Kind::from_str(kind, false) {
                Ok(Kind::Configs) => self.print_config(&cluster, name).await,
                Ok(Kind::Promotions) => self.print_promotion(&cluster, name).await,
                _ => {
                    let subject = &self.subject;
                    Err(Failure::Usage(format!("{subject:?} cannot be explained: name config/NAME or promotion/NAME")))
                }
            },
            None => match self.print_config(&cluster, &self.subject).await {
                Err(Failure::NotFound(_)) => match self.print_promotion(&cluster, &self.subject).await {
                    Err(Failure::NotFound(_)) => Err(Failure::NotFound(format!(
                        "there is neither a config nor a promotion {}/{}: check name and namespace",
                        cluster.namespace, self.subject
                    ))),
                    explained => explained,
                },
                explained => explained,
            },
        }
    }

    async fn print_config(&self, cluster: &Cluster, name: &str) -> Result<(), Failure> {
        let explanation = config(cluster, name).await?;
        match self.output {
            Some(format) => format.print(&explanation),
            None => say(explanation),
        }
    }

    async fn print_promotion(&self, cluster: &Cluster, name: &str) -> Result<(), Failure> {
        let explanation = promotion(cluster, name).await?;
        match self.output {
            Some(format) => format.print(&explanation),
            None => say(explanation),
        }
    }
}

/// Where the config `name` stands.
pub(crate) async fn config(cluster: &Cluster, name: &str) -> Result<Explanation, Failure> {
    let key: Key<VectorPromotionConfig> = Key::new(&cluster.namespace, name);
    if cluster.store.get(&key).await?.is_none() {
        return Err(Failure::NotFound(format!("config {key} does not exist: check name and namespace")));
    }
    Ok(promotion::explain(&snapshot(cluster, &key).await?, SystemClock.now()))
}

async fn promotion(cluster: &Cluster, name: &str) -> Result<PromotionExplanation, Failure> {
    let key: Key<VectorPromotion> = Key::new(&cluster.namespace, name);
    let absent = || Failure::NotFound(format!("promotion {key} does not exist: check name and namespace"));
    let promotion = cluster.store.get(&key).await?.ok_or_else(absent)?;
    let config = Key::new(&cluster.namespace, &promotion.spec.vector_promotion_config_name);
    let snapshot = snapshot(cluster, &config).await?;
    promotion::explain_promotion(&snapshot, SystemClock.now(), name).ok_or_else(absent)
}

/// All that the decision about a config reads. What the controller alone has seen, vectors that the source no longer
/// has, is not in it.
async fn snapshot(cluster: &Cluster, config: &Key<VectorPromotionConfig>) -> Result<Snapshot, Failure> {
    Ok(promotion::load(&cluster.store, &Inbox::default(), config).await?)
}

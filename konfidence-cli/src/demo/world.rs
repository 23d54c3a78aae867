//! What the demo does to its world, and how it waits for what comes of it: by watching, never by sleeping.

use std::fmt::Debug;
use std::time::Duration;

use konfidence_types::{Stage, StageSpec, VectorPromotion, VectorPromotionConfig, VectorTemplate};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::wait::await_condition;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::cluster::{Cluster, ClusterArgs};
use crate::embedded::Embedded;
use crate::failure::{Failure, told};
use crate::manifest;

/// Namespace of the project.
pub(super) const PROJECT: &str = "bakery";

/// Nothing here takes a second; a slow machine may take many.
const DEADLINE: Duration = Duration::from_mins(1);

const MANIFESTS: [(&str, &str); 3] = [
    ("1-project.yaml", include_str!("../../../examples/three-stages/1-project.yaml")),
    ("2-stages.yaml", include_str!("../../../examples/three-stages/2-stages.yaml")),
    ("3-flow.yaml", include_str!("../../../examples/three-stages/3-flow.yaml")),
];

/// The embedded server with the objects of `examples/three-stages`.
pub(super) struct World {
    url: String,
    /// The project as its developer sees it.
    pub(super) cluster: Cluster,
}

impl World {
    /// Applies the manifests.
    pub(super) async fn make(embedded: &Embedded) -> Result<Self, Failure> {
        let mut manifests = Vec::new();
        for (name, text) in MANIFESTS {
            manifests.extend(manifest::parse(name, text)?);
        }
        manifest::apply(&embedded.client(), &manifests).await?;
        let url = embedded.url();
        let cluster = connect(&url, None).await?;
        Ok(Self { url, cluster })
    }

    /// The project as `person` sees it.
    pub(super) async fn seen_by(&self, person: &str) -> Result<Cluster, Failure> {
        connect(&self.url, Some(person)).await
    }

    /// Assembly publishes a vector.
    pub(super) async fn publish(&self, vector: &str) -> Result<(), Failure> {
        let templates: Api<VectorTemplate> = self.cluster.api();
        let status = json!({"status": {"latestVector": vector}});
        templates.patch_status("menu", &PatchParams::default(), &Patch::Merge(&status)).await?;
        Ok(())
    }

    /// Deletes a Stage and sees it gone.
    pub(super) async fn delete_stage(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        self.stages(namespace).delete(name, &DeleteParams::default()).await?;
        self.until(self.stages(namespace), name, "gone", |stage: Option<&Stage>| stage.is_none()).await
    }

    /// Makes a Stage that has no vector yet.
    pub(super) async fn make_stage(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        let stage = Stage::new(name, StageSpec { vector: String::new() });
        self.stages(namespace).create(&PostParams::default(), &stage).await?;
        Ok(())
    }

    /// Changes how many promotions a config keeps.
    pub(super) async fn keep_last(&self, config: &str, promotions: u32) -> Result<(), Failure> {
        let configs: Api<VectorPromotionConfig> = self.cluster.api();
        let spec = json!({"spec": {"keepLastPromotions": promotions}});
        configs.patch(config, &PatchParams::default(), &Patch::Merge(&spec)).await?;
        // A decision that saw the change has been made; decisions of one config come one after another.
        self.until(configs, config, "observed", |config: Option<&VectorPromotionConfig>| {
            config.is_some_and(|config| {
                let observed = config.status.as_ref().and_then(|status| status.observed_generation);
                observed == config.metadata.generation
            })
        })
        .await
    }

    /// Waits until a Stage wants `vector`.
    pub(super) async fn until_stage_has(&self, namespace: &str, name: &str, vector: &str) -> Result<(), Failure> {
        let has = |stage: Option<&Stage>| stage.is_some_and(|stage| stage.spec.vector == vector);
        self.until(self.stages(namespace), name, &format!("with vector {vector}"), has).await
    }

    /// Waits until a promotion is of `vector` and in `state`.
    pub(super) async fn until_promotion_is(&self, name: &str, state: &str, vector: &str) -> Result<(), Failure> {
        let is = |promotion: Option<&VectorPromotion>| {
            promotion.is_some_and(|promotion| {
                promotion.spec.vector == vector
                    && promotion.status.as_ref().is_some_and(|s| s.state.as_deref() == Some(state))
            })
        };
        self.until(self.cluster.api(), name, &format!("{state} with vector {vector}"), is).await
    }

    /// Waits until a promotion is cleaned up.
    pub(super) async fn until_promotion_is_gone(&self, name: &str) -> Result<(), Failure> {
        self.until::<VectorPromotion>(self.cluster.api(), name, "cleaned up", |promotion| promotion.is_none()).await
    }

    /// One promotion.
    pub(super) async fn promotion(&self, name: &str) -> Result<VectorPromotion, Failure> {
        Ok(self.cluster.api::<VectorPromotion>().get(name).await?)
    }

    /// Name and state of all promotions of a config, in their order.
    pub(super) async fn promotions_of(&self, config: &str) -> Result<Vec<(String, String)>, Failure> {
        let of = ListParams::default().fields(&format!("spec.vectorPromotionConfigName={config}"));
        let mut all = self.cluster.api::<VectorPromotion>().list(&of).await?.items;
        all.sort_by_key(|promotion| promotion.spec.sequence);
        let state = |promotion: &VectorPromotion| promotion.status.as_ref().and_then(|status| status.state.clone());
        Ok(all.iter().map(|promotion| (promotion.name_any(), state(promotion).unwrap_or_default())).collect())
    }

    /// What a Stage is to run.
    pub(super) async fn vector_of(&self, namespace: &str, name: &str) -> Result<String, Failure> {
        Ok(self.stages(namespace).get(name).await?.spec.vector)
    }

    fn stages(&self, namespace: &str) -> Api<Stage> {
        Api::namespaced(self.cluster.client.clone(), namespace)
    }

    async fn until<K>(
        &self,
        api: Api<K>,
        name: &str,
        what: &str,
        holds: impl Fn(Option<&K>) -> bool,
    ) -> Result<(), Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
        K: serde::Serialize,
    {
        let kind = K::kind(&()).into_owned();
        match tokio::time::timeout(DEADLINE, await_condition(api.clone(), name, holds)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Failure::Other(format!("{kind} {name}: {}", told(&error)))),
            Err(_) => {
                let found = match api.get_opt(name).await? {
                    Some(found) => serde_json::to_string(&found).map_err(Failure::other)?,
                    None => "no such object".into(),
                };
                let seconds = DEADLINE.as_secs();
                Err(Failure::Other(format!("expected {kind} {name} {what} within {seconds} s, found {found}")))
            }
        }
    }
}

async fn connect(url: &str, person: Option<&str>) -> Result<Cluster, Failure> {
    let args = ClusterArgs {
        kubeconfig: None,
        server: Some(url.to_owned()),
        namespace: Some(PROJECT.to_owned()),
        impersonated: person.map(str::to_owned),
    };
    args.connect().await
}

//! A controller of a third party beside Konfidence: whatever a Stage is to run is tasted first.
//!
//! A `Tasting` that has the name of a Stage notes which vector the Stage wants. The controller is ordinary kube code;
//! what is worth a look is its test, which runs it against an API server in the same process. The chapter "Testing
//! with the embedded API" of the documentation quotes it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use konfidence_types::Stage;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Client, CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Who tastes what the Stage of the same name is to run.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "bakery.example", version = "v1", kind = "Tasting", namespaced, status = "TastingStatus")]
pub struct TastingSpec {
    /// A person's name.
    #[schemars(length(min = 1))]
    pub taster: String,
}

/// What was tasted.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct TastingStatus {
    /// The vector that was tasted last.
    pub vector: String,
}

/// Runs the controller until the future is dropped.
pub async fn run(client: Client) {
    let tastings = Api::<Tasting>::all(client.clone());
    let of_stage = |stage: Stage| {
        let namespace = stage.namespace().unwrap_or_default();
        Some(ObjectRef::new(&stage.name_any()).within(&namespace))
    };
    Controller::new(tastings, Config::default())
        .watches(Api::<Stage>::all(client.clone()), Config::default(), of_stage)
        .run(taste, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(|tasted| async move {
            if let Err(error) = tasted {
                tracing::warn!(%error, "a vector could not be tasted; it will be tried again");
            }
        })
        .await;
}

async fn taste(tasting: Arc<Tasting>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let namespace = tasting.namespace().unwrap_or_default();
    let client = Client::clone(&client);
    let stage = Api::<Stage>::namespaced(client.clone(), &namespace).get_opt(&tasting.name_any()).await?;
    let wanted = stage.map(|stage| stage.spec.vector).unwrap_or_default();
    let tasted = tasting.status.as_ref().map_or("", |status| status.vector.as_str());
    if !wanted.is_empty() && wanted != tasted {
        let status = Patch::Merge(json!({"status": {"vector": wanted}}));
        let tastings = Api::<Tasting>::namespaced(client, &namespace);
        tastings.patch_status(&tasting.name_any(), &PatchParams::default(), &status).await?;
    }
    Ok(Action::await_change())
}

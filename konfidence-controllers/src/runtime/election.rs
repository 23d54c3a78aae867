//! Whose turn it is. A lease makes two active controllers rare; it does not fence, and nothing relies on it.

use std::time::Duration;

use kube::Client;
use kube_lease_manager::{DurationSeconds, LeaseManager, LeaseManagerBuilder, LeaseParams};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// A lease lasts so long after its last renewal, and is renewed so long before its end.
const LEASE: DurationSeconds = 15;
const GRACE: DurationSeconds = 5;

/// How long to wait before the lease is tried again when the API server does not answer.
const RETRY: Duration = Duration::from_secs(2);

/// How long handing the lease over may take.
const HANDOVER: Duration = Duration::from_secs(5);

/// Where leases are, and who takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// Namespace of the leases.
    pub namespace: String,
    /// This process; no two may share it.
    pub identity: String,
}

/// Runs for the lease `name` until `end`; tells `leads` whether it is held, and hands it over at the end.
pub async fn campaign(
    client: Client,
    election: Election,
    name: String,
    leads: watch::Sender<bool>,
    end: CancellationToken,
) {
    while let Some(manager) = end.run_until_cancelled(manager(&client, &election, &name)).await {
        let (mut held, task) = manager.watch().await;
        while let Some(Ok(())) = end.run_until_cancelled(held.changed()).await {
            let holds = *held.borrow_and_update();
            info!(lease = name, holds, "leadership has changed");
            leads.send_replace(holds);
        }
        leads.send_replace(false);
        // The manager releases what it holds when nobody listens any more.
        drop(held);
        match tokio::time::timeout(HANDOVER, task).await {
            Ok(Ok(Ok(_))) => info!(lease = name, "the lease is handed over"),
            Ok(Ok(Err(error))) => warn!(lease = name, %error, "the lease could not be handed over; it runs out"),
            Ok(Err(_)) | Err(_) => warn!(lease = name, "the lease was not handed over in time; it runs out"),
        }
    }
}

async fn manager(client: &Client, election: &Election, name: &str) -> LeaseManager {
    loop {
        let parameters = LeaseParams::new(election.identity.clone(), LEASE, GRACE);
        let builder = LeaseManagerBuilder::new(client.clone(), name).with_namespace(&election.namespace);
        match builder.with_parameters(parameters).build().await {
            Ok(manager) => return manager,
            Err(error) => warn!(lease = name, %error, "the lease cannot be read; it will be tried again"),
        }
        tokio::time::sleep(RETRY).await;
    }
}

//! The three servers, behind what is the same in all of them: a client for each role.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_apiserver::ApiServer;
use konfidence_controllers::client;
use konfidence_types::crds;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use real_apiserver::{Real, Role};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{Turn, install};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The embedded one, as a tower service: no socket.
    InProcess,
    /// The embedded one on a loopback port.
    OverTcp,
    /// kube-apiserver with etcd and kube-controller-manager, or the cluster that `KUBECONFIG` names.
    Real,
}

/// A server with our kinds, and the clients of those who talk to it.
pub struct Server {
    /// May do everything.
    pub admin: Client,
    /// What the controllers run as.
    pub controllers: Client,
    /// A person who decides about promotions.
    pub approver: Client,
    /// Whether it knows who may do what: the embedded one allows everything, and on a user's cluster everybody is the
    /// user.
    pub enforces_rights: bool,
    /// The embedded one.
    pub embedded: Option<ApiServer>,
    _serving: Option<DropGuard>,
}

impl Server {
    /// The server of that turn, with the kinds of `deploy/crds`. `None`: there is no real one on this machine.
    pub async fn of(turn: &Turn) -> Option<Self> {
        Self::with_crds(turn, crds::all()).await
    }

    /// The server of that turn, with these definitions in place of ours. On a user's cluster they are not installed.
    pub async fn with_crds(turn: &Turn, crds: Vec<CustomResourceDefinition>) -> Option<Self> {
        match turn.kind {
            Kind::InProcess => {
                let server = ApiServer::builder().crds(crds).build().expect("our definitions are accepted");
                let client = || Client::new(server.service(), "default");
                Some(Self::embedded(client, server.clone(), None))
            }
            Kind::OverTcp => {
                let server = ApiServer::builder().crds(crds).build().expect("our definitions are accepted");
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
                let address = listener.local_addr().expect("its address");
                let stop = CancellationToken::new();
                let (behind, stopped) = (server.clone(), stop.clone());
                tokio::spawn(async move { behind.serve(listener, stopped.cancelled_owned()).await });
                let uri: http::Uri = format!("http://{address}").parse().expect("an address is a URI");
                let client = || client::connect(Config::new(uri.clone())).expect("a client without TLS");
                Some(Self::embedded(client, server.clone(), Some(stop.drop_guard())))
            }
            Kind::Real => Self::real(turn, crds).await,
        }
    }

    fn embedded(client: impl Fn() -> Client, server: ApiServer, serving: Option<DropGuard>) -> Self {
        Self {
            admin: client(),
            controllers: client(),
            approver: client(),
            enforces_rights: false,
            embedded: Some(server),
            _serving: serving,
        }
    }

    async fn real(turn: &Turn, crds: Vec<CustomResourceDefinition>) -> Option<Self> {
        static TOKENS: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());
        // Starting it takes some seconds.
        let real = turn.real()?;
        let admin = connect(&real.kubeconfig(Role::Admin), None).await;
        let own = match &real {
            Real::Own(_) => true,
            Real::Users(_) => false,
        };
        if !own {
            install::check_users_cluster(&admin).await;
            let client = || admin.clone();
            return Some(Self {
                admin: client(),
                controllers: client(),
                approver: client(),
                enforces_rights: false,
                embedded: None,
                _serving: None,
            });
        }
        // Once for each server: nobody else has a turn there meanwhile.
        let installed = TOKENS.lock().unwrap_or_else(PoisonError::into_inner).get(&turn.place).cloned();
        let token = if let Some(token) = installed {
            token
        } else {
            let token = install::install(&admin, crds, Role::Approver.user()).await;
            TOKENS.lock().unwrap_or_else(PoisonError::into_inner).insert(turn.place, token.clone());
            token
        };
        Some(Self {
            controllers: connect(&real.kubeconfig(Role::Controllers), Some(token)).await,
            approver: connect(&real.kubeconfig(Role::Approver), None).await,
            admin,
            enforces_rights: true,
            embedded: None,
            _serving: None,
        })
    }
}

/// A client as the controllers have it, with another token in place of the user's if one is given.
async fn connect(kubeconfig: &Path, token: Option<String>) -> Client {
    let read = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig is there");
    let mut config =
        Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.expect("the kubeconfig is complete");
    if let Some(token) = token {
        config.auth_info.token = Some(token.into());
    }
    client::connect(config).expect("a client")
}

//! One server, asked over HTTP; without retries and without a helping hand, since the answers are what is looked at.

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use konfidence_apiserver::ApiServer;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpListener;
use tower::{BoxError, ServiceBuilder, ServiceExt};

use crate::Error;

/// How long an answer may take, a watch with its timeout included.
const PATIENCE: Duration = Duration::from_mins(1);

type Service = tower::util::BoxCloneSyncService<Request<Body>, Response<Vec<u8>>, BoxError>;

/// A server.
#[derive(Clone)]
pub struct Server {
    /// As reports call it.
    pub name: &'static str,
    service: Service,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP code.
    pub code: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Every byte.
    pub body: Vec<u8>,
}

impl Server {
    /// The server that a kubeconfig names.
    ///
    /// # Errors
    /// When the kubeconfig makes no sense.
    pub async fn at(name: &'static str, kubeconfig: &Path) -> Result<Self, Error> {
        let failed = |why: String| Error::Server { server: name.to_owned(), why };
        let kubeconfig = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(error.to_string()))?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| failed(error.to_string()))?;
        Self::new(name, &config).map_err(|error| failed(error.to_string()))
    }

    /// An embedded server with our kinds, on a port of its own, for as long as this process.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn embedded() -> Result<Self, Error> {
        let name = "embedded";
        let failed = |why: String| Error::Server { server: name.to_owned(), why };
        let server = ApiServer::builder().our_kinds().build().map_err(|error| failed(error.to_string()))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| failed(error.to_string()))?;
        let address = listener.local_addr().map_err(|error| failed(error.to_string()))?;
        tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
        let url =
            format!("http://{address}").parse().map_err(|error: http::uri::InvalidUri| failed(error.to_string()))?;
        Self::new(name, &kube::Config::new(url)).map_err(|error| failed(error.to_string()))
    }

    fn new(name: &'static str, config: &kube::Config) -> kube::Result<Self> {
        let client = Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer()?)
            .map_err(BoxError::from)
            .service(client);
        let whole =
            ServiceExt::<Request<Body>>::and_then(service, |response: Response<hyper::body::Incoming>| async move {
                let (head, body) = response.into_parts();
                Ok::<_, BoxError>(Response::from_parts(head, body.collect().await?.to_bytes().to_vec()))
            });
        Ok(Self { name, service: Service::new(whole) })
    }

    /// Sends one request.
    ///
    /// # Errors
    /// When there is no answer, or none in a minute.
    pub async fn send(&self, request: Request<Vec<u8>>) -> Result<Answer, Error> {
        let failed = |why: String| Error::Server { server: self.name.to_owned(), why };
        let what = format!("{} {}", request.method(), request.uri());
        let answer: BoxFuture<'_, Result<Answer, BoxError>> = Box::pin(async {
            let response = self.service.clone().oneshot(request.map(Body::from)).await?;
            let (head, body) = response.into_parts();
            let headers = head.headers.iter().map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            });
            let headers = headers.collect();
            Ok(Answer { code: head.status.as_u16(), headers, body })
        });
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(|error| failed(format!("{what}: {error}"))),
            Err(_) => Err(failed(format!("{what}: no end within {PATIENCE:?}"))),
        }
    }
}

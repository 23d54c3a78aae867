//! The client: one request at a time on a connection of its own, and as little work as can be, so that the servers are
//! measured. HTTP/1.1 for all; TLS where the server speaks nothing else.

use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::target::Address;
use crate::{BenchResult, failed};

/// One connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: Address,
}

impl Connection {
    pub(crate) async fn open(address: &Address) -> BenchResult<Self> {
        let broken = failed("a connection");
        let stream = TcpStream::connect(&address.authority).await.map_err(|error| broken(&error))?;
        stream.set_nodelay(true).map_err(|error| broken(&error))?;
        let sender = match &address.tls {
            None => drive(stream).await?,
            Some(config) => {
                let name = ServerName::try_from("127.0.0.1").map_err(|error| broken(&error))?;
                let stream = TlsConnector::from(config.clone()).connect(name, stream).await;
                drive(stream.map_err(|error| broken(&error))?).await?
            }
        };
        Ok(Self { sender, address: address.clone() })
    }

    /// Sends a request and answers its body as it comes.
    pub(crate) async fn start(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: String,
    ) -> BenchResult<Incoming> {
        let broken = failed(path);
        let mut request = Request::builder().method(method).uri(path).header(HOST, &self.address.authority);
        if !self.address.authorization.is_empty() {
            request = request.header(AUTHORIZATION, &self.address.authorization);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| broken(&error))?;
        self.sender.ready().await.map_err(|error| broken(&error))?;
        let response = self.sender.send_request(request).await.map_err(|error| broken(&error))?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| broken(&error))?.to_bytes();
        Err(broken(&format!("{method}: {status} {}", String::from_utf8_lossy(&body))))
    }

    /// Sends a request and answers its whole body.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: String,
    ) -> BenchResult<Bytes> {
        let body = self.start(method, path, content_type, body).await?;
        Ok(body.collect().await.map_err(|error| failed(path)(&error))?.to_bytes())
    }
}

async fn drive(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> BenchResult<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| failed("a connection")(&error))?;
    // It ends with its sender; what breaks before that, the sender tells.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// The resourceVersion of the first object in an answer, found without parsing it.
pub(crate) fn version(answer: &[u8]) -> Option<&str> {
    const FIELD: &[u8] = b"\"resourceVersion\":\"";
    let begin = answer.windows(FIELD.len()).position(|window| window == FIELD)? + FIELD.len();
    let rest = answer.get(begin..)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(rest.get(..end)?).ok()
}

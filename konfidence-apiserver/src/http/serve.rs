//! Connections: each is served by a task of its own, and none stays for good that does nothing.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::timed::{Busy, Requests, Timed};

/// How long to wait when the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Serves until `shutdown` is done, and then until every connection has finished its request. When it is dropped before,
/// the connections are cut.
pub(crate) async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    let mut shutdown = pin!(shutdown);
    let stopping = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            stream = accept(&listener) => {
                connections.spawn(connection(stream, router.clone(), stopping.subscribe()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    stopping.send_replace(true);
    while connections.join_next().await.is_some() {}
}

/// The next connection. One that is gone before it is taken is none, and when the system has no room for one more, there
/// will be some when others end.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
                if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
                    tracing::error!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(NO_ROOM).await;
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router, mut stopping: watch::Receiver<bool>) {
    // Lines of a watch are small, and each has to go at once. A connection that cannot do it works all the same.
    let _ = stream.set_nodelay(true);
    let requests = Arc::<Requests>::default();
    let stream = TokioIo::new(Timed::new(stream, Arc::clone(&requests)));
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request| {
        let busy = requests.begin();
        let answer = router.call(request);
        async move { answer.await.map(|response| response.map(|body| Held { body, _busy: busy })) }
    });
    let mut connection = pin!(http1::Builder::new().serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// When the server stops.
async fn stop(stopping: &mut watch::Receiver<bool>) {
    // A server that is gone has stopped, too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// The body of an answer. Until it is sent, its connection is busy.
struct Held {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

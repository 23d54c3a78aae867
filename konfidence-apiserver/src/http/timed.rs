//! Connections that are cut off when their clients take too long: for the head of a request, between two requests, or
//! over reading an answer. What they hold would stay for good otherwise.
//!
//! A request that is underway has no end here: watches go on for as long as their clients read. (The end of a watch would
//! not help against a client that does not: while a connection takes nothing, nobody asks the watch for its next line.)

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How long the head of a request may take, as on a real server.
const HEAD: Duration = Duration::from_secs(32);
/// How long a connection may wait for its next request, as on a real server.
const IDLE: Duration = Duration::from_secs(90);
/// How long a client may leave its answers unread.
const UNREAD: Duration = Duration::from_secs(30);

/// The requests of a connection.
#[derive(Default)]
pub(super) struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Requests {
    /// Counts a request, which is underway until what it gives is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }
}

/// A request that is underway.
pub(super) struct Busy(Arc<Requests>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The rest of the head of the request of this number.
    Head(u64),
    /// The beginning of the request of this number.
    Request(u64),
    /// The server.
    Answer,
}

/// A connection with an end to its patience.
pub(super) struct Timed<T> {
    inner: T,
    requests: Arc<Requests>,
    awaited: Awaited,
    /// When the client has to have sent what is awaited.
    silent: Pin<Box<Sleep>>,
    /// Since the last write that was taken.
    unread: Option<Pin<Box<Sleep>>>,
}

impl<T> Timed<T> {
    pub(super) fn new(inner: T, requests: Arc<Requests>) -> Self {
        let silent = Box::pin(sleep(HEAD));
        Self { inner, requests, awaited: Awaited::Head(0), silent, unread: None }
    }

    /// Follows what is awaited. `came`: more was read just now.
    fn follow(&mut self, came: bool) {
        let (begun, ended) = (self.requests.begun.load(Ordering::Relaxed), self.requests.ended.load(Ordering::Relaxed));
        let awaited = match self.awaited {
            _ if begun > ended => Awaited::Answer,
            Awaited::Head(number) if number == begun => return,
            Awaited::Request(number) if number == begun && !came => return,
            _ if came => Awaited::Head(begun),
            _ => Awaited::Request(begun),
        };
        self.awaited = awaited;
        match awaited {
            Awaited::Head(_) => self.silent.as_mut().reset(Instant::now() + HEAD),
            Awaited::Request(_) => self.silent.as_mut().reset(Instant::now() + IDLE),
            Awaited::Answer => {}
        }
    }

    fn written<R>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.unread = None;
            return written;
        }
        let unread = self.unread.get_or_insert_with(|| Box::pin(sleep(UNREAD)));
        ready!(unread.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Timed<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, into);
        self.follow(into.filled().len() > before);
        // Whoever sends a byte now and then is as late as who sends nothing.
        if self.awaited != Awaited::Answer && self.silent.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client sends no request")));
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Timed<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.written(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.written(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn connected(room: usize) -> (DuplexStream, Timed<DuplexStream>, Arc<Requests>) {
        let (client, server) = duplex(room);
        let requests = Arc::<Requests>::default();
        (client, Timed::new(server, Arc::clone(&requests)), requests)
    }

    /// Reads until the connection is cut, and answers how long that took.
    async fn cut(server: &mut Timed<DuplexStream>) -> Duration {
        let begin = Instant::now();
        let error = server.read_to_end(&mut Vec::new()).await.expect_err("it is cut");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        begin.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_cut_off_in_time() {
        let (_client, mut server, _) = connected(16);
        let begin = Instant::now();
        let error = server.write_all(&[7; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begin.elapsed().as_secs(), UNREAD.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_is_served() {
        let (mut client, mut server, _) = connected(16);
        let reader = tokio::spawn(async move {
            for _ in 0..10 {
                sleep(UNREAD.saturating_sub(Duration::from_secs(1))).await;
                client.read_exact(&mut [0; 16]).await.expect("there is more");
            }
        });
        server.write_all(&[7; 160]).await.expect("taken in the end");
        reader.await.expect("all is read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_ends_the_head_of_its_request_is_cut_off_in_time_whatever_it_sends() {
        let (_client, mut silent, _) = connected(16);
        assert_eq!(cut(&mut silent).await.as_secs(), HEAD.as_secs());
        let (mut client, mut slow, _) = connected(16);
        let sender = tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(cut(&mut slow).await.as_secs(), HEAD.as_secs());
        drop(slow);
        sender.await.expect("it is told");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_takes_its_time_and_the_next_one_may_be_late_but_not_for_ever() {
        let (mut client, mut server, requests) = connected(16);
        client.write_all(b"head").await.expect("sent");
        server.read_exact(&mut [0; 4]).await.expect("in time");
        let busy = requests.begin();
        let hours = tokio::time::timeout(Duration::from_hours(3), server.read_u8());
        assert!(hours.await.is_err(), "a request that is underway has no end");
        drop(busy);
        let waits = tokio::time::timeout(IDLE.saturating_sub(Duration::from_secs(1)), server.read_u8());
        assert!(waits.await.is_err(), "the next request has time");
        client.write_all(b"head").await.expect("sent");
        server.read_exact(&mut [0; 4]).await.expect("in time");
        drop(requests.begin());
        assert_eq!(cut(&mut server).await.as_secs(), IDLE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_request_has_no_more_time_for_its_head_than_the_first() {
        let (mut client, mut server, requests) = connected(16);
        drop(requests.begin());
        let waits = tokio::time::timeout(Duration::from_mins(1), server.read_u8());
        assert!(waits.await.is_err(), "the next request has time");
        client.write_all(b"x").await.expect("sent");
        assert_eq!(cut(&mut server).await.as_secs(), HEAD.as_secs());
    }
}

//! The watch that feeds a cache.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use konfidence_sdk::store::Object;
use kube::api::ListParams;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, DefaultBackoff, Event};
use kube::{Api, Client};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::cache::Cache;
use super::entry::Received;

/// Seconds after which the server is to end a watch, well below the idle limits of load balancers that drop a silent
/// connection without telling either side; the watcher then resumes where it was.
pub(super) const WATCH_SECONDS: u32 = 200;

/// The longest pause of a watch that is refused. The back-off itself goes on to twice that, and after a long outage the
/// kinds of one decision would come back up to a minute apart.
const LONGEST: Duration = Duration::from_secs(30);

/// A watch that is refused is so within this time after the server has begun to answer again.
const SETTLED: Duration = Duration::from_secs(1);

/// Feeds `cache` for ever.
///
/// The back-off is this watch's own: in a shared one, a kind whose CRD is missing starves all others. It is reset by
/// what the server delivered only: the watcher announces a list (`Init`) before it knows whether the server will
/// answer, and `default_backoff` would take that for success and ask a missing kind every 0.8 s.
///
/// A watch that resumes says nothing until something changes, which may take days. So the server is asked for a list of
/// one before, and a watch that is then not refused counts as back.
pub(super) async fn feed<K: Object>(client: Client, cache: Arc<Cache<K>>) {
    let kind = K::kind(&());
    let api = Api::<Received<K>>::all(client);
    let mut backoff = DefaultBackoff::default();
    loop {
        let config = watcher::Config::default().timeout(WATCH_SECONDS);
        let mut events = std::pin::pin!(watcher::watcher(api.clone(), config));
        let mut settled: Option<Instant> = None;
        loop {
            let event = tokio::select! {
                Some(event) = events.next() => event,
                () = cache.stalled() => {
                    warn!(%kind, "the watch did not deliver a write of our own; listing anew");
                    break;
                }
                () = until(settled) => {
                    info!(%kind, "the watch has resumed");
                    cache.resumed();
                    settled = None;
                    continue;
                }
                else => break,
            };
            settled = None;
            match event {
                Ok(event) => {
                    if !matches!(event, Event::Init) {
                        if cache.trouble().is_some() {
                            info!(%kind, "the watch is back");
                        }
                        backoff.reset();
                    }
                    cache.apply(event);
                }
                Err(error) => {
                    note(&cache, &error);
                    tokio::time::sleep(backoff.next().unwrap_or_default().min(LONGEST)).await;
                    // The watcher would resume from the same version for ever; a new one begins with a list.
                    if is_expired(&error) {
                        break;
                    }
                    // Before the first list, the list itself is the question.
                    if cache.is_filled() {
                        while let Err(error) = api.list(&ListParams::default().limit(1)).await {
                            note(&cache, &error);
                            tokio::time::sleep(backoff.next().unwrap_or_default().min(LONGEST)).await;
                        }
                        settled = Some(Instant::now() + SETTLED);
                    }
                }
            }
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn note<K: Object>(cache: &Cache<K>, error: &impl std::error::Error) {
    let kind = K::kind(&());
    if cache.trouble().is_none() {
        warn!(%kind, %error, "the watch stands still; it will be tried again");
    } else {
        debug!(%kind, %error, "the watch still stands still");
    }
    cache.fail(error.to_string());
}

/// Whether the server says that it no longer has the history from where the watch was to resume.
fn is_expired(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.code == 410,
        _ => false,
    }
}

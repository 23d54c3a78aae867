//! The client that controllers and tools share.

use kube::client::ClientBuilder;
use kube::{Client, Config};

/// A client for `config` that sends every request once.
///
/// By default kube sends a request again, whatever it asks, when the answer is 429, 503 or 504, up to fifteen times and
/// for minutes. After a 504 nobody knows whether a write happened: the second one would meet its own first, be told of a
/// conflict, and the transition would be taken for somebody else's (P47). And a key that waits in the middle of a write
/// is not in the queue, where its back-off, its deadline and its events are.
///
/// # Errors
/// Those of building the TLS and authentication layers.
pub fn connect(mut config: Config) -> Result<Client, kube::Error> {
    config.default_retry = false;
    Ok(ClientBuilder::try_from(config)?.build())
}

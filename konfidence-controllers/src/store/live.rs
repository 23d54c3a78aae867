//! Requests to the API server, each with an answer in bounded time.

use std::time::Duration;

use konfidence_sdk::store::{Key, Listed, Object, ObjectRef, Query, StoreError};
use kube::Client;
use kube::api::{ListParams, VersionMatch};
use kube::core::ObjectList;
use kube::core::request::{Error as RequestError, Request};
use serde::de::DeserializeOwned;

use super::answer;
use super::entry::Received;

/// How long one request may take. A write that takes longer may have happened or not: what was written is then seen
/// through the watch, and if nothing was, the next decision writes it again.
const REQUEST: Duration = Duration::from_secs(30);

/// Objects in one page of a list.
const PAGE: u32 = 500;

/// The path of the kind's objects; a cluster-scoped key has the empty namespace.
pub(super) fn path<K: Object>(namespace: Option<&str>) -> Request {
    Request::new(K::url_path(&(), namespace.filter(|namespace| !namespace.is_empty())))
}

/// A name goes into a path: what would change the path is no name.
pub(super) fn check<K: Object>(key: &Key<K>) -> Result<(), StoreError> {
    let legal = |text: &str| !matches!(text, "." | "..") && !text.contains(['/', '%', '?', '#', '\\', ' ']);
    let printable = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
    if !key.name().is_empty() && [key.name(), key.namespace()].iter().all(|text| legal(text) && printable(text)) {
        return Ok(());
    }
    Err(StoreError::Invalid { object: ObjectRef::named(key), message: "this is no legal name".into(), fields: vec![] })
}

pub(super) async fn send<T: DeserializeOwned>(
    client: &Client,
    object: ObjectRef,
    request: Result<http::Request<Vec<u8>>, RequestError>,
) -> Result<T, StoreError> {
    let request = request.map_err(|error| answer::error(object.clone(), kube::Error::BuildRequest(error)))?;
    match tokio::time::timeout(REQUEST, client.request(request)).await {
        Ok(answered) => answered.map_err(|error| answer::error(object, error)),
        Err(elapsed) => Err(answer::timed_out(object, REQUEST, elapsed)),
    }
}

/// Everything that the server holds of `query`'s namespace, at one moment, in pages; with the version of that moment.
///
/// `at`: exactly as it stood at this version.
pub(super) async fn list<K: Object>(
    client: &Client,
    query: &Query<K>,
    at: Option<&str>,
) -> Result<(Vec<Received<K>>, String), StoreError> {
    let request = path::<K>(query.namespace.as_deref());
    let object = ObjectRef::named(&Key::<K>::new(query.namespace.clone().unwrap_or_default(), ""));
    let mut params = ListParams::default().limit(PAGE);
    if let Some(version) = at {
        params = params.at(version).matching(VersionMatch::Exact);
    }
    let mut received = Vec::new();
    loop {
        let page: ObjectList<Received<K>> = send(client, object.clone(), request.list(&params)).await?;
        received.extend(page.items);
        let version = page.metadata.resource_version.unwrap_or_default();
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            // The token carries the version: naming both is an error.
            Some(token) => params = ListParams::default().limit(PAGE).continue_token(&token),
            None => return Ok((received, version)),
        }
    }
}

/// The part of a full list that `query` selects.
pub(super) fn select<K: Object>(received: Vec<Received<K>>, version: String, query: &Query<K>) -> Listed<K> {
    let mut listed = Listed { resource_version: version, ..Listed::default() };
    let mut entries: Vec<_> = received.into_iter().map(|received| received.entry).collect();
    entries.retain(|entry| entry.is_selected_by(query));
    // The server orders by key too, but nothing promises it.
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    for entry in entries {
        match &entry.content {
            Ok(object) => listed.items.push(object.clone()),
            Err(unreadable) => listed.unreadable.push((**unreadable).clone()),
        }
    }
    listed
}

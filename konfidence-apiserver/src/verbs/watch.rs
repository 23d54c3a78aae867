//! Watches: a line of JSON per change, for as long as the client stays.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures::StreamExt;
use konfidence_sdk::store::engine::{Change, Document, EngineError, Event, Watch};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep_until};

use super::{engine_error, shape};
use crate::field::FieldError;
use crate::http::Call;
use crate::http::accept::Form;
use crate::http::params::Params;
use crate::http::respond::{self, Reply};
use crate::json::list;
use crate::resource::Resource;
use crate::selector::Selection;
use crate::server::Api;
use crate::stack::fitting;
use crate::status::{ApiError, ApiResult};
use crate::table;

/// How long a watch lives that asks for no end.
const LIFETIME: Duration = Duration::from_mins(30);
/// How often a quiet watch says how far it is.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// How long before its end a watch says so once more.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Marks the bookmark after the initial objects.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

pub(super) fn run(api: &Arc<Api>, call: &Call) -> ApiResult<Reply> {
    let (params, target) = (&call.params, &call.target);
    let resource = Arc::clone(&target.resource);
    let selection = Selection::of(&resource, &params.label_selector, &params.field_selector)?;
    check_options(params)?;
    let from = super::list::version(&params.resource_version).map_err(ApiError::untyped)?;
    if !matches!(params.include_object.as_str(), "" | "Metadata" | "Object" | "None") {
        shape::table(call, [], &Value::Null, api.clock.now())?;
    }
    let collection = super::collection(&resource)?;
    let namespace = target.namespace.as_deref();

    // Without a version the client wants to know what is there; with one it knows already.
    let initial = params.send_initial_events.unwrap_or(from.unwrap_or_default() == 0);
    let mut pending = VecDeque::new();
    let begin = if initial {
        let listing = collection.list_published(namespace);
        if from.is_some_and(|wanted| wanted > listing.revision) {
            return Err(ApiError::too_large_version(from.unwrap_or_default(), listing.revision));
        }
        for object in listing.items.iter().filter(|object| selection.matches(&resource, object.json())) {
            // Not copied yet: a client that never reads must not cost a copy of everything.
            pending.push_back(Line::Initial(Arc::clone(object)));
        }
        if params.bookmarks {
            pending.push_back(Line::Bookmark { revision: listing.revision, initial_end: true });
        }
        listing.revision
    } else {
        from.unwrap_or_else(|| collection.engine().published())
    };
    if !initial && begin < resource.begin {
        let gone = ApiError::expired(format!("too old resource version: {begin} ({})", resource.begin));
        return Ok(Reply::lines(futures::stream::iter([Ok(error_line(&gone))]).boxed()));
    }
    let watch = match collection.watch(namespace, begin) {
        Ok(watch) => watch,
        Err(error) => {
            let line = error_line(&expired(&resource, error));
            return Ok(Reply::lines(futures::stream::iter([Ok(line)]).boxed()));
        }
    };
    let lifetime = params.timeout_seconds.filter(|seconds| *seconds > 0).map_or(LIFETIME, Duration::from_secs);
    let now = Instant::now();
    // The last one comes shortly before the end, so that the next watch of this client has little to catch up with.
    let first = lifetime.checked_sub(LAST_BOOKMARK).map_or(BOOKMARKS, |last| {
        let whole = last.as_secs() / BOOKMARKS.as_secs();
        if whole == 0 { last } else { BOOKMARKS }
    });
    let mut bookmarks = interval_at(now + first, BOOKMARKS);
    bookmarks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let stream = Stream {
        api: Arc::clone(api),
        resource,
        selection,
        form: call.accept.form,
        include: params.include_object.clone(),
        pending,
        watch,
        bookmarks: params.bookmarks.then_some(bookmarks),
        end: Box::pin(sleep_until(now + lifetime)),
        ended: api.ended.subscribe(),
        tables: 0,
        over: false,
    };
    let lines = futures::stream::unfold(stream, |mut stream| async move {
        let line = stream.next().await?;
        Some((Ok(line), stream))
    });
    Ok(Reply::lines(lines.boxed()))
}

/// Refuses options that make no sense together.
fn check_options(params: &Params) -> ApiResult<()> {
    let field = "resourceVersionMatch";
    let mut errors = Vec::new();
    let wanted = params.resource_version_match.as_str();
    if params.send_initial_events.is_some() && wanted != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(field, why));
    }
    if !wanted.is_empty() {
        if params.send_initial_events.is_none() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(field, why));
        }
        if wanted != "NotOlderThan" {
            errors.push(FieldError::not_supported(field, wanted, &["NotOlderThan".to_owned()]));
        }
        if !params.continue_token.is_empty() {
            errors.push(FieldError::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::bad_list_options(&errors)) }
}

/// A version that is gone, and one that has not been here: a server that lost its memory counts anew, and its clients
/// have to list again in both cases.
fn expired(resource: &Resource, error: EngineError) -> ApiError {
    match error {
        EngineError::Ahead { asked, present } => {
            ApiError::expired(format!("too large resource version: {asked} ({present}); list again"))
        }
        other => engine_error(resource, "", other),
    }
}

enum Line {
    Written(Bytes),
    Initial(Arc<Document>),
    Object(&'static str, Value),
    Bookmark { revision: u64, initial_end: bool },
}

struct Stream {
    api: Arc<Api>,
    resource: Arc<Resource>,
    selection: Selection,
    form: Form,
    include: String,
    pending: VecDeque<Line>,
    watch: Watch,
    bookmarks: Option<Interval>,
    /// When the watch has lived long enough.
    end: Pin<Box<Sleep>>,
    /// Whether the server ends.
    ended: Receiver<bool>,
    /// How many tables have been sent: only the first says what its columns are.
    tables: usize,
    over: bool,
}

impl Stream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over {
                return None;
            }
            if let Some(line) = self.pending.pop_front() {
                let levels = self.api.engine.nesting();
                return Some(fitting(levels, || self.write(line)));
            }
            let event = tokio::select! {
                biased;
                event = self.watch.next() => Some(event?),
                () = &mut self.end => return None,
                () = ended(&mut self.ended) => return None,
                _ = tick(self.bookmarks.as_mut()) => None,
            };
            match event {
                Some(Ok(event)) => fitting(self.api.engine.nesting(), || self.take(&event)),
                Some(Err(error)) => {
                    self.over = true;
                    return Some(error_line(&expired(&self.resource, error)));
                }
                None => {
                    if let Ok(Some(revision)) = self.watch.progress() {
                        self.pending.push_back(Line::Bookmark { revision, initial_end: false });
                    }
                }
            }
        }
    }

    /// What an event means to somebody who sees only the selected objects.
    fn take(&mut self, event: &Event) {
        let before =
            event.previous.as_ref().is_some_and(|object| self.selection.matches(&self.resource, object.json()));
        let after = event.change != Change::Deleted && self.selection.matches(&self.resource, event.object.json());
        let line = match (before, after) {
            (false, false) => return,
            (false, true) => self.changed("ADDED", event),
            (true, true) => self.changed("MODIFIED", event),
            (true, false) if event.change == Change::Deleted => self.changed("DELETED", event),
            (true, false) => {
                // The last state that the client could see, at the version of its leaving.
                let last = event.previous.as_ref().map_or_else(|| event.object.json(), |previous| previous.json());
                let mut last = self.resource.show(last).into_owned();
                if let Some(metadata) = last.get_mut("metadata") {
                    metadata["resourceVersion"] = event.revision.to_string().into();
                }
                Line::Object("DELETED", last)
            }
        };
        self.pending.push_back(line);
    }

    /// The object of an event as this watch shows it. What everybody is shown is written once.
    fn changed(&self, kind: &'static str, event: &Event) -> Line {
        let show = || self.resource.show(event.object.json()).into_owned();
        if self.form != Form::Whole {
            return Line::Object(kind, show());
        }
        let key = (event.revision, kind, self.resource.api_version());
        Line::Written(self.api.lines.get(key, || respond::event(&json!({"type": kind, "object": show()}))))
    }

    fn write(&mut self, line: Line) -> Bytes {
        let (kind, object) = match line {
            Line::Written(line) => return line,
            Line::Initial(object) => ("ADDED", self.resource.show(object.json()).into_owned()),
            Line::Object(kind, object) => (kind, object),
            Line::Bookmark { revision, initial_end } => ("BOOKMARK", self.bookmark(revision, initial_end)),
        };
        let object = match self.form {
            Form::Whole => object,
            Form::Metadata | Form::MetadataList => shape::partial(&object),
            Form::Table => {
                let metadata = json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
                let now = self.api.clock.now();
                let rows: &[Value] = if kind == "BOOKMARK" { &[] } else { std::slice::from_ref(&object) };
                let mut table = table::of(&self.resource, rows, &metadata, &self.include, now);
                if kind == "BOOKMARK" {
                    let mut cells = vec![Value::Null; list(&table, "/columnDefinitions").len()];
                    if let Some(first) = cells.first_mut() {
                        *first = "".into();
                    }
                    table["rows"] = json!([{"cells": cells, "object": shape::partial(&object)}]);
                }
                if self.tables > 0 {
                    table["columnDefinitions"] = Value::Null;
                }
                self.tables += 1;
                table
            }
        };
        respond::event(&json!({"type": kind, "object": object}))
    }

    fn bookmark(&self, revision: u64, initial_end: bool) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial_end {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        json!({"kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata})
    }
}

/// When the server ends.
async fn ended(server: &mut Receiver<bool>) {
    // A server that is gone has ended, too.
    let _ = server.wait_for(|ended| *ended).await;
}

/// The next tick; never, if no bookmarks are wanted.
async fn tick(bookmarks: Option<&mut Interval>) -> Instant {
    match bookmarks {
        Some(bookmarks) => bookmarks.tick().await,
        None => std::future::pending().await,
    }
}

fn error_line(error: &ApiError) -> Bytes {
    respond::event(&json!({"type": "ERROR", "object": error.to_status()}))
}

//! Events on the API server: queued where they happen, posted in order by a task of their own.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as Posted;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use konfidence_sdk::clock::Clock;
use konfidence_sdk::event::{Event, EventSink};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{debug, warn};

/// So many events may wait to be posted; beyond that they are dropped, since an event is never worth a decision's time.
const CAPACITY: usize = 1024;

/// Bytes of a note; the API server refuses longer ones.
const NOTE: usize = 1024;

/// Bytes of a name.
const NAME: usize = 253;

/// How long one request may take, and how often it is made.
const REQUEST: Duration = Duration::from_secs(10);
const TRIES: u32 = 3;

/// Where events of one controller go. It never blocks and never fails; what cannot be posted is logged.
pub struct PostedEvents {
    queue: mpsc::Sender<(Event, Timestamp)>,
    clock: Arc<dyn Clock>,
    dropped: AtomicU64,
}

impl PostedEvents {
    /// A sink for the controller `controller` (`konfidence.cloud/promotion-controller`), whose process is `instance`;
    /// and the task that posts. The task ends when the sink is gone and what was queued is posted.
    pub fn start(client: Client, clock: Arc<dyn Clock>, controller: &str, instance: &str) -> (Self, JoinHandle<()>) {
        let (queue, mut queued) = mpsc::channel::<(Event, Timestamp)>(CAPACITY);
        let (controller, instance) = (controller.to_owned(), instance.to_owned());
        let task = tokio::spawn(async move {
            while let Some((event, at)) = queued.recv().await {
                post(&client, posted(&event, at, &controller, &instance)).await;
            }
        });
        (Self { queue, clock, dropped: AtomicU64::new(0) }, task)
    }
}

impl EventSink for PostedEvents {
    fn emit(&self, event: Event) {
        if let Err(error) = self.queue.try_send((event, self.clock.now())) {
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            // Once per doubling: a log that fills with "dropped" helps nobody.
            if dropped.is_power_of_two() {
                warn!(dropped, %error, "events are dropped; the API server does not take them fast enough");
            }
        }
    }
}

async fn post(client: &Client, event: Posted) {
    let namespace = event.metadata.namespace.clone().unwrap_or_default();
    let api: Api<Posted> = Api::namespaced(client.clone(), &namespace);
    for attempt in 1..=TRIES {
        match tokio::time::timeout(REQUEST, api.create(&PostParams::default(), &event)).await {
            Ok(Ok(_)) => return,
            // An earlier try arrived after all: the name says that it is this very event.
            Ok(Err(kube::Error::Api(status))) if status.reason == "AlreadyExists" => return,
            Ok(Err(kube::Error::Api(status))) if (400..500).contains(&status.code) && status.code != 429 => {
                debug!(%status, namespace, "an event is refused");
                return;
            }
            Ok(Err(error)) => debug!(%error, namespace, attempt, "an event could not be posted"),
            Err(_) => debug!(namespace, attempt, "an event was not taken in time"),
        }
        tokio::time::sleep(Duration::from_secs(1) * attempt).await;
    }
}

/// The event in the API's shape. Its name follows from what it says, so that a repeated post is refused and not a second
/// event.
fn posted(event: &Event, at: Timestamp, controller: &str, instance: &str) -> Posted {
    let regarding = &event.regarding;
    let mut hasher = DefaultHasher::new();
    (&regarding.uid, event.reason, &event.note, at, instance).hash(&mut hasher);
    let hash = format!(".{:016x}", hasher.finish());
    // Events of cluster-scoped objects live in `default`, where `kubectl describe` looks for them.
    let namespace = if regarding.namespace.is_empty() { "default" } else { &regarding.namespace };
    Posted {
        metadata: ObjectMeta {
            name: Some(format!("{}{hash}", cut(&regarding.name, NAME - hash.len()).trim_end_matches(['.', '-']))),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(at)),
        reporting_controller: Some(controller.to_owned()),
        reporting_instance: Some(cut(instance, 128).to_owned()),
        action: Some(event.action.to_owned()),
        reason: Some(event.reason.to_owned()),
        type_: Some(event.severity.as_str().to_owned()),
        note: Some(cut(&event.note, NOTE).to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(regarding.api_version.clone()),
            kind: Some(regarding.kind.clone()),
            namespace: Some(regarding.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            name: Some(regarding.name.clone()),
            uid: Some(regarding.uid.clone()).filter(|uid| !uid.is_empty()),
            ..ObjectReference::default()
        }),
        ..Posted::default()
    }
}

/// The beginning of `text`, at most `bytes` long, whole characters only.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use konfidence_sdk::event::Severity;
    use konfidence_sdk::store::ObjectRef;

    use super::*;

    fn event(name: &str, note: &str) -> Event {
        Event {
            regarding: ObjectRef {
                api_version: "konfidence.cloud/v1alpha1".into(),
                kind: "VectorPromotion".into(),
                namespace: "bakery".into(),
                name: name.into(),
                uid: "u-1".into(),
            },
            severity: Severity::Normal,
            reason: "PromotionStarted",
            action: "Promote",
            note: note.into(),
        }
    }

    fn shape(event: &Event, at: Timestamp) -> (String, String) {
        let posted = posted(event, at, "konfidence.cloud/promotion-controller", "pod-1");
        (posted.metadata.name.unwrap(), posted.note.unwrap())
    }

    #[test]
    fn p47_a_note_is_cut_to_a_kilobyte_between_characters() {
        let (_, note) = shape(&event("menu-1", &"ü".repeat(1000)), Timestamp::UNIX_EPOCH);
        assert_eq!(note, "ü".repeat(512));
        let (_, note) = shape(&event("menu-1", &format!("x{}", "ü".repeat(1000))), Timestamp::UNIX_EPOCH);
        assert_eq!(note.len(), 1023);
    }

    #[test]
    fn a_name_is_legal_for_the_longest_names_and_the_same_for_the_same_event_only() {
        let long = format!("{}.{}", "a".repeat(235), "b".repeat(17));
        let (name, _) = shape(&event(&long, "n"), Timestamp::UNIX_EPOCH);
        assert!(name.len() <= 253 && !name.contains("..") && !name.contains("-."), "{name}");
        assert_eq!(name, shape(&event(&long, "n"), Timestamp::UNIX_EPOCH).0);
        assert_ne!(name, shape(&event(&long, "m"), Timestamp::UNIX_EPOCH).0);
        assert_ne!(name, shape(&event(&long, "n"), Timestamp::from_second(1).unwrap()).0);
    }

    #[test]
    fn an_event_of_a_cluster_scoped_object_lives_in_default() {
        let mut about_namespace = event("bakery", "n");
        about_namespace.regarding.namespace.clear();
        let posted = posted(&about_namespace, Timestamp::UNIX_EPOCH, "c", "i");
        assert_eq!(posted.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(posted.regarding.unwrap().namespace, None);
    }
}

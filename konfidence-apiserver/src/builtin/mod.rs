//! The kinds that exist without a custom resource definition: what our kinds and their clients lean on, no more.

mod absent;
pub(crate) mod events;
pub(crate) mod namespaces;
pub(crate) mod reviews;
pub(crate) mod schemas;

use std::sync::Arc;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    Binding, ConfigMap, Event, LimitRange, Namespace, ResourceQuota, Secret, ServiceAccount,
};
use k8s_openapi::api::events::v1::Event as EventsV1Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_sdk::store::engine::{Engine, ResourceType};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::registry::Served;
use crate::resource::{ABSENT, ASKED, Column, Resource, STORED, View, ownership};
use crate::schema::Schema;

/// Group of custom resource definitions.
pub(crate) const APIEXTENSIONS: &str = "apiextensions.k8s.io";

/// Namespaces that are there from the start.
pub(crate) const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// Adds every built-in resource.
pub(crate) fn serve(served: &mut Served, engine: &Engine) {
    served.add(stored::<Namespace>(
        engine,
        &Names {
            verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
            short: &["ns"],
            namespaced: false,
            status: true,
            selectable: &["status.phase"],
            ..Names::core("Namespace", "namespaces")
        },
        &[column("Status", "string", ".status.phase"), age()],
    ));
    served.add(stored::<ConfigMap>(
        engine,
        &Names { short: &["cm"], ..Names::core("ConfigMap", "configmaps") },
        &[column("Data", "string", "data"), age()],
    ));
    served.add(stored::<Secret>(
        engine,
        &Names { selectable: &["type"], ..Names::core("Secret", "secrets") },
        &[column("Type", "string", ".type"), column("Data", "string", "data"), age()],
    ));
    served.add(stored::<ServiceAccount>(
        engine,
        &Names { short: &["sa"], ..Names::core("ServiceAccount", "serviceaccounts") },
        &[age()],
    ));
    let events = Names { short: &["ev"], selectable: EVENT_FIELDS, ..Names::core("Event", "events") };
    served.add(stored::<Event>(engine, &events, &event_columns()));
    let newer = Names {
        group: "events.k8s.io",
        short: &["ev"],
        selectable: &[
            "reason",
            "reportingController",
            "type",
            "regarding.kind",
            "regarding.name",
            "regarding.namespace",
            "regarding.uid",
        ],
        ..Names::core("Event", "events")
    };
    let core_events = served.get("", "v1", "events").and_then(|core| core.collection.clone());
    let mut newer = build::<EventsV1Event>(&newer, &event_columns());
    newer.collection = core_events;
    newer.view = View::Events;
    served.add(Arc::new(newer));
    served.add(stored::<Lease>(
        engine,
        &Names { group: "coordination.k8s.io", ..Names::core("Lease", "leases") },
        &[column("Holder", "string", ".spec.holderIdentity"), age()],
    ));
    served.add(stored::<CustomResourceDefinition>(
        engine,
        &Names {
            group: APIEXTENSIONS,
            short: &["crd", "crds"],
            categories: &["api-extensions"],
            namespaced: false,
            status: true,
            generations: true,
            ..Names::core("CustomResourceDefinition", "customresourcedefinitions")
        },
        &[column("Created At", "date", ".metadata.creationTimestamp")],
    ));

    // Nothing here has quotas or limits, but clients that describe a namespace ask for them.
    served.add(stored::<ResourceQuota>(
        engine,
        &Names { short: &["quota"], verbs: ABSENT, ..Names::core("ResourceQuota", "resourcequotas") },
        &[age()],
    ));
    served.add(stored::<LimitRange>(
        engine,
        &Names { short: &["limits"], verbs: ABSENT, ..Names::core("LimitRange", "limitranges") },
        &[column("Created At", "string", ".metadata.creationTimestamp")],
    ));
    absent::serve(served, engine);
    let authentication = |kind, plural| Names { group: "authentication.k8s.io", ..Names::asked(kind, plural) };
    served.add(asked::<SelfSubjectReview>(&authentication("SelfSubjectReview", "selfsubjectreviews")));
    served.add(asked::<TokenReview>(&authentication("TokenReview", "tokenreviews")));
    let authorization = |kind, plural| Names { group: "authorization.k8s.io", ..Names::asked(kind, plural) };
    let local = authorization("LocalSubjectAccessReview", "localsubjectaccessreviews");
    served.add(asked::<LocalSubjectAccessReview>(&Names { namespaced: true, ..local }));
    served.add(asked::<SelfSubjectAccessReview>(&authorization("SelfSubjectAccessReview", "selfsubjectaccessreviews")));
    served.add(asked::<SelfSubjectRulesReview>(&authorization("SelfSubjectRulesReview", "selfsubjectrulesreviews")));
    served.add(asked::<SubjectAccessReview>(&authorization("SubjectAccessReview", "subjectaccessreviews")));
    // Of the pods that it binds to nodes there are none.
    served.add(asked::<Binding>(&Names { namespaced: true, ..Names::asked("Binding", "bindings") }));
}

/// Whether a kind of this name is built into a real server, in this version.
pub(crate) fn is_known(api_version: &str, kind: &str) -> bool {
    let kinds: &[&str] = match api_version {
        "v1" => &[
            "Binding",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
        "apps/v1" => &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        "batch/v1" => &["CronJob", "Job"],
        "coordination.k8s.io/v1" => &["Lease"],
        "events.k8s.io/v1" => &["Event"],
        "authentication.k8s.io/v1" => &["SelfSubjectReview", "TokenReview"],
        "authorization.k8s.io/v1" => {
            &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]
        }
        "rbac.authorization.k8s.io/v1" => &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
        _ => &[],
    };
    kinds.contains(&kind)
}

/// What every object of a built-in kind has, whether or not somebody said it.
pub(crate) fn always(resource: &Resource) -> Value {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("coordination.k8s.io", "Lease") => json!({"spec": {}}),
        ("", "Namespace") => json!({"spec": {}, "status": {}}),
        ("", "Event") => json!({
            "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": null, "eventTime": null,
            "reportingComponent": "", "reportingInstance": "",
        }),
        ("events.k8s.io", "Event") => json!({
            "regarding": {}, "deprecatedSource": {}, "deprecatedFirstTimestamp": null,
            "deprecatedLastTimestamp": null, "eventTime": null,
        }),
        (APIEXTENSIONS, _) => json!({"spec": {"names": {}}, "status": {}}),
        ("authorization.k8s.io", _) => json!({"spec": {}, "status": {}}),
        ("authentication.k8s.io", "TokenReview") => json!({"spec": {}, "status": {"user": {}}}),
        ("authentication.k8s.io", _) => json!({"status": {"userInfo": {}}}),
        _ => json!({}),
    }
}

/// What a field selector on core events may name.
const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

struct Names {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    status: bool,
    generations: bool,
    selectable: &'static [&'static str],
    verbs: &'static [&'static str],
}

impl Names {
    fn core(kind: &'static str, plural: &'static str) -> Self {
        Self {
            group: "",
            version: "v1",
            kind,
            plural,
            short: &[],
            categories: &[],
            namespaced: true,
            status: false,
            generations: false,
            selectable: &[],
            verbs: STORED,
        }
    }

    fn asked(kind: &'static str, plural: &'static str) -> Self {
        Self { namespaced: false, verbs: ASKED, ..Self::core(kind, plural) }
    }
}

fn owned(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

fn build<K: JsonSchema>(names: &Names, columns: &[Column]) -> Resource {
    resource(names, columns, schemas::of::<K>())
}

fn resource(names: &Names, columns: &[Column], schema: Arc<Schema>) -> Resource {
    let source = schema.source.clone();
    Resource {
        group: names.group.to_owned(),
        version: names.version.to_owned(),
        kind: names.kind.to_owned(),
        list_kind: format!("{}List", names.kind),
        plural: names.plural.to_owned(),
        singular: names.kind.to_lowercase(),
        short_names: owned(names.short),
        categories: owned(names.categories),
        namespaced: names.namespaced,
        custom: false,
        ownership: ownership(&schema.structure),
        schema,
        columns: columns.iter().map(|column| described(column, &source)).collect(),
        status: names.status,
        scale: None,
        selectable: owned(names.selectable),
        verbs: names.verbs,
        deprecation: None,
        collection: None,
        view: View::Same,
        begin: 0,
        storage: None,
    }
}

fn stored<K: JsonSchema>(engine: &Engine, names: &Names, columns: &[Column]) -> Arc<Resource> {
    kept(engine, names, build::<K>(names, columns))
}

/// A resource with a place for its objects.
fn kept(engine: &Engine, names: &Names, mut resource: Resource) -> Arc<Resource> {
    let generations = names.generations;
    resource.collection = Some(engine.collection(ResourceType {
        group: resource.group.clone().into(),
        version: resource.version.clone().into(),
        kind: resource.kind.clone().into(),
        plural: resource.plural.clone().into(),
        namespaced: resource.namespaced,
        status_subresource: resource.status,
        counts_generations: generations,
    }));
    Arc::new(resource)
}

fn asked<K: JsonSchema>(names: &Names) -> Arc<Resource> {
    Arc::new(build::<K>(names, &[]))
}

/// A column with what the API's documentation says of its field.
fn described(column: &Column, schema: &Value) -> Column {
    let documented = match column.json_path.as_str() {
        "age" | ".metadata.creationTimestamp" => return told(column, crate::table::CREATION_TIMESTAMP),
        ".metadata.name" => return Column { format: "name".into(), ..told(column, crate::table::NAME) },
        ".status.phase" => return told(column, "The status of the namespace"),
        "lastSeen" => "lastTimestamp",
        "firstSeen" => "firstTimestamp",
        "object" => "involvedObject",
        other => other.trim_start_matches('.'),
    };
    let place: Vec<String> = documented.split('.').map(|name| format!("/properties/{name}")).collect();
    let description = schema.pointer(&format!("{}/description", place.concat())).and_then(Value::as_str);
    told(column, description.unwrap_or_default())
}

fn told(column: &Column, description: &str) -> Column {
    Column { description: description.to_owned(), ..column.clone() }
}

fn column(name: &str, kind: &str, json_path: &str) -> Column {
    Column { name: name.into(), kind: kind.into(), json_path: json_path.into(), ..Column::default() }
}

fn age() -> Column {
    column("Age", "string", "age")
}

fn event_columns() -> Vec<Column> {
    let wide = |column: Column| Column { priority: 1, ..column };
    vec![
        column("Last Seen", "string", "lastSeen"),
        column("Type", "string", ".type"),
        column("Reason", "string", ".reason"),
        column("Object", "string", "object"),
        wide(column("Subobject", "string", ".involvedObject.fieldPath")),
        wide(column("Source", "string", "source")),
        column("Message", "string", "message"),
        wide(column("First Seen", "string", "firstSeen")),
        wide(column("Count", "string", "count")),
        wide(column("Name", "string", ".metadata.name")),
    ]
}

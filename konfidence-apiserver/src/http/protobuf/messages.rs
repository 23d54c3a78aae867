//! The messages of the kinds that are built in: field numbers as the API's `generated.proto` files fix them.

use super::Field;
use super::Kind::{self, Bytes, Count, Flag, Json, Many, Map, MicroTime, Number, One, Text, Texts, Time};

const fn field(number: u64, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind }
}

/// The message of a kind; `None`: it has no protobuf form here.
pub(super) fn of(api_version: &str, kind: &str) -> Option<&'static [Field]> {
    Some(match (api_version, kind) {
        ("v1", "Namespace") => NAMESPACE,
        ("v1", "ConfigMap") => CONFIG_MAP,
        ("v1", "Secret") => SECRET,
        ("v1", "ServiceAccount") => SERVICE_ACCOUNT,
        ("v1", "Event") => EVENT,
        ("events.k8s.io/v1", "Event") => NEWER_EVENT,
        ("coordination.k8s.io/v1", "Lease") => LEASE,
        ("authentication.k8s.io/v1", "SelfSubjectReview") => METADATA_ONLY,
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => RULES_REVIEW,
        (_, "DeleteOptions") => DELETE_OPTIONS,
        _ => return None,
    })
}

const OWNER: &[Field] = &[
    field(1, "kind", Text),
    field(3, "name", Text),
    field(4, "uid", Text),
    field(5, "apiVersion", Text),
    field(6, "controller", Flag),
    field(7, "blockOwnerDeletion", Flag),
];

const MANAGED: &[Field] = &[
    field(1, "manager", Text),
    field(2, "operation", Text),
    field(3, "apiVersion", Text),
    field(4, "time", Time),
    field(6, "fieldsType", Text),
    field(7, "fieldsV1", Json),
    field(8, "subresource", Text),
];

const METADATA: &[Field] = &[
    field(1, "name", Text),
    field(2, "generateName", Text),
    field(3, "namespace", Text),
    field(5, "uid", Text),
    field(6, "resourceVersion", Text),
    field(7, "generation", Count),
    field(8, "creationTimestamp", Time),
    field(9, "deletionTimestamp", Time),
    field(10, "deletionGracePeriodSeconds", Number),
    field(11, "labels", Map),
    field(12, "annotations", Map),
    field(13, "ownerReferences", Many(OWNER)),
    field(14, "finalizers", Texts),
    field(17, "managedFields", Many(MANAGED)),
];

const METADATA_ONLY: &[Field] = &[field(1, "metadata", One(METADATA))];

const NAMESPACE: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(2, "spec", One(&[field(1, "finalizers", Texts)])),
    field(3, "status", One(&[field(1, "phase", Text)])),
];

const CONFIG_MAP: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(2, "data", Map),
    field(3, "binaryData", Bytes),
    field(4, "immutable", Flag),
];

const SECRET: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(2, "data", Bytes),
    field(3, "type", Text),
    field(4, "stringData", Map),
    field(5, "immutable", Flag),
];

const REFERENCE: &[Field] = &[
    field(1, "kind", Text),
    field(2, "namespace", Text),
    field(3, "name", Text),
    field(4, "uid", Text),
    field(5, "apiVersion", Text),
    field(6, "resourceVersion", Text),
    field(7, "fieldPath", Text),
];

const SERVICE_ACCOUNT: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(2, "secrets", Many(REFERENCE)),
    field(3, "imagePullSecrets", Many(&[field(1, "name", Text)])),
    field(4, "automountServiceAccountToken", Flag),
];

const SOURCE: &[Field] = &[field(1, "component", Text), field(2, "host", Text)];
const SERIES: &[Field] = &[field(1, "count", Count), field(2, "lastObservedTime", MicroTime)];

const EVENT: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(2, "involvedObject", One(REFERENCE)),
    field(3, "reason", Text),
    field(4, "message", Text),
    field(5, "source", One(SOURCE)),
    field(6, "firstTimestamp", Time),
    field(7, "lastTimestamp", Time),
    field(8, "count", Count),
    field(9, "type", Text),
    field(10, "eventTime", MicroTime),
    field(11, "series", One(SERIES)),
    field(12, "action", Text),
    field(13, "related", One(REFERENCE)),
    field(14, "reportingComponent", Text),
    field(15, "reportingInstance", Text),
];

const NEWER_EVENT: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(2, "eventTime", MicroTime),
    field(3, "series", One(SERIES)),
    field(4, "reportingController", Text),
    field(5, "reportingInstance", Text),
    field(6, "action", Text),
    field(7, "reason", Text),
    field(8, "regarding", One(REFERENCE)),
    field(9, "related", One(REFERENCE)),
    field(10, "note", Text),
    field(11, "type", Text),
    field(12, "deprecatedSource", One(SOURCE)),
    field(13, "deprecatedFirstTimestamp", Time),
    field(14, "deprecatedLastTimestamp", Time),
    field(15, "deprecatedCount", Count),
];

const LEASE: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(
        2,
        "spec",
        One(&[
            field(1, "holderIdentity", Text),
            field(2, "leaseDurationSeconds", Number),
            field(3, "acquireTime", MicroTime),
            field(4, "renewTime", MicroTime),
            field(5, "leaseTransitions", Number),
            field(6, "strategy", Text),
            field(7, "preferredHolder", Text),
        ]),
    ),
];

const ACCESS_REVIEW: &[Field] = &[
    field(1, "metadata", One(METADATA)),
    field(
        2,
        "spec",
        One(&[
            field(
                1,
                "resourceAttributes",
                One(&[
                    field(1, "namespace", Text),
                    field(2, "verb", Text),
                    field(3, "group", Text),
                    field(4, "version", Text),
                    field(5, "resource", Text),
                    field(6, "subresource", Text),
                    field(7, "name", Text),
                ]),
            ),
            field(2, "nonResourceAttributes", One(&[field(1, "path", Text), field(2, "verb", Text)])),
        ]),
    ),
];

const RULES_REVIEW: &[Field] =
    &[field(1, "metadata", One(METADATA)), field(2, "spec", One(&[field(1, "namespace", Text)]))];

const DELETE_OPTIONS: &[Field] = &[
    field(1, "gracePeriodSeconds", Number),
    field(2, "preconditions", One(&[field(1, "uid", Text), field(2, "resourceVersion", Text)])),
    field(3, "orphanDependents", Flag),
    field(4, "propagationPolicy", Text),
    field(5, "dryRun", Texts),
];

//! Kinds of which there is nothing, and never will be: what runs on a cluster. People and tools ask for them all the same
//! (`kubectl get all`), and are told, as by an empty cluster, that there are none. Whatever is asked of one that exists is
//! answered as on a real server, since none does; only making one is refused.

use std::sync::Arc;

use konfidence_sdk::store::engine::Engine;

use super::{Names, kept, resource};
use crate::registry::Served;
use crate::resource::ABSENT;
use crate::schema::Schema;

/// Group, version, kind, plural, short names, whether it is one of `all`.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str], bool);

const NAMESPACED: &[Row] = &[
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"], false),
    ("", "v1", "Pod", "pods", &["po"], true),
    ("", "v1", "ReplicationController", "replicationcontrollers", &["rc"], true),
    ("", "v1", "Service", "services", &["svc"], true),
    ("apps", "v1", "DaemonSet", "daemonsets", &["ds"], true),
    ("apps", "v1", "Deployment", "deployments", &["deploy"], true),
    ("apps", "v1", "ReplicaSet", "replicasets", &["rs"], true),
    ("apps", "v1", "StatefulSet", "statefulsets", &["sts"], true),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], true),
    ("batch", "v1", "CronJob", "cronjobs", &["cj"], true),
    ("batch", "v1", "Job", "jobs", &[], true),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", &["ing"], false),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", &["netpol"], false),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"], false),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", &[], false),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", &[], false),
];

const CLUSTER: &[Row] = &[
    ("", "v1", "Node", "nodes", &["no"], false),
    ("", "v1", "PersistentVolume", "persistentvolumes", &["pv"], false),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", &[], false),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", &[], false),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", &["sc"], false),
];

/// Adds every one of them.
pub(super) fn serve(served: &mut Served, engine: &Engine) {
    let schema = Arc::new(Schema::open());
    for (rows, namespaced) in [(NAMESPACED, true), (CLUSTER, false)] {
        for (group, version, kind, plural, short, all) in rows {
            let names = Names {
                group,
                version,
                short,
                categories: if *all { &["all"] } else { &[] },
                namespaced,
                verbs: ABSENT,
                ..Names::core(kind, plural)
            };
            served.add(kept(engine, &names, resource(&names, &[], Arc::clone(&schema))));
        }
    }
}

//! Kinds of which there is nothing, and never will be: what runs on a cluster. People and tools ask for them all the same
//! (`kubectl get all`), and are told, as by an empty cluster, that there are none. Whatever is asked of one that exists is
//! answered as on a real server, since none does; only making one is refused.

use std::sync::Arc;

use konfidence_sdk::store::engine::Engine;

use super::{Names, kept, resource};
use crate::registry::Served;
use crate::resource::ABSENT;
use crate::schema::Schema;

/// Group, version, kind, plural, short names, category.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str], &'static str);

const ALL: &str = "all";
const EXTENSIONS: &str = "api-extensions";

const NAMESPACED: &[Row] = &[
    ("", "v1", "Endpoints", "endpoints", &["ep"], ""),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"], ""),
    ("", "v1", "Pod", "pods", &["po"], ALL),
    ("", "v1", "PodTemplate", "podtemplates", &[], ""),
    ("", "v1", "ReplicationController", "replicationcontrollers", &["rc"], ALL),
    ("", "v1", "Service", "services", &["svc"], ALL),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", &[], ""),
    ("apps", "v1", "DaemonSet", "daemonsets", &["ds"], ALL),
    ("apps", "v1", "Deployment", "deployments", &["deploy"], ALL),
    ("apps", "v1", "ReplicaSet", "replicasets", &["rs"], ALL),
    ("apps", "v1", "StatefulSet", "statefulsets", &["sts"], ALL),
    ("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], ALL),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], ALL),
    ("batch", "v1", "CronJob", "cronjobs", &["cj"], ALL),
    ("batch", "v1", "Job", "jobs", &[], ALL),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", &[], ""),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", &["ing"], ""),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", &["netpol"], ""),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"], ""),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", &[], ""),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", &[], ""),
    ("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", &[], ""),
    ("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", &[], ""),
    ("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", &[], ""),
];

const CLUSTER: &[Row] = &[
    ("", "v1", "ComponentStatus", "componentstatuses", &["cs"], ""),
    ("", "v1", "Node", "nodes", &["no"], ""),
    ("", "v1", "PersistentVolume", "persistentvolumes", &["pv"], ""),
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", &[], EXTENSIONS),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        &[],
        EXTENSIONS,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        &[],
        EXTENSIONS,
    ),
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", &[], EXTENSIONS),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        &[],
        EXTENSIONS,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        &[],
        EXTENSIONS,
    ),
    ("apiregistration.k8s.io", "v1", "APIService", "apiservices", &[], EXTENSIONS),
    ("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", &["csr"], ""),
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", &[], ""),
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", &[], ""),
    ("networking.k8s.io", "v1", "IPAddress", "ipaddresses", &["ip"], ""),
    ("networking.k8s.io", "v1", "IngressClass", "ingressclasses", &[], ""),
    ("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", &[], ""),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", &[], ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", &[], ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", &[], ""),
    ("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", &[], ""),
    ("resource.k8s.io", "v1", "ResourceSlice", "resourceslices", &[], ""),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", &["pc"], ""),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", &[], ""),
    ("storage.k8s.io", "v1", "CSINode", "csinodes", &[], ""),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", &["sc"], ""),
    ("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", &[], ""),
    ("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", &["vac"], ""),
];

/// Adds every one of them.
pub(super) fn serve(served: &mut Served, engine: &Engine) {
    let schema = Arc::new(Schema::open());
    for (rows, namespaced) in [(NAMESPACED, true), (CLUSTER, false)] {
        for (group, version, kind, plural, short, category) in rows {
            let categories: &[&str] = match *category {
                ALL => &[ALL],
                EXTENSIONS => &[EXTENSIONS],
                _ => &[],
            };
            let verbs = if *kind == "ComponentStatus" { &["get", "list"] } else { ABSENT };
            let names = Names { group, version, short, categories, namespaced, verbs, ..Names::core(kind, plural) };
            let mut resource = resource(&names, &[], Arc::clone(&schema));
            resource.deprecation = match *kind {
                "Endpoints" => {
                    Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".into())
                }
                "ComponentStatus" => Some("v1 ComponentStatus is deprecated in v1.19+".into()),
                _ => None,
            };
            served.add(kept(engine, &names, resource));
        }
    }
}

//! Installing Konfidence as a user would: the files of `deploy/`.

use std::fs;
use std::path::Path;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use konfidence_types::{Landscape, VectorPromotionConfig};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where the controllers run, as whom, and for how long the token lasts, in seconds.
const NAMESPACE: &str = "konfidence-system";
const ACCOUNT: &str = "konfidence-controllers";
const LIFE: i64 = 3600;

/// What the people of these tests may do: look, decide, and ask for promotions.
pub(crate) const APPROVER: &[(&str, &[&str])] = &[
    ("landscapes", &["get"]),
    ("stages", &["get"]),
    ("vectorpromotionconfigs", &["get", "patch"]),
    ("vectorpromotions", &["get", "list", "create"]),
    ("vectorpromotions/status", &["patch"]),
    ("vectortemplates", &["get"]),
];

/// The documents of a folder below `deploy/`, by the name of their files.
pub fn manifests(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder).expect("the folder is there").map(|it| it.unwrap().path()).collect();
    files.sort();
    let read = |path: &Path| {
        let text = fs::read_to_string(path).expect("the file is there");
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(path))).collect()
}

/// Installs `crds` and everything in `deploy/rbac`, and gives `approver` a role. Answers a token of the controllers'
/// service account.
pub(crate) async fn install(admin: &Client, crds: Vec<CustomResourceDefinition>, approver: &str) -> String {
    let definitions: Api<CustomResourceDefinition> = Api::all(admin.clone());
    for crd in &crds {
        apply(&definitions, crd).await;
    }
    for crd in &crds {
        let name = crd.name_any();
        let established = await_condition(definitions.clone(), &name, conditions::is_crd_established());
        established.await.expect("the definition is established");
    }
    for (name, manifest) in manifests("rbac") {
        let kind = manifest["kind"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "Namespace" => apply(&Api::<Namespace>::all(admin.clone()), &parsed(manifest)).await,
            "ServiceAccount" => {
                apply(&Api::<ServiceAccount>::namespaced(admin.clone(), NAMESPACE), &parsed(manifest)).await;
            }
            "ClusterRole" => apply(&Api::<ClusterRole>::all(admin.clone()), &parsed(manifest)).await,
            "ClusterRoleBinding" => apply(&Api::<ClusterRoleBinding>::all(admin.clone()), &parsed(manifest)).await,
            other => panic!("deploy/rbac/{name} is a {other}: say here how it is installed"),
        }
    }
    let (role, binding) = approver_role(approver);
    apply(&Api::<ClusterRole>::all(admin.clone()), &role).await;
    apply(&Api::<ClusterRoleBinding>::all(admin.clone()), &binding).await;

    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), NAMESPACE);
    let wanted = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(LIFE), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let given = accounts.create_token_request(ACCOUNT, &PostParams::default(), &wanted).await.expect("a token");
    given.status.expect("a token").token.expect("a token")
}

/// Panics where the tests would act on objects that are not theirs.
pub(crate) async fn check_users_cluster(client: &Client) {
    let one = ListParams::default().limit(1);
    let remedy = "install deploy/crds, and name a cluster without objects of Konfidence in KUBECONFIG";
    let configs = Api::<VectorPromotionConfig>::all(client.clone()).list(&one).await;
    let landscapes = Api::<Landscape>::all(client.clone()).list(&one).await;
    match (configs, landscapes) {
        (Ok(configs), Ok(landscapes)) => {
            let foreign = configs.items.iter().map(|it| it.namespace().unwrap_or_default());
            let foreign = foreign.chain(landscapes.items.iter().map(|it| it.namespace().unwrap_or_default()));
            let foreign: Vec<_> = foreign.filter(|namespace| !namespace.starts_with("e2e-")).collect();
            assert!(foreign.is_empty(), "the controllers of the tests would act on objects in {foreign:?}: {remedy}");
        }
        (Err(error), _) | (_, Err(error)) => panic!("{error}: {remedy}"),
    }
}

fn approver_role(user: &str) -> (ClusterRole, ClusterRoleBinding) {
    let mut role = ClusterRole::default();
    role.metadata.name = Some("e2e-approver".to_owned());
    let mut rules: Vec<_> =
        APPROVER.iter().map(|(resource, verbs)| rule("konfidence.cloud", resource, verbs)).collect();
    rules.push(rule("events.k8s.io", "events", &["create"]));
    role.rules = Some(rules);
    let binding = ClusterRoleBinding {
        metadata: role.metadata.clone(),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: role.name_any(),
        },
        subjects: Some(vec![Subject { kind: "User".to_owned(), name: user.to_owned(), ..Subject::default() }]),
    };
    (role, binding)
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    }
}

async fn apply<K>(api: &Api<K>, object: &K)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let applied = api.patch(&object.name_any(), &PatchParams::apply("e2e"), &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{} {}: {error}", K::kind(&()), object.name_any()));
}

fn parsed<K: DeserializeOwned>(manifest: Value) -> K {
    serde_json::from_value(manifest).expect("a manifest of its kind")
}

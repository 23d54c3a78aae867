//! The cluster roles of the controllers, from the tables of what each domain, and the process around it, asks; and the
//! service account that they are bound to.

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use konfidence_controllers::wiring;
use konfidence_sdk::access::Access;
use konfidence_sdk::{landscape, promotion};
use kube::core::ObjectMeta;

use crate::TaskResult;
use crate::generated::{Files, yaml};

/// Name of a role and the table behind it.
const ROLES: [(&str, &[Access]); 3] = [
    ("konfidence-controller-process", wiring::ACCESS),
    ("konfidence-landscape-controller", landscape::ACCESS),
    ("konfidence-promotion-controller", promotion::ACCESS),
];

/// Where the controllers run, and as whom.
const NAMESPACE: &str = "konfidence-system";
const ACCOUNT: &str = "konfidence-controllers";

/// One file for each role and one for its binding; the namespace and the account that they are bound to.
pub(crate) fn files() -> TaskResult<Files> {
    let mut files = Files::new();
    let mut add = |name: &str, text: String| files.insert(format!("{name}.yaml"), text);
    // `kubectl apply` goes through a folder by name: the namespace comes before what is in it.
    add("konfidence-namespace", yaml("rbac", &namespace())?);
    add("konfidence-service-account", yaml("rbac", &account())?);
    for (name, table) in ROLES {
        add(name, yaml("rbac", &role(name, table))?);
        add(&format!("{name}-binding"), yaml("rbac", &binding(name))?);
    }
    Ok(files)
}

fn namespace() -> Namespace {
    Namespace { metadata: named(NAMESPACE), ..Namespace::default() }
}

fn account() -> ServiceAccount {
    let metadata = ObjectMeta { namespace: Some(NAMESPACE.to_owned()), ..named(ACCOUNT) };
    ServiceAccount { metadata, ..ServiceAccount::default() }
}

fn binding(role: &str) -> ClusterRoleBinding {
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: ACCOUNT.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        ..Subject::default()
    };
    let role_ref = RoleRef {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: "ClusterRole".to_owned(),
        name: role.to_owned(),
    };
    ClusterRoleBinding { metadata: named(role), role_ref, subjects: Some(vec![subject]) }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn role(name: &str, table: &[Access]) -> ClusterRole {
    let mut table: Vec<Access> = table.to_vec();
    table.sort_unstable();
    let rules = table.iter().map(|access| PolicyRule {
        api_groups: Some(vec![access.group.to_owned()]),
        resources: Some(vec![access.resource.to_owned()]),
        verbs: access.verbs.iter().map(|verb| verb.as_str().to_owned()).collect(),
        ..PolicyRule::default()
    });
    ClusterRole { metadata: named(name), rules: Some(rules.collect()), ..ClusterRole::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_bound_to_the_account_and_to_nobody_else() {
        let files = files().expect("generated");
        let account: ServiceAccount =
            serde_saphyr::from_str(&files["konfidence-service-account.yaml"]).expect("parses");
        let namespace: Namespace = serde_saphyr::from_str(&files["konfidence-namespace.yaml"]).expect("parses");
        assert_eq!(account.metadata.namespace, namespace.metadata.name);
        for (name, _) in ROLES {
            let read: ClusterRoleBinding =
                serde_saphyr::from_str(&files[&format!("{name}-binding.yaml")]).expect("parses");
            assert_eq!((read.role_ref.kind.as_str(), read.role_ref.name.as_str()), ("ClusterRole", name));
            let subjects = read.subjects.expect("subjects");
            let [subject] = subjects.as_slice() else { panic!("{subjects:?}") };
            assert_eq!(subject.kind, "ServiceAccount");
            assert_eq!(Some(&subject.name), account.metadata.name.as_ref());
            assert_eq!(subject.namespace, account.metadata.namespace);
        }
    }

    #[test]
    fn a_role_grants_its_table_and_nothing_else() {
        for (name, table) in ROLES {
            let files = files().expect("generated");
            let read: ClusterRole = serde_saphyr::from_str(&files[&format!("{name}.yaml")]).expect("parses");
            let rules = read.rules.expect("rules");
            assert_eq!(rules.len(), table.len());
            for access in table {
                let rule = rules.iter().find(|rule| {
                    rule.api_groups == Some(vec![access.group.to_owned()])
                        && rule.resources == Some(vec![access.resource.to_owned()])
                });
                let verbs: Vec<&str> = access.verbs.iter().map(|verb| verb.as_str()).collect();
                assert_eq!(rule.expect("a rule").verbs, verbs, "{name}: {}", access.resource);
            }
        }
    }
}

//! The cluster roles of the controllers, from the tables of what each domain, and the process around it, asks.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
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

/// One file for each role.
pub(crate) fn files() -> TaskResult<Files> {
    ROLES.iter().map(|(name, table)| Ok((format!("{name}.yaml"), yaml("rbac", &role(name, table))?))).collect()
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
    ClusterRole {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        rules: Some(rules.collect()),
        ..ClusterRole::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

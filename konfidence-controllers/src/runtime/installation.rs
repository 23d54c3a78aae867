//! Whether the cluster serves our kinds, with the fields that our decisions need.
//!
//! A server prunes fields that its schema does not know, silently: with an older CRD `spec.suspend` would be written,
//! accepted, and gone. So nothing is started before every field that we know is served, and what is missing is named.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::{Api, Client, ResourceExt};
use tracing::{info, warn};

/// How long to wait between two looks, at first and at most.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const SLOWEST_LOOK: Duration = Duration::from_secs(30);

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(10);

/// Fields named in one message; the first few tell which release is installed.
const NAMED: usize = 8;

/// Waits until the cluster serves `wanted` as they are compiled in; tells `report` what is missing whenever that
/// changes, and `None` at the end.
pub async fn awaited(client: &Client, wanted: &[CustomResourceDefinition], report: impl Fn(Option<String>)) {
    let mut pause = FIRST_LOOK;
    let mut last = None;
    loop {
        let mut problems = Vec::new();
        for crd in wanted {
            problems.extend(missing(client, crd).await);
        }
        if problems.is_empty() {
            if last.is_some() {
                info!("the CRDs are installed");
            }
            report(None);
            return;
        }
        let problem = problems.join("; ");
        if last.as_ref() != Some(&problem) {
            warn!(%problem, "waiting for the CRDs");
            report(Some(problem.clone()));
            last = Some(problem);
            pause = FIRST_LOOK;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(SLOWEST_LOOK);
    }
}

/// What keeps the cluster from serving `wanted`, with the remedy; `None`: nothing.
pub async fn missing(client: &Client, wanted: &CustomResourceDefinition) -> Option<String> {
    let name = wanted.name_any();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    match tokio::time::timeout(REQUEST, api.get_opt(&name)).await {
        Ok(Ok(Some(served))) => lacks(&served, wanted),
        Ok(Ok(None)) => {
            Some(format!("CRD {name} is not installed: install it (`konfidence crds | kubectl apply -f -`)"))
        }
        Ok(Err(error)) => Some(format!("CRD {name} cannot be read: {error}")),
        Err(_) => Some(format!("CRD {name} cannot be read: the API server does not answer")),
    }
}

fn lacks(served: &CustomResourceDefinition, wanted: &CustomResourceDefinition) -> Option<String> {
    let name = wanted.name_any();
    let version = wanted.spec.versions.first()?;
    let conditions = served.status.iter().flat_map(|status| status.conditions.iter().flatten());
    if !conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True") {
        return Some(format!("CRD {name} is not established yet"));
    }
    let Some(serving) = served.spec.versions.iter().find(|v| v.name == version.name && v.served) else {
        return Some(format!("CRD {name} does not serve {}: install the CRDs of this release", version.name));
    };
    let schema =
        |v: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion| {
            v.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.clone()).unwrap_or_default()
        };
    let mut absent = Vec::new();
    collect("", &schema(serving), &schema(version), &mut absent);
    if absent.is_empty() {
        return None;
    }
    let more = if absent.len() > NAMED { format!(" and {} more", absent.len() - NAMED) } else { String::new() };
    let named = absent[..absent.len().min(NAMED)].join(", ");
    Some(format!("CRD {name} lacks {named}{more}: install the CRDs of this release"))
}

/// The paths of all fields that `wanted` has and `served` would prune.
fn collect(path: &str, served: &JSONSchemaProps, wanted: &JSONSchemaProps, absent: &mut Vec<String>) {
    if served.x_kubernetes_preserve_unknown_fields == Some(true) {
        return;
    }
    let none = BTreeMap::new();
    let known = served.properties.as_ref().unwrap_or(&none);
    for (field, wanted) in wanted.properties.iter().flatten() {
        let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
        match known.get(field) {
            None => absent.push(path),
            Some(served) => collect(&path, served, wanted, absent),
        }
    }
    if let (Some(JSONSchemaPropsOrArray::Schema(served)), Some(JSONSchemaPropsOrArray::Schema(wanted))) =
        (&served.items, &wanted.items)
    {
        collect(&format!("{path}[]"), served, wanted, absent);
    }
    if let (Some(JSONSchemaPropsOrBool::Schema(served)), Some(JSONSchemaPropsOrBool::Schema(wanted))) =
        (&served.additional_properties, &wanted.additional_properties)
    {
        collect(&format!("{path}.*"), served, wanted, absent);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinitionCondition, CustomResourceDefinitionStatus,
    };
    use konfidence_sdk::types::VectorPromotionConfig;
    use kube::CustomResourceExt;

    use super::*;

    fn established(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
        let condition = CustomResourceDefinitionCondition {
            type_: "Established".into(),
            status: "True".into(),
            ..CustomResourceDefinitionCondition::default()
        };
        let status = CustomResourceDefinitionStatus {
            conditions: Some(vec![condition]),
            ..CustomResourceDefinitionStatus::default()
        };
        crd.status = Some(status);
        crd
    }

    fn properties<'a>(
        crd: &'a mut CustomResourceDefinition,
        path: &[&str],
    ) -> &'a mut BTreeMap<String, JSONSchemaProps> {
        let schema = crd.spec.versions[0].schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
        let schema = path.iter().fold(schema, |at, field| at.properties.as_mut().unwrap().get_mut(*field).unwrap());
        schema.properties.as_mut().unwrap()
    }

    #[test]
    fn our_own_crd_lacks_nothing() {
        let crd = VectorPromotionConfig::crd();
        assert_eq!(lacks(&established(crd.clone()), &crd), None);
    }

    #[test]
    fn a_field_of_ours_that_is_not_served_is_named_with_the_remedy() {
        let crd = VectorPromotionConfig::crd();
        let mut older = established(crd.clone());
        properties(&mut older, &["spec"]).remove("suspend");
        properties(&mut older, &["status"]).remove("observedGeneration");
        let problem = lacks(&older, &crd).unwrap();
        assert_eq!(
            problem,
            "CRD vectorpromotionconfigs.konfidence.cloud lacks spec.suspend, status.observedGeneration: \
             install the CRDs of this release"
        );
    }

    #[test]
    fn what_is_preserved_is_not_lacking_and_a_newer_crd_may_have_more() {
        let crd = VectorPromotionConfig::crd();
        let mut other = established(crd.clone());
        let properties = properties(&mut other, &[]);
        properties
            .get_mut("spec")
            .unwrap()
            .properties
            .as_mut()
            .unwrap()
            .insert("newer".into(), JSONSchemaProps::default());
        let status = properties.get_mut("status").unwrap();
        status.properties = None;
        status.x_kubernetes_preserve_unknown_fields = Some(true);
        assert_eq!(lacks(&other, &crd), None);
    }

    #[test]
    fn a_crd_that_is_not_established_or_not_served_is_waited_for() {
        let crd = VectorPromotionConfig::crd();
        assert!(lacks(&crd, &crd).unwrap().contains("not established"));
        let mut unserved = established(crd.clone());
        unserved.spec.versions[0].served = false;
        assert!(lacks(&unserved, &crd).unwrap().contains("does not serve v1alpha1"));
    }
}

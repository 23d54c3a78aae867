//! Kinds and namespaces that come and go: one request makes several writes there, and a crash may leave none of them half
//! done.

use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Answer, Api};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAMESPACES: &str = "/api/v1/namespaces";

/// What one thing that comes and goes is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    There,
    Gone,
    Unknown,
}

/// A definition and a namespace of each round, made, filled and deleted.
pub(crate) struct Churn {
    round: u64,
    definition: Known,
    namespace: Known,
}

impl Default for Churn {
    fn default() -> Self {
        Self { round: 0, definition: Known::Gone, namespace: Known::Gone }
    }
}

impl Churn {
    /// Makes and deletes until the server is gone.
    pub(crate) async fn run(mut self, api: Api) -> Self {
        while self.step(&api).await {}
        self
    }

    fn names(&self) -> (String, String) {
        (format!("crumbs{}", self.round), format!("crumbs-{}", self.round))
    }

    async fn step(&mut self, api: &Api) -> bool {
        // New names: what is left of the round before is not looked at any more.
        self.round += 1;
        let (plural, namespace) = self.names();
        (self.definition, self.namespace) = (Known::Unknown, Known::Gone);
        if !done(api, "POST", DEFINITIONS, Some(&definition(&plural))).await {
            return false;
        }
        self.definition = Known::There;
        self.namespace = Known::Unknown;
        let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        if !done(api, "POST", NAMESPACES, Some(&made)).await {
            return false;
        }
        self.namespace = Known::There;
        let objects = format!("/apis/bakery.example/v1/namespaces/{namespace}/{plural}");
        let object = json!({"apiVersion": "bakery.example/v1", "kind": kind(&plural), "metadata": {"name": "a"}});
        if !done(api, "POST", &objects, Some(&object)).await {
            return false;
        }
        self.namespace = Known::Unknown;
        if !done(api, "DELETE", &format!("{NAMESPACES}/{namespace}"), None).await {
            return false;
        }
        self.namespace = Known::Gone;
        self.definition = Known::Unknown;
        if !done(api, "DELETE", &format!("{DEFINITIONS}/{plural}.bakery.example"), None).await {
            return false;
        }
        self.definition = Known::Gone;
        true
    }

    /// Whether both are as they were last said to be, and whole in any case.
    pub(crate) async fn check(&mut self, api: &Api, kill: u64) {
        let (plural, namespace) = self.names();
        let path = format!("{DEFINITIONS}/{plural}.bakery.example");
        let found = settled(api, &path).await;
        assert!(fits(self.definition, found.is_some()), "kill {kill}: {:?}, but {found:?}", self.definition);
        let objects = format!("/apis/bakery.example/v1/{plural}");
        let served = api.get(&objects).await;
        assert_eq!(served.is_some(), found.is_some(), "kill {kill}: a kind is served exactly while it is defined");
        if let Some(found) = &found {
            let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let established = conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True");
            assert!(established && found["status"]["storedVersions"] == json!(["v1"]), "kill {kill}: {found}");
            assert!(!conditions.iter().any(|one| one["type"] == "Terminating"), "kill {kill}: {found}");
        }
        let path = format!("{NAMESPACES}/{namespace}");
        let found = settled(api, &path).await;
        assert!(fits(self.namespace, found.is_some()), "kill {kill}: {:?}, but {found:?}", self.namespace);
        let left = api.get(&objects).await.and_then(|list| list["items"].as_array().cloned()).unwrap_or_default();
        assert!(found.is_some() || left.is_empty(), "kill {kill}: objects outlive their namespace: {left:?}");
    }
}

fn fits(known: Known, is_there: bool) -> bool {
    known == Known::Unknown || (known == Known::There) == is_there
}

/// What is there once nothing is on its way out any more.
async fn settled(api: &Api, path: &str) -> Option<Value> {
    let mut found = api.get(path).await;
    while found.as_ref().is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string()) {
        tokio::time::sleep(Duration::from_millis(2)).await;
        found = api.get(path).await;
    }
    found
}

/// Whether the server has answered, and then with yes.
async fn done(api: &Api, method: &str, path: &str, body: Option<&Value>) -> bool {
    match api.send(method, path, body).await {
        Answer::Ok(_) => true,
        Answer::Unknown => false,
        Answer::Refused(code, message) => panic!("{method} {path}: {code} {message}"),
    }
}

fn kind(plural: &str) -> String {
    plural.replacen('c', "C", 1)
}

fn definition(plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.bakery.example")},
        "spec": {
            "group": "bakery.example", "scope": "Namespaced", "names": {"kind": kind(plural), "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
}

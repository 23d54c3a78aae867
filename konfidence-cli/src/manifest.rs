//! Manifests for the embedded server: read, checked as a whole, and only then applied.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use konfidence_apiserver::ApiServer;
use kube::api::{Patch, PatchParams};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::discovery::{self, Scope};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::embedded::in_process;
use crate::failure::{Failure, first_line, told};
use crate::format::complain;

/// Greatest size of a file, in bytes: twice what an API server takes for one object.
const MAX_BYTES: u64 = 6 * 1024 * 1024;
/// No object of ours is nearly as deep; every walk over an object is as deep as the object.
const MAX_DEPTH: usize = 128;
/// How long a manifest waits for a namespace before that is said: a controller makes one in a fraction of it.
const UNREMARKABLE: Duration = Duration::from_secs(2);
/// How long it waits after that.
const NAMESPACE_DEADLINE: Duration = Duration::from_secs(30);
/// Whom the server notes down as the writer of the fields.
const MANAGER: &str = "konfidence-dev";

/// One object to apply.
pub(crate) struct Manifest {
    /// Where it comes from, for messages: `flow.yaml (document 2)`.
    origin: String,
    object: DynamicObject,
    kind: GroupVersionKind,
}

/// Why one manifest was not applied.
enum Refusal {
    /// Its namespace does not exist, or not yet.
    NoNamespace,
    Other(Failure),
}

/// Reads every manifest of `paths` and tries all of them on a server that is thrown away.
pub(crate) async fn read_and_check(paths: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    let mut manifests = Vec::new();
    for path in paths {
        for file in files(path)? {
            manifests.extend(read(&file)?);
        }
    }
    if !manifests.is_empty() {
        check(&manifests).await?;
    }
    Ok(manifests)
}

/// Reads the manifests of a text, `origin` being its name.
pub(crate) fn parse(origin: &str, text: &str) -> Result<Vec<Manifest>, Failure> {
    let options =
        serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: MAX_DEPTH }, with_snippet: false };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| Failure::Other(format!("{origin}: {}", first_line(&error.to_string()))))?;
    let mut manifests = Vec::new();
    for (at, document) in documents.into_iter().enumerate() {
        let origin = format!("{origin} (document {})", at + 1);
        match document {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
                let Some(Value::Array(items)) = list.remove("items") else {
                    return Err(Failure::Other(format!("{origin}: a List without items")));
                };
                for item in items {
                    manifests.push(manifest(origin.clone(), item)?);
                }
            }
            object => manifests.push(manifest(origin, object)?),
        }
    }
    Ok(manifests)
}

/// Applies the manifests in their order; those whose namespace a controller makes come as soon as it is there.
pub(crate) async fn apply(client: &Client, manifests: &[Manifest]) -> Result<(), Failure> {
    let mut early = Vec::new();
    for manifest in manifests {
        match manifest.apply(client).await {
            Ok(()) => {}
            Err(Refusal::NoNamespace) => early.push(manifest),
            Err(Refusal::Other(failure)) => return Err(failure),
        }
    }
    for manifest in early {
        let namespace = manifest.object.namespace().unwrap_or_default();
        let exists = |namespace: Option<&Namespace>| namespace.is_some();
        let mut appears = pin!(await_condition(Api::<Namespace>::all(client.clone()), &namespace, exists));
        if tokio::time::timeout(UNREMARKABLE, &mut appears).await.is_err() {
            complain(format!("{}: waits for namespace {namespace}, which does not exist yet", manifest.origin));
            // Whatever comes of the wait, the server has the last word.
            let _ = tokio::time::timeout(NAMESPACE_DEADLINE, appears).await;
        }
        match manifest.apply(client).await {
            Ok(()) => {}
            Err(Refusal::NoNamespace) => {
                return Err(Failure::NotFound(format!(
                    "{}: namespace {namespace} does not exist: add it, or the Landscape that makes it, to the manifests",
                    manifest.origin
                )));
            }
            Err(Refusal::Other(failure)) => return Err(failure),
        }
    }
    Ok(())
}

/// Applies all manifests to a server of their own, in which every namespace exists.
async fn check(manifests: &[Manifest]) -> Result<(), Failure> {
    let server = ApiServer::builder().our_kinds().build().map_err(Failure::other)?;
    let client = in_process(&server);
    for manifest in manifests {
        match manifest.apply(&client).await {
            Ok(()) => continue,
            Err(Refusal::NoNamespace) => {}
            Err(Refusal::Other(failure)) => return Err(failure),
        }
        let name = manifest.object.namespace().unwrap_or_default();
        let namespace: Value = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        parse_one(&manifest.origin, namespace)?.apply(&client).await.map_err(Refusal::into_failure)?;
        manifest.apply(&client).await.map_err(Refusal::into_failure)?;
    }
    server.end();
    Ok(())
}

impl Manifest {
    async fn apply(&self, client: &Client) -> Result<(), Refusal> {
        let GroupVersionKind { group, version, kind } = &self.kind;
        let of = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        let (resource, capabilities) = discovery::pinned_kind(client, &self.kind).await.map_err(|_| {
            Refusal::Other(Failure::Other(format!("{}: this server has no kind {kind} of {of}", self.origin)))
        })?;
        let api: Api<DynamicObject> = if capabilities.scope == Scope::Cluster {
            Api::all_with(client.clone(), &resource)
        } else {
            let namespace = self.object.namespace();
            Api::namespaced_with(client.clone(), namespace.as_deref().unwrap_or("default"), &resource)
        };
        let params = PatchParams::apply(MANAGER).force().validation_strict();
        match api.patch(&self.object.name_any(), &params, &Patch::Apply(&self.object)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if is_about_a_namespace(&status) => Err(Refusal::NoNamespace),
            Err(kube::Error::Api(status)) => {
                Err(Refusal::Other(Failure::Other(format!("{}: {}", self.origin, first_line(&status.message)))))
            }
            Err(error) => Err(Refusal::Other(Failure::Other(format!("{}: {}", self.origin, told(&error))))),
        }
    }
}

impl Refusal {
    fn into_failure(self) -> Failure {
        match self {
            Self::NoNamespace => Failure::NotFound("the namespace does not exist".into()),
            Self::Other(failure) => failure,
        }
    }
}

fn is_about_a_namespace(status: &kube::core::Status) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| details.kind == "namespaces")
}

/// The file, or the manifests of the folder by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::Other(format!("{}: {error}", path.display()));
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| matches!(extension.to_str(), Some("yaml" | "yml" | "json"))) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::Other(format!("{}: no .yaml, .yml or .json files in it", path.display())));
    }
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<Manifest>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Other(format!("{}: {error}", file.display()));
    let bytes = fs::metadata(file).map_err(|error| failed(&error))?.len();
    if bytes > MAX_BYTES {
        return Err(failed(&format!("{bytes} bytes; a file of manifests may have at most {MAX_BYTES}: split it")));
    }
    let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
    parse(&file.display().to_string(), &text)
}

fn parse_one(origin: &str, object: Value) -> Result<Manifest, Failure> {
    manifest(origin.to_owned(), object)
}

fn manifest(origin: String, object: Value) -> Result<Manifest, Failure> {
    let wrong = |what: &str| Failure::Other(format!("{origin}: {what}"));
    if !object.is_object() {
        return Err(wrong("not an object: every document needs apiVersion, kind and metadata.name"));
    }
    for field in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(field).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(wrong(&format!("{} is missing", field[1..].replace('/', "."))));
        }
    }
    let object: DynamicObject = serde_json::from_value(object).map_err(|error| wrong(&error.to_string()))?;
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types).map_err(|error| wrong(&error.to_string()))?;
    Ok(Manifest { origin, object, kind })
}

#[cfg(test)]
mod tests {
    use konfidence_types::{Stage, VectorPromotionConfig};

    use super::*;

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn server() -> (ApiServer, Client) {
        let server = ApiServer::builder().our_kinds().build().expect("a server");
        let client = in_process(&server);
        (server, client)
    }

    #[tokio::test]
    async fn the_manifests_of_the_repository_are_valid_and_get_their_defaults() {
        let folders = [repository().join("examples/three-stages"), repository().join("deploy/crds")];
        let manifests = read_and_check(&folders).await.expect("valid");
        let kinds = |wanted: &str| manifests.iter().filter(|manifest| manifest.kind.kind == wanted).count();
        assert_eq!((kinds("Stage"), kinds("VectorPromotionConfig"), kinds("CustomResourceDefinition")), (3, 3, 5));

        let (_server, client) = server();
        for namespace in ["bakery-lab", "bakery-eu"] {
            let object = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            apply(&client, &[parse_one("test", object).expect("a manifest")]).await.expect("applied");
        }
        apply(&client, &manifests).await.expect("applied");
        let configs: Api<VectorPromotionConfig> = Api::namespaced(client, "bakery");
        let raw: DynamicObject = configs
            .get("dev-to-test")
            .await
            .map(|config| serde_json::from_value(serde_json::to_value(config).expect("JSON")).expect("an object"))
            .expect("it is there");
        assert_eq!(raw.data["spec"]["keepLastPromotions"], 10);
    }

    #[test]
    fn every_folder_with_manifests_is_known_to_a_test() {
        // deploy/rbac is compared with what the tables generate, by xtask.
        let known = ["deploy/crds", "deploy/rbac", "examples/three-stages"];
        let mut found = Vec::new();
        let mut folders = vec![repository().join("deploy"), repository().join("examples")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "yaml") {
                    found.push(folder.strip_prefix(repository()).expect("below").display().to_string());
                }
            }
        }
        found.sort();
        found.dedup();
        assert_eq!(found, known);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stage_waits_for_its_namespace_and_no_longer_than_that() {
        let stage = "apiVersion: konfidence.cloud/v1alpha1\nkind: Stage\n\
                     metadata: {name: dev, namespace: bakery-lab}\nspec: {vector: ''}\n";
        let stage = parse("stage.yaml", stage).expect("parses");
        let (_server, client) = server();
        let late = apply(&client, &stage).await.expect_err("nobody makes it").to_string();
        assert_eq!(late.lines().count(), 1, "{late}");
        assert!(late.contains("stage.yaml (document 1): namespace bakery-lab does not exist"), "{late}");

        let landscapes: Api<Namespace> = Api::all(client.clone());
        let made: Namespace =
            serde_json::from_value(serde_json::json!({"metadata": {"name": "bakery-lab"}})).expect("a namespace");
        let makes = async {
            tokio::time::sleep(NAMESPACE_DEADLINE / 2).await;
            landscapes.create(&kube::api::PostParams::default(), &made).await
        };
        let (applied, made) = tokio::join!(apply(&client, &stage), makes);
        made.expect("made");
        applied.expect("applied as soon as the namespace was there");
        let stages: Api<Stage> = Api::namespaced(client, "bakery-lab");
        stages.get("dev").await.expect("it is there");
    }

    #[test]
    fn lists_and_several_documents_are_taken_apart() {
        let text = "---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n\
                    - {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n---\n\
                    apiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n";
        let manifests = parse("a.yaml", text).expect("parses");
        let names: Vec<String> = manifests.iter().map(|manifest| manifest.object.name_any()).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }
}

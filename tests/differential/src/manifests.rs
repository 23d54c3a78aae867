//! The definition with every feature of a schema, and the definitions of our kinds, on the real server.

use std::path::Path;

use http::Request;
use serde_json::Value;

use crate::Error;
use crate::client::Server;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Installs every definition that a server does not have yet, and waits until it serves them.
pub(crate) async fn install(server: &Server) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for directory in [root.join("manifests"), root.join("../../deploy/crds")] {
        let failed = |source| Error::File { file: directory.display().to_string(), source };
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let text = std::fs::read_to_string(entry.map_err(failed)?.path()).map_err(failed)?;
            put(server, &text).await?;
        }
    }
    Ok(())
}

async fn put(server: &Server, manifest: &str) -> Result<(), Error> {
    let failed = |why: String| Error::Server { server: server.name.to_owned(), why };
    let crd: Value = serde_saphyr::from_str(manifest).map_err(|error| failed(error.to_string()))?;
    let made = server.send(request("POST", CRDS, crd.to_string())).await?;
    if !matches!(made.code, 201 | 409) {
        return Err(failed(String::from_utf8_lossy(&made.body).into_owned()));
    }
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    for version in crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
        if version["served"] != true {
            continue;
        }
        let path = format!("/apis/{group}/{}/{plural}", version["name"].as_str().unwrap_or_default());
        // A server that never serves what it has established is seen by the first case that asks for it.
        for _ in 0..200 {
            if server.send(request("GET", &path, String::new())).await?.code == 200 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

fn request(method: &str, path: &str, body: String) -> Request<Vec<u8>> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    request.body(body.into_bytes()).unwrap_or_default()
}

//! `konfidence crds`: what has to be installed on a cluster.

use crate::failure::Failure;

/// Prints the custom resource definitions as YAML documents.
pub(crate) fn run() -> Result<(), Failure> {
    for crd in konfidence_types::crds::all() {
        print!("---\n{}", serde_saphyr::to_string(&crd).map_err(Failure::other)?);
    }
    Ok(())
}

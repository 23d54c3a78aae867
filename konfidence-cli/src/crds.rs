//! `konfidence crds`: what has to be installed on a cluster.

use crate::failure::Failure;
use crate::format::say;

/// Prints the custom resource definitions as YAML documents.
pub(crate) fn run() -> Result<(), Failure> {
    let crds = konfidence_types::crds::all().into_iter();
    crds.map(|crd| serde_saphyr::to_string(&crd).map_err(Failure::other))
        .try_for_each(|document| say(format!("---\n{}", document?.trim_end())))
}

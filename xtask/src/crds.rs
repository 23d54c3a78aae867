//! The custom resource definitions, as files to install.

use crate::generated::{Files, yaml};
use crate::{TaskError, TaskResult};

/// One file for each kind, named as the definition is.
pub(crate) fn files() -> TaskResult<Files> {
    let mut files = Files::new();
    for crd in konfidence_types::crds::all() {
        let name = crd.metadata.name.clone().ok_or_else(|| TaskError::new("a definition has no name"))?;
        files.insert(format!("{name}.yaml"), yaml("crds", &crd)?);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

    #[test]
    fn what_is_written_reads_back_as_what_was_meant() {
        let files = super::files().expect("generated");
        let kinds = konfidence_types::crds::all();
        assert_eq!(files.len(), kinds.len());
        for crd in kinds {
            let name = crd.metadata.name.clone().expect("named");
            let text = &files[&format!("{name}.yaml")];
            let read: CustomResourceDefinition = serde_saphyr::from_str(text).expect("parses");
            assert_eq!(read, crd, "{name}");
        }
    }
}

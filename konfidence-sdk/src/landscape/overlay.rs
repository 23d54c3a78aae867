//! A landscape store in which some kinds are mocked.

use k8s_openapi::api::core::v1::Namespace;
use konfidence_types::Landscape;

crate::store::overlay::overlay! {
    /// Some kinds mocked, the rest a memory store: for injecting one precise error into otherwise real flows.
    LandscapeOverlay {
        landscapes: Landscape,
        namespaces: Namespace,
    }
}

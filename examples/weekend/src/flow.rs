//! The flow: what is promoted from where to where, and where a person decides.

use konfidence_sdk::sim::Scenario;
use konfidence_sdk::store::Key;
use konfidence_sdk::types::{SourceRef, TargetRef, VectorPromotionConfig, VectorPromotionConfigSpec, VectorTemplate};

const PROJECT: &str = "bakery";
const LANDSCAPE: &str = "eu";
const FRIDAY_NOON: &str = "2026-03-06T12:00:00Z";

/// The template that vectors are assembled by.
pub(crate) fn menu() -> Key<VectorTemplate> {
    Key::new(PROJECT, "menu")
}

/// A config of the flow.
pub(crate) fn config(name: &str) -> Key<VectorPromotionConfig> {
    Key::new(PROJECT, name)
}

/// A Stage of the flow, in the namespace that the Landscape manages.
#[cfg(test)]
pub(crate) fn stage(name: &str) -> Key<konfidence_sdk::types::Stage> {
    Key::new(format!("{PROJECT}-{LANDSCAPE}"), name)
}

/// Five stages in a row, on a Friday at noon.
pub(crate) fn scenario() -> Scenario {
    let after = |stage| SourceRef::stage(LANDSCAPE, stage);
    let mut scenario = Scenario::of(
        "weekend",
        vec![
            step("menu-to-dev", SourceRef::template("menu"), "dev", false),
            step("dev-to-test", after("dev"), "test", false),
            step("test-to-tasting", after("test"), "tasting", true),
            step("tasting-to-preview", after("tasting"), "preview", false),
            step("preview-to-prod", after("preview"), "prod", true),
        ],
    );
    scenario.beginning = FRIDAY_NOON.parse().unwrap_or(scenario.beginning);
    scenario
}

fn step(name: &str, source: SourceRef, target: &str, waits: bool) -> VectorPromotionConfig {
    let mut config =
        VectorPromotionConfig::new(name, VectorPromotionConfigSpec::new(source, TargetRef::stage(LANDSCAPE, target)));
    config.metadata.namespace = Some(PROJECT.to_owned());
    config.spec.require_approval = Some(waits);
    config
}

//! The table in the module's docs says what the code does.

use std::collections::BTreeSet;

use konfidence_types::{condition, condition_type};

use super::*;

/// The rows of the table, their cells joined by ` | `.
fn documented() -> BTreeSet<String> {
    let rows = include_str!("../mod.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
    rows.skip(1)
        .map(|row| {
            row.trim_end_matches('|')
                .split('|')
                .map(|cell| cell.trim_matches([' ', '`']))
                .collect::<Vec<_>>()
                .join(" | ")
        })
        .collect()
}

fn row(landscape: &str, namespace: &str, snapshot: &Snapshot) -> String {
    let steps = snapshot.steps(0);
    let conditions = conditions(&steps);
    let reason = condition(&conditions, condition_type::READY).map(|ready| ready.reason.clone()).unwrap_or_default();
    [landscape, namespace, &words(&steps).join(", "), &reason].join(" | ")
}

#[test]
fn the_table_of_transitions_is_what_the_code_does() {
    type World = fn(Snapshot) -> Snapshot;
    let foreign_and_terminating: World = |snapshot| {
        snapshot.with_namespace(|namespace| {
            without_label("project")(namespace);
            terminating(namespace);
        })
    };
    let worlds: [(&str, World); 7] = [
        ("illegal", |snapshot| snapshot.wanting("kube-system").with_namespace(ours)),
        ("absent", |snapshot| snapshot),
        ("foreign", |snapshot| snapshot.with_namespace(without_label("managed-by"))),
        ("foreign, terminating", foreign_and_terminating),
        ("ours", |snapshot| snapshot.with_namespace(ours)),
        ("ours, label drifted", |snapshot| snapshot.with_namespace(without_label("type"))),
        ("ours, terminating", |snapshot| snapshot.with_namespace(terminating)),
    ];
    let mut seen = BTreeSet::new();
    for (namespace, world) in worlds {
        seen.insert(row("living", namespace, &world(snapshot())));
        seen.insert(row("deleting", namespace, &world(snapshot().deleting())));
        let released = world(snapshot().deleting()).change(|landscape| landscape.metadata.finalizers = None);
        seen.insert(row("deleting, without our finalizer", "any", &released));
    }
    let refused = Snapshot { refused: Some("quota".into()), ..snapshot() };
    seen.insert(row("living", "absent, creation refused", &refused));

    assert_eq!(documented(), seen);
}

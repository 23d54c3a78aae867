//! The scenarios: those of the specification's table, and what that table does not cover.

use crate::check::Numbers;
use crate::scenario::{AUTO, BASE, Config, GATED, HandMade, Left, Scenario};

const LEFT: Left = BASE.left;

/// Sequence 1, made by hand beside a flow.
const LOW: HandMade = HandMade { name: "by-hand-1", sequence: 1, target: "dev", gated: false };
/// Sequence 9.
const HIGH: HandMade = HandMade { name: "by-hand-9", sequence: 9, target: "dev", gated: true };

/// All scenarios.
pub fn scenarios() -> Vec<Scenario> {
    [automatic(), approved(), made_by_hand(), deleted(), made_again(), beyond_the_table()].concat()
}

fn automatic() -> Vec<Scenario> {
    vec![
        Scenario { name: "a", about: "automatic, 3 vectors", vectors: 3, ..BASE },
        Scenario {
            name: "A",
            about: "automatic, 2 vectors, timeout, Stage edit",
            vectors: 2,
            instants: &[0, 300],
            left: Left { edits: 1, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "B",
            about: "automatic, 2 timeouts, 2 takeovers",
            instants: &[0, 10, 300, 360, 660],
            left: Left { creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "C",
            about: "automatic, Stage re-created, timeout",
            instants: &[0, 300],
            left: Left { stages: 1, creations: 3, ..LEFT },
            ..BASE
        },
    ]
}

fn approved() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "D",
            about: "approval, 2 vectors, timeout, Stage edit",
            configs: &[GATED],
            vectors: 2,
            instants: &[0, 300],
            left: Left { edits: 1, approvals: 1, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "N",
            about: "approval, 3 vectors, 1 approval, timeout",
            configs: &[GATED],
            vectors: 3,
            instants: &[0, 300],
            left: Left { approvals: 1, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "d",
            about: "approval, 3 vectors, 2 approvals, timeout",
            configs: &[GATED],
            vectors: 3,
            instants: &[0, 300],
            left: Left { approvals: 2, ..LEFT },
            ..BASE
        },
    ]
}

fn made_by_hand() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "E",
            about: "hand-made sequence 1, automatic, timeout",
            instants: &[0, 300],
            hand_made: &[LOW],
            numbers: Numbers::Harmless,
            left: Left { creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "F",
            about: "hand-made sequence 9 with approval, timeout",
            instants: &[0, 300],
            left: Left { approvals: 1, creations: 2, ..LEFT },
            hand_made: &[HIGH],
            numbers: Numbers::Harmless,
            ..BASE
        },
        Scenario {
            name: "I",
            about: "no config, 3 hand-made (two equal sequences), timeout",
            configs: &[],
            instants: &[0, 300],
            hand_made: &[
                LOW,
                HandMade { name: "by-hand-1b", ..LOW },
                HandMade { name: "by-hand-2", sequence: 2, ..LOW },
            ],
            numbers: Numbers::Free,
            ..BASE
        },
        Scenario {
            name: "K",
            about: "two Stages, Stage deleted, hand-made",
            stages: &[("bakery-eu", "dev"), ("bakery-eu", "test")],
            left: Left { stages: 1, creations: 2, ..LEFT },
            hand_made: &[HandMade { name: "by-hand-2", sequence: 2, target: "test", gated: false }],
            numbers: Numbers::Harmless,
            ..BASE
        },
    ]
}

fn deleted() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "j",
            about: "promotion deleted, timeout",
            instants: &[0, 300],
            left: Left { promotions: 1, creations: 2, ..LEFT },
            numbers: Numbers::Free,
            ..BASE
        },
        Scenario {
            name: "J",
            about: "promotion deleted, 2 vectors",
            vectors: 2,
            old: Some(3),
            left: Left { promotions: 1, ..LEFT },
            numbers: Numbers::Free,
            ..BASE
        },
    ]
}

fn made_again() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "g",
            about: "config re-created, timeout",
            instants: &[0, 300],
            left: Left { configs: 1, creations: 2, ..LEFT },
            numbers: Numbers::Harmless,
            ..BASE
        },
        Scenario {
            name: "L",
            about: "config re-created, approval",
            configs: &[GATED],
            left: Left { configs: 1, approvals: 1, creations: 2, ..LEFT },
            numbers: Numbers::Harmless,
            old: Some(1),
            ..BASE
        },
        Scenario {
            name: "G",
            about: "config re-created, 2 vectors",
            vectors: 2,
            old: Some(2),
            left: Left { configs: 1, ..LEFT },
            // A new config that views neither the record on the Stage nor the newest vector makes the older one once more,
            // and drift puts that right: nothing that it views tells of its former self.
            numbers: Numbers::Free,
            ..BASE
        },
        Scenario {
            name: "M",
            about: "config re-created, hand-made sequence 1",
            old: Some(3),
            left: Left { configs: 1, creations: 2, ..LEFT },
            hand_made: &[LOW],
            numbers: Numbers::Harmless,
            ..BASE
        },
        Scenario {
            name: "m",
            about: "config re-created, approved hand-made sequence 9",
            old: Some(2),
            left: Left { configs: 1, approvals: 1, creations: 2, ..LEFT },
            hand_made: &[HIGH],
            numbers: Numbers::Harmless,
            ..BASE
        },
        Scenario {
            name: "H",
            about: "as M, any views",
            left: Left { configs: 1, ..LEFT },
            hand_made: &[LOW],
            numbers: Numbers::Harmless,
            ..BASE
        },
    ]
}

fn beyond_the_table() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "landscape",
            about: "Landscape re-created with another namespace, timeout (R9)",
            stages: &[("bakery-eu", "dev"), ("bakery-us", "dev")],
            instants: &[0, 300],
            left: Left { landscapes: 1, creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "suspend",
            about: "suspended and resumed, 2 vectors",
            vectors: 2,
            left: Left { suspends: 1, creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "refusal",
            about: "writes to the Stage refused for good, timeout (P36)",
            instants: &[0, 300],
            left: Left { refusals: 1, creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "delay",
            about: "failure, then a minute's delay (P38)",
            instants: &[0, 300, 330, 360],
            left: Left { creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "two",
            about: "two configs with one source on one Stage, timeout",
            configs: &[AUTO, Config { name: "lunch-to-dev", ..AUTO }],
            instants: &[0, 300],
            old: Some(2),
            numbers: Numbers::Harmless,
            left: Left { creations: 2, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "contest",
            about: "two configs with a source each on one Stage (P51)",
            configs: &[AUTO, Config { name: "lunch-to-dev", source: "lunch", ..AUTO }],
            old: Some(2),
            numbers: Numbers::Free,
            left: Left { creations: 3, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "cap",
            about: "clean-up by a cap of 1, 4 vectors, mirrors",
            configs: &[Config { keep: 1, ..AUTO }],
            vectors: 4,
            old: Some(1),
            reports: true,
            numbers: Numbers::Free,
            left: Left { creations: 4, ..LEFT },
            ..BASE
        },
        Scenario {
            name: "foreign",
            about: "the next name held by another flow's promotion (R10)",
            vectors: 2,
            foreign: &["menu-to-dev-2"],
            ..BASE
        },
        Scenario {
            name: "burst",
            about: "approval, 4 vectors watched in a burst (P8)",
            configs: &[GATED],
            vectors: 4,
            old: Some(3),
            watches: true,
            left: Left { approvals: 1, creations: 4, ..LEFT },
            ..BASE
        },
    ]
}

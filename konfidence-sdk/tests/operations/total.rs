//! P48: explaining is total: no snapshot, however strange, is too much for it.

use std::sync::Arc;

use jiff::Timestamp;
use konfidence_sdk::promotion::{self, Doubt, Seen, Snapshot, Verdict};
use konfidence_sdk::store::{Key, Object};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const TIMES: [&str; 5] = [
    "-009999-01-02T01:59:59Z",
    "2026-03-01T11:54:00Z",
    "2026-03-01T11:59:50Z",
    "2026-03-01T12:00:00Z",
    "9999-12-30T22:00:00Z",
];
const ATTEMPTS: [&str; 5] =
    ["", "0@2026-03-01T12:00:00Z", "3@2026-03-01T11:59:59Z", "4294967295@9999-12-30T22:00:00Z", "x"];
const RESULTS: [(&str, &str); 9] = [
    ("True", "PromotionSucceeded"),
    ("False", "PromotionRunning"),
    ("False", "PromotionTargetUnresolved"),
    ("False", "PromotionSuperseded"),
    ("False", "PromotionTimedOut"),
    ("False", "PromotionFailed"),
    ("False", "PromotionRejected"),
    ("False", "OfANewerVersion"),
    ("Unknown", "WhoKnows"),
];

fn seen<K: Object>(object: Value) -> Seen<K> {
    Seen::Found(Arc::new(serde_json::from_value(object).unwrap()))
}

fn condition(type_: &str, (status, reason): (&str, &str), since: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": since})
}

prop_compose! {
    fn promotion()(
        sequence in select(vec![i64::MIN, -1, 0, 1, 2, 3, 9_007_199_254_740_991, i64::MAX]),
        result in proptest::option::of(select(&RESULTS[..])),
        since in select(&TIMES[..]),
        (gated, granted, deleting, placed) in any::<(bool, bool, bool, bool)>(),
        owner in select(vec!["", "ours", "another"]),
        stage in select(vec!["dev", "gone"]),
        attempt in select(&ATTEMPTS[..]),
        overrules in select(vec!["", r#"{"vector":"menu:1","by":"anna"}"#, "{"]),
        failures in select(vec!["", "1", "4294967295", "-1"]),
        vector in select(vec!["menu:1", "menu:2"]),
    ) -> Value {
        let mut conditions = Vec::new();
        if granted {
            conditions.push(condition("Approved", ("True", "ManuallyApproved"), since));
        }
        conditions.extend(result.map(|result| condition("Succeeded", result, since)));
        let mut promotion = json!({
            "metadata": {"namespace": "bakery", "name": "", "annotations": {
                "konfidence.cloud/attempt": attempt, "konfidence.cloud/overrules": overrules,
                "konfidence.cloud/failures": failures, "konfidence.cloud/corrections": failures,
            }},
            "spec": {
                "vectorPromotionConfigName": "menu-to-dev", "source": {"kind": "VectorTemplate", "name": "menu"},
                "target": {"kind": "Stage", "landscape": "eu", "name": stage},
                "vector": vector, "requireApproval": gated, "sequence": sequence,
            },
            "status": {"conditions": conditions},
        });
        if !owner.is_empty() {
            promotion["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "konfidence.cloud/v1alpha1", "kind": "VectorPromotionConfig", "name": "menu-to-dev",
                "uid": owner, "controller": true,
            }]);
        }
        if deleting {
            promotion["metadata"]["deletionTimestamp"] = json!("2026-03-01T11:00:00Z");
        }
        if placed {
            promotion["status"]["promotedStageRef"] = json!({"kind": "Stage", "namespace": "bakery-eu", "name": stage});
        }
        promotion
    }
}

prop_compose! {
    fn snapshot()(
        promotions in proptest::collection::vec(promotion(), 0..6),
        (there, deleting, suspended, initialised) in any::<(bool, bool, bool, bool)>(),
        (landscape, stage, template, differs) in any::<(bool, bool, bool, bool)>(),
        require in any::<Option<bool>>(),
    ) -> Snapshot {
        let mut snapshot = Snapshot::empty(Key::new("bakery", "menu-to-dev"));
        for (index, mut promotion) in promotions.into_iter().enumerate() {
            promotion["metadata"]["name"] = json!(format!("menu-to-dev-{index}"));
            promotion["metadata"]["uid"] = json!(format!("uid-{index}"));
            promotion["metadata"]["resourceVersion"] = json!(index.to_string());
            snapshot.promotions.push(Arc::new(serde_json::from_value(promotion).unwrap()));
        }
        if there {
            let mut config = json!({
                "metadata": {"namespace": "bakery", "name": "menu-to-dev", "uid": "ours", "resourceVersion": "1"},
                "spec": {
                    "source": {"kind": "VectorTemplate", "name": "menu"},
                    "target": {"kind": "Stage", "landscape": "eu", "name": "dev"},
                    "suspend": suspended, "requireApproval": require,
                },
                "status": if initialised { json!({"sequence": 3}) } else { json!({}) },
            });
            if deleting {
                config["metadata"]["deletionTimestamp"] = json!("2026-03-01T11:00:00Z");
            }
            snapshot.config = seen(config);
        }
        if landscape {
            let eu = json!({
                "metadata": {"namespace": "bakery", "name": "eu"}, "spec": {}, "status": {"namespace": "bakery-eu"},
            });
            snapshot.landscapes.insert("eu".into(), seen(eu));
        }
        if stage {
            let dev = json!({
                "metadata": {"namespace": "bakery-eu", "name": "dev", "uid": "dev", "resourceVersion": "7"},
                "spec": {"vector": "menu:0"},
            });
            snapshot.stages.insert(Key::new("bakery-eu", "dev"), seen(dev));
        }
        if template {
            snapshot.template = seen(json!({
                "metadata": {"namespace": "bakery", "name": "menu", "uid": "menu", "resourceVersion": "5"},
                "spec": {"uploadTarget": "registry.example.com/menu", "components": []},
                "status": {"latestVector": "menu:1"},
            }));
        }
        if differs {
            let gone = Doubt::Gone(Key::new("bakery-eu", "gone"));
            for doubt in [Doubt::Owner, Doubt::Initialise, Doubt::Creation, gone] {
                snapshot.confirmed.insert(doubt, Verdict::Differs);
            }
        }
        snapshot
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn p48_every_snapshot_can_be_explained_and_every_live_promotion_says_what_becomes_of_it(
        snapshot in snapshot(),
        now in select(&TIMES[..]),
    ) {
        let now: Timestamp = now.parse().unwrap();
        let config = promotion::explain(&snapshot, now);
        prop_assert!(!config.to_string().is_empty());
        serde_json::to_value(&config).unwrap();
        let a_creation_comes_first = config.next.iter().any(|next| next.step == "is made");
        for promotion in &snapshot.promotions {
            let name = promotion.metadata.name.clone().unwrap();
            let told = promotion::explain_promotion(&snapshot, now, &name).unwrap();
            serde_json::to_value(&told).unwrap();
            let says_something = told.ended.is_some() || !told.waits_for.is_empty() || !told.next.is_empty();
            prop_assert!(says_something || a_creation_comes_first, "{told}\n{config}");
        }
    }
}

//! Given this snapshot, exactly these steps.

use std::collections::BTreeMap;

use konfidence_types::LandscapeReason;

use super::*;
use crate::landscape::{Notice, decide, explain};
use crate::store::Version;

/// `snapshot` after its status step was written.
fn settled(snapshot: Snapshot, second: i64) -> Snapshot {
    let steps = snapshot.steps(second);
    let Some(Step::WriteStatus { status, .. }) = steps.into_iter().find(|step| word(step) == "status") else {
        panic!("no status was written")
    };
    let mut before = serde_json::to_value(snapshot.landscape.status.clone().unwrap_or_default()).unwrap();
    json_patch::merge(&mut before, &Value::Object(status));
    snapshot.change(|landscape| landscape.status = Some(from(before)))
}

#[test]
fn r61_a_new_landscape_gets_its_namespace_with_all_four_labels() {
    let steps = snapshot().steps(0);
    assert_eq!(words(&steps), ["finalizer", "create", "status"]);
    assert_eq!(steps[0], Step::AddFinalizer { finalizers: vec![LANDSCAPE_FINALIZER.into()] });
    let labels: BTreeMap<String, String> = from(our_labels());
    assert_eq!(steps[1], Step::CreateNamespace { name: DERIVED.into(), labels });
    assert_eq!(written(&steps), ["Ready=True/LandscapeReconciled", "NamespaceReady=True/NamespaceReconciled"]);
    let Step::WriteStatus { status, notice: None } = &steps[2] else { panic!("{:?}", steps[2]) };
    assert_eq!((&status["namespace"], &status["projectName"]), (&json!(DERIVED), &json!("bakery")));
    assert!(conditions(&steps).iter().all(|condition| condition.observed_generation == Some(1)));
}

#[test]
fn r61_other_finalizers_stay_when_ours_comes_and_goes() {
    let other = || vec!["example.com/audit".to_owned()];
    let steps = snapshot().change(|landscape| landscape.metadata.finalizers = Some(other())).steps(0);
    let Step::AddFinalizer { finalizers } = &steps[0] else { panic!("{steps:?}") };
    assert_eq!(*finalizers, ["example.com/audit", LANDSCAPE_FINALIZER]);

    let both = snapshot().deleting().change(|landscape| landscape.metadata.finalizers = Some(finalizers.clone()));
    assert_eq!(both.steps(0), [Step::RemoveFinalizer { finalizers: other() }]);
}

#[test]
fn r60_exactly_the_illegal_targets_are_refused() {
    for (wanted, legal) in [
        ("default", false),
        ("kube-system", false),
        ("kube-x", false),
        ("bakery", false),
        ("konfidence-system", false),
        ("kube", true),
        ("kubernetes", true),
        ("default-eu", true),
        ("bakery-eu", true),
    ] {
        let steps = snapshot().wanting(wanted).steps(0);
        if legal {
            assert_eq!(words(&steps), ["finalizer", "create", "status"], "{wanted}");
        } else {
            assert_eq!(words(&steps), ["status"], "{wanted}");
            assert_eq!(written(&steps), ["Ready=False/InvalidNamespace", "NamespaceReady=False/InvalidNamespace"]);
        }
    }
}

#[test]
fn r60_an_illegal_target_is_never_deleted_even_with_our_labels() {
    let steps = snapshot().deleting().wanting("kube-system").recorded().with_namespace(ours).steps(0);
    assert_eq!(words(&steps), ["release"]);
}

#[test]
fn r61_only_the_drifted_label_is_written_on_the_version_that_was_read() {
    let drifted = snapshot().finalized().recorded().with_namespace(without_label("type"));
    let steps = settled(drifted, 0).steps(1);
    let version = Version { uid: "namespace".into(), resource_version: "7".into() };
    let labels = BTreeMap::from([("konfidence.cloud/type".into(), "landscape".into())]);
    assert_eq!(steps, [Step::LabelNamespace { name: DERIVED.into(), version, labels }]);
}

#[test]
fn r62_a_namespace_that_lacks_one_of_the_three_labels_is_untouched() {
    for label in ["managed-by", "landscape", "project"] {
        let steps = snapshot().with_namespace(without_label(label)).steps(0);
        assert_eq!(words(&steps), ["status"], "{label}");
        assert_eq!(written(&steps), ["Ready=False/NamespaceConflict", "NamespaceReady=False/NamespaceConflict"]);
        let Step::WriteStatus { status, notice: Some(notice) } = &steps[0] else { panic!("{steps:?}") };
        assert!(!status.contains_key("namespace"), "recorded only once R62 holds");
        assert!(notice.note.contains(label), "{}", notice.note);
        assert_eq!(words(&snapshot().deleting().with_namespace(without_label(label)).steps(0)), ["release"]);
    }
}

#[test]
fn r62_of_twins_the_one_with_the_record_keeps_the_namespace_and_the_older_of_two() {
    let reason = |snapshot: Snapshot| written(&snapshot.with_namespace(ours).steps(0))[0].clone();
    assert_eq!(reason(snapshot().with_rival(false, true)), "Ready=False/NamespaceConflict");
    assert_eq!(reason(snapshot().recorded().with_rival(true, true)), "Ready=False/NamespaceConflict");
    assert_eq!(reason(snapshot().recorded().with_rival(false, true)), "Ready=True/LandscapeReconciled");
    assert_eq!(reason(snapshot().with_rival(true, false)), "Ready=True/LandscapeReconciled", "the labels decide");
}

#[test]
fn r62_a_namespace_that_is_gone_for_now_is_kept_for_who_has_it_on_record() {
    for is_twin in [false, true] {
        let newcomer = snapshot().with_rival(false, is_twin);
        assert_eq!(written(&newcomer.steps(0))[0], "Ready=False/NamespaceConflict");
        let senior = snapshot().recorded().with_rival(false, is_twin);
        assert_eq!(words(&senior.steps(0)), ["finalizer", "create", "status"]);
    }
}

#[test]
fn r63_a_namespace_that_a_twin_has_on_record_outlives_this_landscape() {
    for is_senior in [false, true] {
        let snapshot = snapshot().deleting().recorded().with_namespace(ours);
        assert_eq!(words(&snapshot.clone().with_rival(is_senior, true).steps(0)), ["release"]);
        assert_eq!(words(&snapshot.with_rival(is_senior, false).steps(0)), ["status", "delete"]);
    }
}

#[test]
fn r63_the_delete_names_the_very_namespace_that_was_read() {
    let steps = snapshot().deleting().recorded().with_namespace(ours).steps(0);
    assert_eq!(written(&steps), ["Ready=False/Terminating", "NamespaceReady=False/NamespaceTerminating"]);
    let version = Version { uid: "namespace".into(), resource_version: "7".into() };
    assert_eq!(steps[1], Step::DeleteNamespace { name: DERIVED.into(), version });
}

#[test]
fn r63_a_deleting_landscape_without_our_finalizer_causes_no_write() {
    let foreign_finalizer = |landscape: &mut Landscape| {
        landscape.metadata.finalizers = Some(vec!["example.com/audit".into()]);
    };
    assert_eq!(snapshot().deleting().with_namespace(ours).change(foreign_finalizer).steps(0), []);
}

#[test]
fn every_write_is_decided_on_live_reads() {
    let doubtful = [
        snapshot(),
        snapshot().finalized().with_namespace(ours),
        snapshot().deleting().recorded().with_namespace(ours),
        snapshot().deleting(),
        snapshot().recorded().with_namespace(without_label("project")),
    ];
    for snapshot in doubtful {
        assert_eq!(decide(&snapshot.cached(), at(0)), Decision::Verify(Reads::Live));
    }
    let at_rest = settled(snapshot().finalized().with_namespace(ours), 0);
    assert_eq!(at_rest.cached().steps(1), []);
}

#[test]
fn r65_the_transition_time_moves_with_the_reason_and_nothing_is_written_twice() {
    let conflict = settled(snapshot().with_namespace(without_label("managed-by")), 0);
    assert_eq!(conflict.steps(60), []);

    let renamed = conflict.clone().with_namespace(without_label("landscape"));
    let same_reason = renamed.steps(60);
    assert!(conditions(&same_reason).iter().all(|condition| condition.last_transition_time.0 == at(0)));
    let other_reason = conflict.with_namespace(terminating).steps(60);
    assert!(conditions(&other_reason).iter().all(|condition| condition.last_transition_time.0 == at(60)));
}

#[test]
fn r65_a_new_generation_is_observed_with_one_write_and_no_transition() {
    let ready = settled(snapshot().finalized().with_namespace(ours), 0);
    assert_eq!(ready.steps(60), []);
    let renamed = ready.change(|landscape| landscape.metadata.generation = Some(2));
    let steps = renamed.steps(60);
    assert_eq!(words(&steps), ["status"]);
    for condition in conditions(&steps) {
        assert_eq!((condition.observed_generation, condition.last_transition_time.0), (Some(2), at(0)));
    }
}

#[test]
fn conditions_of_others_survive() {
    let theirs = json!({ "conditions": [{
        "type": "Audited", "status": "True", "reason": "Seen", "message": "", "lastTransitionTime": "2026-09-01T05:00:00Z",
    }] });
    let steps = snapshot().change(|landscape| landscape.status = Some(from(theirs))).steps(0);
    assert_eq!(written(&steps)[0], "Audited=True/Seen");
    assert_eq!(written(&steps).len(), 3);
}

#[test]
fn a_warning_goes_with_the_transition_alone() {
    let conflict = snapshot().with_namespace(without_label("managed-by"));
    let notice = |snapshot: &Snapshot| match &snapshot.steps(0)[..] {
        [Step::WriteStatus { notice, .. }] => notice.as_ref().map(|Notice { reason, .. }| *reason),
        other => panic!("{other:?}"),
    };
    assert_eq!(notice(&conflict), Some(LandscapeReason::NamespaceConflict));
    let relabelled = settled(conflict, 0).with_namespace(without_label("landscape"));
    assert_eq!(notice(&relabelled), None);
}

#[test]
fn an_explanation_says_what_stands_in_the_way_and_what_comes_next() {
    let new = explain(&snapshot(), at(0));
    assert_eq!(
        new.to_string(),
        "Landscape bakery/eu of project bakery, namespace kden-l-eu-qzrh65pn\n  \
         LandscapeReconciled: namespace kden-l-eu-qzrh65pn of project bakery is ready\n  \
         next: add the finalizer, create namespace kden-l-eu-qzrh65pn, write the status"
    );
    let blocked = explain(&settled(snapshot().with_namespace(without_label("managed-by")), 0), at(1));
    assert_eq!((blocked.reason, blocked.next), (LandscapeReason::NamespaceConflict, Vec::new()));
    assert!(blocked.message.contains("label konfidence.cloud/managed-by is absent"), "{}", blocked.message);
}

//! The story of a flow, over TCP, with the real binary and stock kubectl.

mod support;

use support::{Dev, TIMEOUT, eventually, konfidence, run, three_stages, vector};

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn the_story_holds_over_tcp_with_the_binary_and_kubectl() {
    let dev = Dev::with_three_stages();

    // The first vector goes to dev at once, and dev's change waits for a person.
    dev.publish("1.0.0");
    dev.until_promotion_is("menu-to-dev-1", "Succeeded");
    assert_eq!(dev.vector_of("bakery-lab", "dev"), vector("1.0.0"));
    dev.until_promotion_is("dev-to-test-1", "Waiting");

    // Two more vectors: three candidates.
    for (version, promotion) in [("1.1.0", "dev-to-test-2"), ("1.2.0", "dev-to-test-3")] {
        dev.publish(version);
        dev.until_promotion_is(promotion, "Waiting");
    }
    let told = dev.konfidence(&["explain", "dev-to-test"]).ok();
    assert!(told.contains("its start supersedes dev-to-test-1, dev-to-test-2"), "{told}");
    assert!(told.contains("waits for somebody's approval"), "{told}");

    // The second is approved: it runs, the first is superseded, the third keeps its chance.
    dev.konfidence(&["approve", "dev-to-test-2", "--as", "anna", "--wait"]).ok();
    assert_eq!(dev.vector_of("bakery-lab", "test"), vector("1.1.0"));
    let found = dev.promotions_of("dev-to-test");
    let expected = [("dev-to-test-1", "Superseded"), ("dev-to-test-2", "Succeeded"), ("dev-to-test-3", "Waiting")];
    assert_eq!(found, pairs(&expected));
    let promotion = dev.object("bakery", "vp", "dev-to-test-2");
    assert_eq!(promotion["status"]["approval"]["approvedBy"], "anna");

    // A second approval is refused with a reason, and changes nothing.
    dev.konfidence(&["approve", "dev-to-test-2", "--as", "bert"]).fails(3, &["dev-to-test-2", "Succeeded already"]);
    assert_eq!(dev.object("bakery", "vp", "dev-to-test-2"), promotion);

    // The third is approved and runs.
    dev.konfidence(&["approve", "dev-to-test-3", "--as", "anna", "--wait"]).ok();
    assert_eq!(dev.vector_of("bakery-lab", "test"), vector("1.2.0"));

    // The target goes: the next one is blocked, and heals when it is back.
    dev.publish("1.3.0");
    dev.until_promotion_is("dev-to-test-4", "Waiting");
    let stage = dev.object("bakery-lab", "stage", "test");
    dev.kubectl(&["delete", "stage", "test", "-n", "bakery-lab", TIMEOUT]).ok();
    dev.konfidence(&["approve", "dev-to-test-4", "--as", "anna"]).ok();
    dev.until_promotion_is("dev-to-test-4", "Blocked");
    let told = dev.konfidence(&["explain", "promotion/dev-to-test-4"]).ok();
    assert!(told.contains("Stage test does not exist in namespace bakery-lab"), "{told}");
    dev.kubectl(&["apply", "-f", &format!("{}/2-stages.yaml", three_stages())]).ok();
    dev.until_promotion_is("dev-to-test-4", "Succeeded");
    let remade = dev.object("bakery-lab", "stage", "test");
    assert_ne!(remade["metadata"]["uid"], stage["metadata"]["uid"]);
    assert_eq!(remade["spec"]["vector"], vector("1.3.0"));

    // One is rejected and does not return; old ones are cleaned up; the audit trail is left.
    dev.publish("1.4.0");
    dev.until_promotion_is("dev-to-test-5", "Waiting");
    dev.konfidence(&["reject", "dev-to-test-5", "--reason", "no prices on it", "--as", "bert"]).ok();
    let patch = r#"{"spec": {"keepLastPromotions": 1}}"#;
    dev.kubectl(&["patch", "vpc", "dev-to-test", "-n", "bakery", "--type=merge", "-p", patch]).ok();
    for name in ["vp/dev-to-test-1", "vp/dev-to-test-2", "vp/dev-to-test-3"] {
        dev.kubectl(&["wait", "-n", "bakery", name, "--for=delete", TIMEOUT]).ok();
    }
    let left = pairs(&[("dev-to-test-4", "Succeeded"), ("dev-to-test-5", "Failed")]);
    assert_eq!(dev.promotions_of("dev-to-test"), left);

    // What happened is told as events, to kubectl describe too (P47).
    eventually("the events of dev-to-test-4 are posted", || {
        let told = dev.kubectl(&["describe", "vp", "dev-to-test-4", "-n", "bakery"]).ok();
        ["PromotionApproved", "PromotionBlocked", "PromotionSucceeded"].iter().all(|reason| told.contains(reason))
    });
    assert_eq!(dev.stderr(), "", "nothing went wrong on the server");
}

#[test]
fn the_example_is_applied_by_kubectl_alone() {
    let dev = Dev::start(&[]);
    let folder = three_stages();
    dev.kubectl(&["apply", "-f", &format!("{folder}/1-project.yaml")]).ok();
    dev.kubectl(&["wait", "-n", "bakery", "--for=condition=Ready", "landscape", "--all", TIMEOUT]).ok();
    dev.kubectl(&["apply", "-f", &folder]).ok();
    dev.kubectl(&["wait", "-n", "bakery", "--for=condition=Ready", "vpc", "--all", TIMEOUT]).ok();
    let table = dev.kubectl(&["get", "vpc", "-n", "bakery"]).ok();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.starts_with("NAME"), "{table}");
}

#[test]
fn the_demo_ends_well() {
    let told = run(konfidence().args(["demo", "--pace", "0"])).ok();
    for chapter in 1..=10 {
        assert!(told.contains(&format!("\n{chapter}. ")), "chapter {chapter}: {told}");
    }
    assert!(told.contains("ok: three candidates wait for stage test"), "{told}");
    assert!(told.contains("to Stage lab/test (does not exist)"), "{told}");
    // Every chapter shows what somebody typed.
    for chapter in told.split("\n\n").filter(|part| part.starts_with(|first: char| first.is_ascii_digit())) {
        assert!(chapter.contains("\n   $ "), "{chapter}");
    }
    let (_, end) = told.split_once("All 10 chapters ended as they should.").expect("a last word");
    assert!(end.contains("Seen: ") && end.contains("konfidence dev --apply examples/three-stages"), "{end}");
    assert!(told.contains("error: promotion bakery/dev-to-test-2 is Succeeded already"), "{told}");
}

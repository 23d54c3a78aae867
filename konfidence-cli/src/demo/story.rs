//! The story, and what must be true at each point of it.

use crate::approve::approve;
use crate::explain;
use crate::failure::Failure;
use crate::get;
use crate::reject::reject;

use super::narrator::{Narrator, check, holds, quote};
use super::world::World;

const LAB: &str = "bakery-lab";
const EU: &str = "bakery-eu";

/// The vector of a version of the menu.
fn menu(version: &str) -> String {
    format!("registry.example/bakery//menu:{version}")
}

/// Tells everything, and fails at the first thing that is not as it should be.
pub(super) async fn run(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    first_vector(world, narrator).await?;
    three_candidates(world, narrator).await?;
    the_second_is_approved(world, narrator).await?;
    a_second_approval_is_refused(world, narrator).await?;
    the_third_is_approved(world, narrator).await?;
    a_target_goes_and_comes_back(world, narrator).await?;
    one_is_rejected(world, narrator).await?;
    old_ones_are_cleaned_up(world, narrator).await?;
    the_last_stage(world, narrator).await?;
    the_end(world, narrator).await
}

async fn first_vector(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator
        .chapter("Template menu gets its first vector. Config menu-to-dev promotes it to stage dev at once.")
        .await?;
    publish(world, narrator, "1.0.0").await?;
    world.until_promotion_is("menu-to-dev-1", "Succeeded", &menu("1.0.0")).await?;
    holds("promotion menu-to-dev-1 succeeded")?;
    let dev = world.vector_of(LAB, "dev").await?;
    check("stage dev has the vector of the template", &dev, &menu("1.0.0"))?;
    world.until_promotion_is("dev-to-test-1", "Waiting", &menu("1.0.0")).await?;
    holds("the change of dev made promotion dev-to-test-1, which waits for a person")?;
    explained(world, narrator, "dev-to-test").await
}

async fn three_candidates(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Two more vectors arrive. Each becomes a candidate for stage test.").await?;
    for (version, promotion) in [("1.1.0", "dev-to-test-2"), ("1.2.0", "dev-to-test-3")] {
        publish(world, narrator, version).await?;
        world.until_promotion_is(promotion, "Waiting", &menu(version)).await?;
    }
    let waiting =
        ["dev-to-test-1", "dev-to-test-2", "dev-to-test-3"].map(|name| (name.to_owned(), "Waiting".to_owned()));
    let found = world.promotions_of("dev-to-test").await?;
    check("three candidates wait for stage test", &found, &waiting.to_vec())?;
    explained(world, narrator, "dev-to-test").await
}

async fn the_second_is_approved(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Anna approves the second of the three.").await?;
    narrator.act("konfidence approve dev-to-test-2 -n bakery --as anna").await?;
    let anna = world.seen_by("anna").await?;
    let caller = anna.caller().await?;
    approve(&anna, "dev-to-test-2", &caller).await?;
    world.until_promotion_is("dev-to-test-2", "Succeeded", &menu("1.1.0")).await?;
    let approval = world.promotion("dev-to-test-2").await?.status.and_then(|status| status.approval);
    let by = approval.map(|approval| approval.approved_by);
    check("it ran, and the record says who approved it", &by.as_deref(), &Some("anna"))?;
    let test = world.vector_of(LAB, "test").await?;
    check("stage test has its vector", &test, &menu("1.1.0"))?;
    world.until_promotion_is("dev-to-test-1", "Superseded", &menu("1.0.0")).await?;
    let by = world.promotion("dev-to-test-1").await?.status.and_then(|status| status.superseded_by);
    check("the first is superseded by the second", &by.as_deref(), &Some("dev-to-test-2"))?;
    world.until_promotion_is("dev-to-test-3", "Waiting", &menu("1.2.0")).await?;
    holds("the third keeps its chance")?;
    explained(world, narrator, "dev-to-test").await
}

async fn a_second_approval_is_refused(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Bert approves the same promotion again. That is refused, with the reason.").await?;
    narrator.act("konfidence approve dev-to-test-2 -n bakery --as bert").await?;
    let bert = world.seen_by("bert").await?;
    let caller = bert.caller().await?;
    match approve(&bert, "dev-to-test-2", &caller).await {
        Err(refusal @ Failure::Refused(_)) => quote(format!("error: {refusal}"))?,
        Err(other) => return Err(Failure::Other(format!("expected a refusal, found: {other}"))),
        Ok(_) => return Err(Failure::Other("expected a refusal of the second approval, and it was taken".into())),
    }
    let approval = world.promotion("dev-to-test-2").await?.status.and_then(|status| status.approval);
    let by = approval.map(|approval| approval.approved_by);
    check("the record is as it was", &by.as_deref(), &Some("anna"))
}

async fn the_third_is_approved(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Anna approves the third, and it runs.").await?;
    narrator.act("konfidence approve dev-to-test-3 -n bakery --as anna").await?;
    let anna = world.seen_by("anna").await?;
    approve(&anna, "dev-to-test-3", &anna.caller().await?).await?;
    world.until_promotion_is("dev-to-test-3", "Succeeded", &menu("1.2.0")).await?;
    let test = world.vector_of(LAB, "test").await?;
    check("stage test has its vector", &test, &menu("1.2.0"))?;
    explained(world, narrator, "dev-to-test").await
}

async fn a_target_goes_and_comes_back(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Stage test is deleted. The next approved promotion is blocked until the stage is back.").await?;
    publish(world, narrator, "1.3.0").await?;
    world.until_promotion_is("dev-to-test-4", "Waiting", &menu("1.3.0")).await?;
    narrator.act(&format!("kubectl delete stage test -n {LAB}")).await?;
    world.delete_stage(LAB, "test").await?;
    narrator.act("konfidence approve dev-to-test-4 -n bakery --as anna").await?;
    let anna = world.seen_by("anna").await?;
    approve(&anna, "dev-to-test-4", &anna.caller().await?).await?;
    world.until_promotion_is("dev-to-test-4", "Blocked", &menu("1.3.0")).await?;
    holds("promotion dev-to-test-4 is blocked")?;
    explained(world, narrator, "dev-to-test").await?;
    narrator.act("kubectl apply -f examples/three-stages/2-stages.yaml").await?;
    world.make_stage(LAB, "test").await?;
    world.until_stage_has(LAB, "test", &menu("1.3.0")).await?;
    world.until_promotion_is("dev-to-test-4", "Succeeded", &menu("1.3.0")).await?;
    holds("it healed, ran and succeeded by itself")?;
    explained(world, narrator, "dev-to-test").await
}

async fn one_is_rejected(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Bert rejects the next one.").await?;
    publish(world, narrator, "1.4.0").await?;
    world.until_promotion_is("dev-to-test-5", "Waiting", &menu("1.4.0")).await?;
    narrator.act("konfidence reject dev-to-test-5 --reason 'no prices on it' -n bakery --as bert").await?;
    let bert = world.seen_by("bert").await?;
    reject(&bert, "dev-to-test-5", &bert.caller().await?, "no prices on it").await?;
    world.until_promotion_is("dev-to-test-5", "Failed", &menu("1.4.0")).await?;
    let rejection = world.promotion("dev-to-test-5").await?.status.and_then(|status| status.rejection);
    let words = rejection.map(|rejection| (rejection.rejected_by, rejection.reason));
    let expected = Some(("bert".to_owned(), "no prices on it".to_owned()));
    check("the record says who and why", &words, &expected)?;
    explained(world, narrator, "dev-to-test").await
}

async fn old_ones_are_cleaned_up(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("The config is told to keep two promotions, then one. The audit trail stays.").await?;
    keep_last(world, narrator, 2).await?;
    for name in ["dev-to-test-1", "dev-to-test-2", "dev-to-test-3"] {
        world.until_promotion_is_gone(name).await?;
    }
    holds("the first three are cleaned up")?;
    keep_last(world, narrator, 1).await?;
    // Two decisions were made since the rejection: had the vector come back, its promotion would be here.
    let found = world.promotions_of("dev-to-test").await?;
    let left = [("dev-to-test-4", "Succeeded"), ("dev-to-test-5", "Failed")];
    let left: Vec<_> = left.map(|(name, state)| (name.to_owned(), state.to_owned())).to_vec();
    check("the newest success and the newest result are left, the rejected vector did not return", &found, &left)?;
    explained(world, narrator, "dev-to-test").await
}

async fn the_last_stage(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("Anna approves the newest candidate for stage prod. It has what was tested last.").await?;
    world.until_promotion_is("test-to-prod-3", "Waiting", &menu("1.3.0")).await?;
    explained(world, narrator, "test-to-prod").await?;
    narrator.act("konfidence approve test-to-prod-3 -n bakery --as anna").await?;
    let anna = world.seen_by("anna").await?;
    approve(&anna, "test-to-prod-3", &anna.caller().await?).await?;
    world.until_promotion_is("test-to-prod-3", "Succeeded", &menu("1.3.0")).await?;
    holds("promotion test-to-prod-3 succeeded")?;
    explained(world, narrator, "test-to-prod").await
}

async fn the_end(world: &World, narrator: &mut Narrator) -> Result<(), Failure> {
    narrator.chapter("What is left.").await?;
    for (namespace, stage, version) in [(LAB, "dev", "1.4.0"), (LAB, "test", "1.3.0"), (EU, "prod", "1.3.0")] {
        let vector = world.vector_of(namespace, stage).await?;
        check(&format!("stage {stage} has menu:{version}"), &vector, &menu(version))?;
    }
    let found = world.promotions_of("test-to-prod").await?;
    let states = [("1", "Superseded"), ("2", "Superseded"), ("3", "Succeeded")];
    let expected: Vec<_> = states.map(|(at, state)| (format!("test-to-prod-{at}"), state.to_owned())).to_vec();
    check("the older candidates for prod are superseded", &found, &expected)?;
    narrator.act("konfidence get promotions -n bakery -o wide").await?;
    quote(get::promotions(&world.cluster).await?)?;
    narrator.end(&[
        "Seen: a vector went from stage to stage; people approved, rejected and were refused; a newer candidate",
        "superseded older ones; a deleted stage blocked a promotion until it was back; and the records say who did what.",
        "Next: the same by hand, with the files of examples/three-stages and the commands above:",
        "  konfidence dev --apply examples/three-stages --kubeconfig /tmp/konfidence.kubeconfig",
        "  KUBECONFIG=/tmp/konfidence.kubeconfig konfidence get configs -n bakery",
    ])
}

/// Assembly publishes a version of the menu; here somebody does it by hand.
async fn publish(world: &World, narrator: &Narrator, version: &str) -> Result<(), Failure> {
    let status = format!(r#"{{"status":{{"latestVector":"{}"}}}}"#, menu(version));
    let command = "kubectl patch vectortemplate menu -n bakery --subresource=status --type=merge -p";
    narrator.act(&format!("{command} '{status}'")).await?;
    world.publish(&menu(version)).await
}

/// Somebody changes how many promotions config dev-to-test keeps.
async fn keep_last(world: &World, narrator: &Narrator, promotions: u32) -> Result<(), Failure> {
    let spec = format!(r#"{{"spec":{{"keepLastPromotions":{promotions}}}}}"#);
    narrator.act(&format!("kubectl patch vpc dev-to-test -n bakery --type=merge -p '{spec}'")).await?;
    world.keep_last("dev-to-test", promotions).await
}

/// Shows where a config stands.
async fn explained(world: &World, narrator: &Narrator, config: &str) -> Result<(), Failure> {
    narrator.act(&format!("konfidence explain {config} -n bakery")).await?;
    quote(explain::config(&world.cluster, config).await?)
}

//! Section 12: what a promotion costs the API server.

use std::time::Duration;

use e2e::Meddling;
use konfidence_types::SourceRef;

use crate::on_every_server;
use crate::world::{World, until};

on_every_server!(
    c1_an_automatic_promotion_costs_five_writes_and_no_read,
    c2_a_burst_of_a_hundred_vectors_executes_a_few,
    c3_other_configs_cost_nothing,
);

const FIVE: [&str; 5] = [
    "create vectorpromotions",
    "patch vectorpromotions/status menu-to-dev-1",
    "patch stages dev",
    "patch vectorpromotions/status menu-to-dev-1",
    "patch vectorpromotionconfigs/status menu-to-dev",
];

/// The last one comes, and then there is rest, without a read.
async fn costs_five_writes(world: &World) {
    let asked = || {
        let calls = world.calls().into_iter().filter(|call| call.group != "events.k8s.io");
        calls.map(|call| call.words()).collect::<Vec<_>>()
    };
    until("the config's status is written", async || asked().last().map(String::as_str) == FIVE.last().copied()).await;
    world.rest().await;
    assert_eq!(asked(), FIVE);
}

async fn c1_an_automatic_promotion_costs_five_writes_and_no_read(world: &World) {
    world.automatic().await;
    world.rest().await;
    world.wire.clear();
    world.assemble("menu:1").await;
    world.tells("menu-to-dev-1", &["PromotionSucceeded"]).await;
    costs_five_writes(world).await;
    let calls = world.calls();
    // No event request on the path before the Stage is written.
    let stage = calls.iter().position(|call| call.resource == "stages").unwrap();
    let event = calls.iter().position(|call| call.group == "events.k8s.io").unwrap();
    assert!(stage < event, "{calls:?}");
}

async fn c2_a_burst_of_a_hundred_vectors_executes_a_few(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 200).await;
    world.rest().await;
    // A server that takes its time: at no cost at all each vector would be executed before the next one is there.
    world.wire.meddle(|_| Some(Meddling::Slow(Duration::from_millis(40))));
    world.wire.clear();
    for n in 1..=100 {
        world.assemble(&format!("menu:{n}")).await;
    }
    world.carries("dev", "menu:100").await;
    world.rest().await;
    let writes = world.writes();
    let count = |what: &str| writes.iter().filter(|write| write.starts_with(what)).count();
    let (executed, made) = (count("patch stages dev"), count("create vectorpromotions"));
    assert!(executed <= 30, "{executed} of 100 were executed");
    // A superseded one costs its create and one status write, an executed one two, the config its own.
    assert!(count("patch vectorpromotions/status") <= made + executed, "{writes:?}");
    assert!(count("patch vectorpromotionconfigs/status") <= executed + 2, "{writes:?}");
}

async fn c3_other_configs_cost_nothing(world: &World) {
    world.automatic().await;
    world.template("snack").await;
    for n in 0..10 {
        world.stage(&format!("kiosk-{n}")).await;
        world.config(&format!("snack-{n}"), SourceRef::template("snack"), &format!("kiosk-{n}"), |_| {}).await;
        world.becomes(&format!("snack-{n}"), "TargetResolved").await;
    }
    world.rest().await;
    world.wire.clear();
    world.assemble("menu:1").await;
    costs_five_writes(world).await;
}

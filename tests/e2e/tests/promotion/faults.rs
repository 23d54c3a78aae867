//! Section 8 on a server: two sets of controllers, processes that die, a lease that changes hands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use e2e::{Meddling, Shifted, Wire};
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use konfidence_controllers::runtime::Election;
use konfidence_types::{Stage, annotation};
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::on_every_server;
use crate::world::{World, succeeded, until};

on_every_server!(
    s1_s6_two_processes_without_an_election_do_no_harm,
    s2_a_write_that_comes_after_the_retirement_changes_nothing,
    p35_a_process_that_dies_after_any_write_is_gone_on_from,
    s5_a_restart_in_the_middle_loses_no_promotion,
    a_lease_changes_hands_at_once_when_its_holder_stops_and_runs_out_when_it_dies,
);

async fn s1_s6_two_processes_without_an_election_do_no_harm(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 100).await;
    world.start().await;
    for n in 1..=30 {
        world.assemble(&format!("menu:{n}")).await;
        let states = world.states("menu-to-dev").await;
        assert!(states.iter().filter(|state| *state == "InProgress").count() <= 1, "S1: {states:?}");
    }
    world.carries("dev", "menu:30").await;
    all_end(world).await;
    world.rest().await;
    let promotions = world.promotions("menu-to-dev").await;
    let vectors: BTreeSet<_> = promotions.iter().map(|it| it.spec.vector.clone()).collect();
    assert_eq!(vectors.len(), promotions.len(), "P13: no drift was promoted twice");
    world.wire.clear();
    world.nudge("menu-to-dev").await;
    world.rest().await;
    assert_eq!(world.writes(), Vec::<String>::new(), "S6: and then there is silence");
}

async fn all_end(world: &World) {
    until("every promotion has ended well", async || {
        let states = world.states("menu-to-dev").await;
        states.iter().all(|state| state == "Succeeded" || state == "Superseded")
    })
    .await;
}

async fn s2_a_write_that_comes_after_the_retirement_changes_nothing(world: &World) {
    world.automatic().await;
    world.meddle_with_stages(Meddling::Slow(Duration::from_secs(6)));
    world.assemble("menu:1").await;
    world.come_to("menu-to-dev", &["InProgress"]).await;
    // The first process is stuck before its write of the Stage; another one, six minutes later, retires the promotion.
    let (wire, later) = (Arc::new(Wire::default()), Shifted::default());
    later.advance(SignedDuration::from_mins(6));
    world.start_with(&wire, &later, None).await;
    world.come_to("menu-to-dev", &["Failed"]).await;
    assert_eq!(succeeded(&*world.promotion("menu-to-dev-1").await).reason, "PromotionTimedOut");
    let fenced = world.get::<Stage>(&world.managed(), "dev").await;
    assert!(fenced.annotations().contains_key(annotation::FENCED));
    tokio::time::sleep(Duration::from_secs(6)).await;
    world.rest().await;
    assert_eq!(world.get::<Stage>(&world.managed(), "dev").await, fenced);
    assert_eq!(world.states("menu-to-dev").await, ["Failed"]);
}

async fn p35_a_process_that_dies_after_any_write_is_gone_on_from(world: &World) {
    world.automatic().await;
    world.rest().await;
    // Five writes make a promotion: the process dies before one of them, or after it and before its answer.
    for round in 0..10_usize {
        let (before, fate) = (round / 2, [Meddling::Lost, Meddling::AnswerLost][round % 2]);
        let (seen, reached) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, note) = (seen.clone(), reached.clone());
        world.wire.meddle(move |call| {
            let counts = call.writes() && call.group == "konfidence.cloud";
            let fatal = counts && count.fetch_add(1, Ordering::SeqCst) == before;
            fatal.then(|| {
                note.fetch_add(1, Ordering::SeqCst);
                fate
            })
        });
        let vector = format!("menu:{round}");
        world.assemble(&vector).await;
        until("the process is at the fatal write", async || reached.load(Ordering::SeqCst) == 1).await;
        if matches!(fate, Meddling::AnswerLost) {
            // The server does the write; that it is done can be seen.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        world.last().kill();
        world.wire.leave_alone();
        world.start().await;
        world.carries("dev", &vector).await;
        until("it has ended", async || world.states("menu-to-dev").await.iter().all(|state| state == "Succeeded"))
            .await;
        world.rest().await;
        let all = world.promotions("menu-to-dev").await;
        let of_this = all.iter().filter(|promotion| promotion.spec.vector == vector).count();
        assert_eq!(of_this, 1, "round {round}");
    }
}

async fn s5_a_restart_in_the_middle_loses_no_promotion(world: &World) {
    world.automatic_with(|spec| spec.keep_last_promotions = 100).await;
    for n in 1..=3 {
        for m in 1..=5 {
            world.assemble(&format!("menu:{n}-{m}")).await;
        }
        world.last().kill();
        world.start().await;
    }
    world.carries("dev", "menu:3-5").await;
    all_end(world).await;
}

async fn a_lease_changes_hands_at_once_when_its_holder_stops_and_runs_out_when_it_dies(world: &World) {
    world.automatic().await;
    world.stop().await;
    let election = |identity: &str| Some(Election { namespace: world.project.clone(), identity: identity.into() });
    let (first, second) = (Arc::new(Wire::default()), Arc::new(Wire::default()));
    world.start_with(&first, &world.clock, election("first")).await;
    world.assemble("menu:1").await;
    world.carries("dev", "menu:1").await;
    let first_process = world.last();
    world.start_with(&second, &world.clock, election("second")).await;
    world.assemble("menu:2").await;
    world.carries("dev", "menu:2").await;
    let stages = |wire: &Wire| wire.calls().iter().filter(|it| it.writes() && it.resource == "stages").count();
    assert_eq!((stages(&first), stages(&second)), (2, 0), "who does not lead does not write");

    // It dies: whoever waits takes over when the lease has run out.
    first_process.kill();
    world.assemble("menu:3").await;
    world.carries("dev", "menu:3").await;
    assert_eq!(stages(&second), 1);

    // It stops: the lease is handed over.
    let (third, second_process) = (Arc::new(Wire::default()), world.last());
    world.start_with(&third, &world.clock, election("third")).await;
    second_process.stop().await;
    let leases: Api<Lease> = Api::namespaced(world.server.admin.clone(), &world.project);
    for lease in leases.list(&ListParams::default()).await.unwrap() {
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        assert!(matches!(holder, None | Some("third")), "{} is held by {holder:?}", lease.name_any());
    }
    world.assemble("menu:4").await;
    world.carries("dev", "menu:4").await;
    assert_eq!((stages(&second), stages(&third)), (1, 1));
}

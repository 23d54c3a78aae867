//! Killed at any moment, `konfidence dev --data-dir` comes back with every write that it has acknowledged, and with no
//! other: an unacknowledged one is there or not, but whole.
//!
//! Writers with objects of their own write until the server dies under them. What each has been told is its history; after
//! the restart every object must be as the history says, or as the one write left unanswered would have made it.

#![allow(clippy::expect_used, clippy::panic, reason = "what fails in a helper fails its test")]

#[path = "../support/mod.rs"]
mod support;

mod churn;
mod history;
mod server;
mod watcher;
mod writer;

use std::time::Duration;

use konfidence_sdk::store::engine::seeded;
use tokio::sync::watch;
use tokio::time::timeout;

use history::Facts;
use server::Server;

/// Data directories with a server and writers of their own, side by side.
const WORLDS: u64 = 4;
/// How often each server is killed under load.
const KILLS: u64 = 50;
/// How many write at once, each its own objects.
const WRITERS: u64 = 5;
/// The most writes that are answered before a kill, and the longest time after that, in microseconds: somewhere in the
/// next groups of writes, at whatever speed the machine has.
const ANSWERED: u64 = 24;
const LATER: u64 = 20_000;
/// Every how many kills one more comes while the server starts.
const EARLY: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_kills_under_load_lose_and_undo_no_acknowledged_write() {
    let worlds: Vec<_> = (0..WORLDS).map(|seed| tokio::spawn(world(seed))).collect();
    let mut acknowledged = 0;
    for world in worlds {
        acknowledged += world.await.expect("every history holds");
    }
    // A run in which nobody gets to write proves nothing.
    assert!(acknowledged > WORLDS * KILLS * ANSWERED / 4, "{acknowledged} acknowledged writes");
    println!("{} kills, {acknowledged} acknowledged writes", WORLDS * KILLS);
}

/// Kills one server again and again. How many writes were acknowledged.
async fn world(seed: u64) -> u64 {
    let folder = support::folder();
    let mut chance = seeded(seed);
    let mut writers: Vec<writer::Writer> = (0..WRITERS).map(writer::Writer::new).collect();
    let mut churn = churn::Churn::default();
    let mut facts = Facts::default();
    for kill in 0..KILLS {
        if kill % EARLY == 0 {
            Server::spawn(&folder).kill_after(Duration::from_micros(chance() % 400_000)).await;
        }
        let server = Server::start(&folder).await;
        let api = server.api();
        if kill == 0 {
            writer::found(&api).await;
        }
        facts.check(&api, &mut writers, kill).await;
        churn.check(&api, kill).await;
        let watcher = watcher::Watcher::start(&api, &facts);
        let progress = watch::Sender::new(0);
        let running: Vec<_> =
            writers.drain(..).map(|writer| tokio::spawn(writer.run(api.clone(), chance(), progress.clone()))).collect();
        let churning = tokio::spawn(churn.run(api));
        let enough = 1 + chance() % ANSWERED;
        let mut answered = progress.subscribe();
        let answered = timeout(support::DEADLINE, answered.wait_for(|answered| *answered >= enough)).await.is_ok();
        assert!(answered, "kill {kill}: the server answers nobody");
        tokio::time::sleep(Duration::from_micros(chance() % LATER)).await;
        server.kill().await;
        for writer in running {
            writers.push(writer.await.expect("a writer breaks no assertion"));
        }
        churn = churning.await.expect("the churn breaks no assertion");
        facts.seen(watcher.end().await);
    }
    let server = Server::start(&folder).await;
    facts.check(&server.api(), &mut writers, KILLS).await;
    churn.check(&server.api(), KILLS).await;
    server.kill().await;
    writers.iter().map(|writer| writer.acknowledged).sum()
}

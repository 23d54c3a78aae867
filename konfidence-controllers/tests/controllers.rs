//! The controllers at work on the embedded server, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy knows tests by their attribute only")]

mod cluster;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{Call, Cluster, MANAGED, Meddling, PROJECT, rest, until};
use http::StatusCode;
use k8s_openapi::api::core::v1::Namespace;
use konfidence_controllers::wiring::{self, DomainName};
use konfidence_sdk::access::Access;
use konfidence_sdk::event::NoEvents;
use konfidence_sdk::promotion::{self, approve};
use konfidence_sdk::store::Key;
use konfidence_sdk::types::{
    Landscape, LandscapeSpec, SourceRef, Stage, TargetRef, VectorPromotion, VectorPromotionConfig,
    VectorPromotionConfigSpec, VectorTemplate, crds,
};
use konfidence_sdk::{landscape, types};
use kube::ResourceExt;
use serde_json::json;
use tokio::time::Instant;

const PROMOTION: &[DomainName] = &[DomainName::Promotion];

async fn vector(cluster: &Cluster, stage: &str) -> String {
    cluster.get::<Stage>(MANAGED, stage).await.spec.vector.clone()
}

#[tokio::test(start_paused = true)]
async fn c1_an_automatic_promotion_costs_five_writes_and_no_read_of_the_server() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    cluster.calls();

    cluster.assemble("menu:1").await;
    rest().await;
    let calls = cluster.calls();
    let (events, rest): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.group == "events.k8s.io");
    let rest: Vec<_> = rest.into_iter().map(Call::words).collect();
    assert_eq!(
        rest,
        [
            "create vectorpromotions",
            "patch vectorpromotions/status menu-to-dev-1",
            "patch stages dev",
            "patch vectorpromotions/status menu-to-dev-1",
            "patch vectorpromotionconfigs/status menu-to-dev",
        ]
    );
    assert_eq!(vector(&cluster, "dev").await, "menu:1");
    assert_eq!(cluster.states().await, ["Succeeded"]);
    // No event request on the path before the Stage is written.
    let stage = calls.iter().position(|call| call.resource == "stages").unwrap();
    let event = calls.iter().position(|call| call.group == "events.k8s.io").unwrap();
    assert!(stage < event && !events.is_empty(), "{calls:?}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p50_half_a_day_at_rest_costs_no_write_and_no_read() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    cluster.config("menu-to-test", "test", Some(true)).await;
    cluster.stage("test").await;
    let running = cluster.run(PROMOTION);
    for vector in ["menu:1", "menu:2"] {
        cluster.assemble(vector).await;
        rest().await;
    }
    cluster.calls();
    let before = reconciles(&running);
    tokio::time::sleep(Duration::from_hours(12)).await;
    let (watches, others): (Vec<_>, Vec<_>) = cluster.calls().into_iter().partition(|call| call.verb == "watch");
    assert_eq!(others, []);
    assert!(!watches.is_empty());
    // The floor did look: a lost event would have been repaired.
    let looks = reconciles(&running) - before;
    assert!((18..=32).contains(&looks), "{looks} looks at two configs in half a day");
    running.stop().await;
}

fn reconciles(running: &cluster::Running) -> u64 {
    let text = running.process.metrics().text().unwrap();
    let line = "konfidence_reconciles_total{domain=\"promotion\",outcome=\"rest\"} ";
    text.lines().find_map(|it| it.strip_prefix(line)).map_or(0, |count| count.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn c2_a_burst_of_a_hundred_vectors_executes_a_few() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    // A server that takes its time: at no cost at all each vector would be executed before the next one is there.
    cluster.meddle(|_| Some(Meddling::Slow(Duration::from_millis(5))));
    cluster.calls();
    for n in 1..=100 {
        cluster.assemble(&format!("menu:{n}")).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    rest().await;
    assert_eq!(vector(&cluster, "dev").await, "menu:100");
    let writes = cluster.writes();
    let count = |what: &str| writes.iter().filter(|write| write.starts_with(what)).count();
    let executed = count("patch stages dev");
    assert!(executed <= 20, "{executed} of 100 were executed");
    let made = count("create vectorpromotions");
    // A superseded one costs its create and one status write, an executed one two, the config its own.
    assert!(count("patch vectorpromotions/status") <= made + executed, "{writes:?}");
    assert!(count("patch vectorpromotionconfigs/status") <= executed + 2, "{writes:?}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p8_a_burst_makes_a_candidate_of_every_vector_where_a_person_decides() {
    let cluster = Cluster::new().await;
    cluster.landscape().await;
    cluster.stage("dev").await;
    cluster.template("menu").await;
    cluster.config("menu-to-dev", "dev", Some(true)).await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    for n in 1..=50 {
        cluster.assemble(&format!("menu:{n}")).await;
    }
    rest().await;
    let vectors: Vec<_> = cluster.promotions().await.iter().map(|it| it.spec.vector.clone()).collect();
    assert_eq!(vectors, (1..=50).map(|n| format!("menu:{n}")).collect::<Vec<_>>());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_executed_at_once_and_the_older_ones_are_superseded() {
    let cluster = Cluster::new().await;
    cluster.landscape().await;
    cluster.stage("dev").await;
    cluster.template("menu").await;
    cluster.config("menu-to-dev", "dev", Some(true)).await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    for n in 1..=3 {
        cluster.assemble(&format!("menu:{n}")).await;
    }
    rest().await;
    assert_eq!(cluster.states().await, ["Waiting", "Waiting", "Waiting"]);
    let second = Key::of(&*cluster.promotions().await[1]);
    approve(&cluster.store, &cluster.clock, &NoEvents, &second, "baker").await.unwrap();
    let start = Instant::now();
    until("the vector is on the stage", async || vector(&cluster, "dev").await == "menu:2").await;
    assert!(start.elapsed() < Duration::from_secs(1));
    rest().await;
    assert_eq!(cluster.states().await, ["Superseded", "Succeeded", "Waiting"]);
    let text = running.process.metrics().text().unwrap();
    assert!(text.contains("konfidence_promotions{state=\"Waiting\"} 1"), "{text}");
    assert!(text.contains("konfidence_approval_wait_seconds_count 1"), "{text}");
    assert!(text.contains("konfidence_promotion_transitions_total{reason=\"PromotionSuperseded\"} 1"), "{text}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p3_a_config_recovers_when_what_was_missing_appears_and_falls_back_when_it_goes() {
    let cluster = Cluster::new().await;
    cluster.config("menu-to-dev", "dev", None).await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    let reason = async || {
        let config = cluster.get::<VectorPromotionConfig>(PROJECT, "menu-to-dev").await;
        let ready = config.status.as_ref().and_then(|status| types::condition(&status.conditions, "Ready").cloned());
        ready.map(|ready| ready.reason).unwrap_or_default()
    };
    let becomes = async |wanted: &str| {
        let start = Instant::now();
        until(wanted, async || reason().await == wanted).await;
        assert!(start.elapsed() < Duration::from_millis(200), "{wanted} after {:?}", start.elapsed());
    };
    becomes("LandscapeNotFound").await;
    cluster.landscape().await;
    becomes("StageNotFound").await;
    cluster.stage("dev").await;
    becomes("SourceNotFound").await;
    cluster.template("menu").await;
    becomes("TargetResolved").await;
    cluster.delete::<Stage>(MANAGED, "dev").await;
    becomes("StageNotFound").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p9_names_of_253_characters_work_to_the_end() {
    let cluster = Cluster::new().await;
    cluster.landscape().await;
    let long = |letter: &str| {
        format!("{}.{}", letter.repeat(63), [letter.repeat(63), letter.repeat(63), letter.repeat(61)].join("."))
    };
    let stage = "s".repeat(49);
    cluster.stage(&stage).await;
    cluster.template("menu").await;
    let (one, other) = (long("c"), format!("{}x", &long("c")[..252]));
    assert_eq!((one.len(), other.len()), (253, 253));
    cluster.config(&one, &stage, None).await;
    cluster.config(&other, &stage, Some(true)).await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    cluster.assemble("menu:1").await;
    rest().await;
    assert_eq!(vector(&cluster, &stage).await, "menu:1");
    let promotions = cluster.promotions().await;
    let of = |config: &String| promotions.iter().find(|it| it.spec.vector_promotion_config_name == *config).unwrap();
    let names = [of(&one).name_any(), of(&other).name_any()];
    assert!(names[0] != names[1] && names.iter().all(|name| name.len() <= 253), "{names:?}");
    // The other config's candidate is approved under its shortened name, and runs.
    let key = Key::of(&**of(&other));
    approve(&cluster.store, &cluster.clock, &NoEvents, &key, "baker").await.unwrap();
    rest().await;
    let approved = cluster.get::<VectorPromotion>(PROJECT, &names[1]).await;
    assert_eq!(approved.status.as_ref().and_then(|status| status.state.as_deref()), Some("Succeeded"));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn crds_that_come_late_are_waited_for_and_named() {
    let cluster = Cluster::with_crds(vec![]).await;
    let running = cluster.run(PROMOTION);
    rest().await;
    let (ready, text) = running.process.health().is_ready();
    assert!(!ready);
    assert!(text.contains("CRD stages.konfidence.cloud is not installed"), "{text}");
    assert!(running.process.health().is_alive().0, "a missing CRD is nothing that a restart would repair");

    let mut older = crds::all();
    for crd in older.iter_mut().filter(|crd| crd.spec.names.kind == "VectorPromotionConfig") {
        let schema = crd.spec.versions[0].schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
        schema.properties.as_mut().unwrap().get_mut("spec").unwrap().properties.as_mut().unwrap().remove("suspend");
    }
    let api = kube::Api::all(cluster.store.client().clone());
    for crd in &older {
        api.create(&kube::api::PostParams::default(), crd).await.unwrap();
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    let (ready, text) = running.process.health().is_ready();
    assert!(!ready && text.contains("lacks spec.suspend: install the CRDs of this release"), "{text}");

    let ours = crds::all();
    let ours = ours.iter().find(|crd| crd.spec.names.kind == "VectorPromotionConfig").unwrap();
    let patch = kube::api::Patch::Merge(json!({"spec": ours.spec}));
    api.patch(&ours.name_any(), &kube::api::PatchParams::default(), &patch).await.unwrap();
    running.ready().await;
    cluster.flow().await;
    cluster.assemble("menu:1").await;
    until("the vector is on the stage", async || vector(&cluster, "dev").await == "menu:1").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r60_a_landscape_gets_its_namespace_and_takes_it_along() {
    let cluster = Cluster::new().await;
    let running = cluster.run(&[DomainName::Landscape]);
    running.ready().await;
    let mut object = Landscape::new("eu", LandscapeSpec::default());
    object.metadata.namespace = Some(PROJECT.into());
    cluster.create(&object).await;
    let managed = async || {
        let landscape = cluster.find::<Landscape>(PROJECT, "eu").await;
        landscape.and_then(|landscape| landscape.status.as_ref()?.namespace.clone())
    };
    until("the namespace is on record", async || managed().await.is_some()).await;
    assert_eq!(managed().await.as_deref(), Some("kden-l-eu-qzrh65pn"));
    rest().await;
    cluster.calls();
    tokio::time::sleep(Duration::from_hours(5)).await;
    assert_eq!(cluster.writes(), Vec::<String>::new());

    cluster.delete::<Landscape>(PROJECT, "eu").await;
    until("the landscape is gone", async || cluster.find::<Landscape>(PROJECT, "eu").await.is_none()).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_what_is_under_way_end_and_posts_the_last_events() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    cluster.meddle(|call| call.writes().then_some(Meddling::Slow(Duration::from_millis(500))));
    cluster.assemble("menu:1").await;
    until("it is started", async || cluster.states().await == ["InProgress"]).await;
    cluster.calls();
    running.stop().await;
    assert_eq!(vector(&cluster, "dev").await, "menu:1");
    assert_eq!(cluster.states().await, ["Succeeded"]);
    let events = cluster.calls().iter().filter(|call| call.group == "events.k8s.io").count();
    assert_eq!(events, 1, "its success");
    // Nobody is left who would do anything.
    cluster.assemble("menu:2").await;
    cluster.calls();
    tokio::time::sleep(Duration::from_hours(3)).await;
    assert_eq!(cluster.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn s1_two_processes_without_an_election_do_no_harm() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let (one, other) = (cluster.run(PROMOTION), cluster.run(PROMOTION));
    one.ready().await;
    other.ready().await;
    cluster.meddle(|_| Some(Meddling::Slow(Duration::from_millis(3))));
    for n in 1..=20 {
        cluster.assemble(&format!("menu:{n}")).await;
        tokio::time::sleep(Duration::from_millis(7)).await;
        let states = cluster.states().await;
        assert!(states.iter().filter(|state| *state == "InProgress").count() <= 1, "{states:?}");
    }
    rest().await;
    assert_eq!(vector(&cluster, "dev").await, "menu:20");
    let (states, promotions) = (cluster.states().await, cluster.promotions().await);
    assert!(states.iter().all(|state| state == "Succeeded" || state == "Superseded"), "{states:?}");
    let vectors: BTreeSet<_> = promotions.iter().map(|it| it.spec.vector.clone()).collect();
    assert_eq!(vectors.len(), promotions.len(), "no drift was promoted twice");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p50_noise_on_every_object_costs_no_write() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    cluster.assemble("menu:1").await;
    rest().await;
    cluster.calls();
    let promotion = cluster.promotions().await[0].name_any();
    for n in 0..40 {
        let noise = json!({"metadata": {"annotations": {"bakery.example/seen": n.to_string()}}});
        cluster.change::<Stage>(MANAGED, "dev", noise.clone()).await;
        cluster.change::<VectorTemplate>(PROJECT, "menu", noise.clone()).await;
        cluster.change::<VectorPromotionConfig>(PROJECT, "menu-to-dev", noise.clone()).await;
        cluster.change::<VectorPromotion>(PROJECT, &promotion, noise).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(cluster.writes(), Vec::<String>::new());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p38_a_stage_that_refuses_every_write_costs_a_handful_of_promotions_an_hour() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    cluster.meddle(|call| {
        (call.verb == "patch" && call.resource == "stages").then_some(Meddling::Refused(StatusCode::FORBIDDEN))
    });
    cluster.assemble("menu:1").await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let states = cluster.states().await;
    assert!((4..=8).contains(&states.len()), "{states:?}");
    let writes = cluster.writes();
    assert!(writes.len() <= 6 * states.len(), "{} writes for {} promotions", writes.len(), states.len());
    // The source's next vector does not wait for the delay, and heals it all once the Stage takes writes again.
    cluster.leave_alone();
    cluster.assemble("menu:2").await;
    rest().await;
    assert_eq!(vector(&cluster, "dev").await, "menu:2");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_for_an_hour_is_not_overrun_and_nothing_is_lost() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    cluster.calls();
    cluster.meddle(|_| Some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE)));
    cluster.assemble("menu:1").await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    // Five watches, each with a back-off of at least 30 s in the end.
    let asked = cluster.calls().len();
    assert!(asked < 1000, "{asked} requests in an hour");
    assert!(running.process.health().is_alive().0, "nothing that a restart would repair");
    cluster.leave_alone();
    let start = Instant::now();
    until("the vector is on the stage", async || vector(&cluster, "dev").await == "menu:1").await;
    assert!(start.elapsed() <= Duration::from_mins(1), "{:?}", start.elapsed());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c3_a_change_costs_the_work_of_its_own_config_however_many_there_are() {
    let cluster = Cluster::new().await;
    cluster.flow().await;
    for n in 0..100 {
        cluster.stage(&format!("kiosk-{n}")).await;
        cluster.template(&format!("snack-{n}")).await;
        let spec = VectorPromotionConfigSpec::new(
            SourceRef::template(format!("snack-{n}")),
            TargetRef::stage("eu", format!("kiosk-{n}")),
        );
        let mut config = VectorPromotionConfig::new(&format!("snack-{n}"), spec);
        config.metadata.namespace = Some(PROJECT.into());
        cluster.create(&config).await;
    }
    let running = cluster.run(PROMOTION);
    running.ready().await;
    rest().await;
    let before = reconciles(&running);
    assert!(before >= 101);
    cluster.assemble("menu:1").await;
    rest().await;
    let looks = reconciles(&running) - before;
    // One that promotes, and a few that find that the changes were its own.
    assert!((1..=6).contains(&looks), "{looks} looks");
    assert_eq!(cluster.states().await, ["Succeeded"]);
    running.stop().await;
}

/// A whole life: what was asked of the server is what the tables say, neither more nor less.
#[tokio::test(start_paused = true)]
async fn the_access_tables_are_the_requests() {
    let cluster = Cluster::new().await;
    let running = cluster.run(PROMOTION);
    running.ready().await;
    cluster.flow().await;
    for n in 1..=14 {
        cluster.assemble(&format!("menu:{n}")).await;
        rest().await;
    }
    // The newest success is gone: the views do not vouch for each other, so the next one is made after live reads (R11).
    let newest = cluster.promotions().await.last().unwrap().name_any();
    cluster.delete::<VectorPromotion>(PROJECT, &newest).await;
    cluster.assemble("menu:15").await;
    rest().await;
    // A Stage that cannot be written for a while: attempts, and the fence at the deadline (P36, P37).
    cluster.meddle(|call| {
        (call.verb == "patch" && call.resource == "stages")
            .then_some(Meddling::Refused(StatusCode::SERVICE_UNAVAILABLE))
    });
    cluster.assemble("menu:16").await;
    tokio::time::sleep(Duration::from_mins(6)).await;
    cluster.leave_alone();
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(vector(&cluster, "dev").await, "menu:16");
    running.stop().await;
    let asked = requests(&cluster.calls());
    assert_eq!(asked, table(&[promotion::ACCESS, runtime_without_leases()]));
}

#[tokio::test(start_paused = true)]
async fn r60_the_access_table_of_landscapes_is_the_requests() {
    let cluster = Cluster::new().await;
    let running = cluster.run(&[DomainName::Landscape]);
    running.ready().await;
    let mut object = Landscape::new("eu", LandscapeSpec::default());
    object.metadata.namespace = Some(PROJECT.into());
    cluster.create(&object).await;
    rest().await;
    let drifted = json!({"metadata": {"labels": {"konfidence.cloud/type": "bread"}}});
    cluster.change::<Namespace>("", "kden-l-eu-qzrh65pn", drifted).await;
    rest().await;
    let namespace = cluster.get::<Namespace>("", "kden-l-eu-qzrh65pn").await;
    assert_eq!(namespace.labels()["konfidence.cloud/type"], "landscape");
    cluster.delete::<Landscape>(PROJECT, "eu").await;
    rest().await;
    running.stop().await;
    let mut asked = requests(&cluster.calls());
    // Not every domain has something to tell.
    asked.insert("create events.k8s.io/events".to_owned());
    assert_eq!(asked, table(&[landscape::ACCESS, runtime_without_leases()]));
}

fn requests(calls: &[Call]) -> BTreeSet<String> {
    calls.iter().map(Call::right).collect()
}

fn table(tables: &[&[Access]]) -> BTreeSet<String> {
    let rows = tables.iter().copied().flatten();
    rows.flat_map(|row| row.verbs.iter().map(|verb| format!("{} {}/{}", verb.as_str(), row.group, row.resource)))
        .collect()
}

/// There is no election here.
fn runtime_without_leases() -> &'static [Access] {
    const ROWS: [Access; 2] = [wiring::ACCESS[0], wiring::ACCESS[2]];
    &ROWS
}

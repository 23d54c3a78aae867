//! What is asked of each server: the loads, each for the same time with the same number of connections.

use std::time::Duration;

use http_body_util::BodyExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::{Connection, version};
use crate::target::{Kind, Target};
use crate::{BenchResult, failed};

/// How many clients ask at once.
const CONNECTIONS: usize = 32;
/// How long each load is measured.
const TIME: Duration = Duration::from_millis(1500);
/// Objects of a list.
const LISTED: u64 = 1000;
/// Watches that all see the same changes.
const WATCHERS: usize = 100;
/// Changes that every watch sees.
const CHANGES: usize = 100;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Load {
    Create,
    Patch,
    Get,
    List,
    Watch,
}

impl Load {
    pub(crate) const ALL: [Self; 5] = [Self::Create, Self::Patch, Self::Get, Self::List, Self::Watch];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "creates/s",
            Self::Patch => "conditional patches/s",
            Self::Get => "gets/s",
            Self::List => "lists of 1,000/s",
            Self::Watch => "events/s to 100 watchers",
        }
    }
}

/// Measures all loads on one server, operations a second.
pub(crate) async fn measure(target: &Target, round: usize) -> BenchResult<Vec<(Load, f64)>> {
    if round == 0 {
        found(target).await?;
    }
    let mut rates = Vec::new();
    let namespace = make_namespace(target, &format!("bench-{round}")).await?;
    rates.push((Load::Create, each(target, &namespace, Load::Create).await?));
    rates.push((Load::Patch, each(target, &namespace, Load::Patch).await?));
    rates.push((Load::Get, each(target, &namespace, Load::Get).await?));
    if target.kind == Kind::Floor {
        return Ok(rates);
    }
    let namespace = make_namespace(target, &format!("listed-{round}")).await?;
    create_many(target, &namespace, LISTED).await?;
    rates.push((Load::List, each(target, &namespace, Load::List).await?));
    rates.push((Load::Watch, watch(target, &namespace).await?));
    Ok(rates)
}

/// Makes `count` objects, so that memory can be looked at.
pub(crate) async fn fill(target: &Target, count: u64) -> BenchResult {
    found(target).await?;
    let namespace = make_namespace(target, "filled").await?;
    create_many(target, &namespace, count).await
}

/// The definitions, where the server does not bring them.
async fn found(target: &Target) -> BenchResult {
    if target.kind != Kind::Real {
        return Ok(());
    }
    let broken = failed("the definitions");
    let mut connection = Connection::open(&target.address).await?;
    for definition in konfidence_types::crds::all() {
        let body = serde_json::to_string(&definition).map_err(|error| broken(&error))?;
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        connection.send("POST", path, JSON, body).await?;
    }
    // It serves them some seconds later.
    let path = "/apis/konfidence.cloud/v1alpha1/stages";
    let mut served = Err(broken(&"not asked"));
    for _ in 0..100 {
        served = connection.send("GET", path, JSON, String::new()).await.map(drop);
        if served.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    served
}

async fn make_namespace(target: &Target, name: &str) -> BenchResult<String> {
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
    Connection::open(&target.address).await?.send("POST", "/api/v1/namespaces", JSON, body).await?;
    Ok(format!("/apis/konfidence.cloud/v1alpha1/namespaces/{name}/stages"))
}

fn stage(name: &str) -> String {
    let labels = r#"{"app.kubernetes.io/name":"menu","app.kubernetes.io/part-of":"bakery"}"#;
    let vector = "registry.example/bakery//menu:1.0.0";
    let metadata = format!(r#"{{"name":"{name}","labels":{labels}}}"#);
    format!(
        r#"{{"apiVersion":"konfidence.cloud/v1alpha1","kind":"Stage","metadata":{metadata},"spec":{{"vector":"{vector}"}}}}"#
    )
}

fn patch(version: &str, count: u64) -> String {
    format!(
        r#"{{"metadata":{{"resourceVersion":"{version}"}},"spec":{{"vector":"registry.example/bakery//menu:1.0.{count}"}}}}"#
    )
}

/// Every connection asks one thing after the other, until the time is over.
async fn each(target: &Target, path: &str, load: Load) -> BenchResult<f64> {
    let mut running = JoinSet::new();
    for number in 0..CONNECTIONS {
        let mut connection = Connection::open(&target.address).await?;
        let path = path.to_owned();
        let own = format!("{path}/own-{number}");
        let mut present = String::new();
        if load == Load::Patch {
            let made = connection.send("POST", &path, JSON, stage(&format!("own-{number}"))).await?;
            version(&made).unwrap_or_default().clone_into(&mut present);
        }
        running.spawn(async move {
            let begin = Instant::now();
            let mut count = 0_u64;
            while begin.elapsed() < TIME {
                count += 1;
                match load {
                    Load::Create => {
                        let body = stage(&format!("c{number}-{count}"));
                        connection.send("POST", &path, JSON, body).await?;
                    }
                    Load::Patch => {
                        let answer = connection.send("PATCH", &own, MERGE, patch(&present, count)).await?;
                        version(&answer).unwrap_or_default().clone_into(&mut present);
                    }
                    Load::Get => drop(connection.send("GET", &own, JSON, String::new()).await?),
                    Load::List | Load::Watch => drop(connection.send("GET", &path, JSON, String::new()).await?),
                }
            }
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let rate = count as f64 / begin.elapsed().as_secs_f64();
            BenchResult::Ok(rate)
        });
    }
    let mut sum = 0.0;
    while let Some(rate) = running.join_next().await {
        sum += rate.map_err(|error| failed("a client")(&error))??;
    }
    Ok(sum)
}

async fn create_many(target: &Target, path: &str, count: u64) -> BenchResult {
    let clients = CONNECTIONS as u64;
    let mut running = JoinSet::new();
    for number in 0..clients {
        let mut connection = Connection::open(&target.address).await?;
        let path = path.to_owned();
        running.spawn(async move {
            for own in (number..count).step_by(CONNECTIONS) {
                connection.send("POST", &path, JSON, stage(&format!("l-{own}"))).await?;
            }
            BenchResult::Ok(())
        });
    }
    while let Some(done) = running.join_next().await {
        done.map_err(|error| failed("a client")(&error))??;
    }
    Ok(())
}

/// One writer, many watches: from the first change until the last watch has seen the last one.
async fn watch(target: &Target, path: &str) -> BenchResult<f64> {
    let mut writer = Connection::open(&target.address).await?;
    let made = writer.send("POST", path, JSON, stage("watched")).await?;
    let mut present = version(&made).unwrap_or_default().to_owned();
    let selected = format!("{path}?watch=1&resourceVersion={present}&fieldSelector=metadata.name%3Dwatched");
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        let mut connection = Connection::open(&target.address).await?;
        let mut events = connection.start("GET", &selected, JSON, String::new()).await?;
        watchers.spawn(async move {
            let mut lines = 0;
            while lines < CHANGES {
                let frame = events.frame().await.ok_or_else(|| failed("a watch")(&"it ended"))?;
                let frame = frame.map_err(|error| failed("a watch")(&error))?;
                lines += frame.data_ref().map_or(0, |data| data.split(|byte| *byte == b'\n').count() - 1);
            }
            drop(connection);
            BenchResult::Ok(())
        });
    }
    let begin = Instant::now();
    let own = format!("{path}/watched");
    for count in 0..CHANGES as u64 {
        let answer = writer.send("PATCH", &own, MERGE, patch(&present, count + 1)).await?;
        version(&answer).unwrap_or_default().clone_into(&mut present);
    }
    while let Some(done) = watchers.join_next().await {
        done.map_err(|error| failed("a watch")(&error))??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = (CHANGES * WATCHERS) as f64 / begin.elapsed().as_secs_f64();
    Ok(rate)
}

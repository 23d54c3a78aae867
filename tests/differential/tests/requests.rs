//! The same requests to the embedded server and to a real one.

#![allow(clippy::expect_used, reason = "clippy knows tests by their attribute only")]

use differential::client::Server;
use differential::generate::{self, STEPS};
use differential::{Run, case, compare, known};
use real_apiserver::{Role, real};

/// Both servers; `None`: no real one can be had here.
async fn servers() -> Option<[Server; 2]> {
    let real = real()?;
    let real = Server::at("real", &real.kubeconfig(Role::Admin)).await.expect("a kubeconfig");
    Some([Server::embedded().await.expect("an embedded server"), real])
}

/// Runs the cases and fails with every answer that is not as expected.
async fn differ(servers: &[Server; 2], cases: Vec<case::Case>) {
    assert!(!cases.is_empty(), "no cases");
    let mut differences = Vec::new();
    for Run { case, answers: [embedded, real] } in differential::run_all(servers, cases).await.expect("definitions") {
        let (embedded, real) = (embedded.expect("an answer"), real.expect("an answer"));
        differences.extend(compare::compare(&case, &embedded, &real));
    }
    let told: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{} differences\n{}", told.len(), told.join("\n"));
}

/// The namespaces of the cases begin with `case-`; on a user's own cluster they stay until the user removes them.
#[tokio::test(flavor = "multi_thread")]
async fn every_case_is_answered_as_by_the_real_server_or_listed_as_different() {
    let Some(servers) = servers().await else { return };
    differ(&servers, case::read(&differential::cases()).expect("cases")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_thousand_requests_from_a_seed_are_answered_alike() {
    let Some(servers) = servers().await else { return };
    differ(&servers, generate::cases(1, 150, STEPS)).await;
}

#[test]
fn every_difference_is_explained_and_every_explanation_is_of_a_difference() {
    let named = known::named(&case::read(&differential::cases()).expect("cases"));
    assert_eq!(named, known::explained().expect("the page"));
}

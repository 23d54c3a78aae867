//! A journal that fails: what was not kept is not acknowledged, and everybody is told.
#![allow(clippy::expect_used)]

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use konfidence_apiserver::ApiServer;
use konfidence_sdk::clock::SystemClock;
use konfidence_sdk::store::engine::{Engine, Journal, Options, Record, Saved};
use support::{STAGES, get, json_request, stage};

/// A disk that can be full.
struct Disk(Arc<AtomicBool>);

impl Journal for Disk {
    fn commit(&mut self, _: &[Record]) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) { Err(io::Error::other("no space left on device")) } else { Ok(()) }
    }
}

#[tokio::test]
async fn a_full_disk_answers_500_then_503_and_reads_go_on_until_there_is_space_again() {
    let full = Arc::new(AtomicBool::new(false));
    let journal = Box::new(Disk(Arc::clone(&full)));
    let engine = Engine::restore(Options::new(Arc::new(SystemClock)), Saved::default(), journal).expect("it is new");
    let server = ApiServer::builder().engine(engine).our_kinds().build().expect("legal");
    assert_eq!(json_request(&server, "POST", STAGES, &stage("kept")).await.code, 201);

    full.store(true, Ordering::SeqCst);
    let lost = json_request(&server, "POST", STAGES, &stage("lost")).await;
    assert_eq!((lost.code, lost.body["reason"].as_str()), (500, Some("InternalError")));
    assert!(lost.message().contains("no space left on device"), "{}", lost.message());
    let refused = json_request(&server, "DELETE", &format!("{STAGES}/kept"), &serde_json::json!({})).await;
    assert_eq!((refused.code, refused.body["reason"].as_str()), (503, Some("ServiceUnavailable")));
    assert!(refused.message().contains("no space left on device"), "{}", refused.message());
    assert_eq!(refused.headers["retry-after"], "1");
    // Nobody is shown what is not kept.
    assert_eq!(get(&server, &format!("{STAGES}/lost")).await.code, 404);
    assert_eq!(get(&server, &format!("{STAGES}/kept")).await.code, 200);

    full.store(false, Ordering::SeqCst);
    let mut again = refused;
    while again.code == 503 {
        tokio::task::yield_now().await;
        again = json_request(&server, "DELETE", &format!("{STAGES}/kept"), &serde_json::json!({})).await;
    }
    assert_eq!(again.code, 200, "{}", again.message());
    assert_eq!(get(&server, &format!("{STAGES}/lost")).await.code, 200, "what was in doubt is kept after all");
}

use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use futures::FutureExt;
use futures::executor::block_on;

use super::*;

/// A journal whose every commit waits for its verdict.
struct Judged {
    taken: Sender<Vec<(u64, Change)>>,
    verdicts: Receiver<io::Result<()>>,
}

impl Journal for Judged {
    fn commit(&mut self, records: &[Record]) -> io::Result<()> {
        let taken = records.iter().map(|record| (record.event.revision, record.event.change)).collect();
        // The test may be over.
        let _ = self.taken.send(taken);
        self.verdicts.recv().unwrap_or(Ok(()))
    }
}

struct Bench {
    engine: Engine,
    taken: Receiver<Vec<(u64, Change)>>,
    verdicts: Sender<io::Result<()>>,
}

fn bench(saved: Saved) -> Bench {
    let ((taken_by, taken), (verdicts, judged_by)) = (channel(), channel());
    let journal = Judged { taken: taken_by, verdicts: judged_by };
    let engine = Engine::restore(Options::new(Arc::new(noon())), saved, Box::new(journal)).unwrap();
    Bench { engine, taken, verdicts }
}

impl Bench {
    fn revisions(&self) -> Vec<u64> {
        self.taken.recv().unwrap().into_iter().map(|(revision, _)| revision).collect()
    }
}

#[test]
fn nobody_sees_a_write_that_the_journal_has_not_taken_but_the_next_writer_does() {
    let bench = bench(Saved::default());
    let menus = menus(&bench.engine);
    let mut watch = menus.watch(None, bench.engine.published()).unwrap();
    menus.create(menu("winter"), Scope::Main).unwrap();
    let committed = bench.engine.committed();
    assert_eq!(bench.revisions(), [2]);

    assert!(menus.get("bakery", "winter").is_some());
    assert!(menus.get_published("bakery", "winter").is_none());
    assert_eq!(menus.list_published(None), Listing { items: Vec::new(), revision: 1 });
    assert!(matches!(menus.list_at(2, None), Err(EngineError::Ahead { asked: 2, present: 1 })));
    assert_eq!(watch.try_next(), Ok(None));
    assert_eq!(watch.progress(), Ok(Some(1)));
    assert_eq!(menus.create(menu("winter"), Scope::Main), Err(EngineError::AlreadyExists));

    bench.verdicts.send(Ok(())).unwrap();
    assert_eq!(block_on(committed), Ok(()));
    assert!(menus.get_published("bakery", "winter").is_some());
    assert_eq!(menus.list_published(None).revision, 2);
    assert_eq!(watch.try_next().unwrap().unwrap().revision, 2);
}

#[test]
fn a_watch_that_waits_is_woken_when_the_journal_has_taken_the_write() {
    let bench = bench(Saved::default());
    let menus = menus(&bench.engine);
    let mut watch = menus.watch(None, 1).unwrap();
    menus.create(menu("winter"), Scope::Main).unwrap();
    assert_eq!(futures::StreamExt::next(&mut watch).now_or_never(), None);
    bench.verdicts.send(Ok(())).unwrap();
    assert_eq!(block_on(futures::StreamExt::next(&mut watch)).unwrap().unwrap().revision, 2);
}

#[test]
fn everything_that_comes_while_the_journal_is_busy_goes_to_it_together() {
    let bench = bench(Saved::default());
    let menus = menus(&bench.engine);
    menus.create(menu("a"), Scope::Main).unwrap();
    assert_eq!(bench.revisions(), [2]);
    for name in ["b", "c", "d"] {
        menus.create(menu(name), Scope::Main).unwrap();
    }
    bench.verdicts.send(Ok(())).unwrap();
    assert_eq!(bench.revisions(), [3, 4, 5]);
    bench.verdicts.send(Ok(())).unwrap();
    assert_eq!(block_on(bench.engine.committed()), Ok(()));
}

#[test]
fn writes_that_belong_together_are_never_parted() {
    let bench = bench(Saved::default());
    let menus = menus(&bench.engine);
    let whole = bench.engine.whole();
    menus.create(menu("a"), Scope::Main).unwrap();
    // The journal's thread has been rung; it must not have taken anything by the second write.
    assert_eq!(bench.taken.recv_timeout(std::time::Duration::from_millis(50)).ok(), None);
    menus.create(menu("b"), Scope::Main).unwrap();
    drop(whole);
    assert_eq!(bench.revisions(), [2, 3]);
    bench.verdicts.send(Ok(())).unwrap();
}

#[test]
fn a_journal_that_fails_stops_every_write_and_no_read_until_it_succeeds_with_the_same_writes() {
    let bench = bench(Saved::default());
    let menus = menus(&bench.engine);
    menus.create(menu("a"), Scope::Main).unwrap();
    bench.verdicts.send(Ok(())).unwrap();
    block_on(bench.engine.committed()).unwrap();
    assert_eq!(bench.revisions(), [2]);

    menus.create(menu("b"), Scope::Main).unwrap();
    let committed = bench.engine.committed();
    bench.verdicts.send(Err(io::Error::other("no space"))).unwrap();
    let unavailable = EngineError::Unavailable { message: "no space".into() };
    assert_eq!(block_on(committed), Err(unavailable.clone()));
    assert_eq!(menus.create(menu("c"), Scope::Main), Err(unavailable.clone()));
    assert_eq!(menus.delete("bakery", "a", &Precondition::default(), None), Err(unavailable.clone()));
    assert_eq!(block_on(bench.engine.committed()), Err(unavailable));
    assert!(menus.get_published("bakery", "a").is_some());
    assert!(menus.get_published("bakery", "b").is_none());

    assert_eq!(bench.revisions(), [3]);
    bench.verdicts.send(Ok(())).unwrap();
    assert_eq!(bench.revisions(), [3], "the same again");
    while bench.engine.published() < 3 {
        std::thread::yield_now();
    }
    menus.create(menu("c"), Scope::Main).unwrap();
    bench.verdicts.send(Ok(())).unwrap();
    assert_eq!(block_on(bench.engine.committed()), Ok(()));
}

#[test]
fn the_history_keeps_what_readers_have_yet_to_see_however_short_it_is() {
    let ((taken_by, taken), (verdicts, judged_by)) = (channel(), channel());
    let journal = Judged { taken: taken_by, verdicts: judged_by };
    let options = Options { history: 2, ..Options::new(Arc::new(noon())) };
    let engine = Engine::restore(options, Saved::default(), Box::new(journal)).unwrap();
    let menus = menus(&engine);
    let mut watch = menus.watch(None, 1).unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        menus.create(menu(name), Scope::Main).unwrap();
    }
    let committed = engine.committed();
    assert_eq!(menus.list_published(None).items.len(), 0);
    drop((verdicts, taken));
    block_on(committed).unwrap();
    // Published and too old by now: it is told so, and not handed a part.
    assert_eq!(watch.try_next(), Err(EngineError::Expired { asked: 1, oldest: 4 }));
    assert_eq!(menus.events_after(4).unwrap().len(), 2);
}

#[test]
fn an_engine_goes_on_from_what_was_saved() {
    /// Keeps everything.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<Record>>>);
    impl Journal for Kept {
        fn commit(&mut self, records: &[Record]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(records);
            Ok(())
        }
    }
    let kept = Kept::default();
    let begin = |saved| Engine::restore(Options::new(Arc::new(noon())), saved, Box::new(kept.clone())).unwrap();
    let engine = begin(Saved::default());
    let before = menus(&engine);
    let owner = before.create(menu("owner"), Scope::Main).unwrap().object;
    let mut dependent = menu("dependent");
    dependent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "bakery.example/v1", "kind": "Menu", "name": "owner", "uid": owner.uid(),
    }]);
    let dependent = before.create(dependent, Scope::Main).unwrap().object;
    before.create(menu("gone"), Scope::Main).unwrap();
    before.delete("bakery", "gone", &Precondition::default(), None).unwrap();
    let revision = engine.revision();
    drop((engine, before));
    let written = std::mem::take(&mut *kept.0.lock().unwrap());
    assert_eq!(written.last().unwrap().event.revision, revision);
    assert!(!written.last().unwrap().is_kept());

    let objects = vec![dependent.json().clone(), owner.json().clone()];
    let saved = Saved { revision, resources: vec![(resource("Menu", "menus"), objects)] };
    let engine = begin(saved);
    let after = menus(&engine);
    assert_eq!(after.list_published(None), Listing { items: vec![dependent, owner], revision });
    assert!(matches!(after.watch(None, revision - 1), Err(EngineError::Expired { .. })));
    let mut watch = after.watch(None, revision).unwrap();
    after.delete("bakery", "owner", &Precondition::default(), None).unwrap();
    block_on(engine.committed()).unwrap();
    assert_eq!(after.list_published(None).items, [], "owners are known as before");
    assert_eq!(watch.try_next().unwrap().unwrap().revision, revision + 1);
}

#[test]
fn what_no_engine_has_written_is_not_restored() {
    let good = json!({"metadata": {"name": "a", "namespace": "bakery", "uid": "u", "resourceVersion": "5"}});
    let cases = [
        (vec![json!({"metadata": {"name": "a"}})], "no name or no uid"),
        (vec![json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "x"}})], "none that has happened"),
        (vec![json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "8"}})], "none that has happened"),
        (vec![good.clone(), good], "there twice"),
    ];
    for (objects, why) in cases {
        let (verdicts, judged_by) = channel();
        drop(verdicts);
        let journal = Judged { taken: channel().0, verdicts: judged_by };
        let saved = Saved { revision: 7, resources: vec![(resource("Menu", "menus"), objects)] };
        let refused = Engine::restore(Options::new(Arc::new(noon())), saved, Box::new(journal));
        let refused = refused.err().unwrap().to_string();
        assert!(refused.contains("menus") && refused.contains(why), "{refused}");
    }
}

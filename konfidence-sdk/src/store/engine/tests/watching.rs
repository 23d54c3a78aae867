use futures::{FutureExt, StreamExt};

use super::*;

fn drain(watch: &mut Watch) -> Vec<(Change, String, u64)> {
    let mut events = Vec::new();
    while let Some(event) = watch.try_next().unwrap() {
        assert_eq!(event.object.revision(), event.revision);
        events.push((event.change, event.object.name().to_owned(), event.revision));
    }
    events
}

#[test]
fn a_watch_from_any_revision_sees_exactly_the_rest() {
    let engine = engine();
    let (menus, other) = (menus(&engine), engine.collection(resource("Note", "notes")));
    let start = engine.revision();
    create(&menus, menu("a"));
    create(&other, menu("a"));
    update(&menus, "a", Scope::Main, |it| it["spec"]["pages"] = 5.into()).unwrap();
    create(&menus, json!({"metadata": {"namespace": "annex", "name": "b"}}));
    menus.delete("bakery", "a", &any(), None).unwrap();
    let all = [
        (Change::Added, "a".to_owned(), 2),
        (Change::Modified, "a".to_owned(), 4),
        (Change::Added, "b".to_owned(), 5),
        (Change::Deleted, "a".to_owned(), 6),
    ];
    for from in start..=engine.revision() {
        let rest: Vec<_> = all.iter().filter(|(.., revision)| *revision > from).cloned().collect();
        assert_eq!(drain(&mut menus.watch(None, from).unwrap()), rest);
    }
    assert_eq!(drain(&mut menus.watch(Some("annex"), start).unwrap()), all[2..3]);
}

#[test]
fn a_deleted_object_is_told_with_its_last_state() {
    let menus = menus(&engine());
    let made = create(&menus, menu("a"));
    let mut watch = menus.watch(None, made.revision()).unwrap();
    menus.delete("bakery", "a", &any(), None).unwrap();
    let event = watch.try_next().unwrap().unwrap();
    assert_eq!(event.object.json()["spec"], made.json()["spec"]);
    assert_eq!(event.object.resource_version(), "3");
    assert_eq!(event.previous.as_deref(), Some(&*made));
}

#[test]
fn a_waiting_watch_is_woken_by_its_own_resource() {
    let engine = engine();
    let (menus, other) = (menus(&engine), engine.collection(resource("Note", "notes")));
    let mut watch = menus.watch(None, engine.revision()).unwrap();
    assert!(watch.next().now_or_never().is_none());
    create(&other, menu("a"));
    assert!(watch.next().now_or_never().is_none());
    let writer = std::thread::spawn(move || create(&menus, menu("a")));
    let event = futures::executor::block_on(watch.next()).unwrap().unwrap();
    assert_eq!(event.object, writer.join().unwrap());
}

#[test]
fn writers_on_many_threads_lose_and_repeat_nothing() {
    let engine = engine();
    let menus = menus(&engine);
    let mut watch = menus.watch(None, engine.revision()).unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let menus = menus.clone();
            std::thread::spawn(move || (0..250).for_each(|n| drop(create(&menus, menu(&format!("{writer}-{n}"))))))
        })
        .collect();
    let seen: Vec<u64> =
        futures::executor::block_on((&mut watch).take(1000).map(|event| event.unwrap().revision).collect());
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(seen, (2..1002).collect::<Vec<_>>());
    assert!(watch.next().now_or_never().is_none());
}

#[test]
fn a_watch_that_falls_behind_is_cut_off_and_others_are_not() {
    let engine = Engine::new(Options { history: 2, ..Options::new(Arc::new(noon())) });
    let menus = menus(&engine);
    let mut slow = menus.watch(None, engine.revision()).unwrap();
    let mut quick = menus.watch(None, engine.revision()).unwrap();
    for name in ["a", "b", "c"] {
        create(&menus, menu(name));
        assert_eq!(drain(&mut quick).len(), 1);
    }
    let expired = futures::executor::block_on(slow.next()).unwrap();
    assert_eq!(expired, Err(EngineError::Expired { asked: 1, oldest: 2 }));
    assert_eq!(futures::executor::block_on(slow.next()), None);
    create(&menus, menu("d"));
    assert_eq!(drain(&mut quick).len(), 1);
}

#[test]
fn an_idle_watch_outlives_the_history_of_other_resources() {
    let engine = Engine::new(Options { history: 2, ..Options::new(Arc::new(noon())) });
    let (menus, other) = (menus(&engine), engine.collection(resource("Note", "notes")));
    let mut idle = menus.watch(None, engine.revision()).unwrap();
    for name in ["a", "b", "c", "d"] {
        create(&other, menu(name));
    }
    create(&menus, menu("a"));
    assert_eq!(drain(&mut idle), [(Change::Added, "a".to_owned(), 6)]);
}

#[test]
fn progress_tells_a_revision_only_when_nothing_is_left_to_hand_out() {
    let engine = engine();
    let (menus, other) = (menus(&engine), engine.collection(resource("Note", "notes")));
    let mut watch = menus.watch(None, engine.revision()).unwrap();
    create(&menus, menu("a"));
    assert_eq!(watch.progress(), Ok(None));
    assert_eq!(drain(&mut watch).len(), 1);
    create(&other, menu("a"));
    assert_eq!(watch.progress(), Ok(Some(3)));
}

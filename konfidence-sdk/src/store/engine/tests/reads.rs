use super::*;
use crate::store::Index;

#[test]
fn lists_are_ordered_and_can_be_had_by_namespace() {
    let menus = menus(&engine());
    for (namespace, name) in [("bakery", "winter"), ("annex", "winter"), ("bakery", "autumn")] {
        create(&menus, json!({"metadata": {"namespace": namespace, "name": name}}));
    }
    let places: Vec<_> = menus.list(None).items.iter().map(|it| format!("{}/{}", it.namespace(), it.name())).collect();
    assert_eq!(places, ["annex/winter", "bakery/autumn", "bakery/winter"]);
    assert_eq!(names(&menus.list(Some("bakery"))), ["autumn", "winter"]);
    assert_eq!(names(&menus.list(Some("elsewhere"))), [""; 0]);
}

#[test]
fn every_held_revision_can_be_read_again() {
    let engine = engine();
    let (menus, other) = (menus(&engine), engine.collection(resource("Note", "notes")));
    let mut past = vec![(menus.list(None), menus.get("bakery", "a"))];
    let mut step = |act: &dyn Fn()| {
        act();
        past.push((menus.list(None), menus.get("bakery", "a")));
    };
    step(&|| drop(create(&menus, menu("a"))));
    step(&|| drop(create(&menus, menu("b"))));
    step(&|| drop(create(&other, menu("a"))));
    step(&|| drop(update(&menus, "a", Scope::Main, |it| it["spec"]["pages"] = 5.into())));
    step(&|| drop(menus.delete("bakery", "a", &any(), None)));
    step(&|| drop(create(&menus, menu("a"))));
    for (listing, one) in past {
        assert_eq!(menus.list_at(listing.revision, None), Ok(listing.clone()));
        assert_eq!(menus.get_at(listing.revision, "bakery", "a"), Ok(one));
    }
}

#[test]
fn what_is_forgotten_or_yet_to_come_is_an_error() {
    let engine = engine();
    let menus = menus(&engine);
    create(&menus, menu("a"));
    create(&menus, menu("b"));
    engine.compact(2);
    assert_eq!(menus.list_at(1, None), Err(EngineError::Expired { asked: 1, oldest: 2 }));
    assert_eq!(menus.get_at(1, "bakery", "a"), Err(EngineError::Expired { asked: 1, oldest: 2 }));
    assert_eq!(names(&menus.list_at(2, None).unwrap()), ["a"]);
    assert_eq!(menus.list_at(9, None), Err(EngineError::Ahead { asked: 9, present: 3 }));
}

#[test]
fn the_history_is_bounded_in_memory_however_large_the_objects_are() {
    let engine = engine();
    let menus = menus(&engine);
    for number in 0..200 {
        let mut large = menu(&format!("large-{number}"));
        large["spec"]["pages"] = "x".repeat(1 << 20).into();
        menus.create(large, Scope::Main).unwrap();
    }
    let held = 200 - (1..=200).find(|revision| menus.events_after(*revision).is_ok()).unwrap();
    assert!((60..=64).contains(&held), "{held} MiB");
    assert_eq!(menus.list(None).items.len(), 200, "only the history is bounded");
}

#[test]
fn the_history_is_bounded_over_all_resources() {
    let engine = Engine::new(Options { history: 3, ..Options::new(Arc::new(noon())) });
    let (menus, other) = (menus(&engine), engine.collection(resource("Note", "notes")));
    create(&menus, menu("a"));
    for name in ["a", "b", "c"] {
        create(&other, menu(name));
    }
    assert_eq!(menus.list_at(1, None), Err(EngineError::Expired { asked: 1, oldest: 2 }));
    assert_eq!(names(&other.list_at(3, None).unwrap()), ["a"]);
}

#[test]
fn indexes_follow_every_write() {
    const BY_PAGES: Index =
        Index { name: "pages", values: |it| it["spec"]["pages"].as_i64().map(|n| n.to_string()).into_iter().collect() };
    let menus = menus(&engine());
    create(&menus, menu("a"));
    menus.keep_indexes(&[BY_PAGES]);
    create(&menus, menu("b"));
    create(&menus, json!({"metadata": {"namespace": "annex", "name": "c"}, "spec": {"pages": 2}}));
    let by = |namespace, value| names(&menus.list_by(namespace, "pages", value).unwrap()).join(" ");
    assert_eq!(by(None, "2"), "c a b");
    assert_eq!(by(Some("bakery"), "2"), "a b");
    update(&menus, "a", Scope::Main, |it| it["spec"]["pages"] = 3.into()).unwrap();
    menus.delete("bakery", "b", &any(), None).unwrap();
    assert_eq!((by(None, "2"), by(None, "3")), ("c".into(), "a".into()));
    assert_eq!(menus.list_by(None, "colour", "red"), None);
}

#[test]
fn an_index_can_be_read_as_it_was_at_every_held_revision() {
    let menus = menus(&engine());
    menus.keep_indexes(&[Index { name: "pages", values: |menu| vec![menu["spec"]["pages"].to_string()] }]);
    let read = || {
        let of = |value| names(&menus.list_by(None, "pages", value).unwrap()).join(" ");
        (menus.engine().revision(), of("1"), of("2"))
    };
    let with =
        |name: &str, pages: i32| json!({"metadata": {"namespace": "bakery", "name": name}, "spec": {"pages": pages}});
    let mut past = vec![read()];
    let mut step = |act: &dyn Fn()| {
        act();
        past.push(read());
    };
    step(&|| drop(create(&menus, with("b", 1))));
    step(&|| drop(create(&menus, with("a", 1))));
    step(&|| drop(create(&menus, with("c", 2))));
    step(&|| drop(update(&menus, "a", Scope::Main, |it| it["spec"]["pages"] = 2.into())));
    step(&|| drop(update(&menus, "a", Scope::Main, |it| it["spec"]["pages"] = 1.into())));
    step(&|| drop(menus.delete("bakery", "b", &any(), None)));
    for (revision, one, two) in past {
        let of = |value| names(&menus.list_by_at(revision, None, "pages", value).unwrap().unwrap()).join(" ");
        assert_eq!((of("1"), of("2")), (one, two), "at {revision}");
    }
    assert_eq!(menus.list_by_at(1, None, "colour", "red"), Ok(None));
    assert_eq!(menus.list_by_at(1, Some("elsewhere"), "pages", "1").unwrap().unwrap().items, []);
}

#[test]
fn one_state_is_parsed_once() {
    let menus = menus(&engine());
    let made = create(&menus, menu("a"));
    let parsed = made.parse::<Value>().unwrap();
    assert!(Arc::ptr_eq(&parsed, &menus.get("bakery", "a").unwrap().parse::<Value>().unwrap()));
    assert!(made.parse::<Vec<u8>>().is_err());
}

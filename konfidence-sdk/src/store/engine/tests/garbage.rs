use super::*;

/// A menu that is owned.
fn owned(name: &str, owners: &[&Document]) -> Value {
    let mut menu = menu(name);
    menu["metadata"]["ownerReferences"] = owners.iter().map(|owner| reference(owner)).collect();
    menu
}

fn reference(owner: &Document) -> Value {
    json!({"apiVersion": "bakery.example/v1", "kind": "Menu", "name": owner.name(), "uid": owner.uid()})
}

fn blocking(name: &str, owner: &Document) -> Value {
    let mut menu = owned(name, &[owner]);
    menu["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
    menu
}

fn delete(menus: &Collection, name: &str, propagation: Propagation) -> Outcome {
    menus.delete("bakery", name, &any(), Some(propagation)).unwrap().outcome
}

#[test]
fn dependants_go_after_their_owner_and_across_generations() {
    let engine = engine();
    let menus = menus(&engine);
    let grandmother = create(&menus, menu("grandmother"));
    let mother = create(&menus, owned("mother", &[&grandmother]));
    create(&menus, owned("child", &[&mother]));
    create(&menus, menu("stranger"));
    let before = engine.revision();
    delete(&menus, "grandmother", Propagation::Background);
    assert_eq!(names(&menus.list(None)), ["stranger"]);
    let gone: Vec<_> = menus.events_after(before).unwrap().iter().map(|it| it.object.name().to_owned()).collect();
    assert_eq!(gone, ["grandmother", "mother", "child"]);
}

#[test]
fn the_collector_can_lag_until_it_is_called() {
    let options = Options { collector: Collector::OnRequest, ..Options::new(Arc::new(noon())) };
    let engine = Engine::new(options);
    let menus = menus(&engine);
    let owner = create(&menus, menu("owner"));
    create(&menus, owned("child", &[&owner]));
    delete(&menus, "owner", Propagation::Background);
    assert_eq!(names(&menus.list(None)), ["child"]);
    assert_eq!(engine.collect_garbage(), 1);
    assert_eq!(names(&menus.list(None)), [""; 0]);
    assert_eq!(engine.collect_garbage(), 0);
}

#[test]
fn a_dependant_with_an_owner_left_loses_the_dead_reference_only() {
    let menus = menus(&engine());
    let (one, two) = (create(&menus, menu("one")), create(&menus, menu("two")));
    create(&menus, owned("child", &[&one, &two]));
    delete(&menus, "one", Propagation::Background);
    assert_eq!(menus.get("bakery", "child").unwrap().json()["metadata"]["ownerReferences"], json!([reference(&two)]));
    delete(&menus, "two", Propagation::Background);
    assert_eq!(menus.get("bakery", "child"), None);
}

#[test]
fn an_owner_counts_by_uid_and_coordinates() {
    let engine = engine();
    let menus = menus(&engine);
    let owner = create(&menus, menu("owner"));
    for (field, value) in [("uid", "00000000-0000-4000-8000-000000000000"), ("name", "other"), ("apiVersion", "v1")] {
        let mut child = owned("child", &[&owner]);
        child["metadata"]["ownerReferences"][0][field] = value.into();
        create(&menus, child);
        // The core group has no Menu: nobody can tell whether that owner lives, and so the child does.
        let is_kept = field == "apiVersion";
        assert_eq!(menus.get("bakery", "child").is_some(), is_kept, "{field}");
    }
    let mut elsewhere = owned("cousin", &[&owner]);
    elsewhere["metadata"]["namespace"] = "annex".into();
    create(&menus, elsewhere);
    assert_eq!(menus.get("annex", "cousin"), None);
}

#[test]
fn an_owner_of_an_unknown_kind_is_judged_once_the_kind_is_known() {
    let engine = engine();
    let menus = menus(&engine);
    let mut child = menu("child");
    child["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "bakery.example/v1", "kind": "Oven", "name": "big", "uid": "gone"}]);
    create(&menus, child);
    assert_eq!(names(&menus.list(None)), ["child"]);
    engine.collection(resource("Oven", "ovens"));
    assert_eq!(names(&menus.list(None)), [""; 0]);
}

#[test]
fn a_foreground_deletion_waits_for_the_dependants_that_block() {
    let menus = menus(&engine());
    let owner = create(&menus, menu("owner"));
    let mut child = blocking("blocks", &owner);
    child["metadata"]["finalizers"] = json!(["bakery.example/shred"]);
    create(&menus, child);
    create(&menus, owned("does-not-block", &[&owner]));
    assert_eq!(delete(&menus, "owner", Propagation::Foreground), Outcome::Changed);
    assert_eq!(names(&menus.list(None)), ["blocks", "owner"]);
    assert_eq!(menus.get("bakery", "owner").unwrap().json()["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    update(&menus, "blocks", Scope::Main, |it| it["metadata"]["finalizers"] = json!([])).unwrap();
    assert_eq!(names(&menus.list(None)), [""; 0]);
}

#[test]
fn a_foreground_deletion_goes_from_the_leaves_to_the_root() {
    let engine = engine();
    let menus = menus(&engine);
    let root = create(&menus, menu("root"));
    let branch = create(&menus, blocking("branch", &root));
    create(&menus, blocking("leaf", &branch));
    let before = engine.revision();
    delete(&menus, "root", Propagation::Foreground);
    let gone: Vec<_> = menus
        .events_after(before)
        .unwrap()
        .iter()
        .filter(|event| event.change == Change::Deleted)
        .map(|event| event.object.name().to_owned())
        .collect();
    assert_eq!(gone, ["leaf", "branch", "root"]);
}

#[test]
fn a_foreground_deletion_without_dependants_ends_at_once() {
    let menus = menus(&engine());
    create(&menus, menu("owner"));
    delete(&menus, "owner", Propagation::Foreground);
    assert_eq!(menus.get("bakery", "owner"), None);
}

#[test]
fn orphans_stay_and_lose_the_reference() {
    let menus = menus(&engine());
    let owner = create(&menus, menu("owner"));
    create(&menus, owned("child", &[&owner]));
    delete(&menus, "owner", Propagation::Orphan);
    assert_eq!(names(&menus.list(None)), ["child"]);
    assert_eq!(menus.get("bakery", "child").unwrap().json()["metadata"].get("ownerReferences"), None);
}

#[test]
fn a_second_delete_may_change_the_propagation() {
    let menus = menus(&engine());
    let mut owner = menu("owner");
    owner["metadata"]["finalizers"] = json!(["bakery.example/shred"]);
    let owner = create(&menus, owner);
    create(&menus, blocking("child", &owner));
    delete(&menus, "owner", Propagation::Background);
    assert_eq!(names(&menus.list(None)), ["child", "owner"]);
    delete(&menus, "owner", Propagation::Foreground);
    assert_eq!(names(&menus.list(None)), ["owner"]);
    assert_eq!(menus.get("bakery", "owner").unwrap().json()["metadata"]["finalizers"], json!(["bakery.example/shred"]));
}

use super::*;

#[test]
fn a_create_sets_what_the_server_owns_and_drops_the_status() {
    let menus = menus(&engine());
    let mut wanted = menu("winter");
    wanted["metadata"]["uid"] = "mine".into();
    wanted["metadata"]["generation"] = 7.into();
    wanted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    wanted["status"] = json!({"printed": true});
    let made = create(&menus, wanted);
    let metadata = &made.json()["metadata"];
    assert_ne!(metadata["uid"], "mine");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["creationTimestamp"], "2026-03-01T12:00:00Z");
    assert_eq!(metadata["resourceVersion"], "2");
    assert_eq!(metadata.get("deletionTimestamp"), None);
    assert_eq!(made.json().get("status"), None);
}

#[test]
fn a_name_can_be_had_once() {
    let menus = menus(&engine());
    create(&menus, menu("winter"));
    assert_eq!(menus.create(menu("winter"), Scope::Main), Err(EngineError::AlreadyExists));
}

#[test]
fn names_are_generated_and_differ() {
    let menus = menus(&engine());
    let wanted = json!({"metadata": {"namespace": "bakery", "generateName": "daily-"}});
    let (one, other) = (create(&menus, wanted.clone()), create(&menus, wanted));
    assert!(one.name().starts_with("daily-") && one.name().len() == 11, "{}", one.name());
    assert_ne!(one.name(), other.name());
}

#[test]
fn a_create_without_name_or_in_the_wrong_scope_is_refused_by_field() {
    let engine = engine();
    let cluster = engine.collection(ResourceType { namespaced: false, ..resource("Oven", "ovens") });
    for (collection, object, field) in [
        (menus(&engine), json!({"metadata": {"namespace": "bakery"}}), "metadata.name"),
        (menus(&engine), json!({"metadata": {"name": "winter"}}), "metadata.namespace"),
        (cluster, menu("big"), "metadata.namespace"),
        (
            menus(&engine),
            json!({"metadata": {"namespace": "bakery", "name": "winter", "resourceVersion": "1"}}),
            "metadata.resourceVersion",
        ),
    ] {
        match collection.create(object, Scope::Main) {
            Err(EngineError::Refused { fields }) => assert_eq!(fields[0].field, field),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(engine.revision(), 1);
}

#[test]
fn status_and_the_rest_are_written_apart() {
    let menus = menus(&engine());
    create(&menus, menu("winter"));
    let both = |object: &mut Value| {
        object["spec"]["pages"] = 9.into();
        object["status"] = json!({"printed": true});
        object["metadata"]["labels"] = json!({"season": "cold"});
    };
    let status = update(&menus, "winter", Scope::Status, both).unwrap().object;
    assert_eq!(status.json()["spec"]["pages"], 2);
    assert_eq!(status.json()["status"]["printed"], true);
    assert_eq!(status.json()["metadata"].get("labels"), None);
    assert_eq!(status.json()["metadata"]["generation"], 1);
    let main = update(&menus, "winter", Scope::Main, |object| {
        both(object);
        object["status"] = Value::Null;
    });
    let main = main.unwrap().object;
    assert_eq!(main.json()["spec"]["pages"], 9);
    assert_eq!(main.json()["status"]["printed"], true);
    assert_eq!(main.json()["metadata"]["labels"]["season"], "cold");
    assert_eq!(main.json()["metadata"]["generation"], 2);
}

#[test]
fn a_status_write_takes_the_managed_fields_over() {
    let menus = menus(&engine());
    create(&menus, menu("winter"));
    let managed = json!([{"manager": "printer", "subresource": "status"}]);
    let written = update(&menus, "winter", Scope::Status, |object| {
        object["metadata"]["managedFields"] = managed.clone();
    });
    assert_eq!(written.unwrap().object.json()["metadata"]["managedFields"], managed);
}

#[test]
fn the_generation_counts_content_and_nothing_else() {
    let engine = engine();
    let menus = menus(&engine);
    create(&menus, menu("winter"));
    let generation =
        |written: Result<Written, EngineError>| written.unwrap().object.json()["metadata"]["generation"].clone();
    let labelled = update(&menus, "winter", Scope::Main, |it| it["metadata"]["labels"] = json!({"a": "b"}));
    assert_eq!(generation(labelled), 1);
    assert_eq!(generation(update(&menus, "winter", Scope::Main, |it| it["spec"]["pages"] = 3.into())), 2);
    assert_eq!(generation(update(&menus, "winter", Scope::Main, |it| it["extra"] = 3.into())), 3);
    assert_eq!(generation(update(&menus, "winter", Scope::Main, |it| it["metadata"]["generation"] = 50.into())), 3);

    let plain = engine.collection(ResourceType { counts_generations: false, ..resource("Note", "notes") });
    create(&plain, menu("winter"));
    assert_eq!(generation(update(&plain, "winter", Scope::Main, |it| it["spec"]["pages"] = 3.into())), Value::Null);

    let whole = engine.collection(ResourceType { status_subresource: false, ..resource("Slip", "slips") });
    create(&whole, menu("winter"));
    assert_eq!(generation(update(&whole, "winter", Scope::Main, |it| it["status"] = json!({"a": 1}))), 2);
}

#[test]
fn a_write_that_changes_nothing_keeps_the_version() {
    let engine = engine();
    let menus = menus(&engine);
    let made = create(&menus, menu("winter"));
    let written = update(&menus, "winter", Scope::Main, |_| {}).unwrap();
    assert_eq!(written, Written { object: made, outcome: Outcome::Unchanged });
    assert_eq!(engine.revision(), 2);
}

#[test]
fn what_the_server_owns_cannot_be_changed_and_comes_back_when_left_out() {
    let menus = menus(&engine());
    let made = create(&menus, menu("winter"));
    for field in ["name", "namespace", "creationTimestamp", "deletionTimestamp"] {
        let changed = update(&menus, "winter", Scope::Main, |it| it["metadata"][field] = "2026-01-01T00:00:00Z".into());
        match changed {
            Err(EngineError::Refused { fields }) => assert_eq!(fields[0].field, format!("metadata.{field}")),
            other => panic!("{other:?}"),
        }
    }
    let emptied = update(&menus, "winter", Scope::Main, |it| it["metadata"] = json!({})).unwrap();
    assert_eq!(emptied, Written { object: made, outcome: Outcome::Unchanged });
}

#[test]
fn versions_in_precondition_and_in_the_object_are_both_checked() {
    let menus = menus(&engine());
    let made = create(&menus, menu("winter"));
    update(&menus, "winter", Scope::Main, |it| it["spec"]["pages"] = 3.into()).unwrap();
    let old = Precondition { uid: None, resource_version: Some(made.resource_version().into()) };
    let change = |object: &Document| Ok::<_, EngineError>(object.json().clone());
    let conflicted = menus.update("bakery", "winter", &old, Scope::Main, change);
    assert!(matches!(conflicted, Err(EngineError::Conflict { .. })), "{conflicted:?}");
    let replaced = menus.update("bakery", "winter", &any(), Scope::Main, |_| Ok::<_, EngineError>(made.json().clone()));
    assert!(matches!(replaced, Err(EngineError::Conflict { .. })), "{replaced:?}");
    let other = Precondition { uid: Some("other".into()), resource_version: None };
    let deleted = menus.delete("bakery", "winter", &other, None);
    assert!(matches!(deleted, Err(EngineError::Conflict { .. })), "{deleted:?}");
}

#[test]
fn an_error_of_the_change_leaves_all_as_it_was() {
    #[derive(Debug, PartialEq)]
    enum Refusal {
        TooMany,
        Engine(EngineError),
    }
    impl From<EngineError> for Refusal {
        fn from(error: EngineError) -> Self {
            Self::Engine(error)
        }
    }
    let engine = engine();
    let menus = menus(&engine);
    create(&menus, menu("winter"));
    let refused = menus.update("bakery", "winter", &any(), Scope::Main, |_| Err(Refusal::TooMany));
    assert_eq!(refused, Err(Refusal::TooMany));
    let absent = menus.update("bakery", "summer", &any(), Scope::Main, |_| Err(Refusal::TooMany));
    assert_eq!(absent, Err(Refusal::Engine(EngineError::NotFound)));
    assert_eq!(engine.revision(), 2);
}

#[test]
fn a_deletion_waits_for_the_finalizers_and_takes_no_new_ones() {
    let menus = menus(&engine());
    let mut wanted = menu("winter");
    wanted["metadata"]["finalizers"] = json!(["bakery.example/shred", "bakery.example/burn"]);
    create(&menus, wanted);
    let deleted = menus.delete("bakery", "winter", &any(), None).unwrap();
    assert_eq!(deleted.outcome, Outcome::Changed);
    let metadata = &deleted.object.json()["metadata"];
    assert_eq!(metadata["deletionTimestamp"], "2026-03-01T12:00:00Z");
    assert_eq!(metadata["deletionGracePeriodSeconds"], 0);
    assert_eq!(metadata["generation"], 2);
    assert_eq!(menus.delete("bakery", "winter", &any(), None).unwrap().outcome, Outcome::Unchanged);

    let more = update(&menus, "winter", Scope::Main, |it| it["metadata"]["finalizers"] = json!(["bakery.example/sue"]));
    match more {
        Err(EngineError::Refused { fields }) => assert_eq!(fields[0].field, "metadata.finalizers"),
        other => panic!("{other:?}"),
    }
    let one = update(&menus, "winter", Scope::Main, |it| it["metadata"]["finalizers"] = json!(["bakery.example/burn"]));
    assert_eq!(one.unwrap().outcome, Outcome::Changed);
    let last = update(&menus, "winter", Scope::Main, |it| it["metadata"]["finalizers"] = json!([])).unwrap();
    assert_eq!(last.outcome, Outcome::Removed);
    assert_eq!(menus.get("bakery", "winter"), None);
}

#[test]
fn a_name_that_is_free_again_gets_another_uid() {
    let menus = menus(&engine());
    let first = create(&menus, menu("winter"));
    menus.delete("bakery", "winter", &any(), None).unwrap();
    assert_ne!(create(&menus, menu("winter")).uid(), first.uid());
}

#[test]
fn what_is_no_object_is_refused_in_every_scope() {
    let engine = engine();
    let menus = menus(&engine);
    create(&menus, menu("winter"));
    for scope in [Scope::Main, Scope::Status, Scope::Whole] {
        let refused = update(&menus, "winter", scope, |it| *it = Value::Null);
        assert!(matches!(refused, Err(EngineError::Refused { .. })), "{refused:?}");
    }
    assert!(matches!(menus.create("winter".into(), Scope::Main), Err(EngineError::Refused { .. })));
    assert_eq!(engine.revision(), 2);
}

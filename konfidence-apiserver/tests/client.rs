//! A `kube::Client` in process: no socket, virtual time.

#![allow(clippy::expect_used)]

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use konfidence_apiserver::ApiServer;
use konfidence_types::{Stage, VectorTemplate};
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;

fn client() -> Client {
    let server = ApiServer::builder().our_kinds().build().expect("our definitions are legal");
    Client::new(server.service(), "default")
}

fn stage(name: &str, vector: &str) -> Stage {
    serde_json::from_value(json!({"apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage",
        "metadata": {"name": name}, "spec": {"vector": vector}}))
    .expect("a stage")
}

#[tokio::test(start_paused = true)]
async fn an_object_lives_from_create_to_delete() {
    let stages: Api<Stage> = Api::default_namespaced(client());
    let made = stages.create(&PostParams::default(), &stage("dev", "v1")).await.expect("created");
    assert_eq!(made.metadata.generation, Some(1));
    assert!(made.uid().is_some());

    let patch = json!({"spec": {"vector": "v2"}});
    let changed = stages.patch("dev", &PatchParams::default(), &Patch::Merge(&patch)).await.expect("patched");
    assert_eq!((changed.spec.vector.as_str(), changed.metadata.generation), ("v2", Some(2)));

    let stale = stages.replace("dev", &PostParams::default(), &made).await.expect_err("made has moved on");
    assert!(matches!(stale, kube::Error::Api(status) if status.is_conflict()));

    stages.delete("dev", &DeleteParams::default()).await.expect("deleted");
    assert!(stages.get_opt("dev").await.expect("answered").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watcher_sees_every_change_in_order() {
    let client = client();
    let stages: Api<Stage> = Api::default_namespaced(client.clone());
    stages.create(&PostParams::default(), &stage("dev", "v1")).await.expect("created");
    let (reader, writer) = reflector::store();
    let mut events = watcher(stages.clone(), watcher::Config::default()).reflect(writer).applied_objects().boxed();
    assert_eq!(events.try_next().await.expect("goes on").expect("an event").spec.vector, "v1");
    stages.create(&PostParams::default(), &stage("test", "v1")).await.expect("created");
    assert_eq!(events.try_next().await.expect("goes on").expect("an event").name_any(), "test");
    assert_eq!(reader.state().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn streaming_lists_end_with_their_bookmark() {
    let stages: Api<Stage> = Api::default_namespaced(client());
    stages.create(&PostParams::default(), &stage("dev", "v1")).await.expect("created");
    let mut events = watcher(stages, watcher::Config::default().streaming_lists()).boxed();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        match events.try_next().await.expect("goes on").expect("an event") {
            watcher::Event::Init => seen.push("init"),
            watcher::Event::InitApply(_) => seen.push("object"),
            watcher::Event::InitDone => seen.push("done"),
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(seen, ["init", "object", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_at_its_timeout_and_bookmarks_come_meanwhile() {
    let stages: Api<Stage> = Api::default_namespaced(client());
    let params = WatchParams::default().timeout(200);
    let mut events = stages.watch(&params, "0").await.expect("a watch").boxed();
    let mut bookmarks = 0;
    while let Some(event) = events.try_next().await.expect("goes on") {
        assert!(matches!(event, WatchEvent::Bookmark(_)), "{event:?}");
        bookmarks += 1;
    }
    // One ends what is there at the beginning, three follow.
    assert_eq!(bookmarks, 4);
}

#[tokio::test(start_paused = true)]
async fn status_is_written_apart() {
    let stages: Api<Stage> = Api::default_namespaced(client());
    stages.create(&PostParams::default(), &stage("dev", "v1")).await.expect("created");
    let condition = json!({"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-03-01T12:00:00Z"});
    let both = json!({"spec": {"vector": "v9"}, "status": {"conditions": [condition]}});
    let by_main = stages.patch("dev", &PatchParams::default(), &Patch::Merge(&both)).await.expect("patched");
    assert!(by_main.status.is_none());
    assert_eq!(by_main.spec.vector, "v9");
    let spec_too = json!({"spec": {"vector": "v10"}, "status": {"conditions": [condition]}});
    let by_status =
        stages.patch_status("dev", &PatchParams::default(), &Patch::Merge(&spec_too)).await.expect("patched");
    assert_eq!(by_status.spec.vector, "v9");
    assert!(by_status.status.is_some());
    assert_eq!(by_status.metadata.generation, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_contents_with_it() {
    let client = client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "bakery"}})).expect("a namespace");
    namespaces.create(&PostParams::default(), &namespace).await.expect("created");
    let stages: Api<Stage> = Api::namespaced(client.clone(), "bakery");
    let mut held = stage("dev", "v1");
    held.metadata.finalizers = Some(vec!["bakery.example/hold".into()]);
    stages.create(&PostParams::default(), &held).await.expect("created");
    stages.create(&PostParams::default(), &stage("test", "v1")).await.expect("created");

    let deleted = namespaces.delete("bakery", &DeleteParams::default()).await.expect("deleted");
    let phase = deleted.left().and_then(|namespace| namespace.status).and_then(|status| status.phase);
    assert_eq!(phase.as_deref(), Some("Terminating"));
    assert_eq!(stages.list(&ListParams::default()).await.expect("listed").items.len(), 2, "the contents linger");
    let refused = stages.create(&PostParams::default(), &stage("prod", "v1")).await.expect_err("terminating");
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!(
        (status.code, status.details.as_ref().map(|details| details.causes[0].reason.clone())),
        (403, Some("NamespaceTerminating".into()))
    );

    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(stages.list(&ListParams::default()).await.expect("listed").items.len(), 1);
    let status = namespaces.get("bakery").await.expect("there").status.unwrap_or_default();
    let remaining: Vec<String> = status
        .conditions
        .into_iter()
        .flatten()
        .filter(|one| one.status == "True")
        .filter_map(|one| one.message)
        .collect();
    assert_eq!(
        remaining,
        [
            "Some resources are remaining: stages.konfidence.cloud has 1 resource instances",
            "Some content in the namespace has finalizers remaining: bakery.example/hold in 1 resource instances",
        ]
    );
    let release = json!({"metadata": {"finalizers": null}});
    stages.patch("dev", &PatchParams::default(), &Patch::Merge(&release)).await.expect("released");
    for _ in 0..1000 {
        if namespaces.get_opt("bakery").await.expect("answered").is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the namespace is still there");
}

#[tokio::test(start_paused = true)]
async fn an_object_in_a_namespace_that_is_not_there_is_not_found() {
    let stages: Api<Stage> = Api::namespaced(client(), "nowhere");
    let refused = stages.create(&PostParams::default(), &stage("dev", "v1")).await.expect_err("no such namespace");
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!((status.code, status.message.as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test(start_paused = true)]
async fn two_appliers_share_an_object_and_conflict_over_a_field() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client());
    let apply = |data: serde_json::Value| {
        Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "menu"}, "data": data}))
    };
    maps.patch("menu", &PatchParams::apply("one"), &apply(json!({"a": "1"}))).await.expect("applied");
    maps.patch("menu", &PatchParams::apply("two"), &apply(json!({"b": "2"}))).await.expect("applied");
    let conflict = maps.patch("menu", &PatchParams::apply("two"), &apply(json!({"a": "2", "b": "2"}))).await;
    let Err(kube::Error::Api(status)) = conflict else { panic!("{conflict:?}") };
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"one\": .data.a");
    let map = maps.patch("menu", &PatchParams::apply("one"), &apply(json!({}))).await.expect("applied");
    assert_eq!(map.data.expect("data").into_iter().collect::<Vec<_>>(), [("b".to_owned(), "2".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_page_goes_on_where_the_last_one_ended_and_shows_the_same_moment() {
    let client = client();
    let stages: Api<Stage> = Api::default_namespaced(client);
    for index in 0..5 {
        stages.create(&PostParams::default(), &stage(&format!("s{index}"), "v1")).await.expect("created");
    }
    let mut params = ListParams::default().limit(2);
    let mut names = Vec::new();
    loop {
        let page = stages.list(&params).await.expect("a page");
        names.extend(page.items.iter().map(ResourceExt::name_any));
        stages.create(&PostParams::default(), &stage(&format!("a{}", names.len()), "v1")).await.expect("created");
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = ListParams::default().limit(2).continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4"]);
}

#[tokio::test(start_paused = true)]
async fn discovery_finds_our_kinds() {
    let client = client();
    let discovery = kube::Discovery::new(client.clone()).run().await.expect("discovered");
    let group = discovery.get("konfidence.cloud").expect("our group");
    let (resource, capabilities) = group.recommended_kind("VectorTemplate").expect("our kind");
    assert_eq!(resource.plural, "vectortemplates");
    assert!(capabilities.supports_operation("watch"));
    let templates: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    assert!(templates.list(&ListParams::default()).await.expect("listed").items.is_empty());
    let typed: Api<VectorTemplate> = Api::default_namespaced(client);
    assert!(typed.list(&ListParams::default()).await.expect("listed").items.is_empty());
}

#[tokio::test(start_paused = true)]
async fn status_is_applied_and_owned_apart() {
    let stages: Api<Stage> = Api::default_namespaced(client());
    let apply = |body: serde_json::Value| {
        let mut object =
            json!({"apiVersion": "konfidence.cloud/v1alpha1", "kind": "Stage", "metadata": {"name": "dev"}});
        object.as_object_mut().expect("an object").extend(body.as_object().cloned().unwrap_or_default());
        Patch::Apply(object)
    };
    let condition = |status: &str| {
        json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "R", "message": "",
            "lastTransitionTime": "2026-03-01T12:00:00Z"}]}})
    };
    stages.patch("dev", &PatchParams::apply("user"), &apply(json!({"spec": {"vector": "v1"}}))).await.expect("applied");
    let applied =
        stages.patch_status("dev", &PatchParams::apply("one"), &apply(condition("True"))).await.expect("applied");
    let managed = applied.metadata.managed_fields.expect("owners");
    let mut owners: Vec<_> = managed.iter().map(|one| (one.manager.as_deref(), one.subresource.as_deref())).collect();
    // They are in the order of their seconds, which may be one or two here.
    owners.sort_unstable();
    assert_eq!(owners, [(Some("one"), Some("status")), (Some("user"), None)]);
    let conflict = stages.patch_status("dev", &PatchParams::apply("two"), &apply(condition("False"))).await;
    let Err(kube::Error::Api(status)) = conflict else { panic!("{conflict:?}") };
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"one\" with subresource \"status\": \
         .status.conditions[type=\"Ready\"].status"
    );
    let dropped = stages.patch_status("dev", &PatchParams::apply("one"), &apply(json!({}))).await.expect("applied");
    assert!(dropped.status.is_none_or(|status| status.conditions.is_empty()));
    assert_eq!(dropped.spec.vector, "v1");
}

use serde_json::json;

use crate::admission::{assert_accepted, assert_immutable, assert_refused};
use crate::example::{landscape, letters, named, set, without};

#[test]
fn the_name_has_at_most_46_characters() {
    assert_accepted(&named(landscape(), &letters(46)), &named(landscape(), &letters(46)));
    let bad = named(landscape(), &letters(47));
    assert_refused(&landscape(), &bad, "landscape name must be at most 46 characters");
}

#[test]
fn the_namespace_is_never_set_changed_or_unset_later() {
    let words = "spec.namespace: namespace is immutable, set or unset";
    let placed = set(landscape(), "/spec/namespace", "shop-eu");
    assert_immutable(&placed, &set(landscape(), "/spec/namespace", "shop-us"), words);
    for (old, new) in [(landscape(), placed.clone()), (placed.clone(), landscape())] {
        assert_immutable(&old, &new, "spec: namespace is immutable, set or unset");
    }
    assert_immutable(&placed, &without(placed.clone(), "/spec"), "spec: namespace is immutable, set or unset");
    assert_immutable(&placed, &set(placed.clone(), "/spec/namespace", json!(null)), "namespace is immutable");
}

#[test]
fn the_namespace_is_a_dns_label() {
    for bad in [String::new(), "Shop".into(), "shop-".into(), "shop.eu".into(), letters(64)] {
        assert_refused(&landscape(), &set(landscape(), "/spec/namespace", bad), "spec.namespace");
    }
}

#[test]
fn the_display_name_has_1_to_253_characters_and_may_change() {
    let shown = set(landscape(), "/spec/displayName", "Europe");
    assert_accepted(&landscape(), &shown);
    assert_accepted(&shown, &set(landscape(), "/spec/displayName", "Überall in Europa"));
    for bad in [String::new(), letters(254)] {
        assert_refused(&landscape(), &set(landscape(), "/spec/displayName", bad), "spec.displayName");
    }
}

#[test]
fn a_landscape_without_spec_is_one_with_an_empty_spec() {
    assert_accepted(&landscape(), &without(landscape(), "/spec"));
    assert_accepted(&without(landscape(), "/spec"), &set(landscape(), "/spec/displayName", "Europe"));
}

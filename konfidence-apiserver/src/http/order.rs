//! The order of fields in JSON answers.
//!
//! A real server writes what it has a Go type for in the order of that type's fields, and everything else (custom
//! resources, maps) by name. Nothing may depend on it; yet who compares two answers byte by byte, or reads one by eye,
//! should find them equal.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

/// A value whose fields are written in the order of its type.
pub(super) struct Ordered<'a>(pub &'a Value);

/// Field names of a type in their order, and which of them lead to a type of their own.
struct Shape {
    fields: &'static [(&'static str, Below)],
}

/// What lies below a field: the same for the items of a list.
#[derive(Clone, Copy)]
enum Below {
    /// A map, or anything that is written by name.
    ByName,
    /// A type.
    Is(&'static Shape),
    /// A map of one type.
    Each(&'static Shape),
    /// An object that says itself what it is.
    Object,
    /// As [`Below::Object`]; one that does not say so is of this type.
    Item(&'static Shape),
}

use Below::{ByName, Each, Is, Item, Object};

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Node(self.0, Object).serialize(serializer)
    }
}

struct Node<'a>(&'a Value, Below);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value, below) = *self;
        match value {
            Value::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(&Node(item, below))?;
                }
                sequence.end()
            }
            Value::Object(fields) => {
                let shape = match below {
                    ByName => None,
                    Each(shape) => {
                        let below = fields.iter().map(|(name, value)| (name, Node(value, Is(shape))));
                        return serializer.collect_map(below);
                    }
                    Is(shape) => Some(shape),
                    Object => of(value),
                    Item(shape) => of(value).or(Some(shape)),
                };
                let Some(shape) = shape else { return value.serialize(serializer) };
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, below) in shape.fields {
                    if let Some(value) = fields.get(*name) {
                        map.serialize_entry(name, &Node(value, *below))?;
                    }
                }
                for (name, value) in fields {
                    if !shape.fields.iter().any(|(known, _)| known == name) {
                        map.serialize_entry(name, &Node(value, ByName))?;
                    }
                }
                map.end()
            }
            other => other.serialize(serializer),
        }
    }
}

/// The shape of an object that says what it is; `None`: it is written by name.
fn of(object: &Value) -> Option<&'static Shape> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match (text("apiVersion"), text("kind")) {
        ("v1", "ConfigMap") => &CONFIG_MAP,
        ("v1", "ConfigMapList") => &CONFIG_MAPS,
        ("v1", "Secret") => &SECRET,
        ("v1", "SecretList") => &SECRETS,
        ("v1", "Namespace") => &NAMESPACE,
        ("v1", "NamespaceList") => &NAMESPACES,
        ("v1", "ServiceAccount") => &SERVICE_ACCOUNT,
        ("v1", "ServiceAccountList") => &SERVICE_ACCOUNTS,
        ("v1", "Event") => &EVENT,
        ("v1", "EventList") => &EVENTS,
        ("events.k8s.io/v1", "Event") => &NEWER_EVENT,
        ("events.k8s.io/v1", "EventList") => &NEWER_EVENTS,
        ("coordination.k8s.io/v1", "Lease") => &LEASE,
        ("coordination.k8s.io/v1", "LeaseList") => &LEASES,
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => &DEFINITION,
        ("apiextensions.k8s.io/v1", "CustomResourceDefinitionList") => &DEFINITIONS,
        ("autoscaling/v1", "Scale") => &SCALE,
        (_, kind) if kind.ends_with("List") && is_empty_list(object) => &EMPTY_LIST,
        ("authentication.k8s.io/v1" | "authorization.k8s.io/v1", _) => &REVIEW,
        ("v1", "Status") => &STATUS,
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "Table") => &TABLE,
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => &PARTIAL,
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadataList") => &PARTIALS,
        ("v1" | "", "APIResourceList") => &RESOURCES,
        ("v1", "APIGroupList") => &GROUPS,
        ("v1", "APIGroup") => &GROUP,
        ("apidiscovery.k8s.io/v2", _) => &AGGREGATED,
        ("", "APIVersions") => &API_VERSIONS,
        // What a watch sends has no kind.
        ("", "") if object.get("type").is_some() && object.get("object").is_some() => &WATCHED,
        ("", "") if object.get("gitVersion").is_some() => &VERSION,
        _ => return None,
    })
}

/// A list of a kind of which there is nothing.
fn is_empty_list(object: &Value) -> bool {
    object.get("items").and_then(Value::as_array).is_some_and(Vec::is_empty)
        && object.pointer("/metadata/continue").is_none()
}

macro_rules! shapes {
    ($($shape:ident { $($field:literal : $below:expr),* $(,)? })*) => {
        $(static $shape: Shape = Shape { fields: &[$(($field, $below)),*] };)*
    };
}

shapes! {
    META {
        "name": ByName, "generateName": ByName, "namespace": ByName, "selfLink": ByName, "uid": ByName,
        "resourceVersion": ByName, "generation": ByName, "creationTimestamp": ByName, "deletionTimestamp": ByName,
        "deletionGracePeriodSeconds": ByName, "labels": ByName, "annotations": ByName, "ownerReferences": Is(&OWNER),
        "finalizers": ByName, "managedFields": Is(&MANAGED),
    }
    OWNER {
        "apiVersion": ByName, "kind": ByName, "name": ByName, "uid": ByName, "controller": ByName,
        "blockOwnerDeletion": ByName,
    }
    MANAGED {
        "manager": ByName, "operation": ByName, "apiVersion": ByName, "time": ByName, "fieldsType": ByName,
        "fieldsV1": ByName, "subresource": ByName,
    }
    LIST_META {
        "selfLink": ByName, "resourceVersion": ByName, "continue": ByName, "remainingItemCount": ByName,
    }
    EMPTY_LIST { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": ByName }
    CONFIG_MAP {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "immutable": ByName, "data": ByName,
        "binaryData": ByName,
    }
    CONFIG_MAPS { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&CONFIG_MAP) }
    SECRET {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "immutable": ByName, "data": ByName,
        "stringData": ByName, "type": ByName,
    }
    SECRETS { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&SECRET) }
    NAMESPACE {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "spec": ByName, "status": Is(&NAMESPACE_STATUS),
    }
    NAMESPACE_STATUS { "phase": ByName, "conditions": Is(&NAMESPACE_CONDITION) }
    NAMESPACE_CONDITION {
        "type": ByName, "status": ByName, "lastTransitionTime": ByName, "reason": ByName, "message": ByName,
    }
    NAMESPACES { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&NAMESPACE) }
    SERVICE_ACCOUNT {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "secrets": Is(&REFERENCE),
        "imagePullSecrets": ByName, "automountServiceAccountToken": ByName,
    }
    SERVICE_ACCOUNTS {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&SERVICE_ACCOUNT),
    }
    REFERENCE {
        "kind": ByName, "namespace": ByName, "name": ByName, "uid": ByName, "apiVersion": ByName,
        "resourceVersion": ByName, "fieldPath": ByName,
    }
    SOURCE { "component": ByName, "host": ByName }
    SERIES { "count": ByName, "lastObservedTime": ByName }
    EVENT {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "involvedObject": Is(&REFERENCE),
        "reason": ByName, "message": ByName, "source": Is(&SOURCE), "firstTimestamp": ByName,
        "lastTimestamp": ByName, "count": ByName, "type": ByName, "eventTime": ByName, "series": Is(&SERIES),
        "action": ByName, "related": Is(&REFERENCE), "reportingComponent": ByName, "reportingInstance": ByName,
    }
    EVENTS { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&EVENT) }
    NEWER_EVENT {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "eventTime": ByName, "series": Is(&SERIES),
        "reportingController": ByName, "reportingInstance": ByName, "action": ByName, "reason": ByName,
        "regarding": Is(&REFERENCE), "related": Is(&REFERENCE), "note": ByName, "type": ByName,
        "deprecatedSource": Is(&SOURCE), "deprecatedFirstTimestamp": ByName, "deprecatedLastTimestamp": ByName,
        "deprecatedCount": ByName,
    }
    NEWER_EVENTS { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&NEWER_EVENT) }
    LEASE { "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "spec": Is(&LEASE_SPEC) }
    LEASE_SPEC {
        "holderIdentity": ByName, "leaseDurationSeconds": ByName, "acquireTime": ByName, "renewTime": ByName,
        "leaseTransitions": ByName, "strategy": ByName, "preferredHolder": ByName,
    }
    LEASES { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&LEASE) }
    DEFINITION {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "spec": Is(&DEFINITION_SPEC),
        "status": Is(&DEFINITION_STATUS),
    }
    DEFINITION_SPEC {
        "group": ByName, "names": Is(&NAMES), "scope": ByName, "versions": Is(&DEFINITION_VERSION),
        "conversion": ByName, "preserveUnknownFields": ByName,
    }
    NAMES {
        "plural": ByName, "singular": ByName, "shortNames": ByName, "kind": ByName, "listKind": ByName,
        "categories": ByName,
    }
    DEFINITION_VERSION {
        "name": ByName, "served": ByName, "storage": ByName, "deprecated": ByName, "deprecationWarning": ByName,
        "schema": Is(&VALIDATION), "subresources": Is(&SUBRESOURCES), "additionalPrinterColumns": Is(&PRINTER_COLUMN),
        "selectableFields": ByName,
    }
    VALIDATION { "openAPIV3Schema": Is(&SCHEMA) }
    SUBRESOURCES { "status": ByName, "scale": Is(&SCALE_PATHS) }
    SCALE_PATHS { "specReplicasPath": ByName, "statusReplicasPath": ByName, "labelSelectorPath": ByName }
    PRINTER_COLUMN {
        "name": ByName, "type": ByName, "format": ByName, "description": ByName, "priority": ByName,
        "jsonPath": ByName,
    }
    SCHEMA {
        "id": ByName, "$schema": ByName, "$ref": ByName, "description": ByName, "type": ByName, "format": ByName,
        "title": ByName, "default": ByName, "maximum": ByName, "exclusiveMaximum": ByName, "minimum": ByName,
        "exclusiveMinimum": ByName, "maxLength": ByName, "minLength": ByName, "pattern": ByName,
        "maxItems": ByName, "minItems": ByName, "uniqueItems": ByName, "multipleOf": ByName, "enum": ByName,
        "maxProperties": ByName, "minProperties": ByName, "required": ByName, "items": Is(&SCHEMA),
        "allOf": Is(&SCHEMA), "oneOf": Is(&SCHEMA), "anyOf": Is(&SCHEMA), "not": Is(&SCHEMA),
        "properties": Each(&SCHEMA), "additionalProperties": Is(&SCHEMA), "patternProperties": Each(&SCHEMA),
        "dependencies": ByName, "additionalItems": ByName, "definitions": Each(&SCHEMA), "externalDocs": ByName,
        "example": ByName, "nullable": ByName, "x-kubernetes-preserve-unknown-fields": ByName,
        "x-kubernetes-embedded-resource": ByName, "x-kubernetes-int-or-string": ByName,
        "x-kubernetes-list-map-keys": ByName, "x-kubernetes-list-type": ByName, "x-kubernetes-map-type": ByName,
        "x-kubernetes-validations": Is(&RULE),
    }
    RULE {
        "rule": ByName, "message": ByName, "messageExpression": ByName, "reason": ByName, "fieldPath": ByName,
        "optionalOldSelf": ByName,
    }
    DEFINITION_STATUS {
        "conditions": Is(&DEFINITION_CONDITION), "acceptedNames": Is(&NAMES), "storedVersions": ByName,
        "observedGeneration": ByName,
    }
    DEFINITION_CONDITION {
        "type": ByName, "status": ByName, "observedGeneration": ByName, "lastTransitionTime": ByName,
        "reason": ByName, "message": ByName,
    }
    DEFINITIONS { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&DEFINITION) }
    SCALE {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "spec": ByName, "status": Is(&SCALE_STATUS),
    }
    SCALE_STATUS { "replicas": ByName, "selector": ByName }
    REVIEW {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&META), "spec": Is(&REVIEW_SPEC),
        "status": Is(&REVIEW_STATUS),
    }
    REVIEW_SPEC { "resourceAttributes": Is(&ATTRIBUTES), "nonResourceAttributes": ByName, "namespace": ByName }
    ATTRIBUTES {
        "namespace": ByName, "verb": ByName, "group": ByName, "version": ByName, "resource": ByName,
        "subresource": ByName, "name": ByName,
    }
    REVIEW_STATUS {
        "allowed": ByName, "denied": ByName, "reason": ByName, "resourceRules": Is(&ACCESS),
        "nonResourceRules": Is(&ACCESS), "incomplete": ByName, "evaluationError": ByName, "userInfo": Is(&USER),
    }
    ACCESS { "verbs": ByName, "apiGroups": ByName, "resources": ByName, "nonResourceURLs": ByName }
    USER { "username": ByName, "uid": ByName, "groups": ByName, "extra": ByName }
    STATUS {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "status": ByName, "message": ByName,
        "reason": ByName, "details": Is(&DETAILS), "code": ByName,
    }
    DETAILS {
        "name": ByName, "group": ByName, "kind": ByName, "uid": ByName, "causes": Is(&CAUSE),
        "retryAfterSeconds": ByName,
    }
    CAUSE { "reason": ByName, "message": ByName, "field": ByName }
    TABLE {
        "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "columnDefinitions": Is(&TABLE_COLUMN),
        "rows": Is(&ROW),
    }
    TABLE_COLUMN { "name": ByName, "type": ByName, "format": ByName, "description": ByName, "priority": ByName }
    ROW { "cells": ByName, "conditions": ByName, "object": Object }
    PARTIAL { "kind": ByName, "apiVersion": ByName, "metadata": Is(&META) }
    PARTIALS { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Item(&PARTIAL) }
    RESOURCES { "kind": ByName, "apiVersion": ByName, "groupVersion": ByName, "resources": Is(&RESOURCE) }
    RESOURCE {
        "name": ByName, "singularName": ByName, "namespaced": ByName, "group": ByName, "version": ByName,
        "kind": ByName, "verbs": ByName, "shortNames": ByName, "categories": ByName, "storageVersionHash": ByName,
    }
    GROUPS { "kind": ByName, "apiVersion": ByName, "groups": Is(&GROUP) }
    GROUP {
        "kind": ByName, "apiVersion": ByName, "name": ByName, "versions": Is(&GROUP_VERSION),
        "preferredVersion": Is(&GROUP_VERSION), "serverAddressByClientCIDRs": Is(&ADDRESS),
    }
    GROUP_VERSION { "groupVersion": ByName, "version": ByName }
    ADDRESS { "clientCIDR": ByName, "serverAddress": ByName }
    API_VERSIONS {
        "kind": ByName, "apiVersion": ByName, "versions": ByName, "serverAddressByClientCIDRs": Is(&ADDRESS),
    }
    AGGREGATED { "kind": ByName, "apiVersion": ByName, "metadata": Is(&LIST_META), "items": Is(&DISCOVERED) }
    DISCOVERED { "metadata": Is(&META), "versions": Is(&DISCOVERED_VERSION) }
    DISCOVERED_VERSION { "version": ByName, "resources": Is(&DISCOVERED_RESOURCE), "freshness": ByName }
    DISCOVERED_RESOURCE {
        "resource": ByName, "responseKind": Is(&RESPONSE), "scope": ByName, "singularResource": ByName,
        "verbs": ByName, "shortNames": ByName, "categories": ByName, "subresources": Is(&DISCOVERED_PART),
    }
    DISCOVERED_PART {
        "subresource": ByName, "responseKind": Is(&RESPONSE), "acceptedTypes": ByName, "verbs": ByName,
    }
    RESPONSE { "group": ByName, "version": ByName, "kind": ByName }
    WATCHED { "type": ByName, "object": Object }
    VERSION {
        "major": ByName, "minor": ByName, "emulationMajor": ByName, "emulationMinor": ByName,
        "minCompatibilityMajor": ByName, "minCompatibilityMinor": ByName, "gitVersion": ByName, "gitCommit": ByName,
        "gitTreeState": ByName, "buildDate": ByName, "goVersion": ByName, "compiler": ByName, "platform": ByName,
    }
}

//! Updates as Vespa is fed with, and what documents are behind them.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use stead_log::{SeededRng, SimIo};
use stead_store::{Operation, Outcome, Store, StoreOptions};

use crate::harness::{Fields, kind, kind_of};

fn store() -> Store {
    let (io, rng) = (Arc::new(SimIo::new(1)), Arc::new(SeededRng::new(1)));
    Store::open(io, rng, vec![kind()], StoreOptions::default()).unwrap()
}

fn submit(store: &Store, json: &Json) -> Outcome {
    let kind = store.kind("shop").unwrap();
    let operation = Operation::read(kind, json.to_string().as_bytes());
    store.submit_wait("shop", operation.unwrap_or_else(|e| panic!("{json}: {e}"))).unwrap()
}

fn fields(store: &Store, id: &str) -> Option<Fields> {
    let view = store.reader("shop").unwrap().view();
    view.fields(view.find(id)?)
}

const ID: &str = "id:n:shop::1";

#[test]
fn every_update_does_what_it_says() {
    let store = store();
    for (label, before, update, after) in [
        (
            "assign",
            json!({"count": 1}),
            json!({"name": {"assign": "x"}}),
            json!({"count": 1, "name": "x"}),
        ),
        (
            "assign null",
            json!({"count": 1, "name": "x"}),
            json!({"name": {"assign": null}}),
            json!({"count": 1}),
        ),
        (
            "two fields",
            json!({"count": 1}),
            json!({"count": {"assign": 2}, "sold": {"assign": true}}),
            json!({"count": 2, "sold": true}),
        ),
        (
            "increment",
            json!({"count": 1, "price": 0.5}),
            json!({"count": {"increment": 2}, "price": {"increment": 0.25}}),
            json!({"count": 3, "price": 0.75}),
        ),
        (
            "decrement",
            json!({"count": 1}),
            json!({"count": {"decrement": 3}}),
            json!({"count": -2}),
        ),
        ("multiply", json!({"count": 7}), json!({"count": {"multiply": 0.5}}), json!({"count": 3})),
        ("divide", json!({"price": 7}), json!({"price": {"divide": 2}}), json!({"price": 3.5})),
        (
            "beyond the type",
            json!({"count": 2147483647}),
            json!({"count": {"increment": 1}}),
            json!({"count": 2147483647}),
        ),
        ("nothing to increment", json!({}), json!({"count": {"increment": 1}}), json!({})),
        (
            "add to an array",
            json!({"tags": ["a"]}),
            json!({"tags": {"add": ["b", "a"]}}),
            json!({"tags": ["a", "b", "a"]}),
        ),
        ("add to no array", json!({}), json!({"tags": {"add": ["b"]}}), json!({"tags": ["b"]})),
        (
            "remove of an array",
            json!({"tags": ["a", "b", "a"]}),
            json!({"tags": {"remove": ["a"]}}),
            json!({"tags": ["b"]}),
        ),
        (
            "an element",
            json!({"tags": ["a", "b"]}),
            json!({"tags[1]": {"assign": "c"}}),
            json!({"tags": ["a", "c"]}),
        ),
        (
            "no element",
            json!({"tags": ["a"]}),
            json!({"tags[1]": {"assign": "c"}}),
            json!({"tags": ["a"]}),
        ),
        (
            "match an element",
            json!({"tags": ["a", "b"]}),
            json!({"tags": {"match": {"element": 0, "assign": "c"}}}),
            json!({"tags": ["c", "b"]}),
        ),
        (
            "remove an element",
            json!({"tags": ["a", "b"]}),
            json!({"tags[0]": {"remove": 0}}),
            json!({"tags": ["b"]}),
        ),
        (
            "add to a set",
            json!({"words": {"a": 1}}),
            json!({"words": {"add": {"a": 5, "b": 2}}}),
            json!({"words": {"a": 5, "b": 2}}),
        ),
        (
            "remove of a set",
            json!({"words": {"a": 1, "b": 2}}),
            json!({"words": {"remove": {"a": 0}}}),
            json!({"words": {"b": 2}}),
        ),
        (
            "match in a set",
            json!({"words": {"a": 1}}),
            json!({"words": {"match": {"element": "a", "increment": 4}}}),
            json!({"words": {"a": 5}}),
        ),
        (
            "a weight",
            json!({"words": {"a": 1}}),
            json!({"words{b}": {"assign": 4}}),
            json!({"words": {"a": 1, "b": 4}}),
        ),
        (
            "a new key",
            json!({}),
            json!({"stock{oslo}": {"assign": 4}}),
            json!({"stock": {"oslo": 4}}),
        ),
        (
            "a key in quotes",
            json!({"stock": {"a }": 1}}),
            json!({"stock{\"a }\"}": {"increment": 4}}),
            json!({"stock": {"a }": 5}}),
        ),
        (
            "remove a key",
            json!({"stock": {"a": 1, "b": 2}}),
            json!({"stock{a}": {"remove": 0}}),
            json!({"stock": {"b": 2}}),
        ),
        (
            "a member",
            json!({"top": {"seller": "x"}}),
            json!({"top.price": {"assign": 2.5}}),
            json!({"top": {"seller": "x", "price": 2.5}}),
        ),
        (
            "a member of an element",
            json!({"offers": [{"price": 1}, {"price": 2}]}),
            json!({"offers[1].price": {"increment": 2}}),
            json!({"offers": [{"price": 1}, {"price": 4}]}),
        ),
        (
            "replace cells",
            json!({"mixed": {"a": [1, 2], "b": [3, 4]}}),
            json!({"mixed": {"modify": {"operation": "replace", "cells": [{"address": {"k": "a", "x": 1}, "value": 9}]}}}),
            json!({"mixed": {"a": [1, 9], "b": [3, 4]}}),
        ),
        (
            "cells that are not there",
            json!({"mixed": {"a": [1, 2]}}),
            json!({"mixed": {"modify": {"operation": "add", "cells": [{"address": {"k": "z", "x": 1}, "value": 9}]}}}),
            json!({"mixed": {"a": [1, 2]}}),
        ),
        (
            "cells that are made",
            json!({"mixed": {"a": [1, 2]}}),
            json!({"mixed": {"modify": {"operation": "multiply", "create": true, "cells": [{"address": {"k": "z", "x": 1}, "value": 9}]}}}),
            json!({"mixed": {"a": [1, 2], "z": [1, 9]}}),
        ),
        (
            "whole blocks",
            json!({"mixed": {"a": [1, 2]}}),
            json!({"mixed": {"modify": {"operation": "add", "blocks": {"a": [10, 20]}}}}),
            json!({"mixed": {"a": [11, 22]}}),
        ),
        (
            "blocks that are added",
            json!({"mixed": {"a": [1, 2]}}),
            json!({"mixed": {"add": {"blocks": {"b": [3, 4]}}}}),
            json!({"mixed": {"a": [1, 2], "b": [3, 4]}}),
        ),
        (
            "blocks that are removed",
            json!({"mixed": {"a": [1, 2], "b": [3, 4]}}),
            json!({"mixed": {"remove": {"addresses": [{"k": "a"}]}}}),
            json!({"mixed": {"b": [3, 4]}}),
        ),
    ] {
        submit(&store, &json!({"put": ID, "fields": before}));
        assert_eq!(
            submit(&store, &json!({"update": ID, "fields": update})),
            Outcome::Applied,
            "{label}"
        );
        submit(&store, &json!({"put": "id:n:shop::expected", "fields": after}));
        assert_eq!(fields(&store, ID), fields(&store, "id:n:shop::expected"), "{label}");
    }
}

#[test]
fn documents_that_are_not_there_are_made_where_that_is_asked_for() {
    let store = store();
    let update = json!({"update": ID, "fields": {"name": {"assign": "x"}}});
    assert_eq!(submit(&store, &update), Outcome::Absent);
    assert_eq!(submit(&store, &json!({"remove": ID})), Outcome::Absent);
    let create = json!({"update": ID, "create": true, "fields": {"name": {"assign": "x"}}});
    assert_eq!(submit(&store, &create), Outcome::Applied);
    assert_eq!(fields(&store, ID).unwrap().len(), 1);
    assert_eq!(submit(&store, &json!({"remove": ID})), Outcome::Applied);
    assert_eq!(fields(&store, ID), None);
}

#[test]
fn conditions_decide_what_is_done() {
    let store = store();
    let (one, two) = (json!({"count": 1, "name": "x"}), json!({"count": 2}));
    submit(&store, &json!({"put": ID, "fields": one}));
    let update = json!({"count": {"increment": 1}});
    for (label, operation, expected) in [
        (
            "false",
            json!({"update": ID, "condition": "shop.count == 2", "fields": update}),
            Outcome::ConditionFailed,
        ),
        (
            "true",
            json!({"update": ID, "condition": "shop.count == 1 and shop.name = \"x*\"", "fields": update}),
            Outcome::Applied,
        ),
        (
            "another type",
            json!({"remove": ID, "condition": "house.count == 2"}),
            Outcome::ConditionFailed,
        ),
        (
            "a put",
            json!({"put": ID, "condition": "shop.count == 1", "fields": one}),
            Outcome::ConditionFailed,
        ),
        (
            "a put that may be",
            json!({"put": ID, "condition": "shop.count == 2", "fields": two}),
            Outcome::Applied,
        ),
        ("a remove", json!({"remove": ID, "condition": "shop.name == null"}), Outcome::Applied),
        (
            "not there",
            json!({"put": ID, "condition": "true", "fields": one}),
            Outcome::ConditionFailed,
        ),
        ("not there, update", json!({"update": ID, "condition": "true"}), Outcome::ConditionFailed),
        ("not there, remove", json!({"remove": ID, "condition": "true"}), Outcome::ConditionFailed),
        (
            "not there, create",
            json!({"put": ID, "create": true, "condition": "false", "fields": one}),
            Outcome::Applied,
        ),
    ] {
        assert_eq!(submit(&store, &operation), expected, "{label}");
    }
    for (condition, expected) in [
        (
            json!("shop.count =="),
            "condition: selection, character 13: expected a value, found the end",
        ),
        (json!(1), "condition: expected a selection as a text, found 1"),
    ] {
        let json = json!({"remove": ID, "condition": condition}).to_string();
        let error = Operation::read(&kind(), json.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("line 1: {ID}: {expected}"));
    }
}

#[test]
fn an_operation_with_an_id_is_done_once() {
    let store = store();
    submit(&store, &json!({"put": ID, "fields": {"count": 1}}));
    let json = json!({"update": ID, "fields": {"count": {"increment": 1}}}).to_string();
    let mut operation = Operation::read(store.kind("shop").unwrap(), json.as_bytes()).unwrap();
    operation.operation = 77;
    for _ in 0..3 {
        let outcome = store.submit_wait("shop", operation.clone()).unwrap();
        assert_eq!(outcome, Outcome::Applied);
    }
    submit(&store, &json!({"put": "id:n:shop::2", "fields": {"count": 2}}));
    assert_eq!(fields(&store, ID), fields(&store, "id:n:shop::2"));
}

#[test]
fn what_cannot_be_done_is_named() {
    let known = "assign, add, remove, increment, decrement, multiply, divide, match or modify";
    for (name, edit, expected) in [
        ("count", json!(5), format!("field count: expected an object with {known}, found 5")),
        ("count", json!({"assing": 5}), format!("field count: expected {known}, found \"assing\"")),
        ("count", json!({"assign": "x"}), "field count: expected an int, found \"x\"".to_owned()),
        ("count", json!({"add": 5}), "field count: there is no add for a int".to_owned()),
        (
            "name",
            json!({"increment": 5}),
            "field name: there is no increment for a string".to_owned(),
        ),
        ("count", json!({"divide": 0}), "field count: cannot divide by 0".to_owned()),
        ("tags[x]", json!({"assign": "a"}), "field tags[x]: expected a place, found x".to_owned()),
        (
            "tags{x}",
            json!({"assign": "a"}),
            "field tags{x}: { leads nowhere in a array<string>".to_owned(),
        ),
        ("stock{x", json!({"assign": 1}), "field stock{x: expected } behind a key".to_owned()),
        (
            "top.colour",
            json!({"assign": 1}),
            "field top.colour: struct offer has no member colour".to_owned(),
        ),
        (
            "mixed",
            json!({"modify": {"operation": "replace", "cells": [{"address": {"k": "a", "x": 2}, "value": 1}]}}),
            "field mixed: expected an index of x below 2, found 2".to_owned(),
        ),
        (
            "mixed",
            json!({"remove": {"addresses": [{"x": 1}]}}),
            "field mixed: tensor<int8>(k{},x[2]) has no mapped dimension x".to_owned(),
        ),
        (
            "dense",
            json!({"add": {"cells": []}}),
            "field dense: there is no add for a tensor<float>(x[160])".to_owned(),
        ),
    ] {
        let json = json!({"update": ID, "fields": {name: edit}}).to_string();
        let error = Operation::read(&kind(), json.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("line 1: {ID}: {expected}"), "{name}");
    }
    for (json, expected) in [
        (json!({"fields": {}}), "line 1: expected one of put, update and remove with an id"),
        (
            json!({"put": ID, "remove": ID}),
            "line 1: expected one of put, update and remove with an id",
        ),
        (
            json!({"update": ID, "create": 1}),
            "line 1: id:n:shop::1: create: expected true or false, found 1",
        ),
        (
            json!({"update": ID, "fields": 1}),
            "line 1: id:n:shop::1: expected an object of fields, found 1",
        ),
    ] {
        let error = Operation::read(&kind(), json.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn weights_are_made_and_go_where_the_schema_says() {
    let field = |name: &str, settings: &str| {
        format!(
            "field {name} type weightedset<string> {{\n indexing: summary\n weightedset {{ {settings} }}\n}}"
        )
    };
    let schema = format!(
        "schema shop {{ document shop {{ {} {} {} field tags type tag {{ indexing: summary }} }} }}",
        field("made", "create-if-nonexistent"),
        field("gone", "remove-if-zero"),
        field("both", "create-if-nonexistent\n remove-if-zero"),
    );
    let (io, rng) = (Arc::new(SimIo::new(1)), Arc::new(SeededRng::new(1)));
    let store = Store::open(io, rng, vec![kind_of(&schema)], StoreOptions::default()).unwrap();
    let weights = |field: &str, update: Json| {
        let before = json!({"put": ID, "fields": {field: {"a": 1}}});
        submit(&store, &before);
        submit(&store, &json!({"update": ID, "fields": {field: update}}));
        let found = fields(&store, ID).unwrap();
        match found.into_iter().next() {
            Some((_, stead_store::FieldValue::Weighted(pairs))) => {
                pairs.into_iter().map(|(k, w)| (k.label().unwrap(), w)).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        }
    };
    let pair = |key: &str, weight: i32| (key.to_owned(), weight);
    let new = || json!({"match": {"element": "b", "increment": 2}});
    let zero = || json!({"match": {"element": "a", "decrement": 1}});
    assert_eq!(weights("made", new()), [pair("a", 1), pair("b", 2)]);
    assert_eq!(weights("made", zero()), [pair("a", 0)]);
    assert_eq!(weights("gone", new()), [pair("a", 1)]);
    assert_eq!(weights("gone", zero()), []);
    assert_eq!(weights("both", new()), [pair("a", 1), pair("b", 2)]);
    assert_eq!(weights("both", json!({"match": {"element": "b", "increment": 0}})), [pair("a", 1)]);
    assert_eq!(weights("both", zero()), []);
    assert_eq!(weights("tags", new()), [pair("a", 1), pair("b", 2)]);
    assert_eq!(weights("tags", zero()), []);
}

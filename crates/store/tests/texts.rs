//! Indexes of texts while documents come and go.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stead_log::{Io, SeededRng, SimIo};
use stead_store::{
    Action, Change, Collection, DocumentType, Edit, FieldValue, Operation, Store, StoreOptions,
    View, verify,
};

use crate::harness::{Chance, all, kind, kind_of, seeds};

const LANGUAGES: &str = "schema shop {
  document shop {
    field language type string { indexing: set_language | summary }
    field text type string { indexing: index | summary }
  }
}";

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

#[test]
fn the_language_of_a_document_is_that_of_its_texts() {
    let kind = kind_of(LANGUAGES);
    let number = |name: &str| kind.field(name).unwrap().0;
    let (language, body) = (number("language"), number("text"));
    let mut documents = Collection::new(kind.clone());
    // "katzen" has the stem "katz" in German; English takes nothing off.
    let stems = |documents: &mut Collection| {
        documents.publish();
        let view = documents.view();
        ["katz", "katzen"].map(|term| view.text(0).unwrap().frequency(term))
    };
    documents.put("a", &[(language, text("de-AT")), (body, text("katzen"))]).unwrap();
    documents.put("b", &[(body, text("katzen"))]).unwrap();
    assert_eq!(stems(&mut documents), [1, 1], "put");
    documents.update("b", &[(language, Some(text("de")))]).unwrap();
    assert_eq!(stems(&mut documents), [2, 0], "the language changes");
    documents.update("a", &[(body, Some(text("katzen, katzen")))]).unwrap();
    assert_eq!(stems(&mut documents), [2, 0], "the text changes");
    documents.update("b", &[(body, None)]).unwrap();
    documents.remove("a");
    assert_eq!(stems(&mut documents), [0, 0], "both go");
}

#[test]
fn languages_hold_for_what_stands_behind_them() {
    // "katzen" is "katz" in German and Spanish, and itself in English; "gatos" is "gat" in Spanish, "gato" in English, and itself in German.
    let field = |name: &str, script: &str| {
        format!("field {name} type string {{ indexing {{ {script} }} }}")
    };
    let (one, two) = (field("one", "index"), field("two", "index"));
    let values = [("one", "katzen"), ("two", "gatos")];
    let with = |more: &[(&'static str, &'static str)]| [&values[..], more].concat();
    for (label, inside, outside, document, expected) in [
        ("nothing", vec![&one, &two], vec![], with(&[]), ["katzen", "gato"]),
        (
            "a text, outside of the document",
            vec![&one, &two],
            vec![field("set", "\"de\" | set_language")],
            with(&[]),
            ["katz", "gatos"],
        ),
        (
            "one field alone, behind the others",
            vec![&one, &two, &field("set", "set_language")],
            vec![],
            with(&[("set", "es")]),
            ["katz", "gat"],
        ),
        (
            "one field alone, which has no value",
            vec![&one, &two, &field("set", "set_language")],
            vec![],
            with(&[]),
            ["katzen", "gato"],
        ),
        (
            "each for itself",
            vec![
                &field("one", "\"de\" | set_language; index;"),
                &field("two", "{ \"es\" | set_language; index; }"),
            ],
            vec![],
            with(&[]),
            ["katz", "gat"],
        ),
        (
            "two fields, each for those behind it",
            vec![&field("a", "set_language"), &one, &field("b", "set_language"), &two],
            vec![],
            with(&[("a", "de"), ("b", "es")]),
            ["katz", "gat"],
        ),
        (
            "two fields, of which the second has no value",
            vec![&field("a", "set_language"), &one, &field("b", "set_language"), &two],
            vec![],
            with(&[("a", "de")]),
            ["katz", "gatos"],
        ),
        (
            "another field, or else a text",
            vec![&field("tag", "summary"), &one, &two],
            vec![field("set", "input tag || \"es\" | lowercase | set_language")],
            with(&[]),
            ["katz", "gat"],
        ),
        (
            "the same, with the field",
            vec![&field("tag", "summary"), &one, &two],
            vec![field("set", "input tag || \"es\" | lowercase | set_language")],
            with(&[("tag", " DE ")]),
            ["katz", "gatos"],
        ),
        (
            "behind the index of the field itself",
            vec![&field("one", "index | \"de\" | set_language"), &two],
            vec![],
            with(&[]),
            ["katzen", "gatos"],
        ),
        (
            "no language",
            vec![&one, &two],
            vec![field("set", "\"unknown\" | set_language")],
            with(&[]),
            ["katzen", "gato"],
        ),
    ] {
        let inside: String = inside.into_iter().map(String::as_str).collect();
        let schema = format!("schema shop {{ document shop {{ {inside} }} {} }}", outside.concat());
        let kind = kind_of(&schema);
        let mut documents = Collection::new(kind.clone());
        let fields =
            document.iter().map(|(name, value)| (kind.field(name).unwrap().0, text(value)));
        let mut fields: Vec<(usize, FieldValue)> = fields.collect();
        fields.sort_by_key(|(field, _)| *field);
        documents.put("a", &fields).unwrap();
        documents.publish();
        let view = documents.view();
        for (name, expected) in ["one", "two"].into_iter().zip(expected) {
            let number = kind.texts().iter().position(|index| index.name == name).unwrap();
            assert_eq!(view.text(number).unwrap().frequency(expected), 1, "{label}: {expected}");
        }
    }
}

/// Documents come one by one, and segments are joined behind their back.
#[test]
fn segments_become_few() {
    let kind =
        kind_of("schema shop { document shop { field text type string { indexing: index } } }");
    let io = SimIo::new(1);
    let open = || {
        let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
        Store::open(io, rng, vec![kind.clone()], StoreOptions::default()).unwrap()
    };
    let store = open();
    for at in 0..2000 {
        let (document, value) = (format!("id:n:shop::{}", at % 1500), text(&format!("no {at}")));
        let action = match at % 3 {
            0 => Action::Put { fields: vec![(0, value)], create: false },
            _ => {
                let edit = Edit::Assign(Some(value));
                let change = Change { field: 0, path: Vec::new(), edit };
                Action::Update { changes: vec![change], create: true }
            }
        };
        let operation = Operation { operation: 0, document, condition: None, action };
        store.submit_wait("shop", operation).unwrap();
    }
    let view = store.reader("shop").unwrap().view();
    let before = all(&view);
    let index = view.text(0).unwrap();
    // At most seven of each size, of which there are four, and eight that are being joined.
    assert!(index.segments() <= 4 * 7 + 8, "{}", index.segments());
    assert_eq!((index.documents(), index.frequency("no")), (1500, 1500));
    drop(store);
    let after = open().reader("shop").unwrap().view();
    assert_eq!(all(&after), before);
    assert!(after.text(0).unwrap().segments() <= 4 * 7 + 8);
}

/// While nothing changes, segments are joined that a feed leaves.
#[test]
fn what_rests_has_one_segment() {
    let io = SimIo::new(1);
    let store = open(&io, &kind(), Some(Duration::from_millis(1)));
    let chance = Chance::new(1);
    for count in [60, 5] {
        feed(&store, &chance, count);
        let documents = all(&view(&store));
        let until = Instant::now() + Duration::from_secs(60);
        let most = || view(&store).texts().map(|index| index.segments()).max();
        while most() > Some(1) {
            assert!(Instant::now() < until, "{:?} segments after {count} more", most());
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(all(&view(&store)), documents, "after {count} more");
    }
}

fn open(io: &SimIo, kind: &DocumentType, rest_after: Option<Duration>) -> Store {
    let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    let options = StoreOptions { rest_after, ..StoreOptions::default() };
    Store::open(io, rng, vec![kind.clone()], options).unwrap()
}

/// A store whose segments stay as they are, however long it takes to compare them.
fn unresting(io: &SimIo, kind: &DocumentType) -> Store {
    open(io, kind, None)
}

fn view(store: &Store) -> View {
    store.reader("shop").unwrap().view()
}

/// Puts and removes documents one after the other, each of which gets a segment of its own.
fn feed(store: &Store, chance: &Chance, count: u64) {
    for _ in 0..count {
        let document = format!("id:n:shop::{}", chance.below(150));
        let action = match chance.below(4) {
            0 => Action::Remove,
            _ => Action::Put { fields: chance.fields(&kind()), create: false },
        };
        let operation = Operation { operation: 0, document, condition: None, action };
        store.submit_wait("shop", operation).unwrap();
    }
}

/// The segments of all indexes as bytes, and which of their documents are gone.
fn segments(view: &View) -> Vec<(Vec<u8>, Vec<usize>)> {
    let parts = view.texts().flat_map(|index| index.parts());
    let parts = parts.map(|(segment, gone)| {
        let mut bytes = Vec::new();
        segment.write(&mut bytes);
        (bytes, gone.iter().collect())
    });
    parts.collect()
}

#[test]
fn what_a_snapshot_has_is_not_indexed_again() {
    seeds("texts::", 3, |seed| {
        let (io, chance) = (SimIo::new(seed), Chance::new(seed));
        let store = unresting(&io, &kind());
        feed(&store, &chance, 400);
        store.snapshot().unwrap();
        let (before, documents) = (segments(&view(&store)), all(&view(&store)));
        drop(store);
        let store = unresting(&io, &kind());
        assert_eq!(all(&view(&store)), documents);
        // Who indexes them again has one segment, of which nothing is gone.
        assert!(before.len() > 1 && before.iter().any(|(_, gone)| !gone.is_empty()));
        assert!(segments(&view(&store)) == before);
        // What the log has comes to the segments of the snapshot.
        feed(&store, &chance, 6);
        let documents = all(&view(&store));
        let copy = SimIo::new(seed);
        for name in io.list().unwrap() {
            copy.set_contents(&name, &io.contents(&name).unwrap());
        }
        drop(store);
        let store = unresting(&copy, &kind());
        assert!(store.recovery().records > 0);
        assert_eq!(all(&view(&store)), documents);
        // Segments are written once, and found where they were written first.
        feed(&store, &chance, 50);
        store.snapshot().unwrap();
        let (before, documents) = (segments(&view(&store)), all(&view(&store)));
        drop(store);
        let store = unresting(&copy, &kind());
        assert!(segments(&view(&store)) == before);
        assert_eq!(all(&view(&store)), documents);
    });
}

#[test]
fn segments_that_are_damaged_are_made_again() {
    let (io, chance) = (SimIo::new(5), Chance::new(5));
    let store = unresting(&io, &kind());
    feed(&store, &chance, 300);
    store.snapshot().unwrap();
    let (before, documents) = (segments(&view(&store)), all(&view(&store)));
    drop(store);
    let packs: Vec<String> =
        io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack")).collect();
    let mut damaged = 0;
    for name in packs {
        let mut bytes = io.contents(&name).unwrap();
        let found = bytes.windows(8).enumerate().filter(|(_, part)| *part == b"steadtxt");
        let places: Vec<usize> = found.map(|(at, _)| at).collect();
        // One of them is enough.
        if let Some(at) = places.last().filter(|_| damaged == 0) {
            bytes[at + 30] ^= 4;
            damaged += 1;
        }
        io.set_contents(&name, &bytes);
    }
    assert_eq!(damaged, 1);
    assert_eq!(verify(&io, &mut |_| {}).unwrap().problems().count(), 1);
    let store = unresting(&io, &kind());
    assert_eq!(store.damaged(), []);
    assert_eq!(all(&view(&store)), documents);
    let again = segments(&view(&store));
    assert!(before.len() > 1 && again.len() == 1 && again[0].1.is_empty());
    // The next snapshot has them.
    feed(&store, &chance, 20);
    store.snapshot().unwrap();
    let (before, documents) = (segments(&view(&store)), all(&view(&store)));
    drop(store);
    let store = unresting(&io, &kind());
    assert_eq!(all(&view(&store)), documents);
    assert!(segments(&view(&store)) == before);
}

/// Segments of a snapshot are taken while the terms of the texts are the same, whatever else of the schema has changed.
#[test]
fn terms_that_are_others_now_are_made_again() {
    let schema = |settings: &str, others: &str| {
        kind_of(&format!(
            "schema shop {{ document shop {{ {others}
                field text type string {{ indexing: index | summary
                    {settings} }} }} }}"
        ))
    };
    let (other, language) = (
        "field n type int { indexing: attribute }",
        "field language type string { indexing: set_language | summary }",
    );
    for (label, now, is_taken, expected) in [
        ("the same", schema("", ""), true, [0, 0, 200]),
        ("another field", schema("", other), true, [0, 0, 200]),
        ("stems", schema("stemming: none", ""), false, [0, 200, 0]),
        ("the language", schema("", language), false, [0, 0, 200]),
        ("grams", schema("match: gram", ""), false, [200, 0, 0]),
    ] {
        let io = SimIo::new(1);
        let store = unresting(&io, &schema("", ""));
        for at in 0..300 {
            let (document, value) = (format!("id:n:shop::{}", at % 200), text("The CATS"));
            let action = Action::Put { fields: vec![(0, value)], create: false };
            let operation = Operation { operation: 0, document, condition: None, action };
            store.submit_wait("shop", operation).unwrap();
        }
        store.snapshot().unwrap();
        let before = segments(&view(&store));
        assert!(before.len() > 1, "{label}");
        drop(store);
        let store = unresting(&io, &now);
        let view = view(&store);
        assert_eq!(segments(&view) == before, is_taken, "{label}");
        let found = ["at", "cats", "cat"].map(|term| view.text(0).unwrap().frequency(term));
        assert_eq!(found, expected, "{label}");
        all(&view);
    }
}

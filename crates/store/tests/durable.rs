//! Stores that crash at any moment, beside a map of what is expected: everything that was acknowledged is found, in
//! the order in which it was submitted, and nothing is half there.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stead_log::{LogOptions, SeededRng, SimIo};
use stead_store::{
    Action, Change, Edit, FieldValue, Operation, Operator, Outcome, SnapshotOptions, Store,
    StoreError, StoreOptions,
};

use crate::harness::{Chance, Fields, Model, all, kind, seeds, try_all};

fn options() -> StoreOptions {
    // Small, so that there are many segments.
    let log =
        LogOptions { segment_bytes: 64 << 10, max_record_bytes: 32 << 10, ..LogOptions::default() };
    // Often, so that some are being written when the power fails.
    let snapshots = SnapshotOptions { log_bytes: 8 << 10, operations: 15, pack_bytes: 32 << 10 };
    StoreOptions { log, snapshots, ..StoreOptions::default() }
}

fn open(io: &SimIo, seed: u64) -> Result<Store, StoreError> {
    Store::open(Arc::new(io.clone()), Arc::new(SeededRng::new(seed)), vec![kind()], options())
}

/// An operation by chance, and what it does to the documents.
fn operation(chance: &Chance, at: u128, model: &mut Model) -> Operation {
    let (kind, document) = (kind(), format!("id:n:shop::{}", chance.below(30)));
    let action = match chance.below(4) {
        0 => Action::Remove,
        1 => {
            let changes = chance.changes(&kind);
            let one =
                |(field, value)| Change { field, path: Vec::new(), edit: Edit::Assign(value) };
            let create = chance.below(2) == 0;
            Action::Update { changes: changes.into_iter().map(one).collect(), create }
        }
        _ => Action::Put { fields: chance.fields(&kind), create: false },
    };
    match &action {
        Action::Put { fields, .. } => drop(model.insert(document.clone(), fields.clone())),
        Action::Remove => drop(model.remove(&document)),
        Action::Update { changes, create } => {
            if *create {
                model.entry(document.clone()).or_default();
            }
            model.entry(document.clone()).and_modify(|fields| update(fields, changes));
        }
    }
    Operation { operation: at, document, condition: None, action }
}

fn update(fields: &mut Fields, changes: &[Change]) {
    for change in changes {
        fields.retain(|(field, _)| *field != change.field);
        if let Edit::Assign(Some(value)) = &change.edit {
            fields.push((change.field, value.clone()));
        }
    }
    fields.sort_by_key(|(field, _)| *field);
}

fn run(seed: u64) {
    let chance = Chance::new(seed);
    let io = SimIo::new(seed);
    // What the documents were behind each operation that may have been done.
    let mut states = vec![Model::new()];
    let mut number = 0;
    for _ in 0..4 {
        let store = open(&io, seed).unwrap();
        let reader = store.reader("shop").unwrap();
        // Nothing that was acknowledged is missing: what is there is one of the states that may be.
        let found = all(&reader.view());
        assert!(states.contains(&found), "{} documents as they never were", found.len());
        let mut model = found;
        states = vec![model.clone()];
        let ends_early = chance.below(2) == 0;
        if ends_early {
            io.power_off_after(chance.below(120));
        }
        let acknowledged = Arc::new(AtomicUsize::new(0));
        for at in 1..=chance.below(80) as usize {
            number += 1;
            let operation = operation(&chance, number, &mut model);
            let counter = acknowledged.clone();
            let submitted = store.submit("shop", operation, move |outcome| match outcome {
                Ok(Outcome::Applied) => drop(counter.fetch_max(at, Ordering::SeqCst)),
                // What finds nothing to do is done at once, before those that wait for the disk.
                Ok(_) | Err(StoreError::Log(_)) => {}
                Err(other) => panic!("{other}"),
            });
            if submitted.is_err() {
                break;
            }
            states.push(model.clone());
            if chance.below(12) == 0 {
                let least = acknowledged.load(Ordering::SeqCst);
                let seen = try_all(&reader.view());
                let was = |seen: Model| states[least..].contains(&seen);
                assert!(seen.is_none_or(was), "a view as the documents never were");
            }
        }
        drop(store);
        // What was acknowledged survives; what was not may.
        states.drain(..acknowledged.load(Ordering::SeqCst));
        match ends_early || chance.below(2) == 0 {
            true => io.crash(),
            false => io.kill(),
        }
    }
}

#[test]
fn what_was_acknowledged_is_found_after_a_crash() {
    seeds("durable::acknowledged", 20, run);
}

/// Several threads at once: each knows its own documents, and finds what it was told is done.
#[test]
fn whoever_was_told_sees_what_was_done() {
    let store = open(&SimIo::new(3), 3).unwrap();
    let (count, reader) = (kind().field("count").unwrap().0, store.reader("shop").unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, reader) = (&store, reader.clone());
            scope.spawn(move || {
                for at in 0..60_i64 {
                    let document = format!("id:n:shop::{thread}-{}", at % 7);
                    let change = Change {
                        field: count,
                        path: Vec::new(),
                        edit: Edit::Calculate(Operator::Add, 1.0),
                    };
                    let (fields, changes) = (vec![(count, FieldValue::Integer(0))], vec![change]);
                    let action = match at < 7 {
                        true => Action::Put { fields, create: false },
                        false => Action::Update { changes, create: false },
                    };
                    let operation = Operation {
                        operation: 0,
                        document: document.clone(),
                        condition: None,
                        action,
                    };
                    assert_eq!(store.submit_wait("shop", operation), Ok(Outcome::Applied));
                    let view = reader.view();
                    let found = view.fields(view.find(&document).unwrap()).unwrap();
                    assert_eq!(found, [(count, FieldValue::Integer(at / 7))]);
                }
            });
        }
    });
}

#[test]
fn a_store_whose_log_has_failed_stops() {
    let io = SimIo::new(1);
    let store = open(&io, 1).unwrap();
    let put = |number: i64| Operation {
        operation: 0,
        document: "id:n:shop::1".to_owned(),
        condition: None,
        action: Action::Put { fields: vec![(0, FieldValue::Integer(number))], create: false },
    };
    assert_eq!(store.submit_wait("shop", put(1)), Ok(Outcome::Applied));
    io.power_off_after(0);
    assert!(matches!(store.submit_wait("shop", put(2)), Err(StoreError::Log(_))));
    assert!(matches!(store.submit_wait("shop", put(3)), Err(StoreError::Log(_))));
    let view = store.reader("shop").unwrap().view();
    assert_eq!(view.fields(0), Some(vec![(0, FieldValue::Integer(1))]));
}

#[test]
fn types_that_are_not_there_are_named() {
    let store = open(&SimIo::new(1), 1).unwrap();
    let error = store.reader("house").unwrap_err();
    assert_eq!(error.to_string(), "document type house does not exist");
}

//! `kill -9` of a real process on a real disk while documents are fed: every acknowledged operation is found, none is half there.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;
#[path = "../../log/tests/killed/mod.rs"]
mod killed;

use std::path::Path;
use std::sync::Arc;

use harness::{Chance, Fields, kind};
use stead_log::{DiskIo, LogOptions, SystemRng};
use stead_store::{Action, FieldValue, Operation, Outcome, Store, StoreOptions};

const FOLDER: &str = "STEAD_STORE_KILL_FOLDER";
const ROUNDS: u64 = 4;

/// Operations put the documents of these numbers in turn; the value of `count` is the number of the operation.
const DOCUMENTS: u64 = 50;

fn open(folder: &Path) -> Store {
    let log = LogOptions {
        segment_bytes: 256 << 10,
        max_record_bytes: 64 << 10,
        ..LogOptions::default()
    };
    let io = Arc::new(DiskIo::new(folder).unwrap());
    let options = StoreOptions { log, ..StoreOptions::default() };
    Store::open(io, Arc::new(SystemRng), vec![kind()], options).expect("the store opens")
}

fn id(at: u64) -> String {
    format!("id:n:shop::{}", at % DOCUMENTS)
}

/// What an operation puts: chance decides, the same for the same number.
fn fields(at: u64) -> Fields {
    let mut fields = Chance::new(at).fields(&kind());
    let count = kind().field("count").unwrap().0;
    fields.retain(|(field, _)| *field != count);
    fields.push((count, FieldValue::Integer(at as i64)));
    fields.sort_by_key(|(field, _)| *field);
    fields
}

/// The operations that the documents of a store show, from 1: all of them, up to the last.
fn found(store: &Store) -> u64 {
    let (kind, view) = (kind(), store.reader("shop").unwrap().view());
    let count = kind.field("count").unwrap().0;
    let number = |lid: u32| {
        let fields = view.fields(lid).unwrap();
        let (_, FieldValue::Integer(at)) = fields.iter().find(|(f, _)| *f == count).unwrap() else {
            panic!("a document without its number");
        };
        let at = *at as u64;
        assert_eq!((view.id(lid), &fields), (Some(id(at).as_str()), &self::fields(at)));
        at
    };
    let mut numbers: Vec<u64> = view.lids().map(number).collect();
    numbers.sort_unstable();
    let last = numbers.last().copied().unwrap_or(0);
    // Those behind the last operation of each document.
    let first = last.saturating_sub(DOCUMENTS) + 1;
    assert_eq!(numbers, (first..=last).collect::<Vec<u64>>());
    last
}

/// The process that is killed: this very test, started with a folder in its environment.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = open(Path::new(&folder));
    for at in found(&store) + 1.. {
        let action = Action::Put { fields: fields(at), create: false };
        let operation = Operation { operation: 0, document: id(at), condition: None, action };
        let told = move |outcome| {
            assert_eq!(outcome, Ok(Outcome::Applied));
            killed::acknowledge(at);
        };
        store.submit("shop", operation, told).unwrap();
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    killed::rounds(FOLDER, ROUNDS, 60, |folder| found(&open(folder)));
}

//! Documents that are kept as long as a selection selects them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use stead_log::{SeededRng, SimIo, VirtualClock};
use stead_store::{
    Action, Change, Edit, FieldValue, Operation, Outcome, Selected, Selection, SnapshotOptions,
    Store, StoreOptions,
};

use crate::harness::{Chance, Model, all, kind, kind_of, seeds};

const KEPT: &str = "shop.count > now() - 100";

/// A store of documents that are kept for 100 s behind their `count`.
fn open(io: &SimIo, clock: &Arc<VirtualClock>) -> Store {
    let clock = clock.clone();
    let options = StoreOptions { clock, ..StoreOptions::default() };
    let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    let mut store = Store::open(io, rng, vec![kind()], options).unwrap();
    store.keep(BTreeMap::from([("shop".to_owned(), Selection::parse(KEPT).unwrap())]));
    store
}

fn put(number: u64, count: Option<i64>) -> Operation {
    let fields = count.map(|count| (0, FieldValue::Integer(count))).into_iter().collect();
    let document = format!("id:n:shop::{number}");
    let action = Action::Put { fields, create: false };
    Operation { operation: 0, document, condition: None, action }
}

fn assign(number: u64, count: i64) -> Operation {
    let edit = Edit::Assign(Some(FieldValue::Integer(count)));
    let changes = vec![Change { field: 0, path: Vec::new(), edit }];
    let action = Action::Update { changes, create: false };
    Operation { action, ..put(number, None) }
}

/// Expires all, some rows at a time; how many were removed.
fn expire(store: &Store, rows: usize) -> usize {
    let (mut from, mut removed) = (Some(0), 0);
    while let Some(at) = from {
        let found = store.expiry_scan("shop").unwrap().find(at, rows);
        assert_eq!((found.unread, &found.error), (0, &None));
        assert!(found.ids.len() <= rows);
        let (sender, outcomes) = channel();
        for id in found.ids {
            let sender = sender.clone();
            store.expire("shop", id, move |outcome| sender.send(outcome).unwrap()).unwrap();
        }
        drop(sender);
        removed += outcomes.iter().filter(|o| *o == Ok(Outcome::Applied)).count();
        from = found.next;
    }
    removed
}

fn found(store: &Store) -> Vec<String> {
    let mut ids: Vec<String> = all(&store.reader("shop").unwrap().view()).into_keys().collect();
    ids.sort();
    ids
}

#[test]
fn documents_go_when_their_time_is_over_and_stay_away() {
    let (io, clock) = (SimIo::new(1), Arc::new(VirtualClock::default()));
    clock.advance(Duration::from_secs(1000));
    let store = open(&io, &clock);
    for (label, operation, expected) in [
        ("selected", put(1, Some(950)), Outcome::Applied),
        ("selected for longer", put(2, Some(1000)), Outcome::Applied),
        ("over", put(3, Some(900)), Outcome::Ignored),
        ("neither", put(4, None), Outcome::Ignored),
        ("an update does not tell", assign(1, 940), Outcome::Applied),
        ("an update of nothing", assign(3, 940), Outcome::Absent),
    ] {
        assert_eq!(store.submit_wait("shop", operation), Ok(expected), "{label}");
    }
    assert_eq!(expire(&store, 1), 0, "all is selected");
    clock.advance(Duration::from_secs(40));
    assert_eq!(store.reader("shop").unwrap().view().len(), 2, "only who looks removes");
    assert_eq!(expire(&store, 1), 1);
    assert_eq!(found(&store), ["id:n:shop::2"]);
    // A removal is a record of the log, so that it does not matter when and where that is read.
    io.power_off_after(0);
    drop(store);
    io.kill();
    let early = Arc::new(VirtualClock::default());
    let store = open(&io, &early);
    assert_eq!(store.recovery().records, 4, "two puts, an update, a removal");
    assert_eq!(found(&store), ["id:n:shop::2"]);
    assert_eq!(expire(&store, 10), 0, "by this clock it is too early");
    drop(store);
    // From a snapshot too, with bodies on disk; what was over while nobody ran goes with the first look.
    clock.advance(Duration::from_secs(1000));
    let store = open(&io, &clock);
    assert_eq!(found(&store), ["id:n:shop::2"]);
    assert_eq!(expire(&store, 10), 1);
    assert!(found(&store).is_empty());
}

#[test]
fn a_document_that_has_changed_since_it_was_looked_at_stays() {
    let (io, clock) = (SimIo::new(1), Arc::new(VirtualClock::default()));
    clock.advance(Duration::from_secs(1000));
    let store = open(&io, &clock);
    for number in 0..3 {
        assert_eq!(store.submit_wait("shop", put(number, Some(950))), Ok(Outcome::Applied));
    }
    clock.advance(Duration::from_secs(100));
    let ids = store.expiry_scan("shop").unwrap().find(0, 10).ids;
    assert_eq!(ids.len(), 3);
    assert_eq!(store.submit_wait("shop", assign(1, 1100)), Ok(Outcome::Applied));
    let remove = Operation { action: Action::Remove, ..put(2, None) };
    assert_eq!(store.submit_wait("shop", remove), Ok(Outcome::Applied));
    let outcomes = ids.into_iter().map(|id| {
        let (sender, outcome) = channel();
        store.expire("shop", id, move |outcome| sender.send(outcome).unwrap()).unwrap();
        outcome.recv().unwrap().unwrap()
    });
    let failed = Outcome::ConditionFailed;
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Applied, failed.clone(), failed]);
    assert_eq!(found(&store), ["id:n:shop::1"]);
}

#[test]
fn what_the_id_tells_is_ignored_by_updates_and_removals_too() {
    let kind =
        kind_of("schema shop { document shop { field a type int { indexing: attribute } } }");
    let mut store =
        Store::in_memory(&SeededRng::new(1), vec![kind], StoreOptions::default()).unwrap();
    for number in 0..4 {
        assert_eq!(store.submit_wait("shop", put(number, Some(1))), Ok(Outcome::Applied));
    }
    let keep = |store: &mut Store, text: &str| {
        store.keep(BTreeMap::from([("shop".to_owned(), Selection::parse(text).unwrap())]));
    };
    keep(&mut store, "id.specific == '1' or id.specific == '2' and shop.a == 1");
    let remove = |number: u64| Operation { action: Action::Remove, ..put(number, None) };
    for (label, operation, expected) in [
        ("a removal that may be", remove(2), Outcome::Applied),
        ("a removal that cannot be", remove(0), Outcome::Ignored),
        ("an update that may be", assign(1, 5), Outcome::Applied),
        ("an update that cannot be", assign(3, 5), Outcome::Ignored),
        ("a put whose field tells", put(2, Some(0)), Outcome::Ignored),
    ] {
        assert_eq!(store.submit_wait("shop", operation), Ok(expected), "{label}");
    }
    // Operations with an id: what was ignored was not done, and is tried again.
    let with_id = |operation: Operation| Operation { operation: 7, ..operation };
    assert_eq!(store.submit_wait("shop", with_id(put(3, Some(1)))), Ok(Outcome::Ignored));
    assert_eq!(expire(&store, 1), 2, "0 and 3, which no client could remove any more");
    assert_eq!(found(&store), ["id:n:shop::1"]);
    store.keep(BTreeMap::new());
    assert_eq!(store.submit_wait("shop", with_id(put(3, Some(1)))), Ok(Outcome::Applied));
    assert_eq!(expire(&store, 1), 0, "all is kept");
    assert_eq!(found(&store), ["id:n:shop::1", "id:n:shop::3"]);
}

/// Stores that are fed, expired, killed and opened again: what is there is what was put and, since the last look, selected.
#[test]
fn what_is_expired_is_what_the_selection_says_no_of() {
    seeds("expiry::", 10, |seed| {
        let (chance, io) = (Chance::new(seed), SimIo::new(seed));
        let clock = Arc::new(VirtualClock::default());
        let kind = kind();
        let selections = [
            "shop.count > now() % 1000 - 500",
            "not (shop.name = 'a*' or shop.sold) and true",
            "shop.tags == 'x' or shop.price < 50 or id.specific =~ '[02468]$'",
            "now() % 2 == 0",
        ];
        let selection = selections[chance.below(4) as usize];
        let selection = Selection::parse(selection).unwrap();
        let options = || StoreOptions {
            clock: clock.clone(),
            snapshots: SnapshotOptions { operations: 20, ..SnapshotOptions::default() },
            ..StoreOptions::default()
        };
        let mut model = Model::new();
        for _ in 0..4 {
            let (disk, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(seed)));
            let mut store = Store::open(disk, rng, vec![kind.clone()], options()).unwrap();
            assert_eq!(all(&store.reader("shop").unwrap().view()), model);
            for _ in 0..chance.below(60) {
                let document = format!("id:n:shop::{}", chance.below(40));
                let fields = chance.fields(&kind);
                model.insert(document.clone(), fields.clone());
                let action = Action::Put { fields, create: false };
                let operation = Operation { operation: 0, document, condition: None, action };
                assert_eq!(store.submit_wait("shop", operation), Ok(Outcome::Applied));
            }
            if chance.below(2) == 0 {
                store.snapshot().unwrap();
            }
            clock.advance(Duration::from_secs(chance.below(2000)));
            let now = clock_seconds(&clock);
            store.keep(BTreeMap::from([("shop".to_owned(), selection.clone())]));
            let rejects = selection.negated();
            model.retain(|id, fields| !rejects.selects(&Selected { kind: &kind, id, fields, now }));
            expire(&store, 1 + chance.below(20) as usize);
            assert_eq!(all(&store.reader("shop").unwrap().view()), model, "{}", selection.text());
            if chance.below(2) == 0 {
                io.power_off_after(0);
            }
            drop(store);
            io.kill();
        }
    });
}

fn clock_seconds(clock: &VirtualClock) -> i64 {
    use stead_log::Clock;
    clock.wall().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64
}

#[test]
fn a_scan_is_of_its_moment_whatever_becomes_of_the_store() {
    let (io, clock) = (SimIo::new(1), Arc::new(VirtualClock::default()));
    clock.advance(Duration::from_secs(1000));
    let mut store = open(&io, &clock);
    for number in 0..3 {
        assert_eq!(store.submit_wait("shop", put(number, Some(950))), Ok(Outcome::Applied));
    }
    let early = store.expiry_scan("shop").unwrap();
    clock.advance(Duration::from_secs(100));
    let late = store.expiry_scan("shop").unwrap();
    store.keep(BTreeMap::new());
    let none = store.expiry_scan("shop").unwrap();
    // Closing it writes a snapshot, and puts bodies where the scans do not look for them.
    drop(store);
    assert_eq!([early, late, none].map(|scan| scan.find(0, 10).ids.len()), [0, 3, 0]);
}

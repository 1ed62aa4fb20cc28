//! Snapshots: what is opened from them, how little is written for what has not changed, and what happens to those that are cut off,
//! damaged or not finished.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use stead_log::{Call, Io, LogOptions, SeededRng, SimIo};
use stead_store::{
    Action, DocumentType, FieldValue, Operation, Outcome, SnapshotOptions, Store, StoreError,
    StoreOptions, verify,
};

use crate::harness::{Chance, Model, all, kind, kind_of, seeds};

fn options() -> StoreOptions {
    // Small, so that there are many segments and packs.
    let log =
        LogOptions { segment_bytes: 64 << 10, max_record_bytes: 32 << 10, ..LogOptions::default() };
    let never = SnapshotOptions { log_bytes: u64::MAX, operations: u64::MAX, pack_bytes: 32 << 10 };
    // Room for a page of vectors and some others.
    StoreOptions { log, snapshots: never, page_bytes: 200 << 10, ..StoreOptions::default() }
}

fn open_with(io: &SimIo, kind: DocumentType) -> Result<Store, StoreError> {
    Store::open(Arc::new(io.clone()), Arc::new(SeededRng::new(1)), vec![kind], options())
}

fn open(io: &SimIo) -> Result<Store, StoreError> {
    open_with(io, kind())
}

/// Puts and removes documents, each waited for, and does the same to a model.
fn feed(store: &Store, chance: &Chance, model: &mut Model, count: u64) {
    for _ in 0..count {
        let document = format!("id:n:shop::{}", chance.below(300));
        let action = match chance.below(5) {
            0 => Action::Remove,
            _ => Action::Put { fields: chance.fields(&kind()), create: false },
        };
        match &action {
            Action::Put { fields, .. } => drop(model.insert(document.clone(), fields.clone())),
            _ => drop(model.remove(&document)),
        }
        let operation = Operation { operation: 0, document, condition: None, action };
        store.submit_wait("shop", operation).unwrap();
    }
}

fn found(store: &Store) -> Model {
    all(&store.reader("shop").unwrap().view())
}

fn files(io: &SimIo, ending: &str) -> Vec<String> {
    let mut names = io.list().unwrap();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}

/// The process dies: it writes nothing any more, no snapshot either.
fn die(io: &SimIo, store: Store) {
    io.power_off_after(0);
    drop(store);
    io.kill();
}

/// A folder as it is now.
fn image(io: &SimIo) -> Vec<(String, Vec<u8>)> {
    let names = io.list().unwrap();
    names.into_iter().map(|name| (name.clone(), io.contents(&name).unwrap())).collect()
}

fn bytes(io: &SimIo) -> usize {
    files(io, ".pack").iter().map(|name| io.contents(name).unwrap().len()).sum()
}

/// The power fails at each of the calls that a snapshot makes, one after the other.
#[test]
fn whenever_the_power_fails_the_documents_are_there() {
    let mut cuts = 0;
    for seed in 0..2 {
        for calls in 0.. {
            let (io, chance, mut model) =
                (SimIo::new(seed + calls), Chance::new(seed), Model::new());
            let mut store = open(&io).unwrap();
            feed(&store, &chance, &mut model, 60);
            store.snapshot().unwrap();
            if seed == 1 {
                // Behind an opening, columns are on disk too, and what changes is beside them.
                drop(store);
                store = open(&io).unwrap();
            }
            feed(&store, &chance, &mut model, 40);
            io.power_off_after(calls);
            let result = store.snapshot();
            drop(store);
            match calls % 2 {
                0 => io.crash(),
                _ => io.kill(),
            }
            let store = open(&io).unwrap();
            assert_eq!(found(&store), model, "seed {seed}, call {calls}");
            assert_eq!(store.damaged(), [], "seed {seed}, call {calls}");
            // And it goes on.
            feed(&store, &chance, &mut model, 10);
            drop(store);
            assert_eq!(found(&open(&io).unwrap()), model, "seed {seed}, call {calls}");
            cuts += 1;
            if result.is_ok() && store_is_quiet(&io) {
                break;
            }
        }
    }
    assert!(cuts > 20, "{cuts}");
}

/// Whether nothing that was not finished is left.
fn store_is_quiet(io: &SimIo) -> bool {
    files(io, ".new").is_empty()
}

/// A disk that refuses something leaves the snapshots as they were, and the store goes on.
#[test]
fn what_the_disk_refuses_is_told_and_tried_again() {
    for (label, call, kind) in [
        ("full", Call::Append, ErrorKind::StorageFull),
        ("unsafe", Call::Sync, ErrorKind::Other),
        ("no file", Call::Create, ErrorKind::PermissionDenied),
        ("no name", Call::Rename, ErrorKind::PermissionDenied),
        ("no folder", Call::SyncDir, ErrorKind::Other),
    ] {
        let (io, chance, mut model) = (SimIo::new(7), Chance::new(7), Model::new());
        let store = open(&io).unwrap();
        feed(&store, &chance, &mut model, 100);
        store.snapshot().unwrap();
        feed(&store, &chance, &mut model, 100);
        io.fail(call, 0, kind);
        let error = store.snapshot().unwrap_err();
        assert!(error.to_string().starts_with("cannot "), "{label}: {error}");
        let stats = store.snapshot_stats();
        assert_eq!((stats.written, stats.failed, stats.error), (1, 1, Some(error)), "{label}");
        feed(&store, &chance, &mut model, 20);
        assert_eq!(store.snapshot(), Ok(()), "{label}");
        assert_eq!(store.snapshot_stats().error, None, "{label}");
        io.power_off_after(0);
        drop(store);
        io.crash();
        assert_eq!(found(&open(&io).unwrap()), model, "{label}");
    }
}

/// Every bit of every file of the newest snapshot matters: the one before is taken, or what is wrong is told.
#[test]
fn damage_is_told_and_never_served() {
    let (io, chance, mut model) = (SimIo::new(3), Chance::new(3), Model::new());
    let store = open(&io).unwrap();
    for at in 0..300 {
        // These do not change, so that all snapshots have the same of them.
        let (document, fields) = (format!("id:n:shop::s{at}"), chance.fields(&kind()));
        model.insert(document.clone(), fields.clone());
        let action = Action::Put { fields, create: false };
        let operation = Operation { operation: 0, document, condition: None, action };
        store.submit_wait("shop", operation).unwrap();
    }
    store.snapshot().unwrap();
    for _ in 0..2 {
        feed(&store, &chance, &mut model, 150);
        store.snapshot().unwrap();
    }
    feed(&store, &chance, &mut model, 30);
    die(&io, store);
    let files = image(&io);
    let ends = |ending: &str| files.iter().filter(|(name, _)| name.ends_with(ending)).count();
    assert_eq!(ends(".snapshot"), 2);
    let (mut fallen_back, mut refused, mut unread) = (0, 0, 0);
    let mut fields = BTreeMap::new();
    for (name, whole) in files.iter().filter(|(name, _)| !name.ends_with(".log")) {
        for round in 0..12 {
            let io = SimIo::new(round);
            files.iter().for_each(|(name, bytes)| io.set_contents(name, bytes));
            let mut changed = whole.clone();
            match round {
                0 => changed.truncate(whole.len() - 1),
                1 => changed.truncate(chance.below(whole.len() as u64) as usize),
                _ => changed[chance.below(whole.len() as u64) as usize] ^= 1 << chance.below(8),
            }
            io.set_contents(name, &changed);
            let store = match open(&io) {
                Ok(store) => store,
                Err(StoreError::Damaged { file, .. }) => {
                    assert_eq!(&file, name);
                    refused += 1;
                    continue;
                }
                Err(other) => panic!("{name}: {other}"),
            };
            let view = store.reader("shop").unwrap().view();
            assert_eq!(view.len(), model.len());
            for lid in view.lids() {
                match view.read(lid, |_| true) {
                    Ok(found) => assert_eq!(found.as_ref(), model.get(view.id(lid).unwrap())),
                    Err(StoreError::Damaged { file, .. }) => assert_eq!(&file, name),
                    Err(StoreError::Column { document, field, error }) => {
                        let StoreError::Damaged { file, .. } = *error else { panic!("{error}") };
                        assert_eq!((document.as_str(), &file), ("shop", name));
                        *fields.entry(field).or_insert(0) += 1;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            match store.damaged() {
                [] => unread += 1,
                [error] => {
                    assert!(error.to_string().contains(name.as_str()), "{error}");
                    fallen_back += 1;
                }
                more => panic!("{more:?}"),
            }
            die(&io, store);
        }
    }
    assert!(fallen_back > 10 && refused > 3 && unread > 3, "{fallen_back} {refused} {unread}");
    // Of columns that lie on disk, the field is told.
    assert!(
        fields.keys().all(|field| ["words", "sold", "dense", "mixed"].contains(&field.as_str()))
    );
    assert!(fields.contains_key("dense"), "{fields:?}");
}

#[test]
fn what_no_snapshot_has_and_the_log_no_longer_is_a_gap() {
    let (io, chance, mut model) = (SimIo::new(5), Chance::new(5), Model::new());
    let store = open(&io).unwrap();
    for _ in 0..4 {
        feed(&store, &chance, &mut model, 150);
        store.snapshot().unwrap();
    }
    drop(store);
    assert!(files(&io, ".log").first().unwrap() > &"0000000000000001.log".to_owned());
    files(&io, ".snapshot").iter().for_each(|name| io.remove(name).unwrap());
    let error = open(&io).err().unwrap();
    assert!(matches!(error, StoreError::Gap { from: 1, .. }), "{error}");
}

/// A copy has one snapshot and no log: when it is damaged there is nothing to fall back to, and no empty store is served.
#[test]
fn a_damaged_backup_is_refused() {
    let (io, chance, mut model) = (SimIo::new(8), Chance::new(8), Model::new());
    let store = open(&io).unwrap();
    feed(&store, &chance, &mut model, 50);
    let copy = SimIo::new(8);
    store.backup(Arc::new(copy.clone())).unwrap();
    assert!(store.backup(Arc::new(copy.clone())).is_err(), "it is not written over");
    let found_in = |io: &SimIo| {
        let verified = verify(io, &mut |_| {}).unwrap();
        let documents = verified.snapshots.first().and_then(|s| s.documents.first());
        let documents = documents.map(|(_, count)| *count);
        (verified.opens, verified.problems().count(), documents)
    };
    assert_eq!(found_in(&copy), (true, 0, Some(model.len())));
    let image = image(&copy);
    for (name, whole) in &image {
        let copy = SimIo::new(1);
        image.iter().for_each(|(name, bytes)| copy.set_contents(name, bytes));
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        copy.set_contents(name, &changed);
        let (opens, problems, _) = found_in(&copy);
        assert_eq!((opens, problems), (false, 1), "{name}");
        if name.ends_with(".snapshot") {
            assert!(matches!(open(&copy), Err(StoreError::Damaged { .. })), "{name}");
        }
    }
    let restored = open(&copy).unwrap();
    assert_eq!(found(&restored), model);
    feed(&restored, &chance, &mut model, 20);
    die(&copy, restored);
    assert_eq!(found(&open(&copy).unwrap()), model);
}

/// What has not changed is not written again, and what nobody needs any more is removed.
#[test]
fn files_grow_with_what_changes() {
    let (io, chance, mut model) = (SimIo::new(9), Chance::new(9), Model::new());
    let store = open(&io).unwrap();
    feed(&store, &chance, &mut model, 1500);
    store.snapshot().unwrap();
    let all_bytes = store.snapshot_stats().written_bytes;
    let put = |store: &Store, at: u64| {
        let fields = vec![(0, FieldValue::Integer(at as i64))];
        let (action, document) = (Action::Put { fields, create: false }, "id:n:shop::x".to_owned());
        let operation = Operation { operation: 0, document, condition: None, action };
        assert_eq!(store.submit_wait("shop", operation), Ok(Outcome::Applied));
    };
    put(&store, 1);
    store.snapshot().unwrap();
    assert_eq!(store.snapshot(), Ok(()));
    let stats = store.snapshot_stats();
    assert_eq!(stats.written, 2, "nothing has changed for a third");
    drop(store);
    // A store that is opened knows what has not changed, too.
    let store = open(&io).unwrap();
    for at in 0..40 {
        put(&store, at);
        store.snapshot().unwrap();
    }
    assert_eq!(files(&io, ".snapshot").len(), 2);
    assert!(bytes(&io) < 5 * all_bytes as usize, "{} of {all_bytes}", bytes(&io));
    assert!(files(&io, ".pack").len() < 40, "{:?}", files(&io, ".pack"));
    drop(store);
    let found = found(&open(&io).unwrap());
    assert_eq!(found.len(), model.len() + 1);
}

/// Ids of operations are remembered where the log is cut.
#[test]
fn an_operation_is_done_once_over_snapshots_and_restarts() {
    let io = SimIo::new(2);
    let put = |id: u128, value: i64| Operation {
        operation: id,
        document: "id:n:shop::1".to_owned(),
        condition: None,
        action: Action::Put { fields: vec![(0, FieldValue::Integer(value))], create: false },
    };
    let store = open(&io).unwrap();
    assert_eq!(store.submit_wait("shop", put(7, 1)), Ok(Outcome::Applied));
    assert_eq!(store.submit_wait("shop", put(8, 2)), Ok(Outcome::Applied));
    drop(store);
    let store = open(&io).unwrap();
    assert_eq!(store.recovery().records, 0, "the snapshot has everything");
    assert_eq!(store.submit_wait("shop", put(7, 3)), Ok(Outcome::Applied));
    let view = store.reader("shop").unwrap().view();
    assert_eq!(view.fields(0), Some(vec![(0, FieldValue::Integer(2))]));
}

/// Documents of a type that has changed meanwhile: what the log leads to and what the snapshot leads to are the same.
#[test]
fn a_schema_may_change_between_writing_and_reading() {
    const FIELDS: [&str; 6] = [
        "field count type int { indexing: attribute }",
        "field name type string { indexing: attribute | summary }",
        "field dense type tensor<float>(x[160]) { indexing: attribute }",
        "field tags type array<string> { indexing: attribute }",
        "field text type string { indexing: index | summary }",
        "field mixed type tensor<int8>(k{},x[2]) { indexing: attribute }",
    ];
    let kind_with = |fields: &[&str]| {
        kind_of(&format!("schema shop {{ document shop {{ {} }} }}", fields.join("\n")))
    };
    let mut cases: Vec<(&str, Vec<String>)> = Vec::new();
    let base: Vec<String> = FIELDS.iter().map(|f| (*f).to_owned()).collect();
    let mut case = |label, change: &dyn Fn(&mut Vec<String>)| {
        let mut fields = base.clone();
        change(&mut fields);
        cases.push((label, fields));
    };
    case("the same", &|_| {});
    case("behind", &|f| f.push("field sold type bool { indexing: attribute }".to_owned()));
    case("in front", &|f| f.insert(0, "field sold type bool { indexing: attribute }".to_owned()));
    case("without a name", &|f| drop(f.remove(1)));
    case("without vectors", &|f| drop(f.remove(2)));
    case("other order", &|f| f.reverse());
    case("attribute of index", &|f| f[4] = f[4].replace("index |", "index | attribute |"));
    case("no attribute", &|f| f[3] = f[3].replace("attribute", "summary"));
    case("another type", &|f| f[0] = f[0].replace("int", "string"));
    for (label, fields) in cases {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let (io, chance) = (SimIo::new(4), Chance::new(4));
        let store = open_with(&io, kind_with(&FIELDS)).unwrap();
        for at in 0..400 {
            let document = format!("id:n:shop::{}", chance.below(150));
            let action = match chance.below(5) {
                0 => Action::Remove,
                _ => Action::Put { fields: chance.fields(&kind_with(&FIELDS)), create: false },
            };
            let operation = Operation { operation: at, document, condition: None, action };
            store.submit_wait("shop", operation).unwrap();
        }
        // By the log alone.
        die(&io, store);
        let by_log = open_with(&io, kind_with(&fields)).unwrap();
        let expected = found(&by_log);
        assert!(by_log.recovery().records > 0);
        die(&io, by_log);
        // By a snapshot of the type as it was.
        drop(open_with(&io, kind_with(&FIELDS)).unwrap());
        for round in ["first", "second"] {
            let by_snapshot = open_with(&io, kind_with(&fields)).unwrap();
            assert_eq!(by_snapshot.recovery().records, 0, "{label} {round}");
            assert_eq!(found(&by_snapshot), expected, "{label} {round}");
            let view = by_snapshot.reader("shop").unwrap().view();
            for lid in view.lids() {
                assert_eq!(view.find(view.id(lid).unwrap()), Some(lid), "{label}");
            }
            // So that the next snapshot is one of the new type.
            let remove = Operation {
                operation: 0,
                document: "id:n:shop::1".to_owned(),
                condition: None,
                action: Action::Remove,
            };
            if round == "first" {
                let is_there = expected.contains_key("id:n:shop::1");
                assert!(is_there, "{label}");
                let Some(fields) = view.find("id:n:shop::1").and_then(|lid| view.fields(lid))
                else {
                    panic!("{label}");
                };
                by_snapshot.submit_wait("shop", remove.clone()).unwrap();
                let action = Action::Put { fields, create: false };
                by_snapshot.submit_wait("shop", Operation { action, ..remove }).unwrap();
            }
        }
    }
}

/// Snapshots come by themselves while documents are fed, and the log is cut behind them.
#[test]
fn snapshots_come_with_operations() {
    seeds("snapshots::by_themselves", 2, |seed| {
        let (io, chance, mut model) = (SimIo::new(seed), Chance::new(seed), Model::new());
        let snapshots =
            SnapshotOptions { log_bytes: 20 << 10, operations: 100, pack_bytes: 16 << 10 };
        let options = StoreOptions { snapshots, ..options() };
        let open = || {
            let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
            Store::open(io, rng, vec![kind()], options.clone()).unwrap()
        };
        for _ in 0..3 {
            let store = open();
            assert_eq!(found(&store), model);
            feed(&store, &chance, &mut model, 600);
            assert!(store.snapshot_stats().written > 2);
            io.power_off_after(0);
            drop(store);
            match chance.below(2) {
                0 => io.crash(),
                _ => io.kill(),
            }
        }
        let store = open();
        assert_eq!(found(&store), model);
        assert!(store.recovery().records < 1000, "{:?}", store.recovery());
        assert!(store.recovery().first_lsn > 1);
    });
}

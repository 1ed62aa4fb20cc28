//! Backups whose disks lose power at any call: what is there afterwards is a whole backup or none.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stead_log::{LogOptions, SeededRng, SimIo};
use stead_store::{
    Action, Operation, Outcome, SnapshotOptions, Store, StoreError, StoreOptions, verify,
};

use crate::harness::{Chance, Model, all, kind};

fn open(io: &SimIo) -> Result<Store, StoreError> {
    let log =
        LogOptions { segment_bytes: 64 << 10, max_record_bytes: 32 << 10, ..LogOptions::default() };
    let never = SnapshotOptions { log_bytes: u64::MAX, operations: u64::MAX, pack_bytes: 16 << 10 };
    let options = StoreOptions { log, snapshots: never, ..StoreOptions::default() };
    Store::open(Arc::new(io.clone()), Arc::new(SeededRng::new(1)), vec![kind()], options)
}

fn feed(store: &Store, chance: &Chance, model: &mut Model, count: u64) {
    for _ in 0..count {
        let (document, fields) =
            (format!("id:n:shop::{}", chance.below(60)), chance.fields(&kind()));
        model.insert(document.clone(), fields.clone());
        let action = Action::Put { fields, create: false };
        let operation = Operation { operation: 0, document, condition: None, action };
        assert_eq!(store.submit_wait("shop", operation), Ok(Outcome::Applied));
    }
}

fn found(store: &Store) -> Model {
    all(&store.reader("shop").unwrap().view())
}

/// A store with two snapshots, the model of its documents, and what goes on.
fn store(seed: u64) -> (SimIo, Store, Chance, Model) {
    let (io, chance, mut model) = (SimIo::new(seed), Chance::new(seed), Model::new());
    let store = open(&io).unwrap();
    feed(&store, &chance, &mut model, 50);
    store.snapshot().unwrap();
    feed(&store, &chance, &mut model, 20);
    (io, store, chance, model)
}

#[test]
fn a_backup_whose_disk_loses_power_is_whole_or_none() {
    for is_power in [true, false] {
        let (_, store, chance, mut model) = store(3);
        let (mut unfinished, mut whole) = (0, 0);
        for calls in 0.. {
            let to = SimIo::new(calls);
            to.power_off_after(calls);
            let told = store.backup(Arc::new(to.clone()));
            match is_power {
                true => to.crash(),
                false => to.kill(),
            }
            let label = format!("call {calls}, power {is_power}, {told:?}");
            let verified = verify(&to, &mut |_| {}).unwrap();
            match open(&to) {
                Ok(copy) => {
                    let found = found(&copy);
                    // A folder without any file is that of a store which nobody has fed yet.
                    assert!(found == model || found.is_empty() && told.is_err(), "{label}");
                    assert!(verified.opens && verified.problems().count() == 0, "{label}");
                    whole += usize::from(found == model);
                }
                Err(StoreError::Damaged { file, reason, .. }) => {
                    assert!(told.is_err() && file.ends_with(".pack"), "{label}: {file} {reason}");
                    assert!(reason.contains("the backup was not finished"), "{label}: {reason}");
                    assert!(!verified.opens && verified.problems().count() == 1, "{label}");
                    unfinished += 1;
                }
                Err(other) => panic!("{label}: {other}"),
            }
            // The store goes on meanwhile.
            assert_eq!(found(&store), model, "{label}");
            if told.is_ok() {
                break;
            }
            feed(&store, &chance, &mut model, 1);
        }
        assert!(unfinished > 5 && whole > 0, "{unfinished} {whole}");
    }
}

#[test]
fn a_store_that_loses_power_while_it_is_copied_has_lost_nothing() {
    let mut failed = 0;
    for calls in 0.. {
        let (io, store, chance, mut model) = store(4);
        let copied = model.clone();
        let to = SimIo::new(calls);
        io.power_off_after(calls);
        let told = store.backup(Arc::new(to.clone()));
        drop(store);
        match calls % 2 {
            0 => io.crash(),
            _ => io.kill(),
        }
        let store = open(&io).unwrap();
        assert_eq!((found(&store), store.damaged()), (model.clone(), &[][..]), "call {calls}");
        feed(&store, &chance, &mut model, 5);
        assert_eq!(found(&store), model, "call {calls}");
        match told {
            Ok(()) => {
                assert_eq!(found(&open(&to).unwrap()), copied);
                break;
            }
            Err(_) => failed += 1,
        }
    }
    assert!(failed > 20, "{failed}");
}

//! A disk on which the files of snapshots take for ever to write or to read: feeding and reading go on meanwhile.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Condvar, Mutex};

use stead_log::{Io, SeededRng, SimIo};
use stead_store::{
    Action, Change, Edit, FieldValue, Operation, Operator, Outcome, Store, StoreOptions,
};

use crate::harness::watched::{Read, ReadWatch, Watch, WatchedIo};
use crate::harness::{Chance, Model, all, kind};

/// Whether packs may be written or read, and how many calls wait.
type Gate = Arc<(Mutex<(bool, usize)>, Condvar)>;

fn pass(gate: &Gate) {
    let mut state = gate.0.lock().unwrap();
    state.1 += 1;
    gate.1.notify_all();
    drop(gate.1.wait_while(state, |state| !state.0).unwrap());
}

fn set(gate: &Gate, is_open: bool) {
    *gate.0.lock().unwrap() = (is_open, 0);
    gate.1.notify_all();
}

/// Until a call waits.
fn reached(gate: &Gate) {
    drop(gate.1.wait_while(gate.0.lock().unwrap(), |state| state.1 == 0).unwrap());
}

fn slow(io: &SimIo, writes: &Gate, reads: &Gate) -> Arc<dyn Io> {
    let [writes, reads] = [writes, reads].map(Gate::clone);
    let writes: Watch = Arc::new(move || pass(&writes));
    let reads: ReadWatch = Arc::new(move |read| {
        if matches!(read, Read::Now(_)) {
            pass(&reads);
        }
    });
    Arc::new(WatchedIo { io: io.clone(), reads, writes })
}

#[test]
fn a_snapshot_that_waits_for_the_disk_keeps_nobody_waiting() {
    let (io, writes, reads) = (SimIo::new(1), Gate::default(), Gate::default());
    set(&reads, true);
    let slow = slow(&io, &writes, &reads);
    let rng = Arc::new(SeededRng::new(1));
    let store = Store::open(slow, rng.clone(), vec![kind()], StoreOptions::default()).unwrap();
    let (chance, mut model) = (Chance::new(1), Model::new());
    let mut feed = |store: &Store, count: u64| {
        for _ in 0..count {
            let (document, fields) =
                (format!("id:n:shop::{}", chance.below(50)), chance.fields(&kind()));
            model.insert(document.clone(), fields.clone());
            let action = Action::Put { fields, create: false };
            let operation = Operation { operation: 0, document, condition: None, action };
            assert_eq!(store.submit_wait("shop", operation), Ok(Outcome::Applied));
        }
        assert_eq!(all(&store.reader("shop").unwrap().view()), model);
        model.clone()
    };
    feed(&store, 60);
    let expected = std::thread::scope(|scope| {
        let snapshot = scope.spawn(|| store.snapshot());
        reached(&writes);
        let expected = feed(&store, 60);
        assert_eq!((snapshot.is_finished(), store.snapshot_stats().written), (false, 0));
        set(&writes, true);
        assert_eq!(snapshot.join().unwrap(), Ok(()));
        expected
    });
    // What came while it was written is not in it, but in the log.
    assert_eq!(all(&store.reader("shop").unwrap().view()), expected);
    io.power_off_after(0);
    drop(store);
    io.kill();
    let options = StoreOptions::default();
    let store = Store::open(Arc::new(io), rng, vec![kind()], options).unwrap();
    assert_eq!(store.recovery().records, 60);
    assert_eq!(all(&store.reader("shop").unwrap().view()), expected);
}

/// An update of a document whose body has yet to be read from the disk.
#[test]
fn an_operation_that_waits_for_the_disk_keeps_no_other_waiting() {
    let (io, writes, reads) = (SimIo::new(1), Gate::default(), Gate::default());
    [&writes, &reads].into_iter().for_each(|gate| set(gate, true));
    let slow = slow(&io, &writes, &reads);
    let rng = Arc::new(SeededRng::new(1));
    let store = Store::open(slow, rng, vec![kind()], StoreOptions::default()).unwrap();
    let operation = |document: &str, action: Action| {
        let document = format!("id:n:shop::{document}");
        Operation { operation: 0, document, condition: None, action }
    };
    let put =
        |count: i64| Action::Put { fields: vec![(0, FieldValue::Integer(count))], create: false };
    let add = |count: i64| {
        let edit = Edit::Calculate(Operator::Add, count as f64);
        let changes = vec![Change { field: 0, path: Vec::new(), edit }];
        Action::Update { changes, create: false }
    };
    let submit = |document: &str, action: Action| {
        let outcome = store.submit_wait("shop", operation(document, action));
        assert_eq!(outcome, Ok(Outcome::Applied), "{document}");
    };
    (0..90).for_each(|n| submit(&n.to_string(), put(n)));
    store.snapshot().unwrap();
    set(&reads, false);
    let assign = |count: i64| {
        let edit = Edit::Assign(Some(FieldValue::Integer(count)));
        Action::Update { changes: vec![Change { field: 0, path: Vec::new(), edit }], create: false }
    };
    std::thread::scope(|scope| {
        let update = scope.spawn(|| submit("1", add(1000)));
        reached(&reads);
        // These need to know no body, though they change those that lie with the one that is read.
        submit("new", put(5));
        submit("new", add(1));
        submit("2", put(2000));
        submit("2", add(2));
        submit("3", Action::Remove);
        submit("4", assign(4000));
        assert!(!update.is_finished());
        set(&reads, true);
        update.join().unwrap();
    });
    let view = store.reader("shop").unwrap().view();
    let count = |id: &str| view.fields(view.find(&format!("id:n:shop::{id}")).unwrap());
    assert_eq!(count("1"), Some(vec![(0, FieldValue::Integer(1001))]));
    assert_eq!(count("new"), Some(vec![(0, FieldValue::Integer(6))]));
    assert_eq!(count("2"), Some(vec![(0, FieldValue::Integer(2002))]));
    assert_eq!(count("4"), Some(vec![(0, FieldValue::Integer(4000))]));
    assert_eq!(count("5"), Some(vec![(0, FieldValue::Integer(5))]));
    assert_eq!(view.find("id:n:shop::3"), None);
}

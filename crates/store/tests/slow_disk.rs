//! A disk on which the files of snapshots take for ever to write or to read: feeding and reading go on meanwhile.
#![allow(clippy::unwrap_used)]

mod harness;

use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};

use harness::{Chance, Model, all, kind};
use stead_log::{DirLock, Io, IoFile, SeededRng, SimIo};
use stead_store::{
    Action, Change, Edit, FieldValue, Operation, Operator, Outcome, Store, StoreOptions,
};

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

#[derive(Clone)]
struct SlowIo {
    io: SimIo,
    writes: Gate,
    reads: Gate,
}

struct SlowFile {
    file: Box<dyn IoFile>,
    writes: Gate,
    reads: Gate,
}

impl SlowIo {
    fn slow(&self, name: &str, file: Box<dyn IoFile>) -> Box<dyn IoFile> {
        let (writes, reads) = (self.writes.clone(), self.reads.clone());
        match name.ends_with(".pack") {
            true => Box::new(SlowFile { file, writes, reads }),
            false => file,
        }
    }
}

impl Io for SlowIo {
    fn list(&self) -> io::Result<Vec<String>> {
        self.io.list()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        Ok(self.slow(name, self.io.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        Ok(self.slow(name, self.io.create(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.io.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.io.remove(name)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.io.sync_dir()
    }

    fn lock(&self) -> io::Result<Box<dyn DirLock>> {
        self.io.lock()
    }
}

impl IoFile for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        pass(&self.reads);
        self.file.read_at(offset, out)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        pass(&self.writes);
        self.file.append(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[test]
fn a_snapshot_that_waits_for_the_disk_keeps_nobody_waiting() {
    let (io, writes, reads) = (SimIo::new(1), Gate::default(), Gate::default());
    set(&reads, true);
    let slow: Arc<dyn Io> = Arc::new(SlowIo { io: io.clone(), writes: writes.clone(), reads });
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
    let slow: Arc<dyn Io> = Arc::new(SlowIo { io, writes, reads: reads.clone() });
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
    // Whole groups, so that a new document lies with none of these.
    (0..96).for_each(|n| submit(&n.to_string(), put(n)));
    store.snapshot().unwrap();
    set(&reads, false);
    std::thread::scope(|scope| {
        let update = scope.spawn(|| submit("1", add(1000)));
        reached(&reads);
        // Neither a new document nor a removal has to know a body.
        submit("new", put(5));
        submit("new", add(1));
        let (sender, removed) = channel();
        let done = move |outcome| sender.send(outcome).unwrap();
        store.submit("shop", operation("95", Action::Remove), done).unwrap();
        assert!(!update.is_finished());
        set(&reads, true);
        update.join().unwrap();
        assert_eq!(removed.recv().unwrap(), Ok(Outcome::Applied));
    });
    let view = store.reader("shop").unwrap().view();
    let count = |id: &str| view.fields(view.find(&format!("id:n:shop::{id}")).unwrap());
    assert_eq!(count("1"), Some(vec![(0, FieldValue::Integer(1001))]));
    assert_eq!(count("new"), Some(vec![(0, FieldValue::Integer(6))]));
    assert_eq!(view.find("id:n:shop::95"), None);
}

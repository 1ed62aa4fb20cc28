//! A disk on which the files of snapshots take for ever: feeding and reading go on meanwhile.
#![allow(clippy::unwrap_used)]

mod harness;

use std::io;
use std::sync::{Arc, Condvar, Mutex};

use harness::{Chance, Model, all, kind};
use stead_log::{DirLock, Io, IoFile, SeededRng, SimIo};
use stead_store::{Action, Operation, Outcome, Store, StoreOptions};

/// Whether packs may be written, and how many writes wait.
type Gate = Arc<(Mutex<(bool, usize)>, Condvar)>;

#[derive(Clone)]
struct SlowIo {
    io: SimIo,
    gate: Gate,
}

struct SlowFile {
    file: Box<dyn IoFile>,
    gate: Gate,
}

impl Io for SlowIo {
    fn list(&self) -> io::Result<Vec<String>> {
        self.io.list()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        self.io.open(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        let file = self.io.create(name)?;
        match name.ends_with(".pack") {
            true => Ok(Box::new(SlowFile { file, gate: self.gate.clone() })),
            false => Ok(file),
        }
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
        self.file.read_at(offset, out)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut gate = self.gate.0.lock().unwrap();
        gate.1 += 1;
        self.gate.1.notify_all();
        drop(self.gate.1.wait_while(gate, |gate| !gate.0).unwrap());
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
    let (io, gate) = (SimIo::new(1), Gate::default());
    let slow: Arc<dyn Io> = Arc::new(SlowIo { io: io.clone(), gate: gate.clone() });
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
        let begun = gate.1.wait_while(gate.0.lock().unwrap(), |gate| gate.1 == 0).unwrap();
        drop(begun);
        let expected = feed(&store, 60);
        assert_eq!((snapshot.is_finished(), store.snapshot_stats().written), (false, 0));
        gate.0.lock().unwrap().0 = true;
        gate.1.notify_all();
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

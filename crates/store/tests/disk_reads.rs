//! How often the disk is read for what is done with documents that lie there.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{Io, SeededRng, SimIo};
use stead_store::{
    Action, Change, Edit, FieldValue, Operation, Operator, Outcome, Selection, Store, StoreOptions,
    View,
};

use crate::harness::watched::{Read, WatchedIo};
use crate::harness::{Chance, kind_of};

/// Rows of 128 floats: blocks of 256 documents.
const FIELDS: &str = "field n type int { indexing: attribute }
    field v type tensor<float>(x[128]) { indexing: attribute\n attribute: paged }
    field w type tensor<float>(x[128]) { indexing: attribute\n attribute: paged }
    field text type string { indexing: summary }";

/// Documents, and how many of them something is done with.
const COUNT: u64 = 20 * 256;
const DONE: u64 = 1000;

struct Disk {
    store: Store,
    reads: Arc<AtomicU64>,
}

/// The files of a folder, by their names.
type Files = Vec<(String, Vec<u8>)>;

fn id(at: u64) -> String {
    format!("id:n:shop::{at}")
}

fn fields(at: u64) -> Vec<(usize, FieldValue)> {
    let vector = |more: u64| {
        let cells: Vec<f32> = (0..128).map(|cell| (at * 128 + cell + more) as f32).collect();
        let kind = parse_type("tensor<float>(x[128])").unwrap();
        let cells = Cells::Float(cells.into());
        FieldValue::Tensor(Value::new(kind, Labels::default(), cells).unwrap())
    };
    let text = FieldValue::Text(format!("a text of {at}"));
    vec![(0, FieldValue::Integer(at as i64)), (1, vector(0)), (2, vector(1)), (3, text)]
}

impl Disk {
    /// Files with all documents.
    fn files() -> Files {
        let io = SimIo::new(1);
        let disk = Disk::open(&io);
        (0..COUNT).for_each(|at| disk.feed(id(at), Disk::put(at)));
        disk.view();
        drop(disk);
        let names = io.list().unwrap();
        names.into_iter().map(|name| (name.clone(), io.contents(&name).unwrap())).collect()
    }

    /// Documents of which nothing is in memory but what is not paged.
    fn new(files: &Files) -> Disk {
        let io = SimIo::new(1);
        files.iter().for_each(|(name, bytes)| io.set_contents(name, bytes));
        Disk::open(&io)
    }

    /// No column that was read stays.
    fn open(io: &SimIo) -> Disk {
        let kind = kind_of(&format!("schema shop {{ document shop {{ {FIELDS} }} }}"));
        let reads = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&reads);
        let count = Arc::new(move |read| {
            if matches!(read, Read::Now(_)) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let io = WatchedIo { io: io.clone(), reads: count, writes: Arc::new(|| {}) };
        let options = StoreOptions { page_bytes: 0, ..StoreOptions::default() };
        let store = Store::open(Arc::new(io), Arc::new(SeededRng::new(1)), vec![kind], options);
        Disk { store: store.unwrap(), reads }
    }

    fn put(at: u64) -> Action {
        Action::Put { fields: fields(at), create: false }
    }

    /// Submits an operation without waiting for it.
    fn feed(&self, document: String, action: Action) {
        let operation = Operation { operation: 0, document, condition: None, action };
        let done = |outcome| assert_eq!(outcome, Ok(Outcome::Applied));
        self.store.feed("shop", operation, done).unwrap();
    }

    /// All documents when everything that was submitted is done.
    fn view(&self) -> View {
        while self.store.operations_in_flight() > 0 {
            std::thread::yield_now();
        }
        self.store.reader("shop").unwrap().view()
    }

    /// How often something reads the disk, done with some of the documents.
    fn reads(&self, act: impl Fn(&Disk, String)) -> u64 {
        let (chance, before) = (Chance::new(7), self.reads.load(Ordering::Relaxed));
        let mut left: Vec<u64> = (0..COUNT).collect();
        for _ in 0..DONE {
            let at = chance.below(left.len() as u64) as usize;
            act(self, id(left.swap_remove(at)));
        }
        self.view();
        self.reads.load(Ordering::Relaxed) - before
    }
}

fn update(field: usize, edit: Edit) -> Action {
    Action::Update { changes: vec![Change { field, path: Vec::new(), edit }], create: false }
}

fn read(disk: &Disk, id: &str, wanted: &[usize]) -> usize {
    let view = disk.view();
    let fields = view.read(view.find(id).unwrap(), |field| wanted.contains(&field));
    fields.unwrap().unwrap().len()
}

#[test]
fn what_is_not_needed_is_not_read() {
    let number = || FieldValue::Integer(7);
    let vector = || fields(3)[1].1.clone();
    let cases: Vec<(&str, u64, Box<dyn Fn(&Disk, String)>)> = vec![
        ("puts", 0, Box::new(|disk, id| disk.feed(id, Disk::put(5)))),
        ("removals", 0, Box::new(|disk, id| disk.feed(id, Action::Remove))),
        (
            "another number",
            0,
            Box::new(move |disk, id| disk.feed(id, update(0, Edit::Assign(Some(number()))))),
        ),
        ("no number", 0, Box::new(|disk, id| disk.feed(id, update(0, Edit::Assign(None))))),
        (
            "another vector",
            0,
            Box::new(move |disk, id| disk.feed(id, update(1, Edit::Assign(Some(vector()))))),
        ),
        // The body tells whether there is a number.
        (
            "a greater number",
            DONE,
            Box::new(|disk, id| disk.feed(id, update(0, Edit::Calculate(Operator::Add, 1.0)))),
        ),
        ("a number", DONE, Box::new(|disk, id| assert_eq!(read(disk, &id, &[0]), 1))),
        ("a text", DONE, Box::new(|disk, id| assert_eq!(read(disk, &id, &[0, 3]), 2))),
        ("a vector", 2 * DONE, Box::new(|disk, id| assert_eq!(read(disk, &id, &[1]), 1))),
        ("all", 3 * DONE, Box::new(|disk, id| assert_eq!(read(disk, &id, &[0, 1, 2, 3]), 4))),
    ];
    let files = Disk::files();
    for (label, expected, act) in cases {
        let found = Disk::new(&files).reads(act);
        assert_eq!(found, expected, "{label}");
    }
}

/// What is written is merged with what lies on disk by the next snapshot: a piece for each group and column that has changed.
#[test]
fn a_snapshot_reads_once_what_has_changed() {
    let disk = Disk::new(&Disk::files());
    for at in (0..256).chain(512..515) {
        disk.feed(id(at), Disk::put(at + 1));
    }
    disk.view();
    let (before, memory) = (disk.reads.load(Ordering::Relaxed), disk.view().memory());
    disk.store.snapshot().unwrap();
    // Of the first block nothing is needed: all of it has changed.
    assert_eq!(disk.reads.load(Ordering::Relaxed) - before, 1 + 2);
    assert!(disk.view().memory() + 259 * 1024 < memory, "what has changed is on disk");
    let view = disk.view();
    for (at, of) in [(0, 1), (255, 256), (256, 256), (512, 513), (514, 515), (515, 515)] {
        assert_eq!(view.fields(view.find(&id(at)).unwrap()), Some(fields(of)), "{at}");
    }
}

/// Whoever goes through documents reads a piece once, and those of vectors only if vectors are wanted.
#[test]
fn documents_that_stand_together_are_read_together() {
    let disk = Disk::new(&Disk::files());
    let view = disk.view();
    let groups = COUNT / 16;
    let kind = disk.store.kind("shop").unwrap();
    let looks_at = |text: &str| Selection::parse(text).unwrap().fields_of(kind);
    let blocks = COUNT / 256;
    for (label, wanted, expected) in [
        ("numbers", looks_at("shop.n > 5"), groups),
        ("a text", looks_at("shop.text = 'a*' or shop.n < 3"), groups),
        ("one of the vectors", [2].into(), groups + blocks),
        ("all", [0, 1, 2, 3].into(), groups + 2 * blocks),
    ] {
        let before = disk.reads.load(Ordering::Relaxed);
        let (mut reader, mut found) = (view.fields_reader(), BTreeMap::new());
        for lid in view.lids() {
            for (field, value) in
                reader.read(lid, |field| wanted.contains(&field)).unwrap().unwrap()
            {
                assert_eq!(value, fields(u64::from(lid))[field].1, "{label}: {lid}");
                *found.entry(field).or_insert(0) += 1;
            }
        }
        assert!(found.keys().eq(&wanted) && found.values().all(|n| *n == COUNT), "{label}");
        assert_eq!(disk.reads.load(Ordering::Relaxed) - before, expected, "{label}");
    }
}

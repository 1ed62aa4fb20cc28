//! Files that earlier versions have written: each is opened, and has what was put.
//!
//! `data/v1` was written by this test with `STEAD_STORE_FIXTURE` naming the folder, when version 1 of packs and of tables was the
//! newest; `data/v2` when tables got a second version, for what has changed of pieces that can no longer be read; `data/v3` when they got a
//! third, for graphs of vectors, of which the type has fields since; `data/v4` when they got a fourth, for indexes of texts. A version that follows gets a folder of its own; the old ones stay as they are.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{DiskIo, LogOptions, SeededRng, SimIo, read_manifest};
use stead_store::{
    Action, Change, DocumentType, Edit, FieldValue as V, Operation, Outcome, Position, Store,
    StoreOptions, verify,
};

use crate::harness::{Fields, Model, all, kind, old_kind};

fn open(io: Arc<dyn stead_log::Io>, kind: &DocumentType) -> Store {
    let log =
        LogOptions { segment_bytes: 64 << 10, max_record_bytes: 32 << 10, ..LogOptions::default() };
    let options = StoreOptions { log, ..StoreOptions::default() };
    Store::open(io, Arc::new(SeededRng::new(1)), vec![kind.clone()], options).unwrap()
}

/// The fields of a document; every third has only some.
fn fields(kind: &DocumentType, at: i64) -> Fields {
    let text = |text: &str| V::Text(format!("{text} {at}"));
    let all = [
        ("count", V::Integer(at - 5)),
        ("name", text("name")),
        ("sold", V::Bool(at % 2 == 0)),
        ("price", V::Number(at as f64 / 3.0)),
        (
            "place",
            V::Position(Position { latitude: at as i32 * 1_000_003, longitude: -(at as i32) }),
        ),
        ("picture", V::Bytes((0..at as u8).collect())),
        ("tags", V::Array((0..at % 4).map(|n| text(&format!("tag {n}"))).collect())),
        (
            "words",
            V::Weighted((0..at % 3).map(|n| (text(&format!("w{n}")), -(n as i32))).collect()),
        ),
        ("stock", V::Map(vec![(text("oslo"), V::Integer(at * at))])),
        ("offers", V::Array(vec![V::Struct(vec![("seller".to_owned(), text("seller"))])])),
        ("dense", {
            let cells: Vec<f32> = (0..160).map(|x| (x + at) as f32).collect();
            let kind = parse_type("tensor<float>(x[160])").unwrap();
            V::Tensor(Value::new(kind, Labels::default(), Cells::Float(cells.into())).unwrap())
        }),
        ("mixed", {
            let mut labels = Labels::default();
            labels.push("7");
            labels.push(&format!("label {at}"));
            let kind = parse_type("tensor<int8>(k{},x[2])").unwrap();
            let cells = Cells::Int8(vec![1, 2, 3, at as i8].into());
            V::Tensor(Value::new(kind, labels, cells).unwrap())
        }),
        ("text", text("a text that is in the body")),
        ("top", V::Struct(vec![("price".to_owned(), V::Number(at as f64))])),
        ("near", {
            let cells = Cells::Float((0..3).map(|x| (x * at) as f32).collect::<Vec<_>>().into());
            let kind = parse_type("tensor<float>(x[3])").unwrap();
            V::Tensor(Value::new(kind, Labels::default(), cells).unwrap())
        }),
    ];
    let known = |(_, (name, _)): &(usize, (&str, V))| kind.field(name).is_some();
    let taken =
        all.into_iter().enumerate().filter(known).filter(|(n, _)| at % 3 != 0 || n % 2 == 0);
    let mut fields: Fields =
        taken.map(|(_, (name, value))| (kind.field(name).unwrap().0, value)).collect();
    fields.sort_by_key(|(field, _)| *field);
    fields
}

fn id(at: i64) -> String {
    format!("id:n:shop::{at}")
}

/// What the files have: of 40 documents those are gone whose number can be divided by 7, and 36 to 39 are in the log alone.
fn expected(kind: &DocumentType) -> Model {
    (0..40).filter(|at| at % 7 != 0).map(|at| (id(at), fields(kind, at))).collect()
}

/// The packs of a folder, with what is in them.
fn packs(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let packs = paths.filter(|path| path.extension().is_some_and(|end| end == "pack"));
    packs.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Another bit in the column of the vectors. (Where `data/v2` was written one in each group of bodies too, which a start did not read then: it
/// indexes their texts since.)
fn damage(folder: &Path) {
    let vector: Vec<u8> = (3..150).flat_map(|cell| (cell as f32).to_le_bytes()).collect();
    for (path, mut bytes) in packs(folder) {
        let at = bytes.windows(vector.len()).position(|part| part == vector);
        bytes[at.unwrap()] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
}

fn write(folder: &Path) {
    let kind = kind();
    let submit = |store: &Store, at: i64, operation: i64, action: Action| {
        let operation =
            Operation { operation: operation as u128, document: id(at), condition: None, action };
        assert_eq!(store.submit_wait("shop", operation), Ok(Outcome::Applied));
    };
    let put = |store: &Store, at: i64| {
        submit(store, at, at + 1, Action::Put { fields: fields(&kind, at), create: false });
    };
    let assigned = |name: &str, at: i64| {
        let field = kind.field(name).unwrap().0;
        let value =
            fields(&kind, at).into_iter().find(|(of, _)| *of == field).map(|(_, value)| value);
        let edit = Edit::Assign(value);
        Action::Update { changes: vec![Change { field, path: Vec::new(), edit }], create: false }
    };
    let store = open(Arc::new(DiskIo::new(folder).unwrap()), &kind);
    (0..30).for_each(|at| put(&store, at));
    // What they get back below.
    submit(&store, 5, 205, assigned("text", 6));
    submit(&store, 8, 208, assigned("dense", 9));
    drop(store);
    let whole = packs(folder);
    damage(folder);
    let store = open(Arc::new(DiskIo::new(folder).unwrap()), &kind);
    (30..36).for_each(|at| put(&store, at));
    (0..36).step_by(7).for_each(|at| submit(&store, at, 100 + at, Action::Remove));
    submit(&store, 5, 305, assigned("text", 5));
    submit(&store, 8, 308, assigned("dense", 8));
    store.snapshot().unwrap();
    whole.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    (36..40).for_each(|at| put(&store, at));
    // As after a kill: no snapshot has the last ones.
    std::process::exit(0);
}

#[test]
fn files_of_each_version_are_read() {
    if let Some(folder) = std::env::var_os("STEAD_STORE_FIXTURE") {
        return write(Path::new(&folder));
    }
    for (version, number, kind) in
        [("v1", 1, old_kind()), ("v2", 2, old_kind()), ("v3", 3, kind()), ("v4", 4, kind())]
    {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(version);
        // In memory, so that they stay as they are.
        let io = SimIo::new(1);
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let bytes = std::fs::read(entry.path()).unwrap();
            io.set_contents(&entry.file_name().into_string().unwrap(), &bytes);
        }
        let table = read_manifest(&io, "0000000000000002.snapshot", 1 << 20).unwrap().unwrap();
        assert_eq!(table[0], number, "{version}");
        let found = verify(&io, &mut |_| {}).unwrap();
        assert_eq!((found.opens, found.problems().next(), found.snapshots.len()), (true, None, 2));
        let store = open(Arc::new(io), &kind);
        assert_eq!(store.damaged(), [], "{version}");
        assert_eq!(store.recovery().records, 4, "{version}");
        assert_eq!(all(&store.reader("shop").unwrap().view()), expected(&kind), "{version}");
        // The ids of operations are known: this one does nothing any more.
        let again = Operation {
            operation: 3,
            document: id(2),
            condition: None,
            action: Action::Put { fields: Vec::new(), create: false },
        };
        assert_eq!(store.submit_wait("shop", again), Ok(Outcome::Applied));
        assert_eq!(all(&store.reader("shop").unwrap().view()), expected(&kind), "{version}");
    }
}

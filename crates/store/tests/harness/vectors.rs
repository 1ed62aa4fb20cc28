//! Documents with vectors that lie on disk: five blocks, of which the last is not full.

use std::sync::Arc;

use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{LogOptions, SeededRng, SimIo};
use stead_store::{
    Action, DocumentType, FieldValue, Operation, Outcome, SnapshotOptions, Store, StoreError,
    StoreOptions, View,
};

use super::{Chance, Fields, kind_of};

/// Vectors of 512 bytes: blocks have 256 rows.
pub const FIELDS: &str = "field n type int { indexing: attribute }
    field v type tensor<float>(x[128]) { indexing: attribute\n attribute: paged }
    field tags type array<string> { indexing: attribute\n attribute { paged fast-search } }";

pub const ROWS: usize = 256;

/// A page of vectors: these, a number for each and a few words.
pub const PAGE: usize = ROWS * (512 + 8) + 512;

pub fn kind_with(fields: &str) -> DocumentType {
    kind_of(&format!("schema shop {{ document shop {{ {fields} }} }}"))
}

pub fn options(page_bytes: usize) -> StoreOptions {
    let log =
        LogOptions { segment_bytes: 1 << 20, max_record_bytes: 32 << 10, ..LogOptions::default() };
    let never = SnapshotOptions { log_bytes: u64::MAX, operations: u64::MAX, pack_bytes: 1 << 20 };
    StoreOptions { log, snapshots: never, page_bytes, ..StoreOptions::default() }
}

pub fn open(io: &SimIo, kind: &DocumentType, page_bytes: usize) -> Store {
    let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    Store::open(io, rng, vec![kind.clone()], options(page_bytes)).unwrap()
}

pub fn vector(at: usize) -> FieldValue {
    let kind = parse_type("tensor<float>(x[128])").unwrap();
    let cells: Vec<f32> = (0..128).map(|cell| (at * 1000 + cell) as f32).collect();
    FieldValue::Tensor(Value::new(kind, Labels::default(), Cells::Float(cells.into())).unwrap())
}

pub fn fields(at: usize) -> Fields {
    let tags = FieldValue::Array(vec![FieldValue::Text(format!("tag{}", at % 7))]);
    vec![(0, FieldValue::Integer(at as i64)), (1, vector(at)), (2, tags)]
}

pub fn id(at: usize) -> String {
    format!("id:n:shop::{at}")
}

pub fn submit(store: &Store, document: String, action: Action) -> Result<Outcome, StoreError> {
    store.submit_wait("shop", Operation { operation: 0, document, condition: None, action })
}

/// Submits an operation without waiting for it.
pub fn feed(store: &Store, document: String, action: Action) {
    let operation = Operation { operation: 0, document, condition: None, action };
    store.feed("shop", operation, |outcome| assert!(outcome.is_ok())).unwrap();
}

pub fn put(store: &Store, at: usize) {
    feed(store, id(at), Action::Put { fields: fields(at), create: false });
}

pub fn assign(field: usize, value: FieldValue) -> Action {
    let edit = stead_store::Edit::Assign(Some(value));
    let change = stead_store::Change { field, path: Vec::new(), edit };
    Action::Update { changes: vec![change], create: false }
}

/// Sets some field of a document, in a model of it too.
pub fn assign_any(chance: &Chance, kind: &DocumentType, known: &mut Fields) -> Action {
    let names: Vec<&str> = kind.fields().collect();
    let field = chance.below(names.len() as u64) as usize;
    let value = chance.value(names[field]);
    known.retain(|(at, _)| *at != field);
    known.push((field, value.clone()));
    known.sort_by_key(|(at, _)| *at);
    assign(field, value)
}

/// All documents when everything that was submitted is done.
pub fn view(store: &Store) -> View {
    while store.operations_in_flight() > 0 {
        std::thread::yield_now();
    }
    store.reader("shop").unwrap().view()
}

pub fn check(view: &View, count: usize) {
    assert_eq!(view.len(), count);
    for at in 0..count {
        assert_eq!(view.fields(view.find(&id(at)).unwrap()), Some(fields(at)), "{at}");
    }
}

/// Documents of four blocks and some.
pub const COUNT: usize = 4 * ROWS + 50;

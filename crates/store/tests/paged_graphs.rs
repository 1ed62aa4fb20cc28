//! Graphs of vectors that lie on disk: they are those of the same vectors in memory, searches read the vectors that they compare and not the blocks of these, and
//! what cannot be read is told.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stead_ann::{Request, Scratch};
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{DiskIo, Io, SeededRng, SimIo};
use stead_store::{Action, DocumentType, FieldValue, Store, StoreError, View};

use crate::harness::vectors::{ROWS, assign, feed, id, kind_with, open, options, submit, view};
use crate::harness::{Chance, all, graphs, seeds};

/// Two full blocks of 256 rows, and one that grows.
const COUNT: usize = 2 * ROWS + 60;

const SIZE: usize = 128;

/// A vector for each document, and several.
const FIELDS: &str = "field n type int { indexing: attribute }
    field v type tensor<float>(x[128]) { indexing: attribute | index\n attribute: PAGED }
    field m type tensor<int8>(k{},x[8]) {
      indexing: attribute | index
      attribute { PAGED distance-metric: angular }
    }";

/// Room for a column.
const ROOM: usize = 160 << 10;

fn kinds() -> [DocumentType; 2] {
    ["paged", "fast-access"].map(|word| kind_with(&FIELDS.replace("PAGED", word)))
}

/// Numbers near one of some centres.
fn numbers(chance: &Chance, size: usize) -> Vec<f32> {
    let centre = Chance::new(chance.below(20));
    (0..size).map(|_| (centre.below(100) + chance.below(30)) as f32 - 64.0).collect()
}

fn tensor(kind: &str, labels: Labels, cells: Cells<'static>) -> FieldValue {
    FieldValue::Tensor(Value::new(parse_type(kind).unwrap(), labels, cells).unwrap())
}

fn vector(cells: Vec<f32>) -> FieldValue {
    tensor("tensor<float>(x[128])", Labels::default(), Cells::Float(cells.into()))
}

fn vectors(chance: &Chance) -> FieldValue {
    let (mut labels, mut cells) = (Labels::default(), Vec::new());
    for label in 0..chance.below(4) {
        labels.push(&format!("label{label}"));
        cells.extend(numbers(chance, 8).into_iter().map(|x| x as i8));
    }
    tensor("tensor<int8>(k{},x[8])", labels, Cells::Int8(cells.into()))
}

fn fields(chance: &Chance, at: usize) -> Vec<(usize, FieldValue)> {
    let mut fields = vec![(0, FieldValue::Integer(at as i64))];
    if chance.below(10) > 0 {
        fields.push((1, vector(numbers(chance, SIZE))));
    }
    fields.push((2, vectors(chance)));
    fields
}

fn put(chance: &Chance, at: usize) -> Action {
    Action::Put { fields: fields(chance, at), create: false }
}

fn fill(store: &Store, chance: &Chance) {
    (0..COUNT).for_each(|at| feed(store, id(at), put(chance, at)));
}

/// The same files once more.
fn copied(io: &SimIo) -> SimIo {
    let copy = SimIo::new(1);
    for name in io.list().unwrap() {
        copy.set_contents(&name, &io.contents(&name).unwrap());
    }
    copy
}

/// Documents, which of their vectors, and the bits of their distances.
type Found = Vec<(u32, u32, u64)>;

fn nearest(view: &View, attribute: usize, vector: &[f32]) -> Result<Option<Found>, StoreError> {
    let vector: Vec<f64> = vector.iter().map(|x| f64::from(*x)).collect();
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let request = Request { explore: 20, ..Request::new(10) };
    let outcome = view.nearest(attribute, &vector, &request, &mut scratch, &mut hits)?;
    let hits = hits.iter().map(|hit| (hit.document, hit.at, hit.distance.to_bits()));
    Ok(outcome.map(|_| hits.collect()))
}

/// What is found of some vectors, and the links of both graphs.
fn found(view: &View) -> (Vec<Found>, [Vec<u8>; 2]) {
    let chance = Chance::new(77);
    let found = (0..40).map(|at| {
        let (attribute, size) = if at % 2 == 0 { (1, SIZE) } else { (2, 8) };
        nearest(view, attribute, &numbers(&chance, size)).unwrap().unwrap()
    });
    let links = |attribute: usize| {
        let mut links = Vec::new();
        view.graph(attribute).unwrap().write_to(&mut links).unwrap();
        links
    };
    (found.collect(), [links(1), links(2)])
}

#[test]
fn they_are_those_of_the_same_vectors_in_memory() {
    let [paged, plain] = kinds();
    seeds("paged_graphs::", 2, |seed| {
        let (io, chance) = (SimIo::new(seed), Chance::new(seed));
        fill(&open(&io, &paged, ROOM), &chance);
        let ios = [io.clone(), copied(&io)];
        let both = || [open(&ios[0], &paged, ROOM), open(&ios[1], &plain, ROOM)];
        let mut stores = both();
        let check = |stores: &[Store; 2], label: &str| {
            let [on_disk, in_memory] = [0, 1].map(|at| view(&stores[at]));
            assert!(found(&on_disk) == found(&in_memory), "{label}");
            assert!(on_disk.memory() < in_memory.memory(), "{label}");
        };
        check(&stores, "opened");
        for round in 0..3 {
            for _ in 0..60 {
                let at = chance.below(COUNT as u64 + 30) as usize;
                let action = match chance.below(6) {
                    0 | 1 => put(&chance, at),
                    2 => Action::Remove,
                    3 => assign(0, FieldValue::Integer(7)),
                    4 => assign(1, vector(numbers(&chance, SIZE))),
                    _ => assign(2, vectors(&chance)),
                };
                let done = [0, 1].map(|of| submit(&stores[of], id(at), action.clone()));
                assert_eq!(done[0], done[1]);
            }
            check(&stores, "changed");
            match round {
                0 => stores.iter().for_each(|store| store.snapshot().unwrap()),
                1 => {
                    drop(stores);
                    stores = both();
                }
                _ => continue,
            }
            check(&stores, "written");
        }
        graphs::check(&view(&stores[0]));
        let documents = stores.each_ref().map(|store| all(&view(store)));
        assert_eq!(documents[0], documents[1]);
        assert!(stores[0].page_stats().vectors > 100 && stores[1].page_stats().reads == 0);
    });
}

#[test]
fn searches_read_single_vectors() {
    let [paged, _] = kinds();
    let (io, chance) = (SimIo::new(3), Chance::new(3));
    let store = open(&io, &paged, 0);
    fill(&store, &chance);
    assert_eq!(view(&store).len(), COUNT);
    store.snapshot().unwrap();
    let before = found(&view(&store));
    assert_eq!(store.page_stats().reads, 0, "a snapshot has seen what it wrote");
    assert!(store.page_stats().vectors > 1000, "{:?}", store.page_stats());
    drop(store);
    // Each column is read once: of one field for sketches when it is opened, of the other by who looks at it first.
    let store = open(&io, &paged, 0);
    let opened = store.page_stats().reads;
    // Two threads may begin with the same.
    assert!((3..=6).contains(&opened), "{opened}");
    let seen = view(&store);
    assert!(found(&seen) == before);
    assert_eq!(store.page_stats().reads, opened + 3);
    // Somebody who wants the values of a few documents.
    let values = seen.attribute("v").unwrap();
    let documents = (0..2 * ROWS as u32).step_by(50);
    let has = |lid: &u32| seen.fields(*lid).unwrap().iter().any(|(field, _)| *field == 1);
    let documents: Vec<u32> = documents.filter(has).collect();
    let reads = store.page_stats();
    let mut cursor = values.cursor_over(documents.iter().copied());
    for lid in &documents {
        let whole = values.column(*lid as usize / ROWS).unwrap().unwrap();
        let row = *lid as usize % ROWS;
        for (column, at) in [
            cursor.at(*lid).unwrap().map(|(column, at)| (column.clone(), at)).unwrap(),
            values.alone(*lid).unwrap().map(|(column, at)| ((*column).clone(), at)).unwrap(),
        ] {
            let (stead_store::Column::Tensors(alone), stead_store::Column::Tensors(whole)) =
                (&column, &*whole)
            else {
                panic!()
            };
            assert_eq!((alone.value(at), at), (whole.value(row), 0), "{lid}");
            assert_eq!(alone.stamp(at), whole.stamp(row), "{lid}");
        }
    }
    let count = documents.len() as u64;
    let after = store.page_stats();
    assert_eq!((after.reads - reads.reads, after.vectors - reads.vectors), (count, 2 * count));
    // Of many of each block all are read.
    let mut cursor = values.cursor_over(0..2 * ROWS as u32);
    (0..2 * ROWS as u32).for_each(|lid| assert!(cursor.at(lid).unwrap().is_some()));
    assert_eq!(store.page_stats().reads, after.reads + 2);
}

/// Whether the setting is added or removed, nothing is linked again.
#[test]
fn attributes_may_become_paged_and_cease_to_be() {
    let [paged, plain] = kinds();
    let (io, chance) = (SimIo::new(4), Chance::new(4));
    fill(&open(&io, &plain, ROOM), &chance);
    let before = found(&view(&open(&io, &plain, ROOM)));
    for kind in [&paged, &plain, &paged] {
        let store = open(&io, kind, ROOM);
        assert_eq!(store.recovery().records, 0);
        assert!(found(&view(&store)) == before);
        let is_read = store.page_stats().reads > 0;
        assert_eq!(is_read, kind.attributes()[1].is_paged);
    }
}

/// Changes a bit wherever files have some bytes; how often that was.
fn damage(io: &SimIo, what: &[u8]) -> usize {
    let mut places = 0;
    for name in io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack")) {
        let mut bytes = io.contents(&name).unwrap();
        let found = bytes.windows(what.len()).enumerate().filter(|(_, part)| *part == what);
        let found: Vec<usize> = found.map(|(at, _)| at).collect();
        found.iter().for_each(|at| bytes[at + what.len() - 1] ^= 1);
        places += found.len();
        io.set_contents(&name, &bytes);
    }
    places
}

/// The numbers of a vector that is like no other.
fn peculiar() -> Vec<f32> {
    (0..SIZE).map(|x| 500.0 + x as f32).collect()
}

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Who looks for it is told that it is damaged, and others are found.
fn is_told(store: &Store, label: &str) {
    let error = nearest(&view(store), 1, &peculiar()).unwrap_err();
    let StoreError::Column { document, field, .. } = &error else { panic!("{label}: {error}") };
    assert_eq!((document.as_str(), field.as_str()), ("shop", "v"), "{label}");
    assert!(error.to_string().ends_with("the checksum differs"), "{label}: {error}");
    let others = numbers(&Chance::new(6), 8);
    assert_eq!(nearest(&view(store), 2, &others).unwrap().unwrap().len(), 10, "{label}");
}

#[test]
fn a_vector_that_is_damaged_while_the_store_is_open_is_told() {
    let [paged, _] = kinds();
    let (folder, chance) = (tempfile::tempdir().unwrap(), Chance::new(6));
    let io = Arc::new(DiskIo::new(folder.path()).unwrap());
    let rng = Arc::new(SeededRng::new(1));
    let store = Store::open(io, rng, vec![paged], options(0)).unwrap();
    fill(&store, &chance);
    submit(&store, id(9), assign(1, vector(peculiar()))).unwrap();
    store.snapshot().unwrap();
    let found = nearest(&view(&store), 1, &peculiar()).unwrap().unwrap();
    assert_eq!((store.page_stats().reads, found[0].2), (0, 0.0_f64.to_bits()));
    let (what, mut places) = (bytes_of(&peculiar()), 0);
    for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|of| of == "pack") {
            let mut bytes = std::fs::read(&file).unwrap();
            if let Some(at) = bytes.windows(what.len()).position(|part| part == what) {
                bytes[at + 7] ^= 1;
                places += 1;
                std::fs::write(&file, &bytes).unwrap();
            }
        }
    }
    assert_eq!(places, 1);
    is_told(&store, "damaged since");
    // A writer who comes to it goes on.
    let put = Action::Put { fields: vec![(1, vector(peculiar()))], create: false };
    submit(&store, id(COUNT), put).unwrap();
    is_told(&store, "with another that is near");
    submit(&store, id(COUNT), Action::Remove).unwrap();
    // It is no longer wanted once another is in its place.
    submit(&store, id(9), assign(1, vector(peculiar()))).unwrap();
    let found = nearest(&view(&store), 1, &peculiar()).unwrap().unwrap();
    assert_eq!((found[0].0, found[0].2), (9, 0.0_f64.to_bits()));
}

#[test]
fn what_cannot_be_read_is_told() {
    let [paged, _] = kinds();
    let (io, chance) = (SimIo::new(5), Chance::new(5));
    let store = open(&io, &paged, 0);
    fill(&store, &chance);
    submit(&store, id(9), assign(1, vector(peculiar()))).unwrap();
    store.snapshot().unwrap();
    let is_whole = |store: &Store, label: &str| {
        let found = nearest(&view(store), 1, &peculiar()).unwrap().unwrap();
        assert_eq!(found[0].2, 0.0_f64.to_bits(), "{label}");
    };
    is_whole(&store, "as it was written");
    let bytes = bytes_of(&peculiar());
    assert_eq!(damage(&io, &bytes), 1);
    drop(store);
    let store = open(&io, &paged, 0);
    assert_eq!(store.damaged(), []);
    is_told(&store, "damaged before");
    drop(store);
    // Without links the graph is made again, of which it would be missing: then there is none.
    assert!(damage(&io, b"steadann") >= 2);
    let store = open(&io, &paged, 0);
    assert!(view(&store).graph(1).is_none() && view(&store).graph(2).is_some());
    assert_eq!(nearest(&view(&store), 1, &peculiar()), Ok(None));
    submit(&store, id(3), assign(1, vector(numbers(&chance, SIZE)))).unwrap();
    assert!(view(&store).graph(1).is_none());
    store.snapshot().unwrap();
    drop(store);
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(damage(&io, &damaged) >= 1);
    let store = open(&io, &paged, 0);
    is_whole(&store, "mended");
    graphs::check(&view(&store));
}

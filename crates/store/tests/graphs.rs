//! Graphs of vectors in snapshots: they are read as they were written, and made again where they cannot be.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stead_ann::{Request, Scratch};
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{Io, SeededRng, SimIo};
use stead_store::{
    Action, Collection, DocumentType, FieldValue, Operation, Store, StoreOptions, View, verify,
};

use crate::harness::{Chance, all, graphs, kind, kind_of, seeds};

fn open(io: &SimIo, kind: &DocumentType) -> Store {
    let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    Store::open(io, rng, vec![kind.clone()], StoreOptions::default()).unwrap()
}

fn feed(store: &Store, chance: &Chance, count: u64) {
    for _ in 0..count {
        let document = format!("id:n:shop::{}", chance.below(150));
        let action = match chance.below(4) {
            0 => Action::Remove,
            _ => Action::Put { fields: chance.fields(&kind()), create: false },
        };
        let operation = Operation { operation: 0, document, condition: None, action };
        store.submit_wait("shop", operation).unwrap();
    }
}

fn view(store: &Store) -> View {
    store.reader("shop").unwrap().view()
}

/// The links of all graphs.
fn links(view: &View) -> Vec<Vec<u8>> {
    let graphs = (0..view.kind().attributes().len()).filter_map(|at| view.graph(at));
    let links = graphs.map(|graph| {
        let mut links = Vec::new();
        graph.write_to(&mut links).unwrap();
        links
    });
    links.collect()
}

#[test]
fn what_a_snapshot_has_is_not_linked_again() {
    seeds("graphs::", 3, |seed| {
        let (io, chance) = (SimIo::new(seed), Chance::new(seed));
        let store = open(&io, &kind());
        feed(&store, &chance, 400);
        store.snapshot().unwrap();
        let (before, documents) = (links(&view(&store)), all(&view(&store)));
        assert_eq!(before.len(), 2);
        drop(store);
        let store = open(&io, &kind());
        assert_eq!(all(&view(&store)), documents);
        // Whoever links the vectors in the order of the numbers links them otherwise than they came.
        assert!(links(&view(&store)) == before);
        // What the log has is put into the graphs of the snapshot.
        feed(&store, &chance, 50);
        let (before, documents) = (links(&view(&store)).len(), all(&view(&store)));
        drop(store);
        let store = open(&io, &kind());
        assert_eq!((links(&view(&store)).len(), all(&view(&store))), (before, documents));
    });
}

#[test]
fn links_that_are_damaged_are_made_again() {
    let (io, chance) = (SimIo::new(5), Chance::new(5));
    let store = open(&io, &kind());
    feed(&store, &chance, 300);
    store.snapshot().unwrap();
    let (before, documents) = (links(&view(&store)), all(&view(&store)));
    drop(store);
    let packs: Vec<String> =
        io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack")).collect();
    let mut damaged = 0;
    for name in packs {
        let mut bytes = io.contents(&name).unwrap();
        for at in 0..bytes.len().saturating_sub(100) {
            if bytes[at..].starts_with(b"steadann") {
                bytes[at + 60] ^= 4;
                damaged += 1;
            }
        }
        io.set_contents(&name, &bytes);
    }
    assert_eq!(damaged, 2);
    let problems = verify(&io, &mut |_| {}).unwrap();
    assert!(problems.problems().count() >= 2);
    let store = open(&io, &kind());
    assert_eq!(store.damaged(), []);
    assert_eq!(all(&view(&store)), documents);
    assert!(links(&view(&store)) != before);
    // The next snapshot has them.
    feed(&store, &chance, 20);
    store.snapshot().unwrap();
    let (before, documents) = (links(&view(&store)), all(&view(&store)));
    drop(store);
    let store = open(&io, &kind());
    assert_eq!(all(&view(&store)), documents);
    assert!(links(&view(&store)) == before);
}

/// Cells of a vector: 256 of them fill the column of a block.
const SIZE: usize = 128;

/// The vector of a document after so many changes.
fn cells(lid: u32, changes: u32) -> Vec<f32> {
    let mut x = (lid * 31 + changes * 7919).wrapping_mul(2_654_435_761).wrapping_add(12345);
    let next = |_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 8) as f32 / (1 << 24) as f32
    };
    (0..SIZE).map(next).collect()
}

/// The document that is nearest to a vector, and how far it is.
fn nearest(view: &View, vector: &[f32]) -> (u32, f64) {
    let vector: Vec<f64> = vector.iter().map(|x| f64::from(*x)).collect();
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let request = Request { explore: 100, ..Request::new(1) };
    view.nearest(0, &vector, &request, &mut scratch, &mut hits).unwrap().unwrap();
    (hits[0].document, hits[0].distance)
}

/// Blocks that are full, one of them with documents without a vector, and one that grows; views before and after changes.
#[test]
fn searches_see_the_vectors_of_their_view_wherever_these_lie() {
    let kind = kind_of(&format!(
        "schema shop {{ document shop {{ field v type tensor<float>(x[{SIZE}]) {{ indexing: attribute | index\n attribute {{ distance-metric: euclidean }} }} }} }}"
    ));
    let mut collection = Collection::new(kind);
    let put = |collection: &mut Collection, lid: u32, changes: Option<u32>| {
        let value = changes.map(|changes| {
            let kind = parse_type(&format!("tensor<float>(x[{SIZE}])")).unwrap();
            let cells = Cells::Float(cells(lid, changes).into());
            (0, FieldValue::Tensor(Value::new(kind, Labels::default(), cells).unwrap()))
        });
        let fields: Vec<_> = value.into_iter().collect();
        assert_eq!(collection.put(&format!("id:n:shop::{lid}"), &fields).unwrap(), lid);
    };
    let has = |lid: u32| !(300..310).contains(&lid);
    for lid in 0..1100 {
        put(&mut collection, lid, has(lid).then_some(0));
    }
    collection.publish();
    let before = collection.view();
    let samples = || (0..1100).step_by(37).filter(|lid| has(*lid));
    for lid in samples() {
        assert_eq!(nearest(&before, &cells(lid, 0)), (lid, 0.0), "document {lid}");
    }
    // The first block has other vectors, and two of the third have none any more.
    for lid in (0..256).chain([512, 767]) {
        put(&mut collection, lid, (lid < 256).then_some(1));
    }
    collection.publish();
    let after = collection.view();
    for lid in samples() {
        let changes = u32::from(lid < 256);
        assert_eq!(nearest(&after, &cells(lid, changes)), (lid, 0.0), "document {lid}, changed");
        assert_eq!(nearest(&before, &cells(lid, 0)), (lid, 0.0), "document {lid}, as it was");
    }
    assert_ne!(nearest(&after, &cells(512, 0)).0, 512);
    graphs::check(&before);
    graphs::check(&after);
}

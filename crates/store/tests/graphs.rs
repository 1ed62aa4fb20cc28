//! Graphs of vectors in snapshots: they are read as they were written, and made again where they cannot be.
#![allow(clippy::unwrap_used)]

mod harness;

use std::sync::Arc;

use harness::{Chance, all, kind, seeds};
use stead_log::{Io, SeededRng, SimIo};
use stead_store::{Action, DocumentType, Operation, Store, StoreOptions, View, verify};

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
    seeds("graphs", 3, |seed| {
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

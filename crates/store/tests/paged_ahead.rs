//! Columns on disk are asked for before they are read: which, when, and that nobody asks for what is not wanted.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use stead_log::{Io, SeededRng, SimIo};
use stead_store::{AttributeView, Store, View};

use crate::harness::vectors::{
    FIELDS, ROWS, assign, fields, id, kind_with, options, put, submit, vector, view,
};
use crate::harness::watched::{Read, WatchedIo};

/// Full blocks, whose vectors are columns of 130 KiB: at most 16 of them are asked for at a time.
const BLOCKS: usize = 40;
const AHEAD: usize = 16;

struct Disk {
    store: Store,
    told: Arc<Mutex<Vec<Read>>>,
}

impl Disk {
    /// Documents whose vectors lie on disk.
    fn new() -> Disk {
        let io = SimIo::new(1);
        let store = Disk::open(&io).store;
        (0..BLOCKS * ROWS).for_each(|at| put(&store, at));
        view(&store);
        drop(store);
        Disk::open(&io)
    }

    fn open(io: &SimIo) -> Disk {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let reads = Arc::new(move |read| tell.lock().unwrap().push(read));
        let io: Arc<dyn Io> =
            Arc::new(WatchedIo { io: io.clone(), reads, writes: Arc::new(|| {}) });
        let (rng, kind) = (Arc::new(SeededRng::new(1)), kind_with(FIELDS));
        let store = Store::open(io, rng, vec![kind], options(64 << 20)).unwrap();
        Disk { store, told }
    }

    /// What the disk is told by somebody who works with the vectors.
    fn told(&self, act: impl FnOnce(&View, AttributeView<'_>)) -> Vec<Read> {
        let view = view(&self.store);
        self.told.lock().unwrap().clear();
        act(&view, view.attribute("v").unwrap());
        self.told.lock().unwrap().clone()
    }
}

/// How many columns were read, and how many of them were asked for before; none was asked for twice or in vain, and no more than so many at a
/// time.
fn counts(told: &[Read]) -> (usize, usize) {
    let (mut soon, mut asked, mut read) = (HashSet::new(), 0, 0);
    for event in told {
        match event {
            Read::Soon(at) => {
                assert!(soon.insert(at), "{at:?} twice");
                asked += 1;
            }
            Read::Now(at) => {
                soon.remove(at);
                read += 1;
            }
        }
        assert!(soon.len() <= AHEAD + 1, "{}", soon.len());
    }
    assert!(soon.is_empty(), "in vain: {soon:?}");
    (read, asked)
}

#[test]
fn who_goes_through_all_blocks_asks_for_those_behind() {
    type Pass = fn(&View, AttributeView<'_>);
    let passes: [(&str, Pass); 4] = [
        ("a cursor", |view, vectors| {
            let mut vectors = vectors.cursor();
            view.lids().for_each(|lid| assert!(vectors.at(lid).unwrap().is_some()));
        }),
        ("each value alone", |view, vectors| {
            view.lids().for_each(|lid| assert!(vectors.at(lid).unwrap().is_some()));
        }),
        ("columns", |_, vectors| {
            (0..BLOCKS).for_each(|block| assert!(vectors.column(block).unwrap().is_some()));
        }),
        ("columns that somebody works on", |view, _| {
            let number = view.kind().attribute_number("v").unwrap();
            for block in 0..BLOCKS {
                assert!(view.hold(block).unwrap().get(number).unwrap().is_some());
            }
        }),
    ];
    for (label, pass) in passes {
        let disk = Disk::new();
        // That it is a pass is known at the second block.
        assert_eq!(counts(&disk.told(pass)), (BLOCKS, BLOCKS - 2), "{label}");
        assert_eq!(disk.told(pass), [], "{label}: all are in memory now");
    }
}

#[test]
fn who_knows_the_documents_asks_for_their_columns() {
    let disk = Disk::new();
    // From the last block to the first, three documents of each, in between one of a block that was read.
    let blocks = (0..BLOCKS).rev().step_by(2);
    let documents = blocks.flat_map(|block| [block * ROWS, block * ROWS + 9, ROWS, block * ROWS]);
    let documents: Vec<u32> = documents.map(|lid| lid as u32).collect();
    let over = |_: &View, vectors: AttributeView<'_>| {
        let mut vectors = vectors.cursor_over(documents.iter().copied());
        documents.iter().for_each(|lid| assert!(vectors.at(*lid).unwrap().is_some()));
    };
    let told = disk.told(over);
    assert_eq!(counts(&told), (BLOCKS / 2, BLOCKS / 2 - 1));
    assert!(matches!(told[AHEAD], Read::Now(_)), "the first is not waited for: {told:?}");
    assert_eq!(disk.told(over), [], "all are in memory now");
}

#[test]
fn who_jumps_asks_for_nothing() {
    let disk = Disk::new();
    let told = disk.told(|_, vectors| {
        for block in (0..BLOCKS).step_by(2).chain([7, 3]) {
            assert!(vectors.at((block * ROWS) as u32).unwrap().is_some());
        }
    });
    // Block 7 stands behind 6 and might begin a pass; 8 is in memory, and 9 and others are asked for.
    let soon = told.iter().filter(|read| matches!(read, Read::Soon(_))).count();
    assert_eq!((told.len() - soon, soon <= 2 * AHEAD), (BLOCKS / 2 + 2, true), "{told:?}");
    let (first, _) = told.split_at(BLOCKS / 2);
    assert!(first.iter().all(|read| matches!(read, Read::Now(_))), "{first:?}");
}

#[test]
fn columns_that_have_changed_are_asked_for_too() {
    let disk = Disk::new();
    for block in [1, 5, 6, 30] {
        submit(&disk.store, id(block * ROWS + 3), assign(1, vector(7))).unwrap();
    }
    let told = disk.told(|view, vectors| {
        let mut vectors = vectors.cursor();
        view.lids().for_each(|lid| assert!(vectors.at(lid).unwrap().is_some()));
    });
    assert_eq!(counts(&told), (BLOCKS, BLOCKS - 2));
    let view = view(&disk.store);
    assert_eq!(view.fields(view.find(&id(5 * ROWS + 3)).unwrap()).unwrap()[1], (1, vector(7)));
    assert_eq!(view.fields(view.find(&id(9)).unwrap()), Some(fields(9)));
}

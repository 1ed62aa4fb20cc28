//! Columns that lie on disk: what is in memory of them and when, what readers see meanwhile, and what becomes of them where the disk
//! does not give back what was written.
#![allow(clippy::unwrap_used)]

use stead_log::{SeededRng, SimIo};
use stead_store::{Action, Column, FieldValue, Outcome, Store, View};

use crate::harness::vectors::{
    COUNT, FIELDS, PAGE, ROWS, assign, assign_any, check, feed, fields, id, kind_with, open,
    options, put, submit, vector, view,
};
use crate::harness::{Chance, Model, all, kind, seeds};

#[test]
fn columns_leave_memory_once_a_snapshot_has_them() {
    let (io, kind) = (SimIo::new(1), kind_with(FIELDS));
    let store = open(&io, &kind, 2 * PAGE);
    (0..COUNT).for_each(|at| put(&store, at));
    let (before, all_of_it) = (view(&store), view(&store).memory());
    assert_eq!(store.page_stats(), Default::default());
    store.snapshot().unwrap();
    let resident = view(&store).memory();
    // Four blocks are full; the last is not.
    assert!(all_of_it > resident + 4 * ROWS * 512, "{all_of_it} {resident}");
    check(&view(&store), COUNT);
    check(&before, COUNT);
    let stats = store.page_stats();
    assert!(stats.reads >= 8 && stats.hits > 1000, "{stats:?}");
    assert!(stats.cached_bytes > 0 && stats.cached_bytes <= 2 * PAGE, "{stats:?}");
    drop((before, store));
    // Nothing of them is read when the store is opened.
    let store = open(&io, &kind, 2 * PAGE);
    assert_eq!((store.recovery().records, store.page_stats()), (0, Default::default()));
    assert!(view(&store).memory() < resident - 50 * 512, "the last block too");
    check(&view(&store), COUNT);
    // The same without any room: a page is read for each value, and none stays.
    drop(store);
    let store = open(&io, &kind, 0);
    let view = view(&store);
    let lid = view.find(&id(300)).unwrap();
    assert_eq!(view.fields(lid), Some(fields(300)));
    assert_eq!(view.fields(lid), Some(fields(300)));
    let stats = store.page_stats();
    assert_eq!((stats.reads, stats.hits, stats.cached_bytes, stats.bytes), (4, 0, 0, 0));
}

#[test]
fn whoever_walks_through_all_blocks_holds_one_at_a_time() {
    let (io, kind) = (SimIo::new(2), kind_with(FIELDS));
    let store = open(&io, &kind, PAGE);
    (0..COUNT).for_each(|at| put(&store, at));
    drop(store);
    let store = open(&io, &kind, PAGE);
    let view = view(&store);
    let mut vectors = view.attribute("v").unwrap().cursor();
    for _ in 0..2 {
        for lid in view.lids() {
            let (column, row) = vectors.at(lid).unwrap().unwrap();
            let Column::Tensors(tensors) = column else { panic!() };
            let FieldValue::Tensor(expected) = vector(lid as usize) else { panic!() };
            assert_eq!(tensors.value(row), Some(expected), "{lid}");
        }
    }
    let stats = store.page_stats();
    assert_eq!(stats.reads, 10, "five blocks twice, as there is room for one");
    assert!(stats.peak_bytes <= 2 * PAGE, "{stats:?}");
    // Numbers of values are known without them, and the same whenever they are read.
    let number = |lid: u32| view.attribute("v").unwrap().stamp(lid).unwrap();
    let told: Vec<Option<u64>> = view.lids().map(number).collect();
    assert_eq!(store.page_stats().reads, 10);
    for lid in view.lids().step_by(100) {
        let (column, row) = vectors.at(lid).unwrap().unwrap();
        let Column::Tensors(tensors) = column else { panic!() };
        assert!(tensors.stamp(row).is_some());
        assert_eq!(tensors.stamp(row), told[lid as usize]);
    }
}

#[test]
fn what_is_changed_is_in_memory_until_the_next_snapshot() {
    let (io, kind) = (SimIo::new(3), kind_with(FIELDS));
    let store = open(&io, &kind, 2 * PAGE);
    (0..2 * ROWS).for_each(|at| put(&store, at));
    assert_eq!(view(&store).len(), 2 * ROWS);
    store.snapshot().unwrap();
    let (before, resident) = (view(&store), view(&store).memory());
    assert_eq!(submit(&store, id(3), assign(1, vector(7000))), Ok(Outcome::Applied));
    assert_eq!(submit(&store, id(5), assign(0, FieldValue::Integer(-5))), Ok(Outcome::Applied));
    let changed = view(&store);
    let grown = changed.memory() - resident;
    assert!((512..4096).contains(&grown), "one vector and two bodies: {grown}");
    assert_eq!(store.page_stats().reads, 0, "nobody has looked at what was there");
    let expected = vec![fields(3)[0].clone(), (1, vector(7000)), fields(3)[2].clone()];
    let check_changed = |view: &View| {
        assert_eq!(view.fields(view.find(&id(3)).unwrap()).as_ref(), Some(&expected));
        assert_eq!(view.fields(view.find(&id(4)).unwrap()), Some(fields(4)));
        let five = view.fields(view.find(&id(5)).unwrap()).unwrap();
        assert_eq!(five[..2], [(0, FieldValue::Integer(-5)), (1, vector(5))]);
    };
    check_changed(&changed);
    check(&before, 2 * ROWS);
    store.snapshot().unwrap();
    assert!(view(&store).memory() < resident + 512);
    [view(&store), changed].iter().for_each(check_changed);
    check(&before, 2 * ROWS);
    assert_eq!(submit(&store, id(2), Action::Remove), Ok(Outcome::Applied));
    assert_eq!(view(&store).find(&id(2)), None);
    check(&before, 2 * ROWS);
    check_changed(&view(&store));
}

#[test]
fn without_files_everything_stays_in_memory() {
    let options = options(2 * PAGE);
    let rng = SeededRng::new(1);
    let store = Store::in_memory(&rng, vec![kind_with(FIELDS)], options).unwrap();
    (0..COUNT).for_each(|at| put(&store, at));
    check(&view(&store), COUNT);
    assert!(view(&store).memory() > COUNT * 512);
    assert_eq!(store.page_stats(), Default::default());
}

/// A schema says `paged` or no longer does: the pieces are the same.
#[test]
fn attributes_may_become_paged_and_cease_to_be() {
    let (io, plain) = (SimIo::new(4), kind_with(&FIELDS.replace("paged", "fast-access")));
    let paged = kind_with(FIELDS);
    let store = open(&io, &plain, 2 * PAGE);
    (0..COUNT).for_each(|at| put(&store, at));
    drop(store);
    let mut memory = Vec::new();
    for (at, kind) in [&plain, &paged, &plain, &paged].into_iter().enumerate() {
        let store = open(&io, kind, 2 * PAGE);
        memory.push(view(&store).memory());
        check(&view(&store), COUNT);
        assert_eq!(store.page_stats().reads > 0, at % 2 == 1);
        let written = store.snapshot_stats().written_bytes;
        assert_eq!(
            submit(&store, id(at), assign(0, FieldValue::Integer(at as i64))),
            Ok(Outcome::Applied)
        );
        store.snapshot().unwrap();
        let written = store.snapshot_stats().written_bytes - written;
        assert!(written < 64 << 10, "vectors are not written again: {written}");
    }
    assert!(
        memory[0] > memory[1] + COUNT * 512 && memory[2] > memory[3] + COUNT * 512,
        "{memory:?}"
    );
    // A field that is new is filled from the documents, and those that are gone are not missed.
    let other = FIELDS.replace("field n type int { indexing: attribute }", "")
        + "field m type int { indexing: attribute\n attribute: paged }";
    let store = open(&io, &kind_with(&other), 2 * PAGE);
    let view = view(&store);
    let values = view.fields(view.find(&id(9)).unwrap()).unwrap();
    assert_eq!(values, [(0, fields(9)[1].1.clone()), (1, fields(9)[2].1.clone())]);
}

/// Views stay what they are, whatever is written, whichever columns leave memory, and whichever files are removed since.
#[test]
fn views_stay_as_they_were() {
    seeds("paged::views_stay", 2, |seed| {
        let (io, chance, mut model) = (SimIo::new(seed), Chance::new(seed), Model::new());
        let kind = kind();
        // Room for the vectors of a block, which push the others out.
        let page_bytes = 180 << 10;
        let mut views: Vec<(View, Model)> = Vec::new();
        let (mut read, mut reused) = (0, 0);
        for _ in 0..2 {
            let store = open(&io, &kind, page_bytes);
            for _ in 0..4 {
                let count = if model.is_empty() { 600 } else { 100 };
                for _ in 0..count {
                    let document = format!("id:n:shop::{}", chance.below(700));
                    let known = model.get_mut(&document);
                    let action = match (chance.below(8), known) {
                        (0, _) => {
                            model.remove(&document);
                            Action::Remove
                        }
                        (1..4, Some(known)) => assign_any(&chance, &kind, known),
                        _ => {
                            let fields = chance.fields(&kind);
                            model.insert(document.clone(), fields.clone());
                            Action::Put { fields, create: false }
                        }
                    };
                    feed(&store, document, action);
                }
                assert_eq!(view(&store).len(), model.len());
                if chance.below(4) > 0 {
                    store.snapshot().unwrap();
                }
                assert_eq!(all(&view(&store)), model);
                views.push((view(&store), model.clone()));
                let (old, expected) = &views[chance.below(views.len() as u64) as usize];
                assert_eq!(all(old), *expected);
                assert!(store.page_stats().cached_bytes <= page_bytes);
            }
            read += store.page_stats().reads;
            reused += store.page_stats().hits;
        }
        views.iter().for_each(|(view, model)| assert_eq!(all(view), *model));
        assert!(read > 30 && reused > 1000, "{read} {reused}");
    });
}

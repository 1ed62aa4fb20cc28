//! Documents on disk that can no longer be read: who needs them is told, and writes go on.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::BTreeSet;

use stead_expr::Cells;
use stead_log::{Io, SimIo};
use stead_store::{
    Action, CellChange, Change, Edit, FieldValue, Operator, Outcome, Store, StoreError,
};

use crate::harness;
use crate::harness::vectors::{
    COUNT, FIELDS, PAGE, ROWS, assign, assign_any, fields, id, kind_with, open, put, submit,
    vector, view,
};
use crate::harness::{Chance, Model, all, kind, seeds};

/// The bytes of a vector in the packs of a folder are not what they were, or are again.
fn damage(io: &SimIo, at: usize) {
    let FieldValue::Tensor(value) = vector(at) else { panic!() };
    let Cells::Float(cells) = value.cells() else { panic!() };
    // The bit that changes is not among these.
    let wanted: Vec<u8> = cells[..100].iter().flat_map(|cell| cell.to_le_bytes()).collect();
    let packs = io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack"));
    let mut found = 0;
    for name in packs {
        let mut bytes = io.contents(&name).unwrap();
        if let Some(place) = bytes.windows(wanted.len()).position(|part| part == wanted) {
            bytes[place + 477] ^= 4;
            io.set_contents(&name, &bytes);
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn a_damaged_column_is_an_error_that_names_its_field() {
    let (io, kind) = (SimIo::new(5), kind_with(FIELDS));
    let store = open(&io, &kind, 2 * PAGE);
    (0..COUNT).for_each(|at| put(&store, at));
    drop(store);
    damage(&io, ROWS + 7);
    let store = open(&io, &kind, 2 * PAGE);
    assert_eq!(store.damaged(), [], "nobody has looked at it yet");
    let view = view(&store);
    let is_told = |error: &StoreError, what: &str| {
        let text = error.to_string();
        let begin = "document type shop: field v: ";
        assert!(
            text.starts_with(begin) && text.ends_with("the checksum differs"),
            "{what}: {text}"
        );
        assert!(error.is_damage() && !text.contains('/'), "{what}: {text}");
    };
    for at in [0, ROWS, ROWS + 7, 2 * ROWS] {
        let (lid, is_damaged) = (view.find(&id(at)).unwrap(), at / ROWS == 1);
        match view.read(lid, |_| true) {
            Ok(found) => assert_eq!((found, is_damaged), (Some(fields(at)), false)),
            Err(error) => is_told(&error, "read"),
        }
        assert_eq!(view.fields(lid).is_some(), !is_damaged);
        // Other fields are not concerned.
        let others = view.read(lid, |field| field != 1).unwrap().unwrap();
        assert_eq!(others, [fields(at)[0].clone(), fields(at)[2].clone()]);
        let values = view.attribute("v").unwrap();
        for found in [values.at(lid).map(drop), values.cursor().at(lid).map(drop)] {
            assert_eq!(found.is_err(), is_damaged);
            found.err().iter().for_each(|error| is_told(error, "attribute"));
        }
        assert_eq!(values.column(at / ROWS).is_err(), is_damaged);
        assert_eq!(view.hold(at / ROWS).unwrap().get(1).is_err(), is_damaged);
        assert!(view.attribute("tags").unwrap().at(lid).unwrap().is_some());
    }
    // Who must know what was there is told of it; who need not know puts what he has beside it.
    let tensor = |edit: Edit| {
        let change = Change { field: 1, path: Vec::new(), edit };
        Action::Update { changes: vec![change], create: false }
    };
    let cell = CellChange { labels: Vec::new(), at: 3, numbers: vec![1.0] };
    let (operator, create, cells) = (Some(Operator::Add), false, vec![cell]);
    let add = tensor(Edit::Cells { operator, create, cells });
    is_told(&submit(&store, id(ROWS + 9), add).unwrap_err(), "update");
    for (at, action) in [
        (9, assign(1, vector(1))),
        (10, Action::Put { fields: fields(1), create: false }),
        (11, Action::Remove),
        (12, assign(0, FieldValue::Integer(1))),
    ] {
        assert_eq!(submit(&store, id(ROWS + at), action), Ok(Outcome::Applied), "{at}");
    }
    put(&store, COUNT);
    let others = |at: usize| vec![fields(at)[0].clone(), fields(at)[2].clone()];
    let check = |store: &Store, what: &str| {
        let now = self::view(store);
        let find = |at: usize| now.find(&id(ROWS + at)).unwrap();
        let changed =
            vec![others(ROWS + 9)[0].clone(), (1, vector(1)), others(ROWS + 9)[1].clone()];
        assert_eq!(now.read(find(9), |_| true), Ok(Some(changed)), "{what}");
        assert_eq!(now.read(find(10), |_| true), Ok(Some(fields(1))), "{what}");
        assert_eq!(now.find(&id(ROWS + 11)), None, "{what}");
        let first = now.read(find(12), |field| field == 0);
        assert_eq!(first, Ok(Some(vec![(0, FieldValue::Integer(1))])), "{what}");
        assert_eq!(now.read(find(8), |field| field != 1), Ok(Some(others(ROWS + 8))), "{what}");
        for at in [8, 12] {
            is_told(&now.read(find(at), |_| true).unwrap_err(), what);
        }
        assert_eq!(now.len(), COUNT, "{what}");
    };
    check(&store, "at once");
    // The piece stays where it is, and the next snapshot has what has changed of it; so have those that follow.
    for round in 0..3 {
        store.snapshot().unwrap();
        check(&store, "behind a snapshot");
        let n = FieldValue::Integer(round);
        assert_eq!(submit(&store, id(3), assign(0, n)), Ok(Outcome::Applied));
    }
    drop(store);
    let store = open(&io, &kind, 2 * PAGE);
    assert_eq!((store.recovery().records, store.damaged()), (0, &[][..]));
    check(&store, "opened again");
    // When it can be read again, everything is there: also without the setting, which takes all of it to memory.
    drop(store);
    let plain = kind_with(&FIELDS.replace("paged", "fast-access"));
    damage(&io, ROWS + 7);
    let store = open(&io, &plain, 2 * PAGE);
    assert_eq!((store.recovery().records, store.damaged()), (0, &[][..]));
    let now = self::view(&store);
    let changed =
        vec![fields(ROWS + 8)[0].clone(), (1, vector(ROWS + 8)), fields(ROWS + 8)[2].clone()];
    assert_eq!(now.fields(now.find(&id(ROWS + 8)).unwrap()), Some(changed));
    assert_eq!(now.fields(now.find(&id(ROWS + 10)).unwrap()), Some(fields(1)));
    // What was put together is written as one.
    drop(now);
    assert_eq!(submit(&store, id(3), assign(0, FieldValue::Integer(3))), Ok(Outcome::Applied));
    drop(store);
    let store = open(&io, &plain, 2 * PAGE);
    let now = self::view(&store);
    assert_eq!(now.fields(now.find(&id(ROWS + 10)).unwrap()), Some(fields(1)));
}

/// Changes a bit of a file, or changes it back; whether it is still there.
fn flip(io: &SimIo, (name, bit): &(String, usize)) -> bool {
    let Some(mut bytes) = io.contents(name) else { return false };
    bytes[bit / 8] ^= 1 << (bit % 8);
    io.set_contents(name, &bytes);
    true
}

/// Whatever bit of bodies and columns on disk is another: what is written since is there, in all snapshots that follow too, and of the rest
/// what is damaged is told. When it can be read again everything is there.
#[test]
fn what_is_written_beside_what_is_damaged_is_there() {
    let (told, written_beside) = (Cell::new(0), Cell::new(0));
    seeds("damaged::what_is_written", 6, |seed| {
        let (io, chance, mut model) = (SimIo::new(seed), Chance::new(seed), Model::new());
        let kind = kind();
        let document = || format!("id:n:shop::{}", chance.below(300));
        let open = || open(&io, &kind, 200 << 10);
        let store = open();
        for _ in 0..600 {
            let (id, fields) = (document(), chance.fields(&kind));
            model.insert(id.clone(), fields.clone());
            harness::vectors::feed(&store, id, Action::Put { fields, create: false });
        }
        drop(store);
        let mut packs = io.list().unwrap();
        packs.retain(|name| name.ends_with(".pack"));
        packs.sort();
        // The bodies lie behind all columns.
        let pack = match seed % 2 {
            0 => packs.last().unwrap().clone(),
            _ => packs[chance.below(packs.len() as u64) as usize].clone(),
        };
        let bits = io.contents(&pack).unwrap().len() as u64 * 8;
        let bit = (pack, chance.below(bits) as usize);
        assert!(flip(&io, &bit));
        let mut store = open();
        let mut put: BTreeSet<String> = BTreeSet::new();
        for round in 0..4 {
            for _ in 0..50 {
                let id = document();
                let action = match (chance.below(6), model.get_mut(&id)) {
                    (0, _) => {
                        model.remove(&id);
                        Action::Remove
                    }
                    (1 | 2, Some(known)) => assign_any(&chance, &kind, known),
                    _ => {
                        let fields = chance.fields(&kind);
                        model.insert(id.clone(), fields.clone());
                        put.insert(id.clone());
                        Action::Put { fields, create: false }
                    }
                };
                assert!(submit(&store, id, action).is_ok());
            }
            let view = view(&store);
            assert_eq!(view.len(), model.len());
            let mut damaged = 0;
            for (id, expected) in &model {
                match view.read(view.find(id).unwrap(), |_| true) {
                    Ok(found) => assert_eq!(found.as_ref(), Some(expected), "{id}"),
                    Err(error) => {
                        assert!(error.is_damage() && !put.contains(id), "{id}: {error}");
                        damaged += 1;
                    }
                }
            }
            told.set(told.get() + damaged);
            written_beside.set(written_beside.get() + usize::from(damaged > 0 && !put.is_empty()));
            assert_eq!(store.snapshot(), Ok(()));
            if round % 2 == 1 {
                drop(view);
                drop(store);
                store = open();
                assert_eq!(store.recovery().records, 0);
            }
        }
        drop(store);
        if flip(&io, &bit) {
            store = open();
            assert_eq!(all(&self::view(&store)), model);
        }
    });
    assert!(told.get() > 100 && written_beside.get() > 4, "{told:?} {written_beside:?}");
}

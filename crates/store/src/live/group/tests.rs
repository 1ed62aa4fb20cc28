//! Groups on disk that change, beside the same in memory.

use std::sync::Arc;

use stead_log::{Io, SimIo};

use super::{Changes, GROUP, Group};
use crate::body;
use crate::columns::Pieces;
use crate::packs::{Blob, Pack, PackWriter};
use crate::value::FieldValue;

fn body(field: usize, number: i64) -> Vec<u8> {
    body::encode(&[(field, FieldValue::Integer(number))], |_| false)
}

fn pieces(bodies: &[Vec<u8>]) -> Pieces {
    let mut pieces = Pieces::default();
    bodies.iter().for_each(|body| pieces.push(body));
    pieces
}

fn list(group: &Group) -> Vec<Vec<u8>> {
    let bodies = group.bodies().unwrap();
    (0..bodies.len()).map(|at| bodies.get(at).unwrap().to_vec()).collect()
}

/// A group on disk, and the same in memory.
fn twins(io: &SimIo, count: usize) -> (Group, Group) {
    let bodies: Vec<Vec<u8>> = (0..count).map(|at| body(1, at as i64)).collect();
    let mut writer = PackWriter::new(io, 1, 1 << 20);
    let (_, place) = writer.add(&Group::pack(&pieces(&bodies))).unwrap();
    let pack = Arc::clone(&writer.finish().unwrap()[0].0);
    (Group::Disk(Blob { pack, place }), Group::Memory(pieces(&bodies)))
}

enum Write {
    Set(usize, Vec<u8>),
    Change(usize, i64),
}
use Write::{Change, Set};

#[test]
fn what_has_changed_is_in_memory_and_the_rest_on_disk() {
    let all = |from: i64| (0..GROUP).map(|at| Set(at, body(2, from + at as i64))).collect();
    // How many rows there are, what is written, and the rows whose bodies are known without the disk.
    let cases: [(&str, usize, Vec<Write>, Vec<usize>); 9] = [
        ("nothing", 16, vec![], vec![]),
        ("replaced", 16, vec![Set(3, body(2, 9))], vec![3]),
        ("removed", 16, vec![Set(0, vec![])], vec![0]),
        ("removed and put", 16, vec![Set(15, vec![]), Set(15, body(3, 1))], vec![15]),
        ("changed", 16, vec![Change(7, 4)], vec![]),
        ("changed twice", 16, vec![Change(7, 4), Change(7, 5)], vec![]),
        ("put and changed", 16, vec![Set(7, body(2, 1)), Change(7, 5), Set(2, vec![])], vec![2, 7]),
        ("added", 5, vec![Set(5, body(2, 1)), Set(6, body(2, 2))], vec![5, 6]),
        ("all", 16, all(100), (0..GROUP).collect()),
    ];
    for (label, count, writes, known) in cases {
        let io = SimIo::new(1);
        let (mut disk, mut memory) = twins(&io, count);
        let before = disk.memory();
        for write in &writes {
            for group in [&mut disk, &mut memory] {
                match write {
                    Set(at, body) => group.set(*at, body),
                    Change(at, number) => {
                        let changes = [(4, Some(FieldValue::Integer(*number))), (1, None)];
                        group.change(*at, &body::change(&changes, |_| false)).unwrap();
                    }
                }
            }
        }
        assert_eq!(list(&disk), list(&memory), "{label}");
        assert_eq!(disk.memory() > before, !writes.is_empty(), "{label}: memory is counted");
        assert_eq!(matches!(disk, Group::Memory(_)), known.len() == GROUP, "{label}");
        for (at, expected) in list(&memory).iter().enumerate() {
            assert_eq!(&*disk.body(at).unwrap(), expected, "{label}: {at}");
            let at_hand = disk.at_hand(at, |_| None);
            assert_eq!(at_hand.is_some(), known.contains(&at), "{label}: {at}");
        }
        // As a piece of its own.
        if let Group::Changed(blob, changes) = &disk {
            let mut piece = Vec::new();
            changes.write(&mut piece);
            let read = Group::Changed(blob.clone(), Box::new(Changes::read(&piece).unwrap()));
            assert_eq!(list(&read), list(&memory), "{label}");
            for cut in 0..piece.len() {
                assert!(Changes::read(&piece[..cut]).is_none(), "{label}: cut to {cut}");
            }
        }
        // What does not need the disk is there when it cannot be read.
        let name = io.list().unwrap().remove(0);
        let mut bytes = io.contents(&name).unwrap();
        bytes[40] ^= 1;
        io.set_contents(&name, &bytes);
        let damaged = |blob: &Blob| {
            let pack = Pack::open(&io, 1, bytes.len() as u64).unwrap();
            Blob { pack, place: blob.place }
        };
        let disk = match disk {
            Group::Memory(_) => disk,
            Group::Disk(blob) => Group::Disk(damaged(&blob)),
            Group::Changed(blob, changes) => Group::Changed(damaged(&blob), changes),
        };
        assert_eq!(disk.bodies().is_err(), known.len() < GROUP, "{label}");
        for (at, expected) in list(&memory).iter().enumerate() {
            match disk.body(at) {
                Ok(found) => assert_eq!(&*found, expected, "{label}: {at}"),
                Err(error) => assert!(error.is_damage() && !known.contains(&at), "{label}: {at}"),
            }
        }
    }
}

#[test]
fn a_snapshot_takes_over_what_it_has() {
    let (io, other) = (SimIo::new(1), SimIo::new(2));
    let (first, mut memory) = twins(&io, 16);
    let mut then = first.clone();
    for group in [&mut then, &mut memory] {
        group.set(3, &body(2, 5));
        group.set(4, &[]);
    }
    // The snapshot is of this moment.
    let mut writer = PackWriter::new(&other, 2, 1 << 20);
    let (_, place) = writer.add(&Group::pack(&then.bodies().unwrap())).unwrap();
    let blob = Blob { pack: Arc::clone(&writer.finish().unwrap()[0].0), place };
    let moved = then.moved(&then, &blob).unwrap();
    assert!(matches!(moved, Group::Disk(_)));
    assert_eq!(list(&moved), list(&memory));
    let mut now = then.clone();
    for group in [&mut now, &mut memory] {
        group.set(4, &body(2, 6));
        group.set(9, &[]);
    }
    let moved = now.moved(&then, &blob).unwrap();
    let Group::Changed(_, changes) = &moved else { panic!() };
    assert_eq!(changes.rows, 1 << 4 | 1 << 9, "what the snapshot has is no change");
    assert_eq!(list(&moved), list(&memory));
    // What is in memory as a whole, or was of another place, stays as it is.
    assert!(memory.moved(&then, &blob).is_none() && now.moved(&moved, &blob).is_none());
    assert!(now.moved(&memory, &blob).is_none());
}

//! Values that models have computed of documents alone, kept for the queries that come while there is room.
//!
//! What is kept is found by the model and by the [stamps](stead_store::TensorColumn::stamp) of the cells that it was computed of. A cell that
//! is put anew has another stamp, in whatever row or view it lies, so that nothing kept is ever wrong: it is found no more, and
//! gives way some day. Rows that were computed together stay together, as a piece that never changes; whole pieces give
//! way, those first that nobody has asked for lately.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use foldhash::fast::FixedState;
use stead_tensor::Tensor;

/// The most columns that the kept values of a model depend on.
pub const MAX_COLUMNS: usize = 2;

/// The bytes that an application keeps if nothing is said.
const USUAL_LIMIT: usize = 256 << 20;

/// What a piece takes beside its rows.
const PIECE_BYTES: usize = 256;

/// The stamps of the cells of a document that kept values depend on; 0 behind the last column.
pub type CellStamps = [u64; MAX_COLUMNS];

/// What a row is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) model: u32,
    pub(super) stamps: CellStamps,
}

/// Rows that were computed together.
#[derive(Debug)]
pub(super) struct Piece {
    /// Of each row; none if the rows are not to be kept.
    pub(super) keys: Vec<Key>,
    /// The values of the model, each with an axis of rows first.
    pub(super) values: Vec<Tensor>,
    is_used: AtomicBool,
}

impl Piece {
    pub(super) fn new(keys: Vec<Key>, values: Vec<Tensor>) -> Piece {
        Piece { keys, values, is_used: AtomicBool::new(false) }
    }

    /// The memory that it takes with its part of the table, which is at least half full.
    fn bytes(&self) -> usize {
        let values: usize = self.values.iter().map(Tensor::held_bytes).sum();
        let places = 2 * size_of::<(Key, Place)>() + size_of::<Key>();
        PIECE_BYTES + values + self.keys.len() * places
    }
}

/// A row of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) piece: u32,
    pub(super) row: u32,
}

/// The values of some documents, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) pieces: Vec<Arc<Piece>>,
    /// By document; nothing if it has to be computed.
    pub(super) rows: Vec<Option<Place>>,
}

/// What the models of an application keep of its documents.
#[derive(Debug)]
pub struct KeptValues {
    table: RwLock<Table>,
    limit: AtomicUsize,
    is_limit_said: AtomicBool,
    models: AtomicU32,
    found: AtomicU64,
    asked: AtomicU64,
}

/// What is kept, and how often that helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptStats {
    /// The bytes that may be kept.
    pub limit: usize,
    /// The bytes that are.
    pub bytes: usize,
    /// For how many documents values were asked, over all models.
    pub asked: u64,
    /// For how many of them they were known.
    pub found: u64,
}

impl KeptStats {
    /// For how many documents values had to be computed.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.asked.saturating_sub(self.found)
    }
}

#[derive(Debug, Default)]
struct Table {
    places: HashMap<Key, Place, FixedState>,
    /// By number; those that gave way leave theirs to others.
    pieces: Vec<Option<Arc<Piece>>>,
    free: Vec<u32>,
    bytes: usize,
    /// The piece that is asked next whether anybody used it.
    hand: usize,
}

impl Default for KeptValues {
    fn default() -> KeptValues {
        KeptValues {
            table: RwLock::default(),
            limit: AtomicUsize::new(USUAL_LIMIT),
            is_limit_said: AtomicBool::new(false),
            models: AtomicU32::new(0),
            found: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        }
    }
}

impl KeptValues {
    /// Keeps at most so many bytes, or more if another profile has said so.
    pub(super) fn allow(&self, bytes: usize) {
        if self.is_limit_said.swap(true, Relaxed) {
            self.limit.fetch_max(bytes, Relaxed);
        } else {
            self.limit.store(bytes, Relaxed);
        }
    }

    /// A number for one more model.
    pub(super) fn model(&self) -> u32 {
        self.models.fetch_add(1, Relaxed)
    }

    /// What is kept now.
    #[must_use]
    pub fn stats(&self) -> KeptStats {
        let (limit, bytes) = (self.limit.load(Relaxed), self.read().bytes);
        let (asked, found) = (self.asked.load(Relaxed), self.found.load(Relaxed));
        KeptStats { limit, bytes, asked, found }
    }

    /// The rows that are known.
    pub(super) fn find(&self, keys: &[Key]) -> Places {
        let mut places = Places { pieces: Vec::new(), rows: Vec::with_capacity(keys.len()) };
        // By the number of a piece, that among those of the places. Most rows lie in the piece of the row before.
        let mut numbers: HashMap<u32, u32, FixedState> = HashMap::default();
        let mut last = None;
        let table = self.read();
        for key in keys {
            let Some(place) = table.places.get(key) else {
                places.rows.push(None);
                continue;
            };
            let number = match last {
                Some((piece, number)) if piece == place.piece => number,
                _ => *numbers.entry(place.piece).or_insert_with(|| {
                    let piece = table.pieces.get(place.piece as usize).and_then(Option::as_ref);
                    places.pieces.extend(piece.cloned());
                    places.pieces.len().saturating_sub(1) as u32
                }),
            };
            last = Some((place.piece, number));
            places.rows.push(Some(Place { piece: number, row: place.row }));
        }
        drop(table);
        places.pieces.iter().for_each(|piece| piece.is_used.store(true, Relaxed));
        let found = places.rows.iter().flatten().count();
        self.found.fetch_add(found as u64, Relaxed);
        self.asked.fetch_add(keys.len() as u64, Relaxed);
        places
    }

    /// Keeps rows that were computed, in the place of others if need be.
    pub(super) fn keep(&self, piece: &Arc<Piece>) {
        let (limit, bytes) = (self.limit.load(Relaxed), piece.bytes());
        if bytes > limit {
            return;
        }
        // What gives way is freed when nobody waits.
        let mut gone = Vec::new();
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if piece.keys.iter().all(|key| table.places.contains_key(key)) {
            return;
        }
        while table.bytes + bytes > limit {
            let Some(oldest) = table.evict() else { break };
            gone.push(oldest);
        }
        table.bytes += bytes;
        let number = table.free.pop().unwrap_or(table.pieces.len() as u32);
        if number as usize == table.pieces.len() {
            table.pieces.push(None);
        }
        if let Some(slot) = table.pieces.get_mut(number as usize) {
            *slot = Some(Arc::clone(piece));
        }
        for (row, key) in piece.keys.iter().enumerate() {
            table.places.entry(*key).or_insert(Place { piece: number, row: row as u32 });
        }
        drop(table);
    }

    // A table is whole whenever the lock is free.
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Takes a piece away that was not used since the last time that it was asked.
    fn evict(&mut self) -> Option<Arc<Piece>> {
        // The first round asks all of them, the second finds one.
        for _ in 0..2 * self.pieces.len() {
            let number = self.hand % self.pieces.len();
            self.hand = number + 1;
            let Some(slot) = self.pieces.get_mut(number) else { continue };
            if slot.as_ref().is_none_or(|piece| piece.is_used.swap(false, Relaxed)) {
                continue;
            }
            let piece = slot.take()?;
            for key in &piece.keys {
                if self.places.get(key).is_some_and(|place| place.piece as usize == number) {
                    self.places.remove(key);
                }
            }
            self.free.push(number as u32);
            self.bytes = self.bytes.saturating_sub(piece.bytes());
            return Some(piece);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stead_tensor::Tensor;

    use super::{KeptValues, Key, Piece, Place};

    fn keys(stamps: &[u64]) -> Vec<Key> {
        stamps.iter().map(|stamp| Key { model: 3, stamps: [*stamp, 0] }).collect()
    }

    /// Rows whose values are their stamps.
    fn piece(stamps: &[u64]) -> Arc<Piece> {
        let values: Vec<f32> = stamps.iter().flat_map(|stamp| vec![*stamp as f32; 64]).collect();
        let values = Tensor::from_slice(&values, &[stamps.len(), 64]).unwrap();
        Arc::new(Piece::new(keys(stamps), vec![values]))
    }

    /// The stamps whose values are known, and right.
    fn known(kept: &KeptValues, stamps: &[u64]) -> Vec<u64> {
        let places = kept.find(&keys(stamps));
        let value = |(stamp, place): (&u64, &Option<Place>)| {
            let Place { piece, row } = (*place)?;
            let values = places.pieces[piece as usize].values[0].as_slice::<f32>().unwrap();
            assert_eq!(values[row as usize * 64..][..64], [*stamp as f32; 64]);
            Some(*stamp)
        };
        stamps.iter().zip(&places.rows).filter_map(value).collect()
    }

    #[test]
    fn rows_are_found_by_their_stamps_alone() {
        let kept = KeptValues::default();
        [&[1, 2, 3][..], &[7], &[3, 4]].iter().for_each(|stamps| kept.keep(&piece(stamps)));
        assert_eq!(known(&kept, &[4, 9, 3, 7, 1, 0]), [4, 3, 7, 1]);
        let other = Key { model: 2, stamps: [1, 0] };
        let second = Key { model: 3, stamps: [1, 2] };
        assert_eq!(kept.find(&[other, second]).rows, [None, None]);
        let stats = kept.stats();
        assert_eq!((stats.asked, stats.found), (8, 4));
    }

    #[test]
    fn what_nobody_asks_for_gives_way() {
        let kept = KeptValues::default();
        kept.allow(4 * piece(&[1]).bytes());
        for stamp in 1..=4 {
            kept.keep(&piece(&[stamp]));
        }
        let full = kept.stats().bytes;
        assert_eq!((full, known(&kept, &[1])), (kept.stats().limit, vec![1]));
        // Nobody asks for the others.
        for stamp in 5..100 {
            kept.keep(&piece(&[stamp]));
            assert_eq!(kept.stats().bytes, full);
            assert_eq!(known(&kept, &[1]), [1], "{stamp}");
        }
        assert_eq!(known(&kept, &[2, 3, 4, 50]), [0; 0]);
        // What is known is not kept twice, and what has no room not at all.
        kept.keep(&piece(&[1]));
        kept.keep(&piece(&(200..300).collect::<Vec<_>>()));
        assert_eq!((kept.stats().bytes, known(&kept, &[1, 99])), (full, vec![1, 99]));
        // The largest limit of those that are said counts.
        kept.allow(0);
        assert_eq!(kept.stats().limit, full);
    }
}

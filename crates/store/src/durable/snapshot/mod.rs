//! Snapshots: the documents as a moment of the log left them, so that opening a store needs no more of the log than what follows.
//!
//! A snapshot is a [table] that names pieces of [packs](crate::packs): for each block of documents a piece for each column, one
//! for the rows with their ids, and one for each group of bodies. A block that has not changed since the snapshot before is not
//! written again, nor is a column of it of which this is true: the new table names the old pieces. Packs of which less than
//! half is still named are written anew, and removed when no table names them. Of a piece that can no longer be read, what has changed since
//! it was written is a piece of its own beside it: writes go on, and what is damaged is told to whoever wants it.
//!
//! The table is a file that appears as a whole, when all of its pieces are durable. Two are kept, and the log from the older one on:
//! when anything of the newer one cannot be read, the older one and the log lead to the same documents.

mod backup;
mod check;
mod convert;
mod keeper;
mod layout;
mod load;
mod pieces;
mod rows;
mod table;
mod texts;
mod write;

pub use check::{CheckedSnapshot, check};
pub use keeper::SnapshotStats;
pub(super) use keeper::{Job, Keeper, Shared};
pub(super) use load::{load, unfinished_copy};
pub(super) use write::{Catalog, Cut, Stored, folder_failed};

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use stead_ann::Graph;
use stead_tensor::Bits;
use stead_text::Segment;

use crate::columns::{Column, Pieces};
use crate::packs::{Blob, Place};

/// Where a piece lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    /// The number of the pack.
    pack: u64,
    place: Place,
}

impl Spot {
    fn of(blob: &Blob) -> Spot {
        Spot { pack: blob.pack.number(), place: blob.place }
    }
}

/// What the last snapshot has of a type: by block. What is remembered of it in memory tells whether a piece is still that.
#[derive(Debug, Default)]
struct Written {
    blocks: Vec<WrittenBlock>,
    /// Graphs of vectors, by the number of the attribute.
    graphs: BTreeMap<usize, (Weak<Graph>, Spot)>,
    texts: WrittenTexts,
}

/// Segments of indexes of texts, and which of their documents are gone, of all indexes of a type.
#[derive(Debug, Default)]
struct WrittenTexts {
    segments: Vec<(Weak<Segment>, Spot)>,
    gone: Vec<(Weak<Bits>, Spot)>,
}

#[derive(Debug, Default, Clone)]
struct WrittenBlock {
    rows: Option<(Weak<Pieces>, Spot)>,
    /// Of columns in memory. Those on disk know their places.
    columns: Vec<Option<(Weak<Column>, Spot)>>,
}

impl WrittenTexts {
    fn segment(&self, now: &Arc<Segment>) -> Option<Spot> {
        self.segments.iter().find_map(|written| unchanged(Some(written), now))
    }

    fn gone(&self, now: &Arc<Bits>) -> Option<Spot> {
        self.gone.iter().find_map(|written| unchanged(Some(written), now))
    }
}

/// The place of a thing, if it is the same as when it was written. A thing that is remembered weakly keeps its address to itself.
fn unchanged<T>(written: Option<&(Weak<T>, Spot)>, now: &Arc<T>) -> Option<Spot> {
    written.filter(|(then, _)| then.as_ptr() == Arc::as_ptr(now)).map(|(_, spot)| *spot)
}

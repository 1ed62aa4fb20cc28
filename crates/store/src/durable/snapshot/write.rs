//! Writing a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stead_log::{Io, LogError, write_manifest};

use super::layout::Layout;
use super::table::{self, BlockTable, Table, TypeTable};
use super::{Spot, Written, WrittenBlock, rows, unchanged};
use crate::durable::store::Outcome;
use crate::error::StoreError;
use crate::live::{Block, Group, Replaced, View};
use crate::packs::{self, Blob, Pack, PackWriter};
use crate::paged::{Paged, Slot};

/// Packs below this are small: many of them are written anew as one.
const SMALL_BYTES: u64 = 8 << 20;

/// The small packs that there may be.
const MAX_SMALL: usize = 8;

/// The documents, and the ids of the operations that are remembered, as the records up to one left them.
#[derive(Debug)]
pub(in crate::durable) struct Cut {
    /// The number of that record.
    pub(in crate::durable) lsn: u64,
    /// By the number of the type.
    pub(in crate::durable) views: Vec<View>,
    /// The oldest first.
    pub(in crate::durable) operations: Vec<(u128, Outcome)>,
}

/// The snapshots of a folder, for their one writer.
pub(in crate::durable) struct Catalog {
    pub(super) next_snapshot: u64,
    pub(super) next_pack: u64,
    /// The newest and, if there is one, the one before.
    pub(super) kept: Vec<Kept>,
    /// What the newest has, by the number of the type.
    pub(super) written: Vec<Written>,
    /// All packs, and how long they are.
    pub(super) packs: BTreeMap<u64, (Arc<Pack>, u64)>,
}

/// A snapshot that is not to be removed.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) number: u64,
    pub(super) lsn: u64,
    pub(super) packs: BTreeSet<u64>,
}

/// What a snapshot has led to.
#[derive(Debug, Default)]
pub(in crate::durable) struct Stored {
    /// By the number of the type: groups of bodies and columns that are on disk now.
    pub(in crate::durable) replaced: Vec<Vec<Replaced>>,
    /// Bytes that were written.
    pub(super) bytes: u64,
}

impl Catalog {
    /// The number of the newest snapshot.
    pub(in crate::durable) fn newest(&self) -> Option<u64> {
        self.kept.first().map(|kept| kept.number)
    }

    /// Writes a snapshot. When this fails, the snapshots before are as they were. `closing` ends it early.
    pub(super) fn write(
        &mut self,
        io: &dyn Io,
        cut: &Cut,
        pack_bytes: u64,
        closing: &AtomicBool,
    ) -> Result<Stored, StoreError> {
        let vacated = self.vacated(cut);
        let first = self.next_pack;
        let mut pieces = Pieces {
            writer: PackWriter::new(io, first, pack_bytes),
            packs: &self.packs,
            vacated,
            buffer: Vec::new(),
            closing,
        };
        let mut operations = Vec::new();
        for (id, outcome) in &cut.operations {
            let outcome = match outcome {
                Outcome::Applied => 0,
                Outcome::Absent => 1,
                Outcome::ConditionFailed => 2,
                // Nothing was done that must not be done again.
                Outcome::Ignored => continue,
            };
            operations.extend_from_slice(&id.to_le_bytes());
            operations.push(outcome);
        }
        let operations = pieces.add(|out| out.extend_from_slice(&operations))?;
        let (mut types, mut written, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        for (number, view) in cut.views.iter().enumerate() {
            let before = self.written.get(number);
            let (table, now, moved) = pieces.documents(view, before)?;
            types.push(table);
            written.push(now);
            moves.push(moved);
        }
        let new = pieces.writer.finish();
        // What is left of packs that were not finished is replaced by the next ones.
        self.next_pack = first + new.as_ref().map_or(1, |packs| packs.len() as u64);
        let new = new?;
        let bytes = new.iter().map(|(_, bytes)| bytes).sum();
        let mut packs = self.packs.clone();
        packs.extend(new.into_iter().map(|(pack, bytes)| (pack.number(), (pack, bytes))));
        let mut table = Table { lsn: cut.lsn, packs: BTreeMap::new(), operations, types };
        let named: BTreeSet<u64> = table.spots().map(|spot| spot.pack).collect();
        let length = |number: &u64| packs.get(number).map(|(_, bytes)| (*number, *bytes));
        table.packs = named.iter().filter_map(length).collect();
        io.sync_dir().map_err(folder_failed)?;
        let number = self.next_snapshot;
        self.next_snapshot += 1;
        write_manifest(io, &table::file_name(number), &table.encode())?;
        // From here on this is the snapshot.
        self.kept.truncate(1);
        self.kept.insert(0, Kept { number, lsn: cut.lsn, packs: named });
        self.written = written;
        let blob = |spot: Spot| {
            let pack = packs.get(&spot.pack)?.0.clone();
            Some(Blob { pack, place: spot.place })
        };
        let on_disk = |view: &View, moved: Vec<Moved>| -> Vec<Replaced> {
            moved.into_iter().filter_map(|moved| moved.replaced(view, blob)).collect()
        };
        let moves = cut.views.iter().zip(moves);
        let replaced = moves.map(|(view, moved)| on_disk(view, moved)).collect();
        self.packs = packs;
        Ok(Stored { replaced, bytes })
    }

    /// The packs whose pieces are written anew: less than half of them is named by what has not changed, or there are many
    /// that are small.
    fn vacated(&self, cut: &Cut) -> BTreeSet<u64> {
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        let mut count =
            |spot: Spot| *live.entry(spot.pack).or_default() += u64::from(spot.place.len);
        for (number, view) in cut.views.iter().enumerate() {
            let before = self.written.get(number);
            for (at, block) in view.blocks().enumerate() {
                let then = before.and_then(|before| before.blocks.get(at));
                unchanged(then.and_then(|then| then.rows.as_ref()), block.ids()).map(&mut count);
                for (at, slot) in block.columns().iter().enumerate() {
                    let Some(slot) = slot else { continue };
                    slot_then(column_then(then, at), slot).map(&mut count);
                }
                for group in block.bodies().groups() {
                    if let Group::Disk(blob) = &**group {
                        count(Spot::of(blob));
                    }
                }
            }
        }
        let named = live.iter().filter_map(|(pack, live)| {
            let (_, bytes) = self.packs.get(pack)?;
            Some((*pack, *live, *bytes))
        });
        let named: Vec<(u64, u64, u64)> = named.collect();
        let is_small = |bytes: u64| bytes < SMALL_BYTES;
        let small = named.iter().filter(|(_, _, bytes)| is_small(*bytes)).count();
        let is_vacated = |(_, live, bytes): &&(u64, u64, u64)| {
            live * 2 < *bytes || small > MAX_SMALL && is_small(*bytes)
        };
        named.iter().filter(is_vacated).map(|(pack, ..)| *pack).collect()
    }

    /// Removes the snapshots and packs that are not kept, and what was not finished. What cannot be removed is tried again after the
    /// next snapshot.
    pub(super) fn tidy(&mut self, io: &dyn Io) -> Result<(), StoreError> {
        let named: BTreeSet<u64> = self.kept.iter().flat_map(|kept| kept.packs.clone()).collect();
        let is_dead = |name: &&String| {
            let of_table = |name: &str| table::number_of(name);
            match (of_table(name), packs::number_of(name)) {
                (Some(number), _) => self.kept.iter().all(|kept| kept.number != number),
                (_, Some(number)) => !named.contains(&number),
                _ => name.strip_suffix(".new").and_then(of_table).is_some(),
            }
        };
        let names = io.list().map_err(folder_failed)?;
        for name in names.iter().filter(is_dead) {
            io.remove(name).map_err(|error| LogError::Io {
                action: "remove",
                what: name.clone(),
                kind: error.kind(),
            })?;
        }
        self.packs.retain(|number, _| named.contains(number));
        Ok(())
    }
}

fn column_then(
    then: Option<&WrittenBlock>,
    at: usize,
) -> Option<&(std::sync::Weak<crate::Column>, Spot)> {
    then?.columns.get(at)?.as_ref()
}

/// Where the column of a slot lies on disk, if it is there as it is.
fn slot_then(then: Option<&(std::sync::Weak<crate::Column>, Spot)>, slot: &Slot) -> Option<Spot> {
    match slot {
        Slot::Memory(column) => unchanged(then, column),
        Slot::Disk(paged) => Some(Spot::of(paged.blob())),
    }
}

pub(in crate::durable) fn folder_failed(error: std::io::Error) -> StoreError {
    let what = "the folder of the documents".to_owned();
    StoreError::Log(LogError::Io { action: "sync", what, kind: error.kind() })
}

/// Writes the pieces that are not there yet.
struct Pieces<'w> {
    writer: PackWriter<'w>,
    packs: &'w BTreeMap<u64, (Arc<Pack>, u64)>,
    vacated: BTreeSet<u64>,
    buffer: Vec<u8>,
    closing: &'w AtomicBool,
}

/// What need not be in memory any more, or has a new place, by the numbers of its block and of it there.
enum Moved {
    Bodies(usize, usize, Arc<Group>, Spot),
    Column(usize, usize, Slot, Spot),
}

impl Moved {
    /// The same once its place is durable.
    fn replaced(self, view: &View, blob: impl Fn(Spot) -> Option<Blob>) -> Option<Replaced> {
        Some(match self {
            Moved::Bodies(block, group, old, spot) => {
                Replaced::Bodies { block, group, old, new: Arc::new(Group::Disk(blob(spot)?)) }
            }
            Moved::Column(block, attribute, old, spot) => {
                let new = match &old {
                    Slot::Memory(_) => {
                        let rows = view.block(block)?.rows();
                        Paged::new(view.pager(attribute)?, blob(spot)?, rows)
                    }
                    Slot::Disk(paged) => paged.moved(blob(spot)?),
                };
                Replaced::Column { block, attribute, old, new: Slot::Disk(Arc::new(new)) }
            }
        })
    }
}

impl Pieces<'_> {
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Spot, StoreError> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(StoreError::Closed);
        }
        self.buffer.clear();
        write(&mut self.buffer);
        let (pack, place) = self.writer.add(&self.buffer)?;
        Ok(Spot { pack, place })
    }

    /// Adds a piece as it lies in another pack, once its checksum is found right.
    fn copied(&mut self, blob: &Blob) -> Result<Spot, StoreError> {
        let piece = blob.bytes()?;
        self.add(|out| out.extend_from_slice(&piece))
    }

    /// Where a piece lies that has not changed, if it may stay there.
    fn stays(&self, spot: Option<Spot>) -> Option<Spot> {
        spot.filter(|s| self.packs.contains_key(&s.pack) && !self.vacated.contains(&s.pack))
    }

    /// The documents of a type, a column after the other: who wants one column finds its pieces together.
    fn documents(
        &mut self,
        view: &View,
        before: Option<&Written>,
    ) -> Result<(TypeTable, Written, Vec<Moved>), StoreError> {
        let blocks: Vec<&Block> = view.blocks().collect();
        let then = |at: usize| before.and_then(|before| before.blocks.get(at));
        let (mut tables, mut written) = (Vec::new(), Vec::new());
        for (at, block) in blocks.iter().enumerate() {
            let known = unchanged(then(at).and_then(|then| then.rows.as_ref()), block.ids());
            let ids = match self.stays(known) {
                Some(spot) => spot,
                None => self.add(|out| rows::write(block, out))?,
            };
            let columns = Vec::with_capacity(block.columns().len());
            tables.push(BlockTable { rows: block.rows(), ids, columns, bodies: Vec::new() });
            let rows = Some((Arc::downgrade(block.ids()), ids));
            written.push(WrittenBlock { rows, columns: Vec::new() });
        }
        let mut moved = Vec::new();
        for attribute in 0..view.kind().attributes().len() {
            for (at, block) in blocks.iter().enumerate() {
                let Some(slot) = block.columns().get(attribute).and_then(Option::as_ref) else {
                    tables[at].columns.push(None);
                    written[at].columns.push(None);
                    continue;
                };
                let known = slot_then(column_then(then(at), attribute), slot);
                let (stays, weak) = (self.stays(known), slot.weak());
                let spot = match (stays, slot) {
                    (Some(spot), _) => spot,
                    (None, Slot::Memory(column)) => self.add(|out| column.write(out))?,
                    (None, Slot::Disk(paged)) => self.copied(paged.blob())?,
                };
                // New documents come to a block that is not full, which therefore stays in memory.
                let leaves = weak.is_some() && block.rows() == view.block_rows();
                let has_moved = weak.is_none() && stays.is_none();
                if view.pager(attribute).is_some() && (leaves || has_moved) {
                    moved.push(Moved::Column(at, attribute, slot.clone(), spot));
                }
                tables[at].columns.push(Some(spot));
                written[at].columns.push(weak.map(|weak| (weak, spot)));
            }
        }
        for (at, block) in blocks.iter().enumerate() {
            for (number, group) in block.bodies().groups().iter().enumerate() {
                let known = match &**group {
                    Group::Memory(_) => None,
                    Group::Disk(blob) => Some(Spot::of(blob)),
                };
                let spot = match (self.stays(known), &**group) {
                    (Some(spot), _) => spot,
                    (None, kind) => {
                        let spot = match kind {
                            Group::Memory(bodies) => {
                                let piece = Group::pack(bodies);
                                self.add(|out| out.extend_from_slice(&piece))?
                            }
                            Group::Disk(blob) => self.copied(blob)?,
                        };
                        moved.push(Moved::Bodies(at, number, group.clone(), spot));
                        spot
                    }
                };
                tables[at].bodies.push(spot);
            }
        }
        let (layout, shift) = (Layout::of(view.kind()), view.block_rows().trailing_zeros() as u8);
        let table = TypeTable { layout, shift, blocks: tables };
        Ok((table, Written { blocks: written }, moved))
    }
}

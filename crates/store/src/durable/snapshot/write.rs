//! Writing a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stead_log::{Io, LogError, write_manifest};
use stead_text::FieldIndex;

use super::pieces::{Moved, Pieces, column_then, group_then, slot_then};
use super::table::{self, Table};
use super::{Spot, Written, unchanged};
use crate::durable::store::Outcome;
use crate::error::StoreError;
use crate::live::{Replaced, View};
use crate::packs::{self, Blob, Pack, PackWriter};

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
        let writer = PackWriter::new(io, first, pack_bytes);
        let mut pieces = Pieces::new(writer, &self.packs, vacated, closing);
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
            for (attribute, known) in before.iter().flat_map(|before| &before.graphs) {
                let now = view.graph(*attribute);
                now.and_then(|graph| unchanged(Some(known), graph)).map(&mut count);
            }
            for (segment, gone) in view.texts().flat_map(FieldIndex::parts) {
                let written = before.map(|before| &before.texts);
                written.and_then(|written| written.segment(segment)).map(&mut count);
                written.and_then(|written| written.gone(gone)).map(&mut count);
            }
            for (at, block) in view.blocks().enumerate() {
                let then = before.and_then(|before| before.blocks.get(at));
                unchanged(then.and_then(|then| then.rows.as_ref()), block.ids()).map(&mut count);
                for (at, slot) in block.columns().iter().enumerate() {
                    let Some(slot) = slot else { continue };
                    slot_then(column_then(then, at), slot).map(&mut count);
                }
                for group in block.bodies().groups() {
                    group_then(group).map(&mut count);
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

pub(in crate::durable) fn folder_failed(error: std::io::Error) -> StoreError {
    let what = "the folder of the documents".to_owned();
    StoreError::Log(LogError::Io { action: "sync", what, kind: error.kind() })
}

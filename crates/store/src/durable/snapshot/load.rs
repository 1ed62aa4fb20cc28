//! Reading a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stead_ann::Graph;
use stead_log::{Io, LogError, read_manifest};

use super::convert::{Conversion, OldBlock};
use super::table::{self, BlockTable, Table, TypeTable};
use super::write::{Catalog, Kept, folder_failed};
use super::{Spot, Written, WrittenBlock, rows, texts};
use crate::columns::Column;
use crate::durable::store::Outcome;
use crate::error::StoreError;
use crate::kind::{AttributeColumn, DocumentType};
use crate::live::{Block, Bodies, Changes, Collection, Group};
use crate::packs::{self, Blob, Pack, damage};
use crate::paged::{Changed, PageCache, Paged, Pager, Rows, Slot, pagers};
use crate::parallel::in_parallel;

/// The documents of the newest snapshot that can be read.
pub(in crate::durable) struct Loaded {
    /// In the order of the types that were asked for.
    pub(in crate::durable) collections: Vec<Collection>,
    /// The number of the last record that they have; 0 without a snapshot.
    pub(in crate::durable) lsn: u64,
    /// The ids of operations that are remembered, the oldest first.
    pub(in crate::durable) operations: Vec<(u128, Outcome)>,
    /// What is wrong with snapshots that are newer.
    pub(in crate::durable) damaged: Vec<StoreError>,
    /// Whether there is any segment of a log.
    pub(in crate::durable) has_log: bool,
    pub(in crate::durable) catalog: Catalog,
}

/// The packs of a snapshot, open.
pub(super) type Packs = BTreeMap<u64, (Arc<Pack>, u64)>;

/// Loads the documents of some types from the newest snapshot with a number below a bound. A snapshot that is damaged is left out; who opens the log finds whether it reaches back
/// far enough. Columns that may lie on disk are not read: `pages` is for those who want them.
///
/// # Errors
/// What the folder answers.
pub(in crate::durable) fn load(
    io: &dyn Io,
    kinds: &[DocumentType],
    pages: &Arc<PageCache>,
    below: u64,
) -> Result<Loaded, StoreError> {
    let names = io.list().map_err(folder_failed)?;
    let mut snapshots: Vec<u64> = names.iter().filter_map(|n| table::number_of(n)).collect();
    snapshots.sort_unstable_by(|a, b| b.cmp(a));
    let has_log = names.iter().any(|name| name.ends_with(".log"));
    let last_pack = names.iter().filter_map(|name| packs::number_of(name)).max();
    let mut catalog = Catalog {
        next_snapshot: snapshots.first().map_or(1, |last| last + 1),
        next_pack: last_pack.map_or(1, |last| last + 1),
        kept: Vec::new(),
        written: Vec::new(),
        packs: BTreeMap::new(),
    };
    let (mut damaged, mut found) = (Vec::from_iter(unfinished_copy(&names)), None);
    for number in snapshots.into_iter().filter(|number| *number < below) {
        let read = read_table(io, number);
        if found.is_some() {
            // The one before stays, as far as can be told without reading all of it.
            if let Ok(table) = read {
                catalog.kept.push(Kept::of(number, &table));
                break;
            }
            continue;
        }
        let documents = read.and_then(|table| {
            let packs = open(io, &table)?;
            let read = documents(&table, &packs, kinds, pages)?;
            let operations = operations(&table, &packs)?;
            Ok((table, packs, read, operations))
        });
        match documents {
            Ok((table, packs, read, operations)) => {
                catalog.kept.push(Kept::of(number, &table));
                catalog.packs = packs;
                found = Some((table.lsn, read, operations));
            }
            Err(error) => damaged.push(error),
        }
    }
    let Some((lsn, read, operations)) = found else {
        let empty =
            |kind: &DocumentType| Collection::new(kind.clone()).with_pagers(pagers(kind, pages));
        let collections = kinds.iter().map(empty).collect();
        return Ok(Loaded {
            collections,
            lsn: 0,
            operations: Vec::new(),
            damaged,
            has_log,
            catalog,
        });
    };
    let (collections, written) = read.into_iter().unzip();
    catalog.written = written;
    Ok(Loaded { collections, lsn, operations, damaged, has_log, catalog })
}

/// What is wrong with a folder that has packs and nothing that names them, no log either: a store has a log before it has packs, so
/// that this is a backup that broke off.
pub(in crate::durable) fn unfinished_copy(names: &[String]) -> Option<StoreError> {
    let is_named = |name: &String| table::number_of(name).is_some() || name.ends_with(".log");
    if names.iter().any(is_named) {
        return None;
    }
    let pack = names.iter().find(|name| packs::number_of(name).is_some())?;
    Some(damage(
        pack,
        0,
        "there is no snapshot that has it, and no log: the backup was not finished",
    ))
}

impl Kept {
    fn of(number: u64, table: &Table) -> Kept {
        let packs: BTreeSet<u64> = table.packs.keys().copied().collect();
        Kept { number, lsn: table.lsn, packs }
    }
}

/// The table of a snapshot.
///
/// # Errors
/// [`StoreError::Damaged`], and what the disk answers.
pub(super) fn read_table(io: &dyn Io, number: u64) -> Result<Table, StoreError> {
    let name = table::file_name(number);
    let bytes = read_manifest(io, &name, table::MAX_BYTES).map_err(|error| match error {
        LogError::Manifest { name, reason } => damage(&name, 0, reason),
        other => StoreError::Log(other),
    })?;
    let bytes = bytes.ok_or_else(|| damage(&name, 0, "it is missing"))?;
    Table::decode(&bytes).map_err(|error| damage(&name, 0, error.to_string()))
}

pub(super) fn open(io: &dyn Io, table: &Table) -> Result<Packs, StoreError> {
    let open =
        |(number, bytes): (&u64, &u64)| Ok((*number, (Pack::open(io, *number, *bytes)?, *bytes)));
    table.packs.iter().map(open).collect()
}

pub(super) fn pack(packs: &Packs, spot: Spot) -> Result<&Arc<Pack>, StoreError> {
    // A table names no packs but its own.
    packs.get(&spot.pack).map(|(pack, _)| pack).ok_or(StoreError::Closed)
}

fn operations(table: &Table, packs: &Packs) -> Result<Vec<(u128, Outcome)>, StoreError> {
    let blob = Blob { pack: pack(packs, table.operations)?.clone(), place: table.operations.place };
    let bytes = blob.bytes()?;
    let (entries, rest) = bytes.as_chunks::<17>();
    let entry = |entry: &[u8; 17]| {
        let (id, outcome) = entry.split_first_chunk::<16>()?;
        let outcome = match outcome {
            [0] => Outcome::Applied,
            [1] => Outcome::Absent,
            [2] => Outcome::ConditionFailed,
            _ => return None,
        };
        Some((u128::from_le_bytes(*id), outcome))
    };
    let entries = entries.iter().map(entry).collect::<Option<_>>().filter(|_| rest.is_empty());
    entries.ok_or_else(|| blob.damage("they are no ids of operations"))
}

/// The documents of each type.
fn documents(
    table: &Table,
    packs: &Packs,
    kinds: &[DocumentType],
    pages: &Arc<PageCache>,
) -> Result<Vec<(Collection, Written)>, StoreError> {
    let one = |kind: &DocumentType| {
        let pagers = pagers(kind, pages);
        let (collection, written) =
            match table.types.iter().find(|of| of.layout.name == kind.name()) {
                Some(of) => collection(of, packs, kind, &pagers)?,
                None => (Collection::new(kind.clone()), Written::default()),
            };
        Ok((collection.with_pagers(pagers), written))
    };
    kinds.iter().map(one).collect()
}

/// A block with what else is told of it: the hashes of the ids with the rows, and what is written of it.
type Read = (Block, Vec<(u32, u32)>, WrittenBlock);

fn collection(
    of: &TypeTable,
    packs: &Packs,
    kind: &DocumentType,
    pagers: &[Option<Arc<Pager>>],
) -> Result<(Collection, Written), StoreError> {
    let conversion = Conversion::new(&of.layout, kind);
    if conversion.is_some() && 1 << of.shift != Block::rows_of(kind) {
        return moved(of, packs, kind, conversion.as_ref());
    }
    let old_pagers = conversion.as_ref().map(|conversion| conversion.old_pagers(pagers));
    let pagers = old_pagers.as_deref().unwrap_or(pagers);
    let read = |(number, block): &(usize, &BlockTable)| -> Result<Read, StoreError> {
        let (old, hashes) = read_block(of, (*number, block), packs, pagers)?;
        let (block, written) = match &conversion {
            None => old.block(),
            Some(conversion) => conversion.block(old, kind)?,
        };
        Ok((block, hashes, written))
    };
    let blocks: Vec<_> = of.blocks.iter().enumerate().collect();
    let found = in_parallel(&blocks, read)?;
    let shift = u32::from(of.shift);
    let (mut blocks, mut pairs, mut written) = (Vec::new(), Vec::new(), Written::default());
    for (number, (block, hashes, now)) in found.into_iter().enumerate() {
        let first = (number << shift) as u32;
        pairs.extend(hashes.into_iter().map(|(hash, row)| (hash, first + row)));
        blocks.push(block);
        written.blocks.push(now);
    }
    let bound = (of.blocks.len() << shift) as u32;
    let mut collection = Collection::from_blocks(kind.clone(), shift, blocks, &pairs);
    let (texts, known) = texts::load(of, packs, &collection.view());
    written.texts = texts;
    collection.index_texts(known)?;
    let found = graphs(of, packs, kind, bound);
    let spots: Vec<(usize, Spot)> = found.iter().map(|(at, spot, _)| (*at, *spot)).collect();
    collection.link_vectors(found.into_iter().map(|(at, _, graph)| (at, graph)).collect());
    let view = collection.view();
    for (attribute, spot) in spots {
        let graph = view.graph(attribute).map(|graph| (Arc::downgrade(graph), spot));
        written.graphs.extend(graph.map(|graph| (attribute, graph)));
    }
    Ok((collection, written))
}

/// The graphs of the vectors of attributes, by their numbers, of documents with numbers below a bound. Those that cannot be read, or were made
/// otherwise, are missing: they are made again of the vectors, of which they say nothing but how they are linked.
fn graphs(
    of: &TypeTable,
    packs: &Packs,
    kind: &DocumentType,
    bound: u32,
) -> Vec<(usize, Spot, Graph)> {
    let read = |(column, spot): (&usize, &Spot)| {
        let then = of.layout.attributes.get(*column)?;
        // The attribute that has the same vectors.
        let is_it = |about: &AttributeColumn| {
            kind.field_name(about.field) == Some(then.field.as_str())
                && about.path == then.path
                && about.kind == then.kind
                && about.graph.is_some()
        };
        let attribute = kind.attributes().iter().position(is_it)?;
        let options = kind.attributes().get(attribute)?.graph?;
        let blob = Blob { pack: pack(packs, *spot).ok()?.clone(), place: spot.place };
        let graph = Graph::read(&blob.bytes().ok()?, options, bound).ok()?;
        Some((attribute, *spot, graph))
    };
    of.graphs.iter().filter_map(read).collect()
}

/// Documents whose blocks get another size.
fn moved(
    of: &TypeTable,
    packs: &Packs,
    kind: &DocumentType,
    conversion: Option<&Conversion>,
) -> Result<(Collection, Written), StoreError> {
    let mut collection = Collection::new(kind.clone());
    for (number, block) in of.blocks.iter().enumerate() {
        let (old, _) = read_block(of, (number, block), packs, &[])?;
        let Some(conversion) = conversion else { continue };
        for row in old.alive.iter() {
            let Some(id) = old.ids.get(row).and_then(|id| std::str::from_utf8(id).ok()) else {
                continue;
            };
            collection.put(id, &conversion.fields(&old, row, kind)?)?;
        }
    }
    collection.settle();
    collection.publish();
    Ok((collection, Written::default()))
}

/// A block by its number as it was written, and the hashes of the ids with the rows. `pagers` has by the number of the column who reads it
/// later.
fn read_block(
    of: &TypeTable,
    (number, block): (usize, &BlockTable),
    packs: &Packs,
    pagers: &[Option<Arc<Pager>>],
) -> Result<(OldBlock, Vec<(u32, u32)>), StoreError> {
    let blob = |spot: Spot| {
        Ok::<Blob, StoreError>(Blob { pack: pack(packs, spot)?.clone(), place: spot.place })
    };
    let ids = blob(block.ids)?;
    let no_ids = || ids.damage("it is no piece of ids");
    let (alive, ids, hashes) = rows::read(block.rows, &ids.bytes()?).ok_or_else(no_ids)?;
    let no_changes = |blob: &Blob| blob.damage("it is not what has changed of a piece");
    let mut columns = Vec::with_capacity(block.columns.len());
    for (at, (attribute, spot)) in of.layout.attributes.iter().zip(&block.columns).enumerate() {
        let Some(spot) = spot else {
            columns.push(None);
            continue;
        };
        let (piece, kind, (rows, changed)) =
            (blob(*spot)?, &attribute.kind, of.column_rows(number, at));
        let changed = changed.map(blob).transpose()?.map(|blob| {
            let read = Rows::read(kind, (rows, block.rows), &blob.bytes()?);
            read.ok_or_else(|| no_changes(&blob))
        });
        let changed = changed.transpose()?;
        if let Some(Some(pager)) = pagers.get(at) {
            let paged = Arc::new(Paged::new(pager, piece, rows));
            let slot = match changed {
                Some(changed) => Slot::Changed(Arc::new(Changed::new(&paged, changed))),
                None => Slot::Disk(paged),
            };
            columns.push(Some((slot, Some(*spot))));
            continue;
        }
        let (len, fill) =
            (piece.place.len as usize, |out: &mut [u8]| piece.pack.read(piece.place, out));
        let column = Column::read(kind, rows, len, fill)?;
        let mut column = column.ok_or_else(|| piece.damage("it is no such column"))?;
        changed.iter().for_each(|changed| changed.put_into(&mut column, kind));
        if block.rows == 1 << of.shift {
            column.shrink();
        }
        // What has changed lies elsewhere.
        let spot = changed.is_none().then_some(*spot);
        columns.push(Some((Slot::Memory(Arc::new(column)), spot)));
    }
    let group = |(at, spot): (usize, &Spot)| {
        let Some(changed) = of.bodies_changed(number, at) else {
            return Ok(Arc::new(Group::Disk(blob(*spot)?)));
        };
        let changed = blob(changed)?;
        let read = Changes::read(&changed.bytes()?).ok_or_else(|| no_changes(&changed))?;
        Ok(Arc::new(Group::Changed(blob(*spot)?, Box::new(read))))
    };
    let groups = block.bodies.iter().enumerate().map(group);
    let groups = groups.collect::<Result<_, StoreError>>()?;
    let (bodies, ids_spot) = (Bodies::new(groups), block.ids);
    Ok((OldBlock { rows: block.rows, alive, ids, ids_spot, columns, bodies }, hashes))
}

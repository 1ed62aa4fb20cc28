//! The pieces of a snapshot: those that stay where they are, and those that are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use stead_ann::Graph;

use super::layout::Layout;
use super::table::{BlockTable, ChangedPiece, Part, TypeTable};
use super::{Spot, Written, WrittenBlock, rows, unchanged};
use crate::columns::{Column, Pieces as Bytes};
use crate::error::StoreError;
use crate::live::{Block, Group, Replaced, View};
use crate::packs::{Blob, Pack, PackWriter};
use crate::paged::{Paged, Slot};

/// The largest graph in memory whose links are written: these take no more bytes.
const MAX_GRAPH_BYTES: usize = u32::MAX as usize;

/// What was remembered of a column.
pub(super) fn column_then(then: Option<&WrittenBlock>, at: usize) -> Option<&(Weak<Column>, Spot)> {
    then?.columns.get(at)?.as_ref()
}

/// Where the column of a slot lies on disk, if it is there as it is.
pub(super) fn slot_then(then: Option<&(Weak<Column>, Spot)>, slot: &Slot) -> Option<Spot> {
    match slot {
        Slot::Memory(column) => unchanged(then, column),
        Slot::Disk(paged) => Some(Spot::of(paged.blob())),
        Slot::Changed(_) => None,
    }
}

/// Where a group of bodies lies on disk, if it is there as it is.
pub(super) fn group_then(group: &Group) -> Option<Spot> {
    match group {
        Group::Disk(blob) => Some(Spot::of(blob)),
        Group::Memory(_) | Group::Changed(..) => None,
    }
}

/// Writes the pieces that are not there yet.
pub(super) struct Pieces<'w> {
    pub(super) writer: PackWriter<'w>,
    packs: &'w BTreeMap<u64, (Arc<Pack>, u64)>,
    vacated: BTreeSet<u64>,
    buffer: Vec<u8>,
    closing: &'w AtomicBool,
}

/// What need not be in memory any more, or has a new place, by the numbers of its block and of it there.
pub(super) enum Moved {
    Bodies(usize, usize, Arc<Group>, Spot),
    Column(usize, usize, Slot, Spot),
    /// A column that is to be in memory as a whole.
    Joined(usize, usize, Slot, Arc<Column>),
}

impl Moved {
    /// The same once its place is durable.
    pub(super) fn replaced(
        self,
        view: &View,
        blob: impl Fn(Spot) -> Option<Blob>,
    ) -> Option<Replaced> {
        Some(match self {
            Moved::Bodies(block, group, old, spot) => {
                Replaced::Bodies { block, group, old, new: Arc::new(Group::Disk(blob(spot)?)) }
            }
            Moved::Column(block, attribute, old, spot) => {
                let new = match &old {
                    Slot::Memory(_) | Slot::Changed(_) => {
                        let rows = view.block(block)?.rows();
                        let paged = Paged::new(view.pager(attribute)?, blob(spot)?, rows);
                        if let Slot::Memory(column) = &old {
                            paged.note(column);
                        }
                        paged
                    }
                    Slot::Disk(paged) => paged.moved(blob(spot)?),
                };
                Replaced::Column { block, attribute, old, new: Slot::Disk(Arc::new(new)) }
            }
            Moved::Joined(block, attribute, old, column) => {
                Replaced::Column { block, attribute, old, new: Slot::Memory(column) }
            }
        })
    }
}

impl<'w> Pieces<'w> {
    /// `vacated` are the packs in which nothing is to stay; `closing` ends it early.
    pub(super) fn new(
        writer: PackWriter<'w>,
        packs: &'w BTreeMap<u64, (Arc<Pack>, u64)>,
        vacated: BTreeSet<u64>,
        closing: &'w AtomicBool,
    ) -> Pieces<'w> {
        Pieces { writer, packs, vacated, buffer: Vec::new(), closing }
    }

    pub(super) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Spot, StoreError> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(StoreError::Closed);
        }
        self.buffer.clear();
        write(&mut self.buffer);
        let (pack, place) = self.writer.add(&self.buffer)?;
        Ok(Spot { pack, place })
    }

    /// Adds a piece as it lies in another pack, once its checksum is found right. One that is damaged stays where it is, and nothing is
    /// returned.
    fn copied(&mut self, blob: &Blob) -> Result<Option<Spot>, StoreError> {
        match blob.bytes() {
            Ok(piece) => self.add(|out| out.extend_from_slice(&piece)).map(Some),
            Err(error) => self.left(blob, error).map(|_| None),
        }
    }

    /// Where a piece lies that has not changed, if it may stay there.
    pub(super) fn stays(&self, spot: Option<Spot>) -> Option<Spot> {
        spot.filter(|s| self.packs.contains_key(&s.pack) && !self.vacated.contains(&s.pack))
    }

    /// The documents of a type, a column after the other: who wants one column finds its pieces together.
    pub(super) fn documents(
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
        let (mut moved, mut changed) = (Vec::new(), BTreeMap::new());
        for attribute in 0..view.kind().attributes().len() {
            for (at, block) in blocks.iter().enumerate() {
                let Some(slot) = block.columns().get(attribute).and_then(Option::as_ref) else {
                    tables[at].columns.push(None);
                    written[at].columns.push(None);
                    continue;
                };
                let known = slot_then(column_then(then(at), attribute), slot);
                // New documents come to a block that is not full, which therefore stays in memory.
                let is_full = block.rows() == view.block_rows();
                let is_paged = view.pager(attribute).is_some();
                let mut weak = slot.weak();
                let spot = match (self.stays(known), slot) {
                    (stays, Slot::Memory(column)) => {
                        let spot = stays.map_or_else(|| self.add(|out| column.write(out)), Ok)?;
                        if is_paged && is_full {
                            moved.push(Moved::Column(at, attribute, slot.clone(), spot));
                        }
                        spot
                    }
                    (Some(spot), _) => spot,
                    (None, Slot::Disk(paged)) => match self.copied(paged.blob())? {
                        Some(spot) => {
                            moved.push(Moved::Column(at, attribute, slot.clone(), spot));
                            spot
                        }
                        None => Spot::of(paged.blob()),
                    },
                    (None, Slot::Changed(now)) => match now.column(view.block_rows()) {
                        Ok(column) => {
                            let spot = self.add(|out| column.write(out))?;
                            moved.push(match is_full {
                                true => Moved::Column(at, attribute, slot.clone(), spot),
                                false => {
                                    let column = Arc::new(column);
                                    weak = Some(Arc::downgrade(&column));
                                    Moved::Joined(at, attribute, slot.clone(), column)
                                }
                            });
                            spot
                        }
                        Err(error) => {
                            let spot = self.left(now.base().blob(), error)?;
                            let (part, rows) = (Part::Column(attribute), now.base().rows());
                            let of = self.add(|out| now.write(out))?;
                            changed.insert((at, part), ChangedPiece { rows, spot: of });
                            spot
                        }
                    },
                };
                tables[at].columns.push(Some(spot));
                written[at].columns.push(weak.map(|weak| (weak, spot)));
            }
        }
        for (at, block) in blocks.iter().enumerate() {
            for (number, group) in block.bodies().groups().iter().enumerate() {
                let new = match (self.stays(group_then(group)), &**group) {
                    (Some(spot), _) => Err(spot),
                    (None, Group::Disk(blob)) => self.copied(blob)?.ok_or_else(|| Spot::of(blob)),
                    (None, Group::Memory(bodies)) => Ok(self.bodies(bodies)?),
                    (None, Group::Changed(blob, now)) => match group.bodies() {
                        Ok(bodies) => Ok(self.bodies(&bodies)?),
                        Err(error) => {
                            let spot = self.left(blob, error)?;
                            let of = self.add(|out| now.write(out))?;
                            let part = Part::Bodies(number);
                            changed.insert((at, part), ChangedPiece { rows: 0, spot: of });
                            Err(spot)
                        }
                    },
                };
                if let Ok(spot) = new {
                    moved.push(Moved::Bodies(at, number, group.clone(), spot));
                }
                tables[at].bodies.push(new.unwrap_or_else(|stays| stays));
            }
        }
        let graphs = self.graphs(view, before)?;
        let (layout, shift) = (Layout::of(view.kind()), view.block_rows().trailing_zeros() as u8);
        let spots = graphs.iter().map(|(attribute, (_, spot))| (*attribute, *spot)).collect();
        let (texts, written_texts) = self.texts(view, before)?;
        let table = TypeTable { layout, shift, blocks: tables, changed, graphs: spots, texts };
        Ok((table, Written { blocks: written, graphs, texts: written_texts }, moved))
    }

    /// The links of graphs of vectors, by the number of the attribute.
    fn graphs(
        &mut self,
        view: &View,
        before: Option<&Written>,
    ) -> Result<BTreeMap<usize, (Weak<Graph>, Spot)>, StoreError> {
        let mut graphs = BTreeMap::new();
        for attribute in 0..view.kind().attributes().len() {
            let Some(graph) = view.graph(attribute) else { continue };
            let known = unchanged(before.and_then(|before| before.graphs.get(&attribute)), graph);
            let spot = match self.stays(known) {
                Some(spot) => spot,
                // A piece has fewer bytes than this; what is not written is linked again at a start.
                None if graph.links_memory() > MAX_GRAPH_BYTES => continue,
                // Bytes in memory take all that is written.
                None => self.add(|out| drop(graph.write_to(out)))?,
            };
            graphs.insert(attribute, (Arc::downgrade(graph), spot));
        }
        Ok(graphs)
    }

    fn bodies(&mut self, bodies: &Bytes) -> Result<Spot, StoreError> {
        let piece = Group::pack(bodies);
        self.add(|out| out.extend_from_slice(&piece))
    }

    /// Where a piece stays that cannot be read, if it is damaged: what has changed of it is written beside it.
    fn left(&self, blob: &Blob, error: StoreError) -> Result<Spot, StoreError> {
        let spot = Spot::of(blob);
        match error.is_damage() && self.packs.contains_key(&spot.pack) {
            true => Ok(spot),
            false => Err(error),
        }
    }
}

//! Documents that lie together.

use std::borrow::Cow;
use std::sync::Arc;

use stead_tensor::Bits;

use super::bodies::Bodies;
use crate::body::BodyError;
use crate::columns::{Column, Pieces, TensorColumn};
use crate::error::StoreError;
use crate::kind::DocumentType;
use crate::paged::{Held, Slot};
use crate::value::FieldValue;

/// Documents that lie together: up to a power of two of rows, a column for each attribute. Rows of documents that were removed
/// stay, without values, until a new document takes them.
#[derive(Debug, Clone)]
pub struct Block {
    /// Of the attributes of the type, in their order; nothing for those whose values ranking cannot use.
    columns: Vec<Option<Slot>>,
    ids: Arc<Pieces>,
    /// What documents have beside columns, as [bodies](crate::body).
    bodies: Arc<Bodies>,
    alive: Bits,
}

/// The values of a document by the number of the attribute.
pub(super) type Values<'v> = [Option<Cow<'v, FieldValue>>];

/// The bytes of the widest column of a block with values of the same width: few enough to copy for a write, enough to keep kernels
/// busy.
const COLUMN_BYTES: usize = 128 << 10;

/// The fewest and the most rows of a block.
const ROWS: (usize, usize) = (256, 4096);

/// What values whose bytes differ are taken to have.
const USUAL_BYTES: usize = 64;

impl Block {
    /// The rows that blocks of documents of a type have, a power of two.
    pub(crate) fn rows_of(kind: &DocumentType) -> usize {
        let width = |a: &crate::AttributeColumn| Column::width(&a.kind).unwrap_or(USUAL_BYTES);
        let widest = kind.attributes().iter().map(width).max().unwrap_or(1).max(1);
        let rows = (COLUMN_BYTES / widest + 1).next_power_of_two() / 2;
        rows.clamp(ROWS.0, ROWS.1)
    }

    pub(super) fn new(kind: &DocumentType) -> Block {
        let column = |a: &crate::AttributeColumn| Some(Slot::Memory(Arc::new(kind.new_column(a)?)));
        let columns = kind.attributes().iter().map(column);
        Block {
            columns: columns.collect(),
            ids: Arc::default(),
            bodies: Arc::default(),
            alive: Bits::default(),
        }
    }

    /// A block of columns, ids, bodies and rows with documents that belong together: of the columns those that
    /// [`Block::new`] makes, each with as many rows as there are ids.
    pub(crate) fn from_parts(
        columns: Vec<Option<Slot>>,
        ids: Pieces,
        bodies: Bodies,
        alive: Bits,
    ) -> Block {
        let (ids, bodies) = (Arc::new(ids), Arc::new(bodies));
        Block { columns, ids, bodies, alive }
    }

    /// By the number of the attribute.
    pub(crate) fn columns(&self) -> &[Option<Slot>] {
        &self.columns
    }

    /// The ids of all rows. They change whenever rows get or lose their documents.
    pub(crate) fn ids(&self) -> &Arc<Pieces> {
        &self.ids
    }

    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    pub(super) fn bodies_mut(&mut self) -> &mut Bodies {
        Arc::make_mut(&mut self.bodies)
    }

    /// How many rows have had a document; those behind them are free.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// The rows that have a document.
    #[must_use]
    pub fn alive(&self) -> &Bits {
        &self.alive
    }

    /// Whether every row has a document.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.alive.count() == self.rows()
    }

    /// The id of the document of a row.
    #[must_use]
    pub fn id(&self, row: usize) -> Option<&str> {
        if !self.alive.contains(row) {
            return None;
        }
        std::str::from_utf8(self.ids.get(row)?).ok()
    }

    /// The column of an attribute, by the number that the [type](DocumentType::attribute_number) gives it.
    ///
    /// # Errors
    /// [`StoreError::Column`] where it lies on disk and cannot be read.
    pub fn column(&self, attribute: usize) -> Result<Option<Held<'_>>, StoreError> {
        self.slot(attribute).map(Slot::hold).transpose()
    }

    /// Where the column of an attribute is, by its number.
    pub(super) fn slot(&self, attribute: usize) -> Option<&Slot> {
        self.columns.get(attribute)?.as_ref()
    }

    /// The column of an attribute by its number, if it is one of tensors and lies in memory.
    pub(super) fn tensors(&self, attribute: usize) -> Option<&TensorColumn> {
        match self.slot(attribute)? {
            Slot::Memory(column) => match &**column {
                Column::Tensors(tensors) => Some(tensors),
                _ => None,
            },
            _ => None,
        }
    }

    /// The first attribute whose column has no room for its value of one more document, of attributes by their numbers. Columns on disk that
    /// might have none are brought to memory; others are not read.
    ///
    /// # Errors
    /// As [`Block::column`].
    pub(super) fn full<'v>(
        &mut self,
        values: impl Iterator<Item = (usize, Option<&'v FieldValue>)>,
        rows: usize,
    ) -> Result<Option<usize>, StoreError> {
        for (attribute, value) in values {
            if let (Some(Some(slot)), Some(value)) = (self.columns.get_mut(attribute), value)
                && !slot.has_room(value, rows)?
            {
                return Ok(Some(attribute));
            }
        }
        Ok(None)
    }

    /// The body of a document.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], and what the disk answers.
    pub(crate) fn body(&self, row: usize) -> Result<Option<Cow<'_, [u8]>>, StoreError> {
        // Every body has its version, so that no bytes are none.
        Ok(Some(self.bodies.get(row)?).filter(|body| !body.is_empty()))
    }

    /// Puts a column on disk in the place of the same in memory or elsewhere. What has changed since stays in memory; nothing is done
    /// where that is a column as a whole.
    pub(super) fn replace_column(&mut self, attribute: usize, old: &Slot, new: &Slot) {
        if let Some(Some(slot)) = self.columns.get_mut(attribute)
            && let Some(moved) = slot.moved(old, new)
        {
            *slot = moved;
        }
    }

    /// Changes the values of attributes of a document that is there, those at numbers of which there is something to say, and its
    /// [body](body::change).
    ///
    /// # Errors
    /// When its body is none; nothing is changed then.
    pub(super) fn update(
        &mut self,
        row: usize,
        values: &[(usize, Option<Cow<'_, FieldValue>>)],
        change: &[u8],
        rows: usize,
    ) -> Result<(), BodyError> {
        self.bodies_mut().change(row, change)?;
        for (attribute, value) in values {
            if let Some(Some(slot)) = self.columns.get_mut(*attribute) {
                slot.set(row, value.as_deref(), rows);
            }
        }
        Ok(())
    }

    /// Puts a document in a row, which is at most the one behind the last.
    pub(super) fn put(
        &mut self,
        row: usize,
        id: &str,
        values: &Values<'_>,
        body: &[u8],
        rows: usize,
    ) {
        let is_known = self.id(row) == Some(id);
        self.bodies_mut().set(row, body);
        for (slot, value) in self.columns.iter_mut().zip(values) {
            let Some(slot) = slot else { continue };
            slot.set(row, value.as_deref(), rows);
        }
        if !is_known {
            Arc::make_mut(&mut self.ids).set(row, id.as_bytes());
            self.alive.insert(row);
        }
        if row + 1 == rows {
            self.shrink(rows);
        }
    }

    /// Takes the document of a row away, and its values.
    pub(super) fn remove(&mut self, row: usize, rows: usize) {
        self.columns.iter_mut().flatten().for_each(|slot| slot.set(row, None, rows));
        Arc::make_mut(&mut self.ids).set(row, b"");
        self.bodies_mut().set(row, &[]);
        self.alive.remove(row);
    }

    /// A block to which no rows will be added.
    fn shrink(&mut self, rows: usize) {
        self.columns.iter_mut().flatten().for_each(|slot| slot.shrink(rows));
        Arc::make_mut(&mut self.ids).shrink();
        self.bodies_mut().shrink();
    }

    /// The memory that it takes, in bytes, without columns that lie on disk.
    pub(super) fn memory(&self) -> usize {
        let columns = self.columns.iter().flatten().map(Slot::memory);
        let alive = size_of_val(self.alive.words());
        columns.sum::<usize>()
            + self.bodies.memory()
            + self.ids.memory()
            + alive
            + size_of::<Block>()
    }
}

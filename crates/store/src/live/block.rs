//! Documents that lie together.

use std::borrow::Cow;
use std::sync::Arc;

use super::bits::Bits;
use super::bodies::Bodies;
use super::index::{BlockIndex, Index};
use crate::columns::{Column, Pieces};
use crate::error::StoreError;
use crate::kind::DocumentType;
use crate::value::FieldValue;

/// Documents that lie together: up to a power of two of rows, a column for each attribute. Rows of documents that were removed
/// stay, without values, until a new document takes them.
#[derive(Debug, Clone)]
pub struct Block {
    kind: DocumentType,
    /// Of the attributes of the type, in their order; nothing for those whose values ranking cannot use.
    columns: Vec<Option<Arc<Column>>>,
    /// Of the columns in their order; nothing for those whose attributes are without `fast-search`.
    indexes: Vec<Option<BlockIndex>>,
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
        let columns = kind.attributes().iter().map(|a| kind.new_column(a).map(Arc::new));
        Block {
            kind: kind.clone(),
            columns: columns.collect(),
            indexes: indexes(kind),
            ids: Arc::default(),
            bodies: Arc::default(),
            alive: Bits::default(),
        }
    }

    /// A block of columns, ids, bodies and rows with documents that belong together: of the columns those that
    /// [`Block::new`] makes, each with as many rows as there are ids.
    pub(crate) fn from_parts(
        kind: &DocumentType,
        columns: Vec<Option<Arc<Column>>>,
        ids: Pieces,
        bodies: Bodies,
        alive: Bits,
    ) -> Block {
        let (ids, bodies) = (Arc::new(ids), Arc::new(bodies));
        Block { kind: kind.clone(), columns, indexes: indexes(kind), ids, bodies, alive }
    }

    /// By the number of the attribute.
    pub(crate) fn columns(&self) -> &[Option<Arc<Column>>] {
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
    #[must_use]
    pub fn column(&self, attribute: usize) -> Option<&Column> {
        self.columns.get(attribute)?.as_deref()
    }

    /// Where the values of an attribute with `fast-search` lie in its column; nothing if there is no such index. It is made by who
    /// asks for it first: nobody waits for another who makes it too.
    #[must_use]
    pub fn index(&self, attribute: usize) -> Option<Index<'_>> {
        self.indexes.get(attribute)?.as_ref()?.get(self.column(attribute)?)
    }

    /// The column of an attribute by its name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Column> {
        self.column(self.kind.attribute_number(name)?)
    }

    /// The column of an attribute by its number, to hold on to.
    pub(super) fn shared_column(&self, attribute: usize) -> Option<&Arc<Column>> {
        self.columns.get(attribute)?.as_ref()
    }

    /// The first attribute whose column has no room for its value of one more document.
    pub(super) fn full(&self, values: &Values<'_>) -> Option<usize> {
        let mut attributes = self.columns.iter().zip(values).map(|(column, value)| {
            column.as_ref().zip(value.as_ref()).is_none_or(|(c, value)| c.has_room(value))
        });
        attributes.position(|has_room| !has_room)
    }

    /// The same of some attributes by their numbers.
    pub(super) fn full_of(&self, values: &[(usize, Option<Cow<'_, FieldValue>>)]) -> Option<usize> {
        let has_room = |(attribute, value): &&(usize, Option<Cow<'_, FieldValue>>)| {
            let column = self.column(*attribute);
            column.zip(value.as_ref()).is_none_or(|(column, value)| column.has_room(value))
        };
        values.iter().find(|pair| !has_room(pair)).map(|(attribute, _)| *attribute)
    }

    /// The body of a document.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], and what the disk answers.
    pub(crate) fn body(&self, row: usize) -> Result<Option<Cow<'_, [u8]>>, StoreError> {
        // Every body has its version, so that no bytes are none.
        Ok(Some(self.bodies.get(row)?).filter(|body| !body.is_empty()))
    }

    /// Brings what a write to a row changes to memory: nothing of the write can fail then.
    ///
    /// # Errors
    /// As [`Block::body`].
    pub(super) fn fetch(&mut self, row: usize) -> Result<(), StoreError> {
        self.bodies_mut().fetch(row)
    }

    /// Changes the values of attributes of a document that is there, those at numbers of which there is something to say.
    pub(super) fn update(
        &mut self,
        row: usize,
        values: &[(usize, Option<Cow<'_, FieldValue>>)],
        body: Vec<u8>,
        rows: usize,
    ) {
        for (attribute, value) in values {
            if let Some(Some(column)) = self.columns.get_mut(*attribute) {
                own(column, rows).set(row, value.as_deref());
            }
            if let Some(Some(index)) = self.indexes.get_mut(*attribute) {
                index.change(row, rows);
            }
        }
        self.bodies_mut().set(row, &body);
    }

    /// Puts a document in a row, which is at most the one behind the last.
    pub(super) fn put(
        &mut self,
        row: usize,
        id: &str,
        values: &Values<'_>,
        body: Vec<u8>,
        rows: usize,
    ) {
        let is_known = self.id(row) == Some(id);
        self.bodies_mut().set(row, &body);
        for (column, value) in self.columns.iter_mut().zip(values) {
            let Some(column) = column else { continue };
            own(column, rows).set(row, value.as_deref());
        }
        self.change_all(row, rows);
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
        for column in self.columns.iter_mut().flatten() {
            own(column, rows).set(row, None);
        }
        self.change_all(row, rows);
        Arc::make_mut(&mut self.ids).set(row, b"");
        self.bodies_mut().set(row, &[]);
        self.alive.remove(row);
    }

    fn change_all(&mut self, row: usize, rows: usize) {
        self.indexes.iter_mut().flatten().for_each(|index| index.change(row, rows));
    }

    /// A block to which no rows will be added.
    fn shrink(&mut self, rows: usize) {
        self.columns.iter_mut().flatten().for_each(|column| own(column, rows).shrink());
        Arc::make_mut(&mut self.ids).shrink();
        self.bodies_mut().shrink();
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let columns = self.columns.iter().flatten().map(|c| c.memory() + size_of::<Column>());
        let alive = size_of_val(self.alive.words());
        let indexes = self.indexes.iter().flatten().map(BlockIndex::memory);
        columns.sum::<usize>()
            + indexes.sum::<usize>()
            + self.bodies.memory()
            + self.ids.memory()
            + alive
            + size_of::<Block>()
    }
}

/// The indexes of a block of documents of a type.
fn indexes(kind: &DocumentType) -> Vec<Option<BlockIndex>> {
    let index = |a: &crate::AttributeColumn| a.index.map(|index| BlockIndex::new(index.is_cased));
    kind.attributes().iter().map(index).collect()
}

/// A column to change: a copy with room for all rows if a view has it. Where a snapshot remembers it, which it does weakly, it
/// moves to another allocation, by which the snapshot knows that it has changed.
fn own(column: &mut Arc<Column>, rows: usize) -> &mut Column {
    if Arc::strong_count(column) > 1 {
        *column = Arc::new(column.copied(rows));
    }
    // It is ours alone now, so that no values are copied here.
    Arc::make_mut(column)
}

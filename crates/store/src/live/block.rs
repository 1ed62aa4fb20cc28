//! Documents that lie together.

use std::borrow::Cow;
use std::sync::Arc;

use super::bits::Bits;
use crate::columns::{Column, Pieces};
use crate::kind::DocumentType;
use crate::value::FieldValue;

/// Documents that lie together: up to a power of two of rows, a column for each attribute. Rows of documents that were removed
/// stay, without values, until a new document takes them.
#[derive(Debug, Clone)]
pub struct Block {
    kind: DocumentType,
    /// Of the attributes of the type, in their order; nothing for those whose values ranking cannot use.
    columns: Vec<Option<Arc<Column>>>,
    ids: Arc<Pieces>,
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
    pub(super) fn rows_of(kind: &DocumentType) -> usize {
        let width = |a: &crate::AttributeColumn| Column::width(&a.kind).unwrap_or(USUAL_BYTES);
        let widest = kind.attributes().iter().map(width).max().unwrap_or(1).max(1);
        let rows = (COLUMN_BYTES / widest + 1).next_power_of_two() / 2;
        rows.clamp(ROWS.0, ROWS.1)
    }

    pub(super) fn new(kind: &DocumentType) -> Block {
        let columns = kind.attributes().iter().map(|a| Column::new(&a.kind).map(Arc::new));
        let (kind, columns) = (kind.clone(), columns.collect());
        Block { kind, columns, ids: Arc::default(), alive: Bits::default() }
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

    /// The column of an attribute by its name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Column> {
        self.column(self.kind.attribute_number(name)?)
    }

    /// The first attribute whose column has no room for its value of one more document.
    pub(super) fn full(&self, values: &Values<'_>) -> Option<usize> {
        let has_room =
            |(column, value): (&Option<Arc<Column>>, &Option<Cow<'_, FieldValue>>)| match (
                column, value,
            ) {
                (Some(column), Some(value)) => column.has_room(value),
                _ => true,
            };
        self.columns.iter().zip(values).position(|pair| !has_room(pair))
    }

    /// Puts a document in a row, which is at most the one behind the last.
    pub(super) fn put(&mut self, row: usize, id: &str, values: &Values<'_>, rows: usize) {
        let is_known = self.id(row) == Some(id);
        for (column, value) in self.columns.iter_mut().zip(values) {
            let Some(column) = column else { continue };
            own(column, rows).set(row, value.as_deref());
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
        for column in self.columns.iter_mut().flatten() {
            own(column, rows).set(row, None);
        }
        Arc::make_mut(&mut self.ids).set(row, b"");
        self.alive.remove(row);
    }

    /// A block to which no rows will be added.
    fn shrink(&mut self, rows: usize) {
        self.columns.iter_mut().flatten().for_each(|column| own(column, rows).shrink());
        Arc::make_mut(&mut self.ids).shrink();
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let columns = self.columns.iter().flatten().map(|c| c.memory() + size_of::<Column>());
        let alive = size_of_val(self.alive.words());
        columns.sum::<usize>() + self.ids.memory() + alive + size_of::<Block>()
    }
}

/// A column to change: a copy with room for all rows if a view has it.
fn own(column: &mut Arc<Column>, rows: usize) -> &mut Column {
    if Arc::get_mut(column).is_none() {
        *column = Arc::new(column.copied(rows));
    }
    // It is ours alone now, so that nothing is copied here.
    Arc::make_mut(column)
}

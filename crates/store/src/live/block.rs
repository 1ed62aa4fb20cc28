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
    /// What documents have beside columns, as [bodies](crate::body), [`BODIES`] of them together.
    bodies: Arc<Vec<Arc<Pieces>>>,
    alive: Bits,
}

/// The values of a document by the number of the attribute.
pub(super) type Values<'v> = [Option<Cow<'v, FieldValue>>];

/// The bytes of the widest column of a block with values of the same width: few enough to copy for a write, enough to keep kernels
/// busy.
const COLUMN_BYTES: usize = 128 << 10;

/// The fewest and the most rows of a block.
const ROWS: (usize, usize) = (256, 4096);

/// Bodies that lie together: few enough that a write copies little, enough that their allocation costs each of them little.
const BODIES: usize = 16;

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
        let (ids, bodies) = (Arc::default(), Arc::default());
        Block { kind, columns, ids, bodies, alive: Bits::default() }
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
    pub(super) fn body(&self, row: usize) -> Option<&[u8]> {
        // Every body has its version, so that no bytes are none.
        self.bodies.get(row / BODIES)?.get(row % BODIES).filter(|body| !body.is_empty())
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
        }
        self.set_body(row, &body);
    }

    fn set_body(&mut self, row: usize, body: &[u8]) {
        let (bodies, at) = (Arc::make_mut(&mut self.bodies), row / BODIES);
        if at == bodies.len() {
            bodies.push(Arc::default());
        }
        let Some(together) = bodies.get_mut(at).map(Arc::make_mut) else { return };
        together.set(row % BODIES, body);
        if row % BODIES + 1 == BODIES {
            together.shrink();
        }
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
        self.set_body(row, &body);
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
        self.set_body(row, &[]);
        self.alive.remove(row);
    }

    /// A block to which no rows will be added.
    fn shrink(&mut self, rows: usize) {
        self.columns.iter_mut().flatten().for_each(|column| own(column, rows).shrink());
        Arc::make_mut(&mut self.ids).shrink();
        Arc::make_mut(&mut self.bodies).shrink_to_fit();
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let columns = self.columns.iter().flatten().map(|c| c.memory() + size_of::<Column>());
        let alive = size_of_val(self.alive.words());
        // An allocation has two counters before it.
        let together = size_of::<Pieces>() + 2 * size_of::<usize>() + size_of::<Arc<Pieces>>();
        let bodies = self.bodies.iter().map(|bodies| bodies.memory() + together).sum::<usize>();
        columns.sum::<usize>() + bodies + self.ids.memory() + alive + size_of::<Block>()
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

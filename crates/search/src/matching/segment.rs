//! Where the values of documents are.

use stead_store::{Block, Column, Index, View};

use super::rows::RowSet;

/// A block of a view.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'v> {
    view: &'v View,
    number: usize,
    block: &'v Block,
}

impl<'v> Segment<'v> {
    /// The blocks of a view in their order.
    pub fn all(view: &'v View) -> impl Iterator<Item = Segment<'v>> {
        view.blocks().enumerate().map(move |(number, block)| Segment { view, number, block })
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.block.rows()
    }

    /// The rows that have a document.
    #[must_use]
    pub fn alive(&self) -> RowSet {
        alive(self.block)
    }

    /// The column of an attribute; nothing if there is none, or if the values are those of parents.
    #[must_use]
    pub fn column(&self, attribute: &str) -> Option<&'v Column> {
        self.block.attribute(attribute)
    }

    /// The column of an attribute by its number in the type of the documents.
    pub(super) fn column_at(&self, attribute: usize) -> Option<&'v Column> {
        self.block.column(attribute)
    }

    /// The index of an attribute by its number; nothing if it has none.
    pub(super) fn index_at(&self, attribute: usize) -> Option<Index<'v>> {
        self.block.index(attribute)
    }

    /// Whether the values of an attribute are those of parents.
    #[must_use]
    pub fn is_imported(&self, attribute: &str) -> bool {
        self.view.attribute(attribute).is_some_and(|values| values.is_imported())
    }

    /// Where the value of an attribute is for a row: its column and the row in it.
    #[must_use]
    pub fn at(&self, attribute: &str, row: usize) -> Option<(&'v Column, usize)> {
        match self.column(attribute) {
            Some(column) => Some((column, row)),
            None => self.view.attribute(attribute)?.at(self.view.lid(self.number, row)),
        }
    }
}

/// The rows of a block that have a document.
pub(crate) fn alive(block: &Block) -> RowSet {
    RowSet::from_words(block.alive().words(), block.rows())
}

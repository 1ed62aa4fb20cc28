//! Where the values of documents are.

use stead_store::{Block, Column, Columns, Held, StoreError, View};

use super::rows::RowSet;

/// A block of a view.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'v> {
    view: &'v View,
    number: usize,
    block: &'v Block,
}

/// A block while it is matched: what lies on disk of its columns is in memory from when it is looked at first.
pub(super) struct Work<'v> {
    segment: Segment<'v>,
    columns: Columns<'v>,
}

/// The attribute that a term tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tested {
    /// Its number in the type of the documents.
    pub(super) number: usize,
    /// Whether each document has one number.
    pub(super) is_number: bool,
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

    /// Where the value of an attribute is for a row: its column and the row in it.
    pub(super) fn at(
        &self,
        (attribute, name): (Option<Tested>, &str),
        row: usize,
    ) -> Result<Option<(Held<'v>, usize)>, StoreError> {
        let Some(attribute) = attribute else { return Ok(None) };
        if let Some(column) = self.block.column(attribute.number)? {
            return Ok(Some((column, row)));
        }
        let lid = self.view.lid(self.number, row);
        self.view.attribute(name).map_or(Ok(None), |values| values.at(lid))
    }

    /// The same for somebody who works on the block.
    pub(super) fn work(self) -> Option<Work<'v>> {
        Some(Work { segment: self, columns: self.view.hold(self.number)? })
    }
}

impl<'v> Work<'v> {
    /// The block.
    pub(super) fn segment(&self) -> &Segment<'v> {
        &self.segment
    }

    /// Its number.
    pub(super) fn number(&self) -> usize {
        self.segment.number
    }

    /// Whether an attribute by its number has a column here: the values of others are those of parents, if there are any.
    pub(super) fn has(&self, attribute: usize) -> bool {
        self.columns.has(attribute)
    }

    /// The column of an attribute by its number.
    pub(super) fn column(&self, attribute: usize) -> Result<Option<&Column>, StoreError> {
        self.columns.get(attribute)
    }

    /// Whether the values of an attribute are those of parents.
    pub(super) fn is_imported(&self, attribute: &str) -> bool {
        self.segment.view.attribute(attribute).is_some_and(|values| values.is_imported())
    }

    /// The rows among some whose values, those of parents, pass a test.
    pub(super) fn imported(
        &self,
        attribute: &str,
        among: &RowSet,
        passes: impl Fn(&Column, usize) -> bool,
    ) -> Result<RowSet, StoreError> {
        let Segment { view, number, .. } = self.segment;
        let Some(values) = view.attribute(attribute).filter(|values| values.is_imported()) else {
            return Ok(RowSet::none(among.rows()));
        };
        let mut values = values.cursor();
        among.try_filter(|row| {
            let place = values.at(view.lid(number, row))?;
            Ok(place.is_some_and(|(column, row)| passes(column, row)))
        })
    }

    /// Where the value of an attribute is for a row, of parents too.
    pub(super) fn at(
        &self,
        (attribute, name): (Option<Tested>, &str),
        row: usize,
    ) -> Result<Option<(Held<'_>, usize)>, StoreError> {
        let own = attribute.map_or(Ok(None), |attribute| self.columns.get(attribute.number))?;
        match own {
            Some(column) => Ok(Some((Held::of(column), row))),
            None => self.segment.at((attribute, name), row),
        }
    }
}

/// The rows of a block that have a document.
pub(crate) fn alive(block: &Block) -> RowSet {
    RowSet::from_words(block.alive().words(), block.rows())
}

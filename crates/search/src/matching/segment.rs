//! Where the values of documents are.

use stead_store::{Block, Column};

use super::rows::RowSet;

/// Documents that lie together. What indexes of attributes will be found for them, a dictionary with the rows of each value, will be
/// asked for here too.
pub trait Segment {
    /// How many rows there are.
    fn rows(&self) -> usize;

    /// The rows that have a document.
    fn alive(&self) -> RowSet;

    /// The column of an attribute.
    fn column(&self, attribute: &str) -> Option<&Column>;
}

impl Segment for Block {
    fn rows(&self) -> usize {
        Block::rows(self)
    }

    fn alive(&self) -> RowSet {
        RowSet::from_words(Block::alive(self).words(), Block::rows(self))
    }

    fn column(&self, attribute: &str) -> Option<&Column> {
        self.attribute(attribute)
    }
}

//! Values of many documents, one after the other.

use super::view::{AttributeView, Place};
use crate::columns::Column;
use crate::error::StoreError;
use crate::paged::Held;

/// The values of an attribute for documents that somebody goes through. It holds the column that it was at last, so that one that lies on
/// disk is read once for documents that stand together, and no more than one is in memory for it.
#[derive(Debug)]
pub struct Cursor<'v> {
    attribute: AttributeView<'v>,
    /// The number of the block, of the view or of that of the parents: which of them is the same for all documents.
    held: Option<(usize, Held<'v>)>,
}

impl<'v> Cursor<'v> {
    pub(super) fn new(attribute: AttributeView<'v>) -> Cursor<'v> {
        Cursor { attribute, held: None }
    }

    /// The column that has the value of a document, and its row there.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn at(&mut self, lid: u32) -> Result<Option<(&Column, usize)>, StoreError> {
        let (slot, block, row) = match self.attribute.place(lid)? {
            Some(Place::Block { slot, block, row }) => (slot, block, row),
            Some(Place::Nothing(column)) => return Ok(Some((column, 0))),
            None => return Ok(None),
        };
        if self.held.as_ref().is_none_or(|(at, _)| *at != block) {
            // Before the next one is read, so that there is one.
            self.held = None;
            self.held = Some((block, slot.hold()?));
        }
        Ok(self.held.as_ref().map(|(_, held)| (&**held, row)))
    }
}

//! Values of many documents, one after the other.

use super::view::{AttributeView, Place, View};
use crate::columns::Column;
use crate::error::StoreError;
use crate::paged::{Ahead, Held, ask_behind};

/// The values of an attribute for documents that somebody goes through. It holds the column that it was at last, so that one that lies on
/// disk is read once for documents that stand together, and no more than one is in memory for it.
#[derive(Debug)]
pub struct Cursor<'v> {
    attribute: AttributeView<'v>,
    /// The number of the block, of the view or of that of the parents: which of them is the same for all documents.
    held: Option<(usize, Held<'v>)>,
    ahead: Asked<'v>,
}

/// Which columns on disk are asked for before they are read.
#[derive(Debug)]
enum Asked<'v> {
    /// Those of the blocks of documents that are known.
    Known(Ahead<'v>),
    /// Those behind each other, if that is how they are read.
    Behind,
    /// None: documents that are known are few among those of their blocks, and their vectors are read alone.
    Alone,
    /// None: they are not the view's own, or there is nothing to ask for.
    Nothing,
}

/// As many vectors of a block are read alone in less time than all of it.
const FEW: usize = 16;

/// Whether documents are so few of each of their blocks, or of most.
fn are_few(view: &View, documents: &[u32]) -> bool {
    let blocks = documents.chunk_by(|a, b| view.split(*a).0 == view.split(*b).0).count();
    documents.len() <= FEW * blocks
}

impl<'v> Cursor<'v> {
    pub(super) fn new(attribute: AttributeView<'v>) -> Cursor<'v> {
        let (view, number) = (attribute.view(), attribute.number());
        let is_own = view.pager(number).is_some() && !attribute.is_imported();
        let ahead = if is_own { Asked::Behind } else { Asked::Nothing };
        Cursor { attribute, held: None, ahead }
    }

    /// Of documents in the order in which they are come to.
    pub(super) fn over(
        attribute: AttributeView<'v>,
        documents: impl Iterator<Item = u32>,
    ) -> Cursor<'v> {
        let mut cursor = Cursor::new(attribute);
        if matches!(cursor.ahead, Asked::Behind) {
            let view = attribute.view();
            let documents: Vec<u32> = documents.collect();
            if attribute.about().graph.is_some() && are_few(view, &documents) {
                attribute.will_read(&documents);
                cursor.ahead = Asked::Alone;
                return cursor;
            }
            let numbers = documents.iter().map(|lid| view.split(*lid).0);
            let ahead = Ahead::new(view.block_list(), numbers, attribute.number());
            // Of one block there is nothing to ask for; the block behind it may be next.
            cursor.ahead = ahead.map_or(Asked::Behind, Asked::Known);
        }
        cursor
    }

    /// The column that has the value of a document, and its row there.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn at(&mut self, lid: u32) -> Result<Option<(&Column, usize)>, StoreError> {
        self.rows(lid, 1)
    }

    /// A column that has the values of some documents that lie behind each other in a block, from one on, and the row of the first there.
    ///
    /// # Errors
    /// [`StoreError::Column`].
    pub fn rows(&mut self, lid: u32, count: usize) -> Result<Option<(&Column, usize)>, StoreError> {
        let (slot, block, row) = match self.attribute.place(lid)? {
            Some(Place::Block { slot, block, row }) => (slot, block, row),
            Some(Place::Nothing(column)) => return Ok(Some((column, 0))),
            None => return Ok(None),
        };
        if matches!(self.ahead, Asked::Alone) {
            self.held = None;
            let (held, first) = slot.hold_rows(row..row + count)?;
            return Ok(Some((&*self.held.insert((block, held)).1, first)));
        }
        if self.held.as_ref().is_none_or(|(at, _)| *at != block) {
            // Before the next one is read, so that there is one.
            self.held = None;
            match &mut self.ahead {
                Asked::Known(ahead) => ahead.reach(block),
                Asked::Behind => {
                    ask_behind(self.attribute.view().block_list(), block, self.attribute.number());
                }
                Asked::Nothing | Asked::Alone => {}
            }
            self.held = Some((block, slot.hold()?));
        }
        Ok(self.held.as_ref().map(|(_, held)| (&**held, row)))
    }
}

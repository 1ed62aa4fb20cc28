//! What of documents lies on disk, read ahead of whoever must not wait for it.

use std::sync::Arc;

use super::bodies::{GROUP, Group};
use super::view::View;
use crate::body;
use crate::columns::Pieces;
use crate::error::StoreError;
use crate::paged::{Held, Page, Paged, Slot};
use crate::value::FieldValue;

/// What was read of the bodies that lie with that of a document, and of the columns that have its fields.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    /// The group, held so that another one cannot take its place in memory, and its bodies.
    bodies: Option<(Arc<Group>, Pieces)>,
    columns: Vec<(Arc<Paged>, Arc<Page>)>,
}

impl Fetched {
    /// A column, if it was read.
    pub(super) fn column<'b>(&self, slot: &Slot) -> Option<Held<'b>> {
        let Slot::Disk(paged) = slot else { return None };
        let found = self.columns.iter().find(|(of, _)| Arc::ptr_eq(of, paged));
        found.map(|(_, page)| Held::of_page(Arc::clone(page)))
    }
}

impl View {
    fn group(&self, lid: u32) -> Option<&Arc<Group>> {
        let (block, row) = self.split(lid);
        self.block(block)?.bodies().groups().get(row / GROUP)
    }

    /// The body of a document, if it is in memory or was fetched.
    fn body_at_hand<'f>(&'f self, lid: u32, fetched: Option<&'f Fetched>) -> Option<&'f [u8]> {
        let Some(group) = self.group(lid) else { return Some(&[]) };
        let bodies = match &**group {
            Group::Memory(bodies) => bodies,
            Group::Disk(_) => {
                let (of, bodies) = fetched?.bodies.as_ref()?;
                Some(bodies).filter(|_| Arc::ptr_eq(of, group))?
            }
        };
        let (_, row) = self.split(lid);
        Some(bodies.get(row % GROUP).unwrap_or_default())
    }

    /// The columns on disk that have fields of a document among those that are wanted.
    fn paged(
        &self,
        lid: u32,
        body: &[u8],
        is_wanted: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = &Slot> {
        let (block, _) = self.split(lid);
        let block = self.block(block).filter(|_| self.kind().has_paged());
        let slot = |field| block?.slot(self.kind().column_of(field)?);
        let fields = block.and_then(|_| body::fields(body).ok()).unwrap_or_default();
        let lies_in_column =
            |(field, bytes): &(usize, &[u8])| bytes.is_empty() && is_wanted(*field);
        let slots = fields.into_iter().filter(lies_in_column).filter_map(|(field, _)| slot(field));
        let slots: Vec<&Slot> = slots.filter(|slot| matches!(slot, Slot::Disk(_))).collect();
        slots.into_iter()
    }

    /// Whether [`View::read_fetched`] reads the same fields of a document without the disk.
    pub(crate) fn is_at_hand(
        &self,
        lid: u32,
        fetched: Option<&Fetched>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> bool {
        let Some(body) = self.body_at_hand(lid, fetched) else { return false };
        let is_fetched = |slot: &Slot| fetched.is_some_and(|of| of.column(slot).is_some());
        self.paged(lid, body, is_wanted).all(is_fetched)
    }

    /// Reads the bodies that lie with that of a document, and the columns that have the fields of it that are wanted; nothing of what is
    /// in memory.
    ///
    /// # Errors
    /// As [`View::read`].
    pub(crate) fn fetch(
        &self,
        lid: u32,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Fetched, StoreError> {
        let mut fetched = Fetched::default();
        if let Some(group) = self.group(lid)
            && let Group::Disk(blob) = &**group
        {
            fetched.bodies = Some((group.clone(), Group::unpack(blob)?));
        }
        let mut columns = Vec::new();
        if let Some(body) = self.body_at_hand(lid, Some(&fetched)) {
            for slot in self.paged(lid, body, is_wanted) {
                if let Slot::Disk(paged) = slot {
                    columns.push((Arc::clone(paged), paged.page()?));
                }
            }
        }
        Ok(Fetched { columns, ..fetched })
    }

    /// [`View::read`] with the help of what was fetched from this or an earlier view.
    ///
    /// # Errors
    /// As [`View::read`].
    pub(crate) fn read_fetched(
        &self,
        lid: u32,
        fetched: Option<&Fetched>,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Option<Vec<(usize, FieldValue)>>, StoreError> {
        let (block, row) = self.split(lid);
        let Some(block) = self.block(block) else { return Ok(None) };
        if let Some(body) = self.body_at_hand(lid, fetched).filter(|body| !body.is_empty()) {
            return self.fields_of(lid, body, fetched, is_wanted);
        }
        match block.body(row)? {
            Some(body) => self.fields_of(lid, &body, fetched, is_wanted),
            None => Ok(None),
        }
    }
}

//! Bodies that are read ahead of whoever must not wait for a disk.

use std::sync::Arc;

use super::bodies::{GROUP, Group};
use super::view::View;
use crate::columns::Pieces;
use crate::error::StoreError;
use crate::value::FieldValue;

/// A group of bodies on disk, and what was read of it.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Held, so that another group cannot take its place in memory.
    group: Arc<Group>,
    bodies: Pieces,
}

impl View {
    fn group(&self, lid: u32) -> Option<&Arc<Group>> {
        let (block, row) = self.split(lid);
        self.block(block)?.bodies().groups().get(row / GROUP)
    }

    /// Whether [`View::read_fetched`] reads a document without the disk.
    pub(crate) fn is_at_hand(&self, lid: u32, fetched: Option<&Fetched>) -> bool {
        let is_fetched = |group| fetched.is_some_and(|f| Arc::ptr_eq(&f.group, group));
        let is_in_memory = |group: &Arc<Group>| matches!(**group, Group::Memory(_));
        self.group(lid).is_none_or(|group| is_in_memory(group) || is_fetched(group))
    }

    /// Reads the bodies that lie with that of a document; nothing if they are in memory.
    ///
    /// # Errors
    /// As [`View::read`].
    pub(crate) fn fetch(&self, lid: u32) -> Result<Option<Fetched>, StoreError> {
        match self.group(lid) {
            Some(group) => match &**group {
                Group::Disk(blob) => {
                    let (group, bodies) = (group.clone(), Group::unpack(blob)?);
                    Ok(Some(Fetched { group, bodies }))
                }
                Group::Memory(_) => Ok(None),
            },
            None => Ok(None),
        }
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
        match (self.group(lid), fetched) {
            (Some(group), Some(fetched)) if Arc::ptr_eq(&fetched.group, group) => {
                let (_, row) = self.split(lid);
                let body = fetched.bodies.get(row % GROUP).unwrap_or_default();
                Ok(self.fields_of(lid, body, is_wanted))
            }
            _ => self.read(lid, is_wanted),
        }
    }
}

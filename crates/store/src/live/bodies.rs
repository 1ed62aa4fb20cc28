//! The bodies of a block.

use std::borrow::Cow;
use std::sync::Arc;

use super::group::{GROUP, Group};
use crate::body::BodyError;
use crate::error::StoreError;

/// The bodies of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bodies {
    groups: Vec<Arc<Group>>,
}

impl Bodies {
    pub(crate) fn new(groups: Vec<Arc<Group>>) -> Bodies {
        Bodies { groups }
    }

    pub(crate) fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }

    /// The body of a row, which has no bytes where there is no document.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], and what the disk answers.
    pub(super) fn get(&self, row: usize) -> Result<Cow<'_, [u8]>, StoreError> {
        match self.groups.get(row / GROUP) {
            Some(group) => group.body(row % GROUP),
            None => Ok(Cow::default()),
        }
    }

    /// Puts a body in a row, which is at most the one behind the last.
    pub(super) fn set(&mut self, row: usize, body: &[u8]) {
        let at = row / GROUP;
        if at == self.groups.len() {
            self.groups.push(Arc::default());
        }
        if let Some(group) = self.groups.get_mut(at) {
            Arc::make_mut(group).set(row % GROUP, body);
        }
    }

    /// Changes the body of a row that has a document.
    ///
    /// # Errors
    /// When the body is none.
    pub(super) fn change(&mut self, row: usize, change: &[u8]) -> Result<(), BodyError> {
        let group = self.groups.get_mut(row / GROUP).ok_or(BodyError::Short)?;
        Arc::make_mut(group).change(row % GROUP, change)
    }

    /// Puts a group on disk in the place of the same in memory. Where it has changed since, what has changed stays in memory.
    pub(super) fn replace(&mut self, at: usize, old: &Arc<Group>, new: &Arc<Group>) {
        let Some(group) = self.groups.get_mut(at) else { return };
        if Arc::ptr_eq(group, old) {
            *group = new.clone();
        } else if let Some(moved) = new.blob().and_then(|blob| group.moved(old, blob)) {
            *group = Arc::new(moved);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.groups.shrink_to_fit();
    }

    pub(super) fn memory(&self) -> usize {
        self.groups.iter().map(|group| group.memory()).sum()
    }
}

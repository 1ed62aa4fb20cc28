//! Documents that are kept as long as a selection selects them.
//!
//! What no longer is kept is not there for the moment only, but removed: by operations of the log like those of clients, each on the
//! condition that the document still is what the selection says no of. The clock is read when they are submitted; the log has removals
//! and no selections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::store::{Outcome, Store, Stored};
use super::submit::By;
use crate::error::StoreError;
use crate::indexing::NoEmbedder;
use crate::kind::DocumentType;
use crate::live::View;
use crate::operation::{Action, Operation};
use crate::selection::{Selected, Selection};

/// Which documents of a type are kept.
pub(super) struct Keeps {
    selection: Selection,
    /// What it says no of.
    rejects: Selection,
    /// The fields that it looks at.
    fields: BTreeSet<usize>,
}

/// The documents of a type at a moment, with what says which of them are kept. They are looked through while the store is fed, told to
/// keep others, or closed.
pub struct ExpiryScan {
    keeps: Option<Arc<Keeps>>,
    kind: DocumentType,
    view: View,
    now: i64,
}

/// Some of the documents of a type that are not kept.
#[derive(Debug, Default)]
pub struct Expired {
    /// Their ids.
    pub ids: Vec<String>,
    /// The number of the document to go on with; nothing when all were looked at.
    pub next: Option<u32>,
    /// Documents that cannot be read, which stay.
    pub unread: usize,
    /// What is wrong with the first of these.
    pub error: Option<StoreError>,
}

impl Stored {
    /// Whether an operation is none that this store is for: what is put is not selected, or the id of the document tells that it
    /// cannot be.
    pub(super) fn ignores(&self, operation: &Operation, now: i64) -> bool {
        let Some(keeps) = &self.keeps else { return false };
        let (kind, id) = (&self.kind, operation.document.as_str());
        match &operation.action {
            Action::Put { fields, .. } => {
                !keeps.selection.selects(&Selected { kind, id, fields, now })
            }
            Action::Update { .. } | Action::Remove => keeps.selection.rejects_id(kind, id, now),
        }
    }
}

impl Keeps {
    fn new(selection: Selection, kind: &DocumentType) -> Keeps {
        Keeps { rejects: selection.negated(), fields: selection.fields_of(kind), selection }
    }
}

impl ExpiryScan {
    /// The documents that the selection says no of, among the next `rows` from a number on.
    #[must_use]
    pub fn find(&self, from: u32, rows: usize) -> Expired {
        let mut found = Expired::default();
        let Some(keeps) = &self.keeps else { return found };
        let (view, mut reader) = (&self.view, self.view.fields_reader());
        let mut lids = view.lids_from(from);
        for lid in lids.by_ref().take(rows) {
            let Some(id) = view.id(lid) else { continue };
            let fields = match keeps.fields.is_empty() {
                true => Ok(Some(Vec::new())),
                false => reader.read(lid, |field| keeps.fields.contains(&field)),
            };
            let fields = match fields {
                Ok(Some(fields)) => fields,
                Ok(None) => continue,
                Err(error) => {
                    found.unread += 1;
                    found.error.get_or_insert(error);
                    continue;
                }
            };
            let document = Selected { kind: &self.kind, id, fields: &fields, now: self.now };
            if keeps.rejects.selects(&document) {
                found.ids.push(id.to_owned());
            }
        }
        found.next = lids.next();
        found
    }
}

impl Store {
    /// Keeps from now on the documents of each type that its selection selects, and of types without one all. What is put
    /// beside them is [ignored](Outcome::Ignored); what is there already stays until it is [expired](Store::expire).
    pub fn keep(&mut self, mut selections: BTreeMap<String, Selection>) {
        for (name, stored) in &mut self.types {
            let selection = selections.remove(name);
            stored.keeps = selection.map(|selection| Arc::new(Keeps::new(selection, &stored.kind)));
        }
    }

    /// What there is of a type now, to find in it what is not kept.
    ///
    /// # Errors
    /// [`StoreError::Type`].
    pub fn expiry_scan(&self, name: &str) -> Result<ExpiryScan, StoreError> {
        let stored = self.stored(name)?;
        let (keeps, kind) = (stored.keeps.clone(), stored.kind.clone());
        Ok(ExpiryScan { keeps, kind, view: stored.reader.view(), now: self.now() })
    }

    /// Removes a document if the selection of its type says no of it, waiting while there is no room. `done` gets
    /// [`Outcome::ConditionFailed`] where it is not so any more.
    ///
    /// # Errors
    /// As [`Store::feed`].
    pub fn expire(
        &self,
        name: &str,
        document: String,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let Some(keeps) = &self.stored(name)?.keeps else {
            done(Ok(Outcome::ConditionFailed));
            return Ok(());
        };
        let condition = Some(keeps.rejects.clone());
        let operation = Operation { operation: 0, document, condition, action: Action::Remove };
        self.enter(name, operation, By::Expiry, (self.room.enter(), &NoEmbedder), done)
    }
}

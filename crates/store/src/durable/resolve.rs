//! What an operation comes to: what it does whatever is there, decided by what is there when it is submitted.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::known::{Known, Need};
use super::record::{Fields, Write};
use super::store::Outcome;
use crate::change::apply;
use crate::error::StoreError;
use crate::indexing::{ScriptContext, ScriptError, Scripts};
use crate::kind::DocumentType;
use crate::operation::{Action, Operation};
use crate::selection::Selected;

/// Why nothing is written.
pub(super) enum Refusal {
    /// Nothing is to be done.
    Ends(Outcome),
    /// It cannot be done.
    Fails(StoreError),
}

impl From<Outcome> for Refusal {
    fn from(outcome: Outcome) -> Refusal {
        Refusal::Ends(outcome)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::Fails(error)
    }
}

/// What operations of a type are resolved with.
pub(super) struct Resolver<'r> {
    pub(super) kind: &'r DocumentType,
    pub(super) scripts: Option<&'r Scripts>,
    pub(super) cx: ScriptContext<'r>,
}

impl Resolver<'_> {
    /// The first step, which does not depend on what is there: a document that is put gets what its scripts make of it.
    pub(super) fn prepare(&self, operation: &mut Operation) -> Result<(), StoreError> {
        let is_outside = |field: &usize| !self.kind.is_inside(*field);
        let outside = match &operation.action {
            Action::Put { fields, .. } => fields.iter().map(|(field, _)| *field).find(is_outside),
            Action::Update { changes, .. } => changes.iter().map(|c| c.field).find(is_outside),
            Action::Remove => None,
        };
        if let (Some(field), Some(_)) = (outside, self.scripts) {
            let (field, kind) = (self.kind.field_name(field).unwrap_or_default(), self.kind.name());
            let document = operation.document.clone();
            let text =
                format!("Field '{field}' is not part of the declared document type '{kind}'.");
            return Err(StoreError::Input { document, text });
        }
        if let Action::Put { fields, .. } = &mut operation.action {
            *fields = self.filled(&operation.document, std::mem::take(fields))?;
        }
        Ok(())
    }

    fn filled(&self, id: &str, fields: Fields) -> Result<Fields, StoreError> {
        let Some(scripts) = self.scripts else { return Ok(fields) };
        scripts.run(id, fields, &self.cx).map_err(|error| invalid(id, error))
    }

    /// What an operation that was prepared does with a document, and what the document is then; or that nothing is to be done.
    /// `known` tells of it what the operation [needs](Need), if it is there.
    pub(super) fn resolve(
        &self,
        operation: Operation,
        need: &Need,
        known: impl FnOnce() -> Result<Option<Known>, StoreError>,
    ) -> Result<(Write, Option<Known>), Refusal> {
        let Operation { document, condition, action, .. } = operation;
        let create = match &action {
            Action::Put { create, .. } | Action::Update { create, .. } => *create,
            Action::Remove => false,
        };
        let known = if *need == Need::Nothing { None } else { known()? };
        match (&condition, &known) {
            (Some(condition), Some(known)) => {
                let (kind, fields, now) = (self.kind, &known.fields, self.cx.now);
                if !condition.selects(&Selected { kind, id: &document, fields, now }) {
                    return Err(Outcome::ConditionFailed.into());
                }
            }
            // A document that is not there is not what a condition wants.
            (Some(_), None) if !create => return Err(Outcome::ConditionFailed.into()),
            _ => {}
        }
        let changes = match action {
            Action::Put { fields, .. } => {
                let fields = Arc::new(fields);
                return Ok((Write::Put(fields.clone()), Some(Known::whole(fields))));
            }
            Action::Remove => {
                let absent = || Outcome::Absent.into();
                return known.map(|_| (Write::Remove, None)).ok_or_else(absent);
            }
            Action::Update { changes, .. } => changes,
        };
        let Some(mut known) = known else {
            if !create {
                return Err(Outcome::Absent.into());
            }
            let mut fields = Vec::new();
            apply(self.kind, &mut fields, &changes);
            let fields = Arc::new(self.filled(&document, fields).map_err(Refusal::Fails)?);
            return Ok((Write::Put(fields.clone()), Some(Known::whole(fields))));
        };
        let mut fields = Arc::unwrap_or_clone(std::mem::take(&mut known.fields));
        apply(self.kind, &mut fields, &changes);
        let mut numbers: BTreeSet<usize> = changes.iter().map(|change| change.field).collect();
        if let Some(scripts) = self.scripts {
            let written = scripts.updated(&document, &fields, &numbers, &self.cx);
            for (field, value) in written.map_err(|e| Refusal::Fails(invalid(&document, e)))? {
                fields.retain(|(at, _)| *at != field);
                fields.extend(value.map(|value| (field, value)));
                numbers.insert(field);
            }
            fields.sort_by_key(|(field, _)| *field);
        }
        let value = |number: usize| {
            let found = fields.iter().find(|(field, _)| *field == number);
            (number, found.map(|(_, value)| value.clone()))
        };
        let values = numbers.iter().copied().map(value).collect();
        let known = known.changed(Arc::new(fields), &numbers);
        Ok((Write::Update(values), Some(known)))
    }
}

fn invalid(id: &str, error: ScriptError) -> StoreError {
    let text = format!("field {}: {}", error.field, error.text);
    StoreError::Input { document: id.to_owned(), text }
}

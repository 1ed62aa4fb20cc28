//! Operations as document processors in Rust see them.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use stead_expr::codec::json::Form;
use stead_search::result::item_of;
use stead_store::{Action, Change, DataType, DocumentType, Edit, FieldValue, Operation};

use super::NativeError;
use crate::Fed;

/// An operation with a document, whose fields have names.
#[derive(Debug, Clone)]
pub struct DocumentOperation {
    pub(in crate::components) fed: Fed,
    kind: Arc<DocumentType>,
}

impl DocumentOperation {
    pub(in crate::components) fn new(fed: Fed, kind: Arc<DocumentType>) -> DocumentOperation {
        DocumentOperation { fed, kind }
    }

    /// One that puts a document, without fields yet.
    #[must_use]
    pub fn put(id: impl Into<String>, kind: &Arc<DocumentType>) -> DocumentOperation {
        let action = Action::Put { fields: Vec::new(), create: false };
        let operation = Operation { operation: 0, document: id.into(), condition: None, action };
        DocumentOperation::new(Fed { operation, changes: None }, Arc::clone(kind))
    }

    /// The id of the document.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.fed.operation.document
    }

    /// The type of the document.
    #[must_use]
    pub fn kind(&self) -> &Arc<DocumentType> {
        &self.kind
    }

    /// What is done.
    #[must_use]
    pub fn action(&self) -> &Action {
        &self.fed.operation.action
    }

    /// The value that a field has when this is done: one that a put has, or that an update assigns.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        let (number, _) = self.kind.field(name)?;
        match self.action() {
            Action::Put { fields, .. } => {
                fields.iter().find(|(at, _)| *at == number).map(|(_, value)| value)
            }
            Action::Update { changes, .. } => changes.iter().rev().find_map(|change| match &change
                .edit
            {
                Edit::Assign(Some(value)) if change.field == number && change.path.is_empty() => {
                    Some(value)
                }
                _ => None,
            }),
            Action::Remove => None,
        }
    }

    /// Gives a field a value: that of a put, or one that an update assigns; nothing takes it away. A remove has no fields.
    ///
    /// # Errors
    /// A field that documents of the type do not have, and a value that is not of its type.
    pub fn set(&mut self, name: &str, value: Option<FieldValue>) -> Result<(), NativeError> {
        let (number, of) = field(&self.kind, name).map_err(NativeError::Failed)?;
        if let Some(value) = &value
            && !of.holds(&self.kind, value)
        {
            let text = format!(
                "field {name} of {} is of the type {of}, which its value is not",
                self.id()
            );
            return Err(NativeError::Failed(text));
        }
        match &mut self.fed.operation.action {
            Action::Put { fields, .. } => {
                fields.retain(|(at, _)| *at != number);
                fields.extend(value.map(|value| (number, value)));
            }
            Action::Update { changes, .. } => {
                // Components that see updates as JSON must see this one too.
                let mut all = shown_changes(self.fed.changes.as_deref())?;
                let shown = value.as_ref().and_then(|v| item_of(v, of, &self.kind, Form::Short));
                let shown =
                    shown.map_or(Ok(Json::Null), |item| serde_json::from_slice(&item.json()));
                let shown = shown.map_err(|error| NativeError::Failed(error.to_string()))?;
                all.insert(name.to_owned(), json!({ "assign": shown }));
                self.fed.changes = Some(Json::Object(all).to_string().into());
                let is_it = |change: &Change| change.field == number;
                changes.retain(|change| !is_it(change));
                changes.push(Change { field: number, path: Vec::new(), edit: Edit::Assign(value) });
            }
            Action::Remove => {}
        }
        Ok(())
    }

    /// Takes the value of a field away: a put has none then, and an update does not assign it.
    ///
    /// # Errors
    /// A field that documents of the type do not have.
    pub fn forget(&mut self, name: &str) -> Result<(), NativeError> {
        let (number, _) = field(&self.kind, name).map_err(NativeError::Failed)?;
        match &mut self.fed.operation.action {
            Action::Put { fields, .. } => fields.retain(|(at, _)| *at != number),
            Action::Update { changes, .. } => {
                let mut all = shown_changes(self.fed.changes.as_deref())?;
                all.remove(name);
                self.fed.changes = Some(Json::Object(all).to_string().into());
                changes.retain(|change| change.field != number);
            }
            Action::Remove => {}
        }
        Ok(())
    }
}

/// The fields of an update as JSON.
fn shown_changes(text: Option<&str>) -> Result<Map<String, Json>, NativeError> {
    let all = serde_json::from_str(text.unwrap_or("{}"));
    all.map_err(|error| NativeError::Failed(error.to_string()))
}

/// The number and type of a field.
///
/// # Errors
/// That there is none, with those that there are.
pub(super) fn field<'k>(
    kind: &'k DocumentType,
    name: &str,
) -> Result<(usize, &'k DataType), String> {
    kind.field(name).ok_or_else(|| {
        let known: Vec<&str> = kind.fields().collect();
        format!(
            "documents of type {} have no field {name}; they have {}",
            kind.name(),
            known.join(", ")
        )
    })
}

//! An object of JSON as a document to put, or as an operation that names its document itself.

use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::members::{Members, MembersError, Verb, check_id, without_place};
use super::value::shown;
use crate::error::FeedError;
use crate::kind::DocumentType;
use crate::operation::Operation;
use crate::value::FieldValue;

/// A document to put.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Put {
    /// Its id; that of a document without one is made from its line.
    pub(crate) id: String,
    /// The numbers of the fields that have a value, with their values.
    pub(crate) fields: Vec<(usize, FieldValue)>,
}

/// Reads `{"put": id, "fields": {..}}`, or the same with `id` in the place of `put` or without both.
pub(crate) fn read_put(kind: &DocumentType, line: usize, bytes: &[u8]) -> Result<Put, FeedError> {
    let body = body(line, bytes)?;
    if let Some(verb) = [Verb::Update, Verb::Remove].iter().find(|v| body.get(v.name()).is_some()) {
        let text = format!("expected a document to put, found the key {}", verb.name());
        return Err(FeedError::new(line, text));
    }
    let id = match body.get("put").or_else(|| body.get("id")) {
        Some(found) => id(kind, line, found)?,
        None => format!("#{line}"),
    };
    let fields = body.fields(kind, line, &id)?;
    Ok(Put { id, fields })
}

/// Reads an operation: to put, to update or to remove a document.
pub(crate) fn read_operation(
    kind: &DocumentType,
    line: usize,
    bytes: &[u8],
) -> Result<Operation, FeedError> {
    let body = body(line, bytes)?;
    // The one thing that it does.
    let mut verbs = Verb::ALL.iter().filter_map(|verb| Some((*verb, body.get(verb.name())?)));
    let (Some((verb, found)), None) = (verbs.next(), verbs.next()) else {
        return Err(FeedError::new(line, "expected one of put, update and remove with an id"));
    };
    body.operation_at(kind, line, verb, id(kind, line, found)?)
}

/// The id of the document of an operation, of whatever type.
pub(crate) fn document_of(line: usize, bytes: &[u8]) -> Result<String, FeedError> {
    /// The members that may have it.
    #[derive(serde::Deserialize)]
    struct Head {
        put: Option<String>,
        update: Option<String>,
        remove: Option<String>,
    }
    let head: Head =
        serde_json::from_slice(bytes).map_err(|e| FeedError::new(line, e.to_string()))?;
    match (head.put, head.update, head.remove) {
        (Some(id), None, None) | (None, Some(id), None) | (None, None, Some(id)) => Ok(id),
        _ => Err(FeedError::new(line, "expected one of put, update and remove with an id")),
    }
}

fn body(line: usize, bytes: &[u8]) -> Result<Members<'_>, FeedError> {
    Members::parse(bytes).map_err(|error| match error {
        MembersError::Json(e) => {
            let line = line + e.line().saturating_sub(1);
            let what = without_place(&e);
            FeedError::new(line, format!("{what} in column {}", e.column()))
        }
        other => FeedError::new(line, other.to_string()),
    })
}

fn id(kind: &DocumentType, line: usize, found: &RawValue) -> Result<String, FeedError> {
    let id = match serde_json::from_str(found.get()) {
        Ok(Json::String(id)) => id,
        Ok(Json::Number(number)) => number.to_string(),
        other => {
            let found = other.map_or_else(|e| without_place(&e), |json| shown(&json));
            return Err(FeedError::new(line, format!("expected a document id, found {found}")));
        }
    };
    check_id(kind, line, id)
}

//! An object of JSON as a document to put.

use serde_json::{Map, Value as Json};

use super::update::read_changes;
use super::value::{Reader, shown};
use crate::error::FeedError;
use crate::kind::DocumentType;
use crate::operation::{Action, Operation};
use crate::selection::Selection;
use crate::value::FieldValue;

/// A document to put.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Put {
    /// Its id; that of a document without one is made from its line.
    pub(crate) id: String,
    /// The numbers of the fields that have a value, with their values.
    pub(crate) fields: Vec<(usize, FieldValue)>,
}

/// The keys beside id and fields that an operation may have, which do not concern who reads documents only.
const OTHER: [&str; 2] = ["create", "condition"];

/// Reads `{"put": id, "fields": {..}}`, or the same with `id` in the place of `put` or without both.
pub(crate) fn read_put(kind: &DocumentType, line: usize, bytes: &[u8]) -> Result<Put, FeedError> {
    let object = &object(line, bytes)?;
    if let Some(verb) = ["update", "remove"].iter().find(|verb| object.contains_key(**verb)) {
        let text = format!("expected a document to put, found the key {verb}");
        return Err(FeedError::new(line, text));
    }
    let id = match (object.get("put"), object.get("id")) {
        (Some(found), _) | (None, Some(found)) => id(kind, line, found)?,
        (None, None) => format!("#{line}"),
    };
    put(kind, line, id, object)
}

/// Reads an operation: to put, to update or to remove a document.
pub(crate) fn read_operation(
    kind: &DocumentType,
    line: usize,
    bytes: &[u8],
) -> Result<Operation, FeedError> {
    let object = &object(line, bytes)?;
    let verb = verb(line, object)?;
    let document = id(kind, line, &object[verb])?;
    let fail = |field: Option<String>, text: String| {
        let document = Some(document.clone());
        FeedError { line, document, field, text }
    };
    let create = match object.get("create") {
        None => false,
        Some(Json::Bool(create)) => *create,
        Some(other) => {
            let text = format!("create: expected true or false, found {}", shown(other));
            return Err(fail(None, text));
        }
    };
    let action = match verb {
        "put" => {
            let Put { fields, .. } = put(kind, line, document.clone(), object)?;
            Action::Put { fields, create }
        }
        "remove" => Action::Remove,
        _ => {
            let mut changes = Vec::new();
            match object.get("fields") {
                None => {}
                Some(Json::Object(fields)) => {
                    for (name, json) in fields {
                        let read = read_changes(kind, name, json);
                        changes.extend(read.map_err(|(field, text)| fail(Some(field), text))?);
                    }
                }
                Some(other) => {
                    let text = format!("expected an object of fields, found {}", shown(other));
                    return Err(fail(None, text));
                }
            }
            Action::Update { changes, create }
        }
    };
    let condition = match object.get("condition") {
        None => None,
        Some(Json::String(text)) => {
            let condition = Selection::parse(text);
            Some(condition.map_err(|e| fail(None, format!("condition: {e}")))?)
        }
        Some(other) => {
            let text = format!("condition: expected a selection as a text, found {}", shown(other));
            return Err(fail(None, text));
        }
    };
    Ok(Operation { operation: 0, document, condition, action })
}

/// The one thing that an operation does.
fn verb(line: usize, object: &Map<String, Json>) -> Result<&'static str, FeedError> {
    let verbs: Vec<&str> =
        ["put", "update", "remove"].into_iter().filter(|verb| object.contains_key(*verb)).collect();
    match verbs[..] {
        [verb] => Ok(verb),
        _ => Err(FeedError::new(line, "expected one of put, update and remove with an id")),
    }
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

fn object(line: usize, bytes: &[u8]) -> Result<Map<String, Json>, FeedError> {
    let json: Json = serde_json::from_slice(bytes).map_err(|e| {
        let line = line + e.line().saturating_sub(1);
        let text = e.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        FeedError::new(line, format!("{what} in column {}", e.column()))
    })?;
    match json {
        Json::Object(object) => Ok(object),
        other => Err(FeedError::new(line, format!("expected a document, found {}", shown(&other)))),
    }
}

fn put(
    kind: &DocumentType,
    line: usize,
    id: String,
    object: &Map<String, Json>,
) -> Result<Put, FeedError> {
    let with_id = |text: String| {
        let document = Some(id.clone());
        FeedError { line, document, field: None, text }
    };
    let none = Map::new();
    let fields = match object.get("fields") {
        Some(Json::Object(fields)) => fields,
        Some(other) => {
            return Err(with_id(format!("expected an object of fields, found {}", shown(other))));
        }
        None => &none,
    };
    let known = |key: &str| ["put", "id", "fields"].contains(&key) || OTHER.contains(&key);
    if let Some(key) = object.keys().find(|key| !known(key)) {
        let text = format!("expected one of put, id, fields, found {:?}", key);
        return Err(with_id(text));
    }
    let mut values = Vec::new();
    for (name, json) in fields {
        let at_field = |field: String, text: String| {
            let (document, field) = (Some(id.clone()), Some(field));
            FeedError { line, document, field, text }
        };
        let Some((number, of)) = kind.field(name) else {
            let known: Vec<&str> = kind.fields().collect();
            let text =
                format!("document {} has no such field; it has {}", kind.name(), known.join(", "));
            return Err(at_field(name.clone(), text));
        };
        // A field without a value.
        if json.is_null() {
            continue;
        }
        let mut reader = Reader::new(kind, name);
        match reader.value(of, json) {
            Ok(value) => values.push((number, value)),
            Err(text) => return Err(at_field(reader.path, text)),
        }
    }
    Ok(Put { id, fields: values })
}

fn id(kind: &DocumentType, line: usize, json: &Json) -> Result<String, FeedError> {
    let id = match json {
        Json::String(id) => id.clone(),
        Json::Number(number) => number.to_string(),
        other => {
            return Err(FeedError::new(
                line,
                format!("expected a document id, found {}", shown(other)),
            ));
        }
    };
    // An id of any other form is taken as it is.
    let Some(rest) = id.strip_prefix("id:") else { return Ok(id) };
    let mut parts = rest.splitn(4, ':');
    let (_, of, _, user) = (parts.next(), parts.next(), parts.next(), parts.next());
    match (of, user) {
        (Some(of), Some(_)) if of == kind.name() => Ok(id),
        (Some(of), Some(_)) => {
            let text =
                format!("expected a document of type {}, found one of type {of}", kind.name());
            Err(FeedError { line, document: Some(id.clone()), field: None, text })
        }
        _ => {
            let text = format!("expected an id id:namespace:{}::name, found {id:?}", kind.name());
            Err(FeedError::new(line, text))
        }
    }
}

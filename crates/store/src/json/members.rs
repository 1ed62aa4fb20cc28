//! What a request or a line of a file says of a document: members whose meaning the type of the document gives.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::update::read_changes;
use super::value::{Reader, shown};
use crate::error::FeedError;
use crate::id::IdParts;
use crate::kind::DocumentType;
use crate::operation::{Action, Operation};
use crate::selection::Selection;
use crate::value::FieldValue;

/// What is to be done with a document, as JSON names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// It has these fields from now on.
    Put,
    /// Some of its fields change.
    Update,
    /// It is taken away.
    Remove,
}

impl Verb {
    /// All, in the order in which errors name them.
    pub(crate) const ALL: [Verb; 3] = [Verb::Put, Verb::Update, Verb::Remove];

    /// The member that has the id of the document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verb::Put => "put",
            Verb::Update => "update",
            Verb::Remove => "remove",
        }
    }
}

/// The members that may stand beside the fields of a document to put.
const KNOWN: [&str; 7] = ["put", "update", "remove", "id", "fields", "create", "condition"];

/// Why bytes are no object.
#[derive(Debug, thiserror::Error)]
pub enum MembersError {
    /// It is no JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is JSON, but no object: what it is.
    #[error("expected a document, found {0}")]
    NoObject(String),
}

/// The members of an object, each as its text: it is read once, as what the type of its field says.
#[derive(Debug, Default)]
pub struct Members<'a> {
    texts: Texts<'a>,
}

/// Names and texts, by name; of those that stand twice the last, as `serde_json` takes them.
type Texts<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

impl<'a> Members<'a> {
    /// Those of the object that JSON is.
    ///
    /// # Errors
    /// Where it is no JSON, or no object.
    pub fn parse(json: &'a [u8]) -> Result<Members<'a>, MembersError> {
        // Only of an object are the members wanted; anything else is told what it is.
        if json.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte != b'{') {
            let other: Json = serde_json::from_slice(json)?;
            return Err(MembersError::NoObject(shown(&other)));
        }
        let mut reader = serde_json::Deserializer::from_slice(json);
        let texts = members(&mut reader)?;
        reader.end()?;
        Ok(Members { texts })
    }

    /// The JSON of the fields, if there are any.
    #[must_use]
    pub fn fields_text(&self) -> Option<&'a str> {
        self.get("fields").map(RawValue::get)
    }

    /// The text of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.texts.iter().find(|(other, _)| other == name).map(|(_, text)| *text)
    }

    /// The operation with the document of this id. An id among the members does not count.
    ///
    /// # Errors
    /// When it does not fit the type.
    pub fn operation(
        &self,
        kind: &DocumentType,
        verb: Verb,
        id: &str,
    ) -> Result<Operation, FeedError> {
        self.operation_at(kind, 1, verb, check_id(kind, 1, id.to_owned())?)
    }

    /// The operation that stands in a line.
    pub(crate) fn operation_at(
        &self,
        kind: &DocumentType,
        line: usize,
        verb: Verb,
        document: String,
    ) -> Result<Operation, FeedError> {
        let of_document = |text: String| {
            let document = Some(document.clone());
            FeedError { line, document, field: None, text }
        };
        let member = |name: &str| {
            let json = self.get(name).map(|text| serde_json::from_str::<Json>(text.get()));
            json.transpose().map_err(|e| of_document(format!("{name}: {}", without_place(&e))))
        };
        let create = match member("create")? {
            None => false,
            Some(Json::Bool(create)) => create,
            Some(other) => {
                let text = format!("create: expected true or false, found {}", shown(&other));
                return Err(of_document(text));
            }
        };
        let action = match verb {
            Verb::Put => Action::Put { fields: self.fields(kind, line, &document)?, create },
            Verb::Remove => Action::Remove,
            Verb::Update => {
                let mut changes = Vec::new();
                for (name, text) in self.field_texts(line, &document)? {
                    let read = serde_json::from_str(text.get())
                        .map_err(|e| (name.to_string(), without_place(&e)))
                        .and_then(|json| read_changes(kind, &name, &json));
                    changes.extend(read.map_err(|(field, text)| {
                        let (document, field) = (Some(document.clone()), Some(field));
                        FeedError { line, document, field, text }
                    })?);
                }
                Action::Update { changes, create }
            }
        };
        let condition = match member("condition")? {
            None => None,
            Some(Json::String(text)) => {
                let condition = Selection::parse(&text);
                Some(condition.map_err(|e| of_document(format!("condition: {e}")))?)
            }
            Some(other) => {
                let found = shown(&other);
                let text = format!("condition: expected a selection as a text, found {found}");
                return Err(of_document(text));
            }
        };
        Ok(Operation { operation: 0, document, condition, action })
    }

    /// The fields of a document to put that have a value: their numbers and values.
    pub(crate) fn fields(
        &self,
        kind: &DocumentType,
        line: usize,
        id: &str,
    ) -> Result<Vec<(usize, FieldValue)>, FeedError> {
        let texts = self.field_texts(line, id)?;
        if let Some((key, _)) = self.texts.iter().find(|(key, _)| !KNOWN.contains(&&**key)) {
            let text = format!("expected one of put, id, fields, found {key:?}");
            return Err(FeedError { line, document: Some(id.to_owned()), field: None, text });
        }
        let mut values = Vec::with_capacity(texts.len());
        for (name, text) in texts {
            let at_field = |field: String, text: String| {
                let (document, field) = (Some(id.to_owned()), Some(field));
                FeedError { line, document, field, text }
            };
            let Some((number, of)) = kind.field(&name) else {
                let known: Vec<&str> = kind.fields().collect();
                let text = format!(
                    "document {} has no such field; it has {}",
                    kind.name(),
                    known.join(", ")
                );
                return Err(at_field(name.into_owned(), text));
            };
            // A field without a value.
            if text.get() == "null" {
                continue;
            }
            let mut reader = Reader::new(kind, &name);
            match reader.text(of, text) {
                Ok(value) => values.push((number, value)),
                Err(text) => return Err(at_field(reader.path, text)),
            }
        }
        Ok(values)
    }

    fn field_texts(&self, line: usize, id: &str) -> Result<Texts<'a>, FeedError> {
        let fail = |text: String| {
            let document = Some(id.to_owned());
            FeedError { line, document, field: None, text }
        };
        let Some(text) = self.get("fields") else { return Ok(Vec::new()) };
        if !text.get().starts_with('{') {
            let found = serde_json::from_str(text.get()).map(|json| shown(&json));
            let found = found.unwrap_or_else(|e| without_place(&e));
            return Err(fail(format!("expected an object of fields, found {found}")));
        }
        members(&mut serde_json::Deserializer::from_str(text.get()))
            .map_err(|e| fail(without_place(&e)))
    }
}

/// An id, if it is one for documents of the type. One of any other form than `id:...` is taken as it is.
pub(crate) fn check_id(kind: &DocumentType, line: usize, id: String) -> Result<String, FeedError> {
    if !id.starts_with("id:") {
        return Ok(id);
    }
    match IdParts::of(&id).map(|parts| parts.kind) {
        Some(of) if of == kind.name() => Ok(id),
        Some(of) => {
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

/// What is wrong with JSON, without the place: that of a part is not that of the whole.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn members<'a, R: serde_json::de::Read<'a>>(
    reader: &mut serde_json::Deserializer<R>,
) -> Result<Texts<'a>, serde_json::Error> {
    struct Object;
    impl<'a> Visitor<'a> for Object {
        type Value = Texts<'a>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Texts<'a>, A::Error> {
            let mut members = Texts::new();
            while let Some(Name(name)) = map.next_key()? {
                members.push((name, map.next_value()?));
            }
            // The last of one name comes first, so that it stays.
            members.reverse();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            members.dedup_by(|(later, _), (kept, _)| later == kept);
            Ok(members)
        }
    }
    reader.deserialize_map(Object)
}

/// A name without a copy, where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_any_reader_of_json() {
        for (json, expected) in [
            ("{}", "{}"),
            (" {\"fields\" : { } , \"put\":\"id\"}\n", r#"{"fields":{ },"put":"id"}"#),
            (r#"{"a":1,"b":2,"a":[3]}"#, r#"{"a":[3],"b":2}"#),
            (r#"{"\u0061":1,"a":2}"#, r#"{"a":2}"#),
            ("[1]", "expected a document, found [1]"),
            ("7", "expected a document, found 7"),
            ("", "EOF while parsing a value at line 1 column 0"),
            (" ", "EOF while parsing a value at line 1 column 1"),
            ("{\"a\":\n}", "expected value at line 2 column 1"),
            ("{} {}", "trailing characters at line 1 column 4"),
            ("{1:2}", "key must be a string at line 1 column 2"),
        ] {
            let found = match Members::parse(json.as_bytes()) {
                Ok(Members { texts }) => {
                    let texts = texts.iter().map(|(name, text)| format!("{name:?}:{}", text.get()));
                    format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{json}");
        }
    }
}

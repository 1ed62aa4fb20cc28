//! `constant`: fields with one value for all documents.

use serde_json::Value as Json;
use stead_app::components::Parameters;
use stead_store::{Action, DataType, DocumentType, FieldValue, Members, Verb};

use super::{Making, concerned, field_type};
use crate::components::native::{Call, DocumentOperation, DocumentProcessor, NativeError};

/// Gives fields of puts a value.
pub(super) struct Constant {
    kinds: Vec<String>,
    values: Vec<(String, FieldValue)>,
    /// Whether values that are there are replaced.
    always: bool,
}

impl Constant {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Constant, String> {
        let fields = given.map("fields");
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let kinds = concerned(given, &names, making)?;
        let mut values = Vec::with_capacity(fields.len());
        for (name, text) in fields {
            let of = field_type(&kinds, name)?;
            let Some(kind) = kinds.first() else { continue };
            values.push((name.clone(), value(kind, name, of, text)?));
        }
        let kinds = kinds.iter().map(|kind| kind.name().to_owned()).collect();
        Ok(Constant { kinds, values, always: given.text("when") == Some("always") })
    }
}

/// The value of a field from JSON; a text may stand as it is.
fn value(kind: &DocumentType, name: &str, of: &DataType, text: &str) -> Result<FieldValue, String> {
    let json = match of {
        DataType::Text => Json::String(text.to_owned()),
        _ => serde_json::from_str(text)
            .map_err(|error| format!("the value of field {name} is no JSON: {error}"))?,
    };
    let body = serde_json::json!({ "fields": { name: json } }).to_string();
    let members = Members::parse(body.as_bytes()).map_err(|error| error.to_string())?;
    let document = format!("id:constant:{}::1", kind.name());
    let read = members.operation(kind, Verb::Put, &document);
    let read = read.map_err(|error| format!("the value of field {name}: {}", error.text))?;
    match read.action {
        Action::Put { fields, .. } => fields.into_iter().next().map(|(_, value)| value),
        _ => None,
    }
    .ok_or_else(|| format!("the value of field {name} is empty"))
}

impl DocumentProcessor for Constant {
    fn process(
        &self,
        mut operation: DocumentOperation,
        _: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError> {
        let is_put = matches!(operation.action(), Action::Put { .. });
        if is_put && self.kinds.iter().any(|name| name == operation.kind().name()) {
            for (name, value) in &self.values {
                if self.always || operation.get(name).is_none() {
                    operation.set(name, Some(value.clone()))?;
                }
            }
        }
        Ok(vec![operation])
    }
}

//! Values of stored documents as inputs of queries.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stead_expr::Value;
use stead_expr::codec::json::{Form, to_json};
use stead_store::{Column, View};

use crate::columns::value;
use crate::query::SearchError;

/// The value of an attribute of a document as expressions have it; nothing if the document has none.
#[must_use]
pub fn field_value(view: &View, id: &str, field: &str) -> Option<Value> {
    let attribute = view.attribute(field)?;
    let (column, row) = attribute.at(view.find(id)?)?;
    let number = stead_expr::TensorType::double();
    let kind = match column {
        Column::Tensors(tensors) => tensors.kind(),
        _ => &number,
    };
    value(&column.attribute()?, kind, row)
}

/// Puts the values of stored documents in the place of inputs that name them: `document(id:ns:type::7).embedding`.
pub(super) fn resolve(
    inputs: &mut BTreeMap<String, Json>,
    stored: &dyn Fn(&str, &str) -> Option<Value>,
) -> Result<(), SearchError> {
    for (name, json) in inputs.iter_mut() {
        let Json::String(text) = &*json else { continue };
        let Some(inner) = text.trim().strip_prefix("document(") else { continue };
        let Some((id, field)) = inner.rsplit_once(").") else {
            return Err(SearchError::parameter(format!(
                "input query({name}): expected document(id).field, found {text:.60}"
            )));
        };
        let (id, field) = (id.trim().trim_matches(['\'', '"']), field.trim());
        let Some(found) = stored(id, field) else {
            return Err(SearchError::parameter(format!(
                "input query({name}): there is no document {id:.80} with a value of {field:.60}"
            )));
        };
        *json = match found.as_double() {
            Some(number) => serde_json::Number::from_f64(number)
                .map_or_else(|| Json::String(number.to_string()), Json::Number),
            None => to_json(&found, Form::Short),
        };
    }
    Ok(())
}

//! Values of stored documents as inputs of queries.

use serde_json::Value as Json;
use stead_expr::Value;
use stead_store::{Column, View};

use crate::columns::value;
use crate::query::SearchError;
use crate::rank::RankQuery;

/// The value of an attribute of a document as expressions have it; nothing if the document has none.
#[must_use]
pub fn field_value(view: &View, id: &str, field: &str) -> Option<Value> {
    let attribute = view.attribute(field)?;
    let (column, row) = attribute.at(view.find(id)?)?;
    if let Column::Tensors(tensors) = column
        && tensors.absent().contains(row)
    {
        return None;
    }
    let number = stead_expr::TensorType::double();
    let kind = match column {
        Column::Tensors(tensors) => tensors.kind(),
        _ => &number,
    };
    value(&column.attribute()?, kind, row)
}

/// Finds the values of stored documents that inputs name: `document(id:ns:type::7).embedding`.
pub(super) fn resolve(
    query: &mut RankQuery,
    stored: &dyn Fn(&str, &str) -> Option<Value>,
) -> Result<(), SearchError> {
    for (name, json) in &query.inputs {
        let Json::String(text) = json else { continue };
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
        query.values.insert(name.clone(), found);
    }
    Ok(())
}

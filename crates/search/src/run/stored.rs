//! Values of stored documents as inputs of queries.

use serde_json::Value as Json;
use stead_expr::Value;
use stead_store::{Column, StoreError, View};

use crate::columns::value;
use crate::query::SearchError;
use crate::rank::RankQuery;

/// The value of an attribute of a document as expressions have it; nothing if the document has none.
///
/// # Errors
/// When it lies on disk and cannot be read.
pub fn field_value(view: &View, id: &str, field: &str) -> Result<Option<Value>, StoreError> {
    let Some((attribute, lid)) = view.attribute(field).zip(view.find(id)) else { return Ok(None) };
    let Some((column, row)) = attribute.at(lid)? else { return Ok(None) };
    let number = stead_expr::TensorType::double();
    let kind = match &*column {
        Column::Tensors(tensors) if tensors.absent().contains(row) => return Ok(None),
        Column::Tensors(tensors) => tensors.kind(),
        _ => &number,
    };
    Ok(column.attribute().and_then(|all| value(&all, kind, row)))
}

/// Finds the values of stored documents that inputs name: `document(id:ns:type::7).embedding`.
pub(super) fn resolve(
    query: &mut RankQuery,
    stored: &dyn Fn(&str, &str) -> Result<Option<Value>, StoreError>,
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
        let Some(found) = stored(id, field)? else {
            return Err(SearchError::parameter(format!(
                "input query({name}): there is no document {id:.80} with a value of {field:.60}"
            )));
        };
        query.values.insert(name.clone(), found);
    }
    Ok(())
}

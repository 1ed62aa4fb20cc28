//! The sizes of dimensions that a type leaves open, as JSON has them.

use serde_json::{Map, Value as Json};

use super::JsonError;
use super::read::wrapped;
use crate::types::{Dimension, Extent, TensorType, parse_type};

/// The type of a tensor in JSON: its sizes are those that the JSON says, or that its arrays or indices have.
pub(super) fn sized(kind: &TensorType, json: &Json) -> Result<TensorType, JsonError> {
    if let Some(Json::String(text)) = json.get("type")
        && let Ok(found) = parse_type(text)
        && found.is_bound()
        && kind.takes(&found.with_cell(kind.cell()))
    {
        return Ok(found.with_cell(kind.cell()));
    }
    let sizes = wrapped(json).find_map(|part| sizes(kind, part)).ok_or_else(|| unknown(kind))?;
    let mut sizes = sizes.into_iter();
    let dimension = |d: &Dimension| match d.extent {
        Extent::Mapped => d.clone(),
        known @ Extent::Indexed(_) => {
            sizes.next();
            Dimension { name: d.name.clone(), extent: known }
        }
        Extent::Unbound => Dimension::indexed(&d.name, sizes.next().unwrap_or(0)),
    };
    Ok(TensorType::new(kind.cell(), kind.dimensions().iter().map(dimension).collect())?)
}

/// The sizes of the indexed dimensions in what stands behind `cells`, `values` or `blocks`.
fn sizes(kind: &TensorType, part: &Json) -> Option<Vec<usize>> {
    match part {
        Json::Array(list) if list.first().is_some_and(Json::is_object) => {
            match list.first()?.get("values") {
                Some(values) => block(kind, values),
                None => addresses(kind, list),
            }
        }
        Json::Array(_) | Json::String(_) if kind.is_dense() => block(kind, part),
        Json::Object(cells) if kind.is_dense() => indices(kind, cells),
        Json::Object(blocks) => block(kind, blocks.values().next()?),
        _ => None,
    }
}

/// The sizes of a block: nested arrays, or a flat one or digits where one size is open.
fn block(kind: &TensorType, cells: &Json) -> Option<Vec<usize>> {
    let rank = kind.dimensions().iter().filter(|d| !d.is_mapped()).count();
    let mut nested = Vec::new();
    let mut inner = cells;
    while let Json::Array(list) = inner
        && nested.len() < rank
    {
        nested.push(list.len());
        inner = list.first()?;
    }
    if nested.len() == rank {
        return Some(nested);
    }
    let count = match cells {
        Json::String(digits) => digits.len() / (2 * kind.cell().size()),
        _ => *nested.first().filter(|_| nested.len() == 1)?,
    };
    let open = kind.dimensions().iter().filter(|d| d.extent == Extent::Unbound).count();
    // Of one dimension the size follows from those of the others, which are not 0.
    (open == 1).then(|| {
        let size = |d: &Dimension| d.size().unwrap_or(count / kind.block_size());
        kind.dimensions().iter().filter(|d| !d.is_mapped()).map(size).collect()
    })
}

/// One more than the largest index of each dimension.
fn addresses(kind: &TensorType, cells: &[Json]) -> Option<Vec<usize>> {
    let index = |cell: &Json, name: &str| -> Option<usize> {
        match cell.get("address")?.get(name)? {
            Json::String(text) => text.parse().ok(),
            other => usize::try_from(other.as_u64()?).ok(),
        }
    };
    let largest = |d: &Dimension| -> Option<usize> {
        let all: Option<Vec<usize>> = cells.iter().map(|cell| index(cell, &d.name)).collect();
        all?.into_iter().max()?.checked_add(1)
    };
    kind.dimensions().iter().filter(|d| !d.is_mapped()).map(largest).collect()
}

/// One more than the largest index of the only dimension.
fn indices(kind: &TensorType, cells: &Map<String, Json>) -> Option<Vec<usize>> {
    let all: Option<Vec<usize>> = cells.keys().map(|key| key.parse().ok()).collect();
    let largest = all?.into_iter().max()?.checked_add(1)?;
    (kind.dimensions().len() == 1).then(|| vec![largest])
}

fn unknown(kind: &TensorType) -> JsonError {
    let dimension = kind.unbound().map_or_else(String::new, |d| d.name.to_string());
    JsonError::Size { of: kind.clone(), dimension }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::from_json;
    use crate::types::parse_type;

    #[test]
    fn sizes_are_those_of_the_cells() {
        for (kind, json, expected) in [
            ("tensor(x[])", json!([1, 2, 3]), "tensor(x[3]):[1,2,3]"),
            (
                "tensor(x[],y[])",
                json!([[1, 2, 3], [4, 5, 6]]),
                "tensor(x[2],y[3]):[[1,2,3],[4,5,6]]",
            ),
            ("tensor(x[],y[2])", json!([1, 2, 3, 4]), "tensor(x[2],y[2]):[[1,2],[3,4]]"),
            ("tensor<int8>(x[])", json!("0102"), "tensor<int8>(x[2]):[1,2]"),
            ("tensor(x[])", json!({"cells": {"2": 7}}), "tensor(x[3]):[0,0,7]"),
            (
                "tensor(x[],y[])",
                json!({"cells": [{"address": {"x": "1", "y": 0}, "value": 5}]}),
                "tensor(x[2],y[1]):[[0],[5]]",
            ),
            ("tensor(k{},x[])", json!({"a": [1, 2]}), "tensor(k{},x[2]):{a:[1,2]}"),
            (
                "tensor(k{},x[])",
                json!({"blocks": [{"address": {"k": "a"}, "values": [1, 2]}]}),
                "tensor(k{},x[2]):{a:[1,2]}",
            ),
            (
                "tensor<float>(k{},x[])",
                json!({"type": "tensor(k{},x[3])", "blocks": {}}),
                "tensor<float>(k{},x[3]):{}",
            ),
        ] {
            let found = from_json(&parse_type(kind).unwrap(), &json);
            assert_eq!(found.unwrap().to_string(), expected, "{kind} from {json}");
        }
        for (kind, json, message) in [
            (
                "tensor(k{},x[])",
                json!({}),
                "the size of dimension x of tensor(k{},x[]) is in no cell",
            ),
            (
                "tensor(x[],y[])",
                json!([1, 2]),
                "the size of dimension x of tensor(x[],y[]) is in no cell",
            ),
            ("tensor(x[])", json!([]), "the size of dimension x of tensor(x[]) is in no cell"),
            ("tensor(x[],y[2])", json!([1]), "dimension x has size 0"),
            (
                "tensor(x[],y[2])",
                json!([1, 2, 3]),
                "tensor(x[1],y[2]) needs 2 cells in a block, got 3",
            ),
            (
                "tensor(x[])",
                json!({"99999999999": 1}),
                "a block is larger than 67108864 cells at dimension x",
            ),
            (
                "tensor(k{},x[])",
                json!({"a": [1, 2], "b": [1]}),
                "tensor(k{},x[2]) needs 2 cells in a block, got 1",
            ),
        ] {
            let error = from_json(&parse_type(kind).unwrap(), &json).unwrap_err();
            assert_eq!(error.to_string(), message, "{kind} from {json}");
        }
    }
}

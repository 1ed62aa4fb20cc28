//! Tensors whose labels are elements of a field or of the query: `tensorFromLabels`, `tensorFromWeightedSet`,
//! `tensorFromLabelsWithOffset`.

use stead_app::application::rank::FeatureName;
use stead_expr::{Cells, Labels, TensorType, Value};
use stead_store::{Column, DataType, Elements, ManyColumn};

use super::{Call, Feature, text};

/// Where labels come from.
enum Source {
    Attribute(String),
    Query(String),
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let written = call.name.arguments.first().copied().unwrap_or_default();
    let expected =
        || format!("expected attribute(name) or query(name) as the source, found {written}");
    let parsed = FeatureName::parse(written).ok_or_else(expected)?;
    let name = parsed.argument(0).ok_or_else(expected)?.to_owned();
    let source = match parsed.name {
        "attribute" => Source::Attribute(name),
        "query" => Source::Query(name),
        _ => return Err(expected()),
    };
    let (kind, is_weighted) = (call.kind.clone(), call.name.name == "tensorFromWeightedSet");
    if call.name.name == "tensorFromLabelsWithOffset" {
        let Source::Attribute(name) = source else {
            return Err(format!("expected attribute(name) as the source, found {written}"));
        };
        check(call, &name, false)?;
        let label = kind.mapped().position(|d| *d.name == *call.argument(1)).unwrap_or(0);
        return Ok(Feature::documents(move |cx| {
            let column = cx.column(&name)?;
            cx.tensors_of(&kind, column, |place| with_places(place, &kind, label))
        }));
    }
    match source {
        Source::Attribute(name) => {
            check(call, &name, is_weighted)?;
            Ok(Feature::documents(move |cx| {
                let column = cx.column(&name)?;
                cx.tensors_of(&kind, column, |place| one(place, &kind))
            }))
        }
        Source::Query(name) => Ok(Feature::query(move |cx| {
            let pairs = match cx.query.text(&name) {
                None => Vec::new(),
                Some(written) if written.is_empty() => Vec::new(),
                Some(written) if is_weighted => text::weights(&written)?,
                Some(written) => text::list(&written)?.into_iter().map(|l| (l, 1.0)).collect(),
            };
            tensor(&kind, pairs.into_iter())
        })),
    }
}

/// Whether the attribute is such that its elements are labels.
fn check(call: &Call<'_>, name: &str, is_weighted: bool) -> Result<(), String> {
    let found = call.documents.attributes().iter().find(|a| a.name == name);
    let Some(found) = found else {
        return Err(format!("document {} has no attribute {name}", call.documents.name()));
    };
    let is_set = matches!(found.kind, DataType::WeightedSet(_));
    let element = match &found.kind {
        DataType::Array(of) | DataType::WeightedSet(of) => of,
        single => single,
    };
    let is_label = matches!(
        element,
        DataType::Text | DataType::Byte | DataType::Int | DataType::Long | DataType::Bool
    );
    if is_set == is_weighted && is_label {
        return Ok(());
    }
    let of = "strings or whole numbers";
    let expected = if is_weighted {
        format!("a weightedset of {of}")
    } else {
        format!("an array of {of}, or one of them")
    };
    Err(format!("attribute {name} is a {}, expected {expected}", found.kind))
}

/// The tensor of pairs of a label and a cell. A label that stands twice has its last cell, as Vespa's builders have it.
pub(super) fn tensor(
    kind: &TensorType,
    pairs: impl Iterator<Item = (String, f64)>,
) -> Result<Value, String> {
    rows(kind, pairs.map(|(label, cell)| (vec![label], cell)))
}

/// The tensor of cells by their labels, one for each mapped dimension.
pub(super) fn rows(
    kind: &TensorType,
    pairs: impl Iterator<Item = (Vec<String>, f64)>,
) -> Result<Value, String> {
    let mut by_label = std::collections::BTreeMap::new();
    by_label.extend(pairs);
    let (mut labels, mut cells) = (Labels::default(), Vec::new());
    for (row, cell) in by_label {
        for label in &row {
            if label.len() > stead_expr::MAX_LABEL {
                return Err(format!(
                    "a label of {} bytes, at most {} are possible",
                    label.len(),
                    stead_expr::MAX_LABEL
                ));
            }
            labels.push(label);
        }
        cells.push(cell);
    }
    let cells = Cells::from_numbers(kind.cell(), &cells);
    Value::new(kind.clone(), labels, cells).map_err(|e| e.to_string())
}

/// The labels of a document with their weights.
fn one(place: Option<(&Column, usize)>, kind: &TensorType) -> Result<Value, String> {
    let Some((column, row)) = place else { return tensor(kind, [].into_iter()) };
    match column {
        Column::Many(many) => {
            let pair = |at: usize| Some((many.elements().label(at)?, f64::from(many.weight(at))));
            tensor(kind, many.places(row).filter_map(pair))
        }
        Column::Numbers(numbers) => {
            tensor(kind, numbers.integer(row).map(|n| (n.to_string(), 1.0)).into_iter())
        }
        // A text without characters is one that is not there.
        Column::Texts(texts) => {
            let text = texts.get(row).filter(|t| !t.is_empty());
            tensor(kind, text.map(|t| (t.to_owned(), 1.0)).into_iter())
        }
        _ => Err("labels are texts or whole numbers".to_owned()),
    }
}

/// A one for each element and its place; `label` is the place of the dimension of elements among the two.
fn with_places(
    place: Option<(&Column, usize)>,
    kind: &TensorType,
    label: usize,
) -> Result<Value, String> {
    let Some((Column::Many(many), row)) = place else {
        return Err("only arrays have places".to_owned());
    };
    let pair = |(place, at): (usize, usize)| {
        let text = element(many, at)?;
        let place = place.to_string();
        Some((if label == 0 { vec![text, place] } else { vec![place, text] }, 1.0))
    };
    rows(kind, many.places(row).enumerate().filter_map(pair))
}

fn element(many: &ManyColumn, at: usize) -> Option<String> {
    match many.elements() {
        Elements::Texts(texts) => texts.get(at).map(str::to_owned),
        Elements::Numbers(_) => many.elements().label(at),
    }
}

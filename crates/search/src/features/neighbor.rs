//! `closeness`, `distance` and `closest` of vectors, for queries with `nearestNeighbor(field, name)`
//! (Vespa, documentation, `reference/schemas/schemas.html#distance-metric`). Every document is compared, none approximately, and with
//! the vectors of all such operators of a field: the nearest of them counts, whichever found the document (Vespa,
//! `distance_calculator_bundle.cpp`).

use stead_ann::Metric;
use stead_expr::{Attribute, Cells, Labels, TensorType, Value, parse_type};
use stead_store::{AttributeColumn, AttributeView, Column, DataType};

use super::{Call, DocumentContext, Feature, Note, default, place};
use crate::columns::{Computed, value};
use crate::vectors::{self, Vectors};
use crate::yql::Neighbor;

/// Of an attribute whose values are none.
const NO_VECTORS: &str = "documents have no vectors";

/// What is asked of the nearest vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Distance,
    Closeness,
    Label,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let wanted = match call.name.name {
        "distance" => Wanted::Distance,
        "closeness" => Wanted::Closeness,
        _ => Wanted::Label,
    };
    let (first, second) = (call.argument(0).to_owned(), call.name.argument(1).map(str::to_owned));
    // closeness(field, name), closeness(label, name), closest(name), closest(name, label)
    let (field, label) = match (wanted, first.as_str(), second) {
        (Wanted::Label, _, label) => (Some(first), label),
        (_, "field", Some(name)) => (Some(name), None),
        (_, "label", Some(name)) => (None, Some(name)),
        // closeness(name), distance(name)
        (_, _, None) => (Some(first), None),
        _ => return Ok(usual),
    };
    if let Some(name) = field.as_deref().filter(|name| place::is_position(call, name)) {
        return match wanted {
            Wanted::Label => Ok(usual),
            _ => place::build(call, name),
        };
    }
    let is_vector = |a: &&AttributeColumn| matches!(a.kind, DataType::Tensor(_));
    let columns = call.documents.attributes().iter().filter(is_vector);
    let columns: Vec<AttributeColumn> =
        columns.filter(|a| field.as_ref().is_none_or(|name| a.name == *name)).cloned().collect();
    if columns.is_empty() {
        return Ok(usual);
    }
    let kind = call.kind.clone();
    let nothing = match wanted {
        Wanted::Distance => f64::MAX,
        _ => 0.0,
    };
    let feature = Feature::documents(move |cx| {
        let of_columns = |n: &&Neighbor| columns.iter().any(|c| c.name == n.field);
        let neighbors = cx.query.query.neighbors.iter().filter(of_columns);
        // A label means one operator.
        let neighbors: Vec<&Neighbor> = match &label {
            Some(_) => neighbors.filter(|n| n.label == label).take(1).collect(),
            None => neighbors.collect(),
        };
        let first = neighbors.first();
        let Some(column) = first.and_then(|n| columns.iter().find(|c| c.name == n.field)) else {
            return match wanted {
                Wanted::Label => cx.tensors(&kind, |_| empty(&kind)),
                _ => Ok(cx.numbers(|_| nothing)),
            };
        };
        nearest(cx, column, &neighbors, wanted, &kind)
    });
    let note = usual.note.map(|note| Note {
        text: format!("{}; yql with nearestNeighbor(field, name) gives it a value", note.text),
        without_neighbors: true,
        in_searches: false,
    });
    Ok(Feature { note, ..feature })
}

fn empty(kind: &TensorType) -> Result<Value, String> {
    let cells = Cells::zeros(kind.cell(), if kind.is_dense() { kind.block_size() } else { 0 });
    Value::new(kind.clone(), Labels::default(), cells).map_err(|e| e.to_string())
}

fn nearest(
    cx: &DocumentContext<'_>,
    column: &AttributeColumn,
    neighbors: &[&Neighbor],
    wanted: Wanted,
    kind: &TensorType,
) -> Result<Computed, String> {
    let metric = column.metric.as_deref();
    let metric = Metric::of_name(metric)
        .ok_or_else(|| format!("the distance-metric {} is not known", metric.unwrap_or("")))?;
    let DataType::Tensor(of) = &column.kind else { return Err("vectors are tensors".to_owned()) };
    let queries = neighbors.iter().map(|neighbor| query_vector(cx, &neighbor.query, of));
    let queries: Vec<Vec<f64>> = queries.collect::<Result<_, _>>()?;
    let vectors = cx.column(&column.name)?;
    let best = |place: Option<(&Column, usize)>| {
        let (column, row) = place?;
        let attribute = column.attribute()?;
        let all = queries.iter().filter_map(|query| best(&attribute, of, row, query, metric));
        // Of those that are as near the one of the first operator.
        all.min_by(|(a, _), (b, _)| a.total_cmp(b))
    };
    match wanted {
        Wanted::Distance => distances(cx, vectors, metric, &queries, f64::MAX, |d| d),
        Wanted::Closeness => distances(cx, vectors, metric, &queries, 0.0, |d| metric.closeness(d)),
        Wanted::Label => cx.tensors_of(kind, vectors, |place| {
            let Some((_, labels)) = best(place).filter(|_| kind.mapped_count() > 0) else {
                return empty(kind);
            };
            let cells = Cells::from_numbers(kind.cell(), &[1.0]);
            Value::new(kind.clone(), labels, cells).map_err(|e| e.to_string())
        }),
    }
}

/// What becomes of the distance of the nearest vector of each document to any of the query; `nothing` where there is none.
fn distances(
    cx: &DocumentContext<'_>,
    vectors: AttributeView<'_>,
    metric: Metric,
    queries: &[Vec<f64>],
    nothing: f64,
    of: impl Fn(f64) -> f64,
) -> Result<Computed, String> {
    let documents: Vec<u32> = cx.rows.iter().collect();
    let (mut found, mut others) = (Vec::with_capacity(documents.len()), Vec::new());
    // Documents that lie behind each other in a block are compared together.
    let (view, mut columns) = (vectors.view(), vectors.cursor_over(cx.rows.iter()));
    let lie_together =
        |a: &u32, b: &u32| a.checked_add(1) == Some(*b) && view.split(*a).0 == view.split(*b).0;
    for run in documents.chunk_by(lie_together) {
        let column = columns.rows(run[0], run.len()).map_err(|e| e.to_string())?;
        let (column, row) = column.ok_or(NO_VECTORS)?;
        let from = found.len();
        for query in queries {
            let of_block = Vectors::new(column, metric, query).ok_or(NO_VECTORS)?;
            if found.len() == from {
                of_block.distances(row..row + run.len(), &mut found);
                continue;
            }
            others.clear();
            of_block.distances(row..row + run.len(), &mut others);
            for (nearest, other) in found.iter_mut().skip(from).zip(&others) {
                *nearest = nearest.min(*other);
            }
        }
    }
    let value = |distance: &mut f64| {
        *distance = if distance.is_nan() { nothing } else { of(*distance) };
    };
    found.iter_mut().for_each(value);
    Ok(Computed::Numbers(found))
}

/// The vector of the query, with the dimensions that each vector of a field has.
fn query_vector(cx: &DocumentContext<'_>, name: &str, of: &TensorType) -> Result<Vec<f64>, String> {
    let dimensions: Vec<String> =
        of.indexed().map(|(d, size)| format!("{}[{size}]", d.name)).collect();
    let kind = parse_type(&format!("tensor<float>({})", dimensions.join(",")))
        .map_err(|e| e.to_string())?;
    let value = cx.query.query.input(name, &kind).ok_or_else(|| {
        format!("nearestNeighbor takes query({name}), which the query does not give")
    })?;
    let value = value.map_err(|e| e.to_string())?;
    Ok(value.cells().doubles().into_owned())
}

/// The nearest vector of a document: its distance and labels.
fn best(
    attribute: &Attribute<'_>,
    kind: &TensorType,
    row: usize,
    query: &[f64],
    metric: Metric,
) -> Option<(f64, Labels)> {
    let value = value(attribute, kind, row)?;
    let (size, width) = (kind.block_size(), kind.mapped_count());
    let mut distances = vec![f64::NAN; value.cells().len().checked_div(size)?];
    vectors::compare(metric, query, value.cells(), 0, &mut distances);
    let (at, distance) = vectors::nearest(&distances)?;
    let labels = value.labels().get(at * width..(at + 1) * width)?.to_vec();
    Some((distance, Labels::hold(labels)))
}

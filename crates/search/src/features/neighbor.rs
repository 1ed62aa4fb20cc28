//! `closeness`, `distance` and `closest` of vectors, for queries with `nearestNeighbor(field, name)`
//! (Vespa, documentation, `reference/schemas/schemas.html#distance-metric`). Every document is compared, none approximately.

use stead_expr::{Attribute, Cells, Labels, TensorType, Value, parse_type};
use stead_store::{AttributeColumn, DataType};

use super::{Call, DocumentContext, Feature, Note, default};
use crate::columns::{Computed, value};

/// How far two vectors are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Euclidean,
    Angular,
    DotProduct,
    /// Of vectors of the same length.
    PrenormalizedAngular,
    /// Of degrees to the north and to the east, in kilometres.
    Geo,
    /// Of bits.
    Hamming,
}

/// The radius of the Earth in kilometres, as Vespa has it.
const EARTH: f64 = 6371.0088;

impl Metric {
    fn of_name(name: Option<&str>) -> Option<Metric> {
        Some(match name {
            None | Some("euclidean") => Metric::Euclidean,
            Some("angular") => Metric::Angular,
            Some("dotproduct") => Metric::DotProduct,
            Some("prenormalized-angular" | "innerproduct") => Metric::PrenormalizedAngular,
            Some("geodegrees") => Metric::Geo,
            Some("hamming") => Metric::Hamming,
            Some(_) => return None,
        })
    }

    fn distance(self, query: &[f64], vector: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        match self {
            Metric::Euclidean => {
                query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
            }
            Metric::Angular => {
                let length = (dot(query, query) * dot(vector, vector)).sqrt();
                let cosine = if length > 0.0 { dot(query, vector) / length } else { 0.0 };
                cosine.clamp(-1.0, 1.0).acos()
            }
            Metric::DotProduct => -dot(query, vector),
            Metric::PrenormalizedAngular => {
                let square = dot(query, query);
                let square = if square > 0.0 { square } else { 1.0 };
                (1.0 - dot(query, vector) / square).max(0.0)
            }
            Metric::Geo => match (query, vector) {
                ([north, east], [to_north, to_east]) => {
                    let [a, b, c, d] = [north, east, to_north, to_east].map(|x| x.to_radians());
                    let (across, along) = (((c - a) / 2.0).sin(), ((d - b) / 2.0).sin());
                    let half = across * across + a.cos() * c.cos() * along * along;
                    2.0 * EARTH * half.clamp(0.0, 1.0).sqrt().asin()
                }
                _ => f64::MAX,
            },
            Metric::Hamming => {
                let bits = |(a, b): (&f64, &f64)| ((*a as i8) ^ (*b as i8)).count_ones();
                f64::from(query.iter().zip(vector).map(bits).sum::<u32>())
            }
        }
    }

    /// The greater, the nearer.
    fn closeness(self, distance: f64) -> f64 {
        if self == Metric::DotProduct { -distance } else { 1.0 / (1.0 + distance) }
    }
}

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
        _ => return Ok(usual),
    };
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
        let neighbor = cx.query.query.neighbors.iter().find(|n| {
            columns.iter().any(|c| c.name == n.field) && (label.is_none() || n.label == label)
        });
        let column = neighbor.and_then(|n| columns.iter().find(|c| c.name == n.field));
        let (Some(neighbor), Some(column)) = (neighbor, column) else {
            return match wanted {
                Wanted::Label => cx.tensors(&kind, |_| empty(&kind)),
                _ => Ok(cx.numbers(|_| nothing)),
            };
        };
        nearest(cx, column, &neighbor.query, wanted, &kind)
    });
    let note = usual.note.map(|note| Note {
        text: format!("{}; yql with nearestNeighbor(field, name) gives it a value", note.text),
        without_neighbors: true,
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
    query: &str,
    wanted: Wanted,
    kind: &TensorType,
) -> Result<Computed, String> {
    let metric = column.metric.as_deref();
    let metric = Metric::of_name(metric)
        .ok_or_else(|| format!("the distance-metric {} is not known", metric.unwrap_or("")))?;
    let DataType::Tensor(of) = &column.kind else { return Err("vectors are tensors".to_owned()) };
    let vector = query_vector(cx, query, of)?;
    let attribute = cx.query.documents.attribute(&column.name);
    let attribute =
        attribute.ok_or_else(|| format!("documents have no values of {}", column.name))?;
    let best = |row: usize| best(&attribute, of, row, &vector, metric);
    match wanted {
        Wanted::Distance => Ok(cx.numbers(|row| best(row).map_or(f64::MAX, |(d, _)| d))),
        Wanted::Closeness => {
            Ok(cx.numbers(|row| best(row).map_or(0.0, |(d, _)| metric.closeness(d))))
        }
        Wanted::Label => cx.tensors(kind, |row| {
            let Some((_, labels)) = best(row).filter(|_| kind.mapped_count() > 0) else {
                return empty(kind);
            };
            let cells = Cells::from_numbers(kind.cell(), &[1.0]);
            Value::new(kind.clone(), labels, cells).map_err(|e| e.to_string())
        }),
    }
}

/// The vector of the query, with the dimensions that each vector of a field has.
fn query_vector(cx: &DocumentContext<'_>, name: &str, of: &TensorType) -> Result<Vec<f64>, String> {
    let dimensions: Vec<String> =
        of.indexed().map(|(d, size)| format!("{}[{size}]", d.name)).collect();
    let kind = parse_type(&format!("tensor<float>({})", dimensions.join(",")))
        .map_err(|e| e.to_string())?;
    let json = cx.query.query.inputs.get(name);
    let json = json.ok_or_else(|| {
        format!("nearestNeighbor takes query({name}), which the query does not give")
    })?;
    let value = crate::rank::input_value(name, &kind, json).map_err(|e| e.to_string())?;
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
    let (cells, size, width) = (value.cells().doubles(), kind.block_size(), kind.mapped_count());
    let distances = cells.chunks_exact(size).map(|vector| metric.distance(query, vector));
    let (at, distance) = distances.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let labels = value.labels().get(at * width..(at + 1) * width)?.to_vec();
    Some((distance, Labels::hold(labels)))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::Metric;

    #[test]
    fn distances_are_those_of_their_definitions() {
        // A degree of a great circle is 6371.0088 km * pi / 180.
        let degree = 6371.0088 * std::f64::consts::PI / 180.0;
        for (name, query, vector, distance, closeness) in [
            (None, [0.0, 0.0], [3.0, 4.0], 5.0, 1.0 / 6.0),
            (Some("angular"), [1.0, 0.0], [0.0, 2.0], FRAC_PI_2, 1.0 / (1.0 + FRAC_PI_2)),
            (Some("dotproduct"), [1.0, 2.0], [3.0, 4.0], -11.0, 11.0),
            (Some("prenormalized-angular"), [1.0, 0.0], [0.6, 0.8], 0.4, 1.0 / 1.4),
            (Some("geodegrees"), [10.0, 20.0], [11.0, 20.0], degree, 1.0 / (1.0 + degree)),
            (Some("hamming"), [7.0, -1.0], [0.0, -1.0], 3.0, 0.25),
        ] {
            let metric = Metric::of_name(name).unwrap();
            let found = metric.distance(&query, &vector);
            assert!((found - distance).abs() < 1e-9, "{name:?}: {found}");
            assert!((metric.closeness(found) - closeness).abs() < 1e-9, "{name:?}");
        }
        assert_eq!(Metric::of_name(Some("taxi")), None);
    }
}

//! Features of the terms of a query and of indexes, where there are none: what Vespa gives then.

use stead_expr::{Cells, Labels, Value};

use super::{Call, Feature, Note};

/// Where neither a term nor a word of a field is known (Vespa, documentation, `reference/ranking/rank-features.html`).
const NOWHERE: f64 = 1_000_000.0;

/// The greatest distance between positions in millionths of a degree.
const FAR: f64 = 6_400_000_000.0;

/// The degrees in a millionth, in kilometres.
const KM: f64 = 0.000_111_319_494_9;

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let value = if call.kind.is_double() {
        Value::double(number(call))
    } else {
        let cells = if call.kind.is_dense() { call.kind.block_size() } else { 0 };
        let cells = Cells::zeros(call.kind.cell(), cells);
        Value::new(call.kind.clone(), Labels::default(), cells).map_err(|e| e.to_string())?
    };
    let shown = if call.kind.is_double() { value.to_string() } else { "empty".to_owned() };
    let text = format!(
        "is {shown} for every document: there is no index and there are no terms of a query where documents are ranked from a file"
    );
    let note = Note { text, without_neighbors: false, in_searches: true };
    Ok(Feature { note: Some(note), ..Feature::always(value) })
}

fn number(call: &Call<'_>) -> f64 {
    match (call.name.name, call.name.output) {
        ("fieldTermMatch", "firstPosition") | ("termDistance", _) | ("fieldLength", _) => NOWHERE,
        ("term", "weight") => 100.0,
        ("term", "connectedness") => 0.1,
        ("distance", "") if is_position(call) => FAR,
        ("distance", "") => f64::MAX,
        ("distance", "km") => FAR * KM,
        ("distance", "index") => -1.0,
        ("distance", "latitude") => 90.0,
        ("distance", "longitude") => -180.0,
        ("distanceToPath", "" | "distance") => FAR,
        ("distanceToPath", "traveled") => 1.0,
        _ => 0.0,
    }
}

fn is_position(call: &Call<'_>) -> bool {
    let field = call.documents.field(call.argument(0));
    field.is_some_and(|(_, kind)| *kind == stead_store::DataType::Position)
}

//! `nativeRank` and what it is made of (Vespa, documentation, `reference/ranking/nativerank.html`).

mod attribute_match;
mod field_match;
mod proximity;
mod table;

use super::{Argument, Call, Feature, FieldRanking, default};
use table::Table;

pub(super) use attribute_match::build as attribute_match;
pub(super) use field_match::build as field_match;
pub(super) use proximity::build as proximity;

/// `nativeRank(fields...)`: `nativeFieldMatch`, `nativeProximity` and `nativeAttributeMatch` of these fields, or of all.
pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let is_index = |name: &&str| call.documents.texts().iter().any(|index| index.name == **name);
    let names: Vec<&str> = call.name.arguments.to_vec();
    let (indexes, attributes): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name| is_index(name));
    let feature = |name: &str, fields: &[&str]| match (names.is_empty(), fields.is_empty()) {
        (true, _) => name.to_owned(),
        (false, true) => "0".to_owned(),
        (false, false) => format!("{name}({})", fields.join(",")),
    };
    let usual_proximity = if is_normalized(call) { 25.0 } else { 100.0 };
    let weight = |name: &str, usual: f64| number(call, "nativeRank", name).unwrap_or(usual);
    let weights = [
        weight("fieldMatchWeight", 100.0),
        weight("proximityWeight", usual_proximity),
        weight("attributeMatchWeight", 100.0),
    ];
    let total: f64 = weights.iter().sum();
    let arguments = vec![
        feature("nativeFieldMatch", &indexes),
        feature("nativeProximity", &indexes),
        feature("nativeAttributeMatch", &attributes),
    ];
    let run = Feature::documents(move |cx| {
        let part = |at: usize, row: usize| match cx.arguments.get(at) {
            Some(Argument::Query(value)) => value.as_double().unwrap_or(0.0),
            Some(Argument::Documents(attribute, kind)) => {
                let value = crate::columns::value(attribute, kind, row);
                value.and_then(|value| value.as_double()).unwrap_or(0.0)
            }
            None => 0.0,
        };
        let score = |row: usize| {
            let sum = weights.iter().enumerate().map(|(at, weight)| part(at, row) * weight);
            if total > 0.0 { sum.sum::<f64>() / total } else { 0.0 }
        };
        Ok(crate::columns::Computed::Numbers((0..cx.rows.len()).map(score).collect()))
    });
    Ok(Feature { arguments, ..run }.noted(default::build(call)?))
}

/// Whether values of tables are parts of their greatest.
fn is_normalized(call: &Call<'_>) -> bool {
    call.properties.get("nativeRank.useTableNormalization").map(|text| text.trim()) != Some("false")
}

/// A number of `rank-properties`: `feature.name`.
fn number(call: &Call<'_>, feature: &str, name: &str) -> Option<f64> {
    call.properties.get(&format!("{feature}.{name}"))?.trim().parse().ok()
}

/// The same of a field: `feature.name.field`, else `feature.name`.
fn number_of(call: &Call<'_>, feature: &str, name: &str, field: &str) -> Option<f64> {
    number(call, feature, &format!("{name}.{field}")).or_else(|| number(call, feature, name))
}

/// Tables by the `rank-type` of a field: names, and what they are for `about`, `identity`, `tags` and `empty` (Vespa,
/// `config-model/src/main/java/com/yahoo/schema/derived/NativeRankTypeDefinitionSet.java`).
const TABLES: [(&str, [&str; 4]); 5] = [
    (
        "firstOccurrenceTable",
        ["expdecay(8000,12.50)", "expdecay(100,12.50)", "expdecay(8000,12.50)", "linear(0,0)"],
    ),
    (
        "occurrenceCountTable",
        [
            "loggrowth(1500,4000,19)",
            "loggrowth(1500,4000,19)",
            "loggrowth(1500,4000,19)",
            "linear(0,0)",
        ],
    ),
    ("proximityTable", ["expdecay(500,3)", "expdecay(5000,3)", "expdecay(500,3)", "linear(0,0)"]),
    (
        "reverseProximityTable",
        ["expdecay(400,3)", "expdecay(3000,3)", "expdecay(400,3)", "linear(0,0)"],
    ),
    ("weightTable", ["linear(1,0)", "linear(1,0)", "loggrowth(38,50,1)", "linear(0,0)"]),
];

/// A table of a field: what `rank-properties` say of it, else what its `rank-type` does, else what they say of all fields.
fn table(call: &Call<'_>, feature: &str, name: &str, field: &str) -> Result<Table, String> {
    let usual = TABLES.iter().find(|(known, _)| *known == name).map(|(_, tables)| tables);
    let usual = usual.ok_or_else(|| format!("there is no table {name}"))?;
    let by_type = match call.field(field).rank_type.as_deref() {
        Some("identity") => Some(usual[1]),
        Some("tags") => Some(usual[2]),
        Some("empty") => Some(usual[3]),
        _ => None,
    };
    let of_field = call.properties.get(&format!("{feature}.{name}.{field}")).map(String::as_str);
    let of_all = call.properties.get(&format!("{feature}.{name}")).map(String::as_str);
    Table::parse(of_field.or(by_type).or(of_all).unwrap_or(usual[0]))
}

/// The fields with an index that a feature looks at, by the numbers of these, with how they are ranked: those without a weight and filters
/// have no part in it.
fn indexes<'c>(call: &Call<'c>) -> Vec<(usize, &'c str, FieldRanking)> {
    let documents = call.documents;
    let all = documents.texts().iter().map(|index| index.name.as_str()).enumerate();
    let wanted = fields(call, documents.texts().iter().map(|index| index.name.as_str()));
    all.filter(|(_, name)| wanted.contains(name))
        .map(|(index, name)| (index, name, call.field(name)))
        .filter(|(.., ranking)| ranking.weight > 0 && !ranking.is_filter)
        .collect()
}

/// The names of the fields of a feature among some: those of its arguments, or all.
fn fields<'n>(call: &Call<'_>, all: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = &call.name.arguments;
    all.filter(|name| wanted.is_empty() || wanted.contains(name)).collect()
}

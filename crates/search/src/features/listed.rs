//! The features that `ranking.listFeatures` shows beside those that a profile names (Vespa, `visitDumpFeatures` of
//! `searchlib/src/vespa/searchlib/features/`).

use std::collections::HashMap;

use stead_app::application::rank::RANK_FEATURES;
use stead_store::{DataType, DocumentType};

use super::FieldRanking;

/// The most terms of a query whose features are listed, whatever `numTerms` says: queries have few.
const MAX_TERMS: usize = 64;

/// `numTerms` where nothing is said.
const TERMS: usize = 5;

/// Features of all terms and fields together.
const OF_QUERIES: [&str; 6] = [
    "firstPhase",
    "nativeAttributeMatch",
    "nativeFieldMatch",
    "nativeProximity",
    "nativeRank",
    "queryTermCount",
];

/// Outputs of `fieldMatch` of a field with `rank: filter`.
const FILTER_MATCH: [&str; 5] =
    ["completeness", "queryCompleteness", "weight", "matches", "degradedMatches"];

/// Outputs of `fieldTermMatch`: the other that there is, `exactness`, is not listed.
const TERM_MATCH: [&str; 3] = ["firstPosition", "occurrences", "weight"];

/// The names of these features for some documents and a profile, in order; `properties` are the profile's `rank-properties`.
pub(crate) fn listed(
    documents: &DocumentType,
    fields: &HashMap<String, FieldRanking>,
    properties: &HashMap<String, String>,
) -> Vec<String> {
    let mut names: Vec<String> = OF_QUERIES.iter().map(|name| (*name).to_owned()).collect();
    let mut outputs = |base: &str, outputs: &[&str]| {
        names.extend(outputs.iter().map(|output| format!("{base}.{output}")));
    };
    let term = named("term");
    for number in 0..terms(properties, &["term.numTerms".to_owned()]) {
        outputs(&format!("term({number})"), &term);
    }
    let mut alone = Vec::new();
    for index in documents.texts() {
        let name = &index.name;
        let is_filter = fields.get(name).is_some_and(|ranking| ranking.is_filter);
        alone.extend([format!("bm25({name})"), format!("matches({name})")]);
        let said = [
            format!("fieldTermMatch({name}).numTerms"),
            format!("fieldTermMatch.numTerms.{name}"),
            "fieldTermMatch.numTerms".to_owned(),
        ];
        for number in 0..terms(properties, &said) {
            outputs(&format!("fieldTermMatch({name},{number})"), &TERM_MATCH);
        }
        if !index.is_many {
            alone.push(format!("fieldMatch({name})"));
            let of_match = if is_filter { FILTER_MATCH.to_vec() } else { named("fieldMatch") };
            outputs(&format!("fieldMatch({name})"), &of_match);
        }
        if is_filter {
            continue;
        }
        outputs(&format!("elementCompleteness({name})"), &named("elementCompleteness"));
        if !index.is_many {
            outputs(&format!("textSimilarity({name})"), &named("textSimilarity"));
            continue;
        }
        let base = format!("elementSimilarity({name})");
        let own = properties.keys().filter_map(|key| {
            let output = key.strip_prefix(&base)?.strip_prefix(".output.")?;
            (output != "default").then(|| format!("{base}.{output}"))
        });
        alone.extend(own);
        alone.push(base);
    }
    for attribute in documents.attributes() {
        let name = &attribute.name;
        // A field with both counts as an index.
        if documents.texts().iter().any(|index| index.name == *name) {
            continue;
        }
        alone.push(format!("matches({name})"));
        if is_primitive(&attribute.kind) {
            alone.push(format!("attributeMatch({name})"));
            outputs(&format!("attributeMatch({name})"), &named("attributeMatch"));
        }
    }
    names.append(&mut alone);
    names.sort_unstable();
    names.dedup();
    names
}

/// The outputs of a feature that have a name.
fn named(feature: &str) -> Vec<&'static str> {
    let known = RANK_FEATURES.iter().find(|known| known.name == feature);
    let outputs = known.map_or(&[][..], |known| known.outputs);
    outputs.iter().copied().filter(|output| !output.is_empty()).collect()
}

/// How many terms are listed: what the first property says that is there.
fn terms(properties: &HashMap<String, String>, names: &[String]) -> usize {
    let said = names.iter().find_map(|name| properties.get(name));
    said.map_or(TERMS, |text| text.trim().parse().unwrap_or(0)).min(MAX_TERMS)
}

/// Whether values are numbers and texts, alone or several of them.
fn is_primitive(kind: &DataType) -> bool {
    match kind {
        DataType::Array(of) | DataType::WeightedSet(of) => is_primitive(of),
        DataType::Predicate
        | DataType::Raw
        | DataType::Position
        | DataType::Tensor(_)
        | DataType::Map(..)
        | DataType::Struct(_) => false,
        _ => true,
    }
}

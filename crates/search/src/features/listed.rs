//! The features that `ranking.listFeatures` shows beside those that a profile names (Vespa, `visitDumpFeatures` of
//! `searchlib/src/vespa/searchlib/features/`).

use std::collections::HashMap;

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

const ATTRIBUTE_MATCH: [&str; 12] = [
    "completeness",
    "queryCompleteness",
    "fieldCompleteness",
    "normalizedWeight",
    "normalizedWeightedWeight",
    "weight",
    "significance",
    "importance",
    "matches",
    "totalWeight",
    "averageWeight",
    "maxWeight",
];

const FIELD_MATCH: [&str; 29] = [
    "proximity",
    "completeness",
    "queryCompleteness",
    "fieldCompleteness",
    "orderness",
    "relatedness",
    "earliness",
    "longestSequenceRatio",
    "segmentProximity",
    "unweightedProximity",
    "absoluteProximity",
    "occurrence",
    "absoluteOccurrence",
    "weightedOccurrence",
    "weightedAbsoluteOccurrence",
    "significantOccurrence",
    "weight",
    "significance",
    "importance",
    "segments",
    "matches",
    "outOfOrder",
    "gaps",
    "gapLength",
    "longestSequence",
    "head",
    "tail",
    "segmentDistance",
    "degradedMatches",
];

/// Those of a field with `rank: filter`.
const FILTER_MATCH: [&str; 5] =
    ["completeness", "queryCompleteness", "weight", "matches", "degradedMatches"];

const TEXT_SIMILARITY: [&str; 5] =
    ["score", "proximity", "order", "queryCoverage", "fieldCoverage"];

const ELEMENT_COMPLETENESS: [&str; 4] =
    ["completeness", "fieldCompleteness", "queryCompleteness", "elementWeight"];

const TERM_MATCH: [&str; 3] = ["firstPosition", "occurrences", "weight"];

const TERM: [&str; 3] = ["connectedness", "significance", "weight"];

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
    for number in 0..terms(properties, &["term.numTerms".to_owned()]) {
        outputs(&format!("term({number})"), &TERM);
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
            let of_match = if is_filter { &FILTER_MATCH[..] } else { &FIELD_MATCH };
            outputs(&format!("fieldMatch({name})"), of_match);
        }
        if is_filter {
            continue;
        }
        outputs(&format!("elementCompleteness({name})"), &ELEMENT_COMPLETENESS);
        if !index.is_many {
            outputs(&format!("textSimilarity({name})"), &TEXT_SIMILARITY);
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
            outputs(&format!("attributeMatch({name})"), &ATTRIBUTE_MATCH);
        }
    }
    names.append(&mut alone);
    names.sort_unstable();
    names.dedup();
    names
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

//! Which feature is computed how: an entry for each row of the table of features.

use stead_expr::Value;

use super::{
    Call, Feature, attribute, attribute_match, bm25, document_frequency, dot_product,
    element_completeness, element_similarity, field_match, foreach, labels, matched, native,
    native_dot_product, neighbor, path, query_terms, random, structs, subqueries, text_similarity,
    time, tokens,
};

/// Makes a feature from its name.
type Build = fn(&Call<'_>) -> Result<Feature, String>;

/// How a feature gets its values.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// The plan of the profile knows: values of the query, phases, models, what is known of all hits together.
    Plan,
    /// It is computed.
    Computed(Build),
    /// It is refused, with this reason.
    Refused(&'static str),
}

const FEATURES: &[(&str, How)] = &[
    ("query", How::Plan),
    ("attribute", How::Computed(attribute::build)),
    ("constant", How::Plan),
    ("onnx", How::Plan),
    ("onnxModel", How::Plan),
    ("xgboost", How::Plan),
    ("lightgbm", How::Plan),
    ("vespa", How::Plan),
    ("rankingExpression", How::Plan),
    ("firstPhase", How::Plan),
    ("secondPhase", How::Plan),
    ("firstPhaseRank", How::Plan),
    ("firstPhaseMax", How::Plan),
    ("relevanceScore", How::Plan),
    ("normalize_linear", How::Plan),
    ("reciprocal_rank", How::Plan),
    ("reciprocal_rank_fusion", How::Plan),
    ("bm25", How::Computed(bm25::build)),
    ("bm25_for_labels", How::Computed(bm25::for_labels)),
    ("elementwise", How::Computed(bm25::elementwise)),
    ("nativeRank", How::Computed(native::build)),
    ("nativeFieldMatch", How::Computed(native::field_match)),
    ("nativeProximity", How::Computed(native::proximity)),
    ("nativeAttributeMatch", How::Computed(native::attribute_match)),
    ("nativeDotProduct", How::Computed(native_dot_product::build)),
    ("fieldMatch", How::Computed(field_match::build)),
    ("textSimilarity", How::Computed(text_similarity::build)),
    ("elementSimilarity", How::Computed(element_similarity::build)),
    ("elementCompleteness", How::Computed(element_completeness::build)),
    ("fieldTermMatch", How::Computed(query_terms::build)),
    ("matchCount", How::Computed(query_terms::build)),
    ("matches", How::Computed(matched::build)),
    ("termDistance", How::Computed(query_terms::build)),
    ("fieldLength", How::Computed(query_terms::build)),
    ("averageFieldLength", How::Computed(average_field_length)),
    ("fieldInfo", How::Refused("what it tells is known where there is an index")),
    ("subqueries", How::Computed(subqueries::build)),
    ("queryTermCount", How::Computed(query_terms::build)),
    ("queryTermDocumentFrequency", How::Computed(document_frequency::build)),
    ("term", How::Computed(query_terms::build)),
    ("attributeMatch", How::Computed(attribute_match::build)),
    ("closeness", How::Computed(neighbor::build)),
    ("distance", How::Computed(neighbor::build)),
    ("distanceToPath", How::Computed(path::build)),
    ("closest", How::Computed(neighbor::build)),
    ("rawScore", How::Computed(matched::build)),
    ("itemRawScore", How::Computed(matched::build)),
    ("freshness", How::Computed(time::freshness)),
    ("age", How::Computed(time::age)),
    ("now", How::Computed(time::now)),
    ("dotProduct", How::Computed(dot_product::build)),
    ("foreach", How::Computed(foreach::build)),
    ("tensorFromWeightedSet", How::Computed(labels::build)),
    ("tensorFromLabels", How::Computed(labels::build)),
    ("tensorFromLabelsWithOffset", How::Computed(labels::build)),
    ("tensorFromStructs", How::Computed(structs::build)),
    ("tokenInputIds", How::Computed(tokens::build)),
    ("customTokenInputIds", How::Computed(tokens::build)),
    ("tokenTypeIds", How::Computed(tokens::build)),
    ("tokenAttentionMask", How::Computed(tokens::build)),
    ("value", How::Computed(value)),
    ("globalSequence", How::Computed(global_sequence)),
    ("num_docs_indexed", How::Computed(documents)),
    ("random", How::Computed(random::random)),
    ("randomNormal", How::Computed(random::normal)),
    ("randomNormalStable", How::Computed(random::normal)),
];

/// How the feature of this name gets its values.
#[must_use]
pub fn find(name: &str) -> Option<How> {
    FEATURES.iter().find(|(n, _)| *n == name).map(|(_, how)| *how)
}

/// Makes a feature.
pub(crate) fn build(call: &Call<'_>) -> Result<Feature, String> {
    match find(call.name.name) {
        Some(How::Computed(build)) => build(call),
        Some(How::Refused(reason)) => Err(format!("is not supported: {reason}")),
        Some(How::Plan) | None => Err("is not supported".to_owned()),
    }
}

fn average_field_length(call: &Call<'_>) -> Result<Feature, String> {
    let name = call.argument(0);
    match call.documents.texts().iter().any(|index| index.name == name) {
        true => query_terms::build(call),
        false => Err(format!("is not supported: field {name} has no index of text")),
    }
}

fn value(call: &Call<'_>) -> Result<Feature, String> {
    let text = call.argument(0);
    let number = text.parse().map_err(|_| format!("expected a number, found {text}"))?;
    Ok(Feature::always(Value::double(number)))
}

/// Documents in the order in which they came, the first the greatest: `2^48 - (number * 2^16 + node)`, numbers from 1 and one
/// node, 0 (Vespa, `searchlib/src/vespa/searchlib/features/global_sequence_feature.cpp`).
fn global_sequence(_: &Call<'_>) -> Result<Feature, String> {
    Ok(Feature::documents(|cx| {
        Ok(cx.numbers(|row| 2_f64.powi(48) - (f64::from(row) + 1.0) * 65_536.0))
    }))
}

fn documents(_: &Call<'_>) -> Result<Feature, String> {
    Ok(Feature::query(|cx| Ok(Value::double(cx.documents.len() as f64))))
}

#[cfg(test)]
mod tests {
    use stead_app::application::rank::RANK_FEATURES;

    use super::{FEATURES, find};

    #[test]
    fn every_feature_of_the_table_has_an_entry_and_no_other() {
        for feature in RANK_FEATURES {
            assert!(find(feature.name).is_some(), "{}", feature.name);
        }
        // vespa(file.model) comes with the files that it names.
        for (name, _) in FEATURES.iter().filter(|(name, _)| *name != "vespa") {
            assert!(RANK_FEATURES.iter().any(|f| f.name == *name), "{name}");
        }
    }
}

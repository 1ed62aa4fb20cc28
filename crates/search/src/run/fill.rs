//! The fields of hits.

use stead_expr::Value;
use stead_expr::codec::binary::decode;
use stead_expr::codec::json::{Form, to_json};
use stead_store::View;
use xxhash_rust::xxh3::xxh3_128;

use super::prepare::ranking_error;
use super::{Prepared, Searcher};
use crate::matching::Matcher;
use crate::query::SearchError;
use crate::rank::{Lists, RankOptions};
use crate::result::{FeatureValue, Hit, Item, Partial, PartialHit, column_value};

const SUMMARY: Lists = Lists { of_match: false, of_summary: true };

/// The hits of a result with their fields.
///
/// # Errors
/// When a feature cannot be computed.
pub fn fill(
    searcher: Searcher<'_>,
    prepared: &Prepared,
    matcher: &Matcher<'_>,
    partial: &Partial,
    options: RankOptions,
) -> Result<Vec<Hit>, SearchError> {
    let names = prepared.plan.summary_features();
    let mut features = Vec::new();
    if !names.is_empty() && !prepared.summary.omits_features {
        let lids: Vec<u32> = partial.hits.iter().map(|hit| hit.lid).collect();
        let computed = prepared.plan.features(
            &prepared.rank,
            searcher.view,
            (matcher, &lids),
            options,
            SUMMARY,
        );
        for hit in computed.map_err(ranking_error)? {
            let pair = |(name, value): (&&str, &Value)| {
                ((*name).to_owned(), feature_item(value, prepared.tensors))
            };
            features.push(Item::Map(names.iter().zip(&hit.summary_features).map(pair).collect()));
        }
    }
    let mut features = features.into_iter();
    Ok(partial
        .hits
        .iter()
        .map(|hit| {
            let mut filled = one(searcher, prepared, &partial.features, hit);
            filled.fields.extend(features.next().map(|item| ("summaryfeatures".to_owned(), item)));
            filled
        })
        .collect())
}

fn one(searcher: Searcher<'_>, prepared: &Prepared, names: &[String], hit: &PartialHit) -> Hit {
    let (summary, view) = (&prepared.summary, searcher.view);
    let document = view.id(hit.lid).unwrap_or_default();
    let mut fields = Vec::new();
    if summary.has_type {
        fields.push(("sddocname".to_owned(), Item::text(view.kind().name())));
    }
    if summary.has_id {
        fields.push(("documentid".to_owned(), Item::text(document)));
    }
    for column in &summary.columns {
        let value = field(view, &column.source, hit.lid, prepared.tensors);
        fields.extend(value.map(|value| (column.name.clone(), value)));
    }
    if !names.is_empty() {
        let pair = |(name, value): (&String, &FeatureValue)| {
            let item = match value {
                FeatureValue::Number(number) => Item::Number(*number),
                FeatureValue::Tensor(bytes) => {
                    decode(bytes).map_or(Item::Null, |value| feature_item(&value, prepared.tensors))
                }
            };
            (name.clone(), item)
        };
        let features = names.iter().zip(&hit.features).map(pair).collect();
        fields.push(("matchfeatures".to_owned(), Item::Map(features)));
    }
    let id = match summary.shows_id {
        true => document.to_owned(),
        // Vespa's third part is a hash of the id too, of 12 bytes.
        false => {
            let hash = xxh3_128(document.as_bytes()) >> 32;
            format!("index:{}/{}/{hash:024x}", searcher.cluster, hit.node)
        }
    };
    Hit { id, relevance: hit.relevance, source: searcher.cluster.to_owned(), fields }
}

/// The value of a field. What is no attribute has no value in memory.
fn field(view: &View, name: &str, lid: u32, form: Form) -> Option<Item> {
    let attribute = view.attribute(name)?;
    let (column, row) = attribute.at(lid)?;
    column_value(column, &attribute.about().kind, row, form)
}

fn feature_item(value: &Value, form: Form) -> Item {
    match value.as_double() {
        Some(number) => Item::Number(number),
        None => Item::from(to_json(value, form)),
    }
}

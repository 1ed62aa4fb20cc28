//! The fields of hits.

use std::borrow::Cow;

use stead_expr::Value;
use stead_expr::codec::binary::decode;
use stead_expr::codec::json::Form;
use stead_store::{AttributeView, DataType};
use xxhash_rust::xxh3::xxh3_128;

use super::prepare::ranking_error;
use super::{Prepared, Searcher};
use crate::matching::Matcher;
use crate::query::SearchError;
use crate::rank::{Lists, RankOptions};
use crate::result::{FeatureValue, Hit, Item, PartialHit, SummaryColumn, item_of};

const SUMMARY: Lists = Lists { of_match: false, of_summary: true };

/// Hits of one type with their fields, in their order.
///
/// # Errors
/// When a feature cannot be computed.
pub fn fill(
    searcher: Searcher<'_>,
    prepared: &Prepared,
    matcher: &Matcher<'_>,
    hits: &[&PartialHit],
    options: RankOptions,
) -> Result<Vec<Hit>, SearchError> {
    let names = prepared.plan.summary_features();
    let match_features = prepared.plan.match_features();
    let mut features = Vec::new();
    if !names.is_empty() && !prepared.summary.omits_features {
        let lids: Vec<u32> = hits.iter().map(|hit| hit.lid).collect();
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
    Ok(hits
        .iter()
        .map(|hit| {
            let mut filled = one(searcher, prepared, &match_features, hit);
            filled.fields.extend(features.next().map(|item| ("summaryfeatures".to_owned(), item)));
            filled
        })
        .collect())
}

fn one(searcher: Searcher<'_>, prepared: &Prepared, names: &[&str], hit: &PartialHit) -> Hit {
    let (summary, view) = (&prepared.summary, searcher.view);
    let document = view.id(hit.lid).unwrap_or_default();
    let mut fields = Vec::new();
    if summary.has_type {
        fields.push(("sddocname".to_owned(), Item::text(view.kind().name())));
    }
    if summary.has_id {
        fields.push(("documentid".to_owned(), Item::text(document)));
    }
    let kind = view.kind();
    let source = |column: &SummaryColumn| kind.field(&column.source);
    let sources: Vec<Option<(usize, &DataType)>> = summary.columns.iter().map(source).collect();
    let is_wanted = |field: usize| sources.iter().flatten().any(|(at, _)| *at == field);
    let values = view.some_fields(hit.lid, is_wanted).unwrap_or_default();
    for (column, source) in summary.columns.iter().zip(&sources) {
        let Some((at, of)) = source else { continue };
        let own =
            values.iter().find(|(field, _)| field == at).map(|(_, value)| Cow::Borrowed(value));
        // What is imported is no field of the document.
        let imported = || {
            let of = view.attribute(&column.source).filter(AttributeView::is_imported)?;
            of.value(hit.lid).map(Cow::Owned)
        };
        let value = own.or_else(imported);
        let item = value.and_then(|value| item_of(&value, of, kind, prepared.tensors));
        fields.extend(item.map(|item| (column.name.clone(), item)));
    }
    if !names.is_empty() {
        let pair = |(name, value): (&&str, &FeatureValue)| {
            let item = match value {
                FeatureValue::Number(number) => Item::Number(*number),
                FeatureValue::Tensor(bytes) => {
                    decode(bytes).map_or(Item::Null, |value| feature_item(&value, prepared.tensors))
                }
            };
            ((*name).to_owned(), item)
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

fn feature_item(value: &Value, form: Form) -> Item {
    match value.as_double() {
        Some(number) => Item::Number(number),
        None => Item::Tensor(value.clone(), form),
    }
}

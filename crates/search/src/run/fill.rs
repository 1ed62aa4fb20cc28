//! The fields of hits.

use stead_expr::Value;
use stead_expr::codec::binary::decode;
use stead_expr::codec::json::Form;
use stead_store::{AttributeView, FieldValue, StoreError, View};
use xxhash_rust::xxh3::xxh3_128;

use super::prepare::ranking_error;
use super::{Prepared, Searcher};
use crate::matching::Matcher;
use crate::query::{SearchCode, SearchError};
use crate::rank::{Lists, RankOptions};
use crate::result::{FeatureValue, Hit, Item, PartialHit, Summary, SummaryColumn, item_of};

const SUMMARY: Lists = Lists { of_match: false, of_summary: true };

/// Hits of one type with their fields, in their order, and what is wrong with those that have none as their documents cannot be read.
///
/// # Errors
/// When a feature cannot be computed.
pub fn fill(
    searcher: Searcher<'_>,
    prepared: &Prepared,
    matcher: &Matcher<'_>,
    hits: &[&PartialHit],
    options: RankOptions,
) -> Result<(Vec<Hit>, Option<SearchError>), SearchError> {
    fill_with(searcher, (prepared, &prepared.summary), matcher, hits, options)
}

/// The same with the fields of another summary.
pub(super) fn fill_with(
    searcher: Searcher<'_>,
    (prepared, summary): (&Prepared, &Summary),
    matcher: &Matcher<'_>,
    hits: &[&PartialHit],
    options: RankOptions,
) -> Result<(Vec<Hit>, Option<SearchError>), SearchError> {
    let names = prepared.plan.summary_features();
    let match_features = prepared.plan.match_features();
    let mut features = Vec::new();
    if !names.is_empty() && !summary.omits_features {
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
    let mut filled = Vec::with_capacity(hits.len());
    let mut unread: Option<(usize, StoreError)> = None;
    for hit in hits {
        let values = Values::read(searcher.view, &summary.columns, hit.lid);
        let values = values.unwrap_or_else(|error| {
            unread = Some((unread.as_ref().map_or(1, |(count, _)| count + 1), error));
            Values::default()
        });
        let mut hit = one(searcher, (prepared, summary), &match_features, (hit, &values));
        hit.fields.extend(features.next().map(|item| ("summaryfeatures".to_owned(), item)));
        filled.push(hit);
    }
    Ok((filled, unread.map(|(count, error)| missing(count, &error))))
}

/// Of hits without fields (Vespa's text, `RpcProtobufFillInvoker`).
fn missing(count: usize, error: &StoreError) -> SearchError {
    let message = format!("Missing hit summary data for {count} hits: {error}");
    SearchError { code: SearchCode::EmptyDocuments, message }
}

/// The values of a document that its summary has.
#[derive(Default)]
struct Values {
    /// By the number of the field.
    own: Vec<(usize, FieldValue)>,
    /// By the place of the column in the summary: what is imported is no field of the document.
    imported: Vec<(usize, FieldValue)>,
}

impl Values {
    fn read(view: &View, columns: &[SummaryColumn], lid: u32) -> Result<Values, StoreError> {
        let number = |column: &SummaryColumn| view.kind().field(&column.source).map(|(at, _)| at);
        let numbers: Vec<usize> = columns.iter().filter_map(number).collect();
        let own = view.read(lid, |field| numbers.contains(&field))?.unwrap_or_default();
        let mut imported = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let of = view.attribute(&column.source).filter(AttributeView::is_imported);
            if let Some(of) = of {
                imported.extend(of.value(lid)?.map(|value| (place, value)));
            }
        }
        Ok(Values { own, imported })
    }

    fn get(&self, field: usize, place: usize) -> Option<&FieldValue> {
        let own = self.own.iter().find(|(at, _)| *at == field);
        let found = own.or_else(|| self.imported.iter().find(|(at, _)| *at == place));
        found.map(|(_, value)| value)
    }
}

fn one(
    searcher: Searcher<'_>,
    (prepared, summary): (&Prepared, &Summary),
    names: &[&str],
    (hit, values): (&PartialHit, &Values),
) -> Hit {
    let view = searcher.view;
    let document = view.id(hit.lid).unwrap_or_default();
    let mut fields = Vec::new();
    if summary.has_type {
        fields.push(("sddocname".to_owned(), Item::text(view.kind().name())));
    }
    if summary.has_id {
        fields.push(("documentid".to_owned(), Item::text(document)));
    }
    let kind = view.kind();
    for (place, column) in summary.columns.iter().enumerate() {
        let Some((at, of)) = kind.field(&column.source) else { continue };
        let value = values.get(at, place);
        let item = value.and_then(|value| item_of(value, of, kind, prepared.tensors));
        fields.extend(item.map(|item| (column.name.clone(), item)));
    }
    // Hits of groups come without them.
    if !names.is_empty() && !hit.features.is_empty() {
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
        false => hidden_id(searcher.cluster, hit.node, document),
    };
    Hit { id, relevance: hit.relevance, source: searcher.cluster.to_owned(), fields }
}

/// The id of a hit whose summary does not have that of its document (Vespa's third part is a hash of the id too, of 12 bytes).
#[must_use]
pub fn hidden_id(cluster: &str, node: u32, document: &str) -> String {
    let hash = xxh3_128(document.as_bytes()) >> 32;
    format!("index:{cluster}/{node}/{hash:024x}")
}

fn feature_item(value: &Value, form: Form) -> Item {
    match value.as_double() {
        Some(number) => Item::Number(number),
        None => Item::Tensor(value.clone(), form),
    }
}

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
use crate::result::{FeatureValue, Hit, Item, PartialHit, item_of};
use crate::summary::{Asked, Shown, Summary, SummaryColumn, kept, labels, shown, tokens};

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
    let names = match summary.omits_features {
        true => Vec::new(),
        false => prepared.plan.summary_features(),
    };
    let selects = summary.columns.iter().any(|c| matches!(c.shown, Shown::Selected(_)));
    let listed = match prepared.rank.list_features {
        true => prepared.plan.listed_features(),
        false => Vec::new(),
    };
    let match_features = prepared.plan.match_features();
    let mut features = Vec::new();
    let mut selected: Vec<Vec<(String, Vec<usize>)>> = Vec::new();
    if !names.is_empty() || !listed.is_empty() || selects {
        let lids: Vec<u32> = hits.iter().map(|hit| hit.lid).collect();
        let computed = prepared.plan.features(
            &prepared.rank,
            searcher.view,
            (matcher, &lids),
            options,
            SUMMARY,
        );
        let map = |names: &[&str], values: &[Value]| {
            let pair = |(name, value): (&&str, &Value)| {
                ((*name).to_owned(), feature_item(value, prepared.tensors))
            };
            Item::Map(names.iter().zip(values).map(pair).collect())
        };
        for hit in computed.map_err(ranking_error)? {
            let lists = [
                ("summaryfeatures", map(&names, &hit.summary_features)),
                ("rankfeatures", map(&listed, &hit.rank_features)),
            ];
            if selects {
                let names = prepared.plan.summary_features();
                let of = |(name, value): (&str, &Value)| (name.to_owned(), labels(value));
                selected.push(names.into_iter().zip(&hit.summary_features).map(of).collect());
            }
            let wanted = lists.into_iter().zip([&names, &listed]);
            let wanted = wanted.filter(|(_, names)| !names.is_empty());
            features.push(wanted.map(|((name, item), _)| (name.to_owned(), item)));
        }
    }
    let asked = Asked::of(matcher.tree(), searcher.view);
    let (mut features, mut selected) = (features.into_iter(), selected.into_iter());
    let mut filled = Vec::with_capacity(hits.len());
    let mut unread: Option<(usize, StoreError)> = None;
    for hit in hits {
        let views = (searcher.view, prepared.whole.as_ref());
        let values = Values::read(views, &summary.columns, hit.lid);
        let values = values.unwrap_or_else(|error| {
            unread = Some((unread.as_ref().map_or(1, |(count, _)| count + 1), error));
            Values::default()
        });
        let source = Source { searcher, prepared, summary, matcher, asked: &asked };
        let selected = selected.next().unwrap_or_default();
        let mut hit = one(&source, &match_features, (hit, &values), &selected);
        hit.fields.extend(features.next().into_iter().flatten());
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
    /// Of a document of the first view: what is its own lies in `whole`, if there is one.
    fn read(
        (view, whole): (&View, Option<&View>),
        columns: &[SummaryColumn],
        lid: u32,
    ) -> Result<Values, StoreError> {
        let number = |column: &SummaryColumn| view.kind().field(&column.source).map(|(at, _)| at);
        let mut numbers: Vec<usize> = columns.iter().filter_map(number).collect();
        if columns.iter().any(|column| column.shown != Shown::Whole) {
            numbers.extend(view.kind().language_fields());
        }
        let is_shown = |field| numbers.contains(&field);
        let own = match whole {
            None => view.read(lid, is_shown)?,
            Some(whole) => match view.id(lid).and_then(|id| whole.find(id)) {
                Some(lid) => whole.read(lid, is_shown)?,
                None => None,
            },
        };
        let own = own.unwrap_or_default();
        let mut imported = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let of = view.attribute(&column.source).filter(AttributeView::is_imported);
            if let Some(of) = of {
                imported.extend(of.value(lid)?.map(|value| (place, value)));
            }
        }
        Ok(Values { own, imported })
    }

    /// The value of a field of the document itself, by its number.
    fn own(&self, field: usize) -> Option<&FieldValue> {
        self.own.iter().find(|(at, _)| *at == field).map(|(_, value)| value)
    }

    fn get(&self, field: usize, place: usize) -> Option<&FieldValue> {
        let own = self.own.iter().find(|(at, _)| *at == field);
        let found = own.or_else(|| self.imported.iter().find(|(at, _)| *at == place));
        found.map(|(_, value)| value)
    }
}

/// What the fields of hits are made from.
struct Source<'s> {
    searcher: Searcher<'s>,
    prepared: &'s Prepared,
    summary: &'s Summary,
    matcher: &'s Matcher<'s>,
    asked: &'s Asked<'s>,
}

impl Source<'_> {
    /// A field of a hit; `selected` has the elements that summary features select, by their names.
    fn item(
        &self,
        (place, column): (usize, &SummaryColumn),
        (lid, values): (u32, &Values),
        selected: &[(String, Vec<usize>)],
    ) -> Option<Item> {
        let kind = self.searcher.view.kind();
        let (at, of) = kind.field(&column.source)?;
        let value = values.get(at, place)?;
        let whole = |value: &FieldValue| item_of(value, of, kind, self.prepared.tensors);
        let language = || kind.language(at, |field| values.own(field));
        match &column.shown {
            Shown::Whole => whole(value),
            Shown::Marked | Shown::Snippet => {
                let index = self.asked.index(at, &column.source);
                let Searcher { schema, cluster, .. } = self.searcher;
                let settings = schema.snippet(cluster, &column.name);
                let how = (language(), self.prepared.has_marks, settings);
                let shown = index.and_then(|i| shown(value, &column.shown, self.asked, i, how));
                match shown {
                    // Where nothing was found, nothing may be wanted.
                    Some(Item::Text(text)) if text.is_empty() => None,
                    shown => shown.or_else(|| whole(value)),
                }
            }
            Shown::Tokens => {
                let index = self.asked.index(at, &column.source).map(|(_, index)| index);
                let field = self.searcher.schema.field(&column.source);
                let is_cased = field.is_some_and(|field| field.matching.cased);
                tokens(value, index, is_cased, language())
            }
            Shown::Matched => {
                let (block, row) = self.matcher.split(lid);
                let numbers = self.matcher.elements(&column.source, block, row).ok()?;
                whole(&kept(value, &numbers))
            }
            Shown::Selected(feature) => {
                let known = selected.iter().find(|(name, _)| name == feature);
                whole(&kept(value, known.map_or(&[], |(_, numbers)| numbers)))
            }
        }
    }
}

fn one(
    source: &Source<'_>,
    names: &[&str],
    (hit, values): (&PartialHit, &Values),
    selected: &[(String, Vec<usize>)],
) -> Hit {
    let Source { searcher, prepared, summary, .. } = source;
    let view = searcher.view;
    let document = view.id(hit.lid).unwrap_or_default();
    let mut fields = Vec::new();
    if summary.has_type {
        fields.push(("sddocname".to_owned(), Item::text(view.kind().name())));
    }
    if summary.has_id {
        fields.push(("documentid".to_owned(), Item::text(document)));
    }
    for (place, column) in summary.columns.iter().enumerate() {
        let item = source.item((place, column), (hit.lid, values), selected);
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

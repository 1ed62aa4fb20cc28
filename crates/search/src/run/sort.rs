//! Hits in the order of attributes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use stead_store::{Column, Cursor, Elements, NumberColumn, NumberList, StoreError};

use super::Searcher;
use crate::matching::Matches;
use crate::query::{OrderBy, OrderKey};
use crate::result::{PartialHit, SortValue, compare};

/// A candidate; the last in the order is the greatest.
struct Candidate<'c> {
    sort: Vec<SortValue>,
    lid: u32,
    descending: &'c [bool],
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Candidate<'_>) -> Ordering {
        let order = compare((&self.sort, 0.0), (&other.sort, 0.0), self.descending);
        order.then(self.lid.cmp(&other.lid))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Candidate<'_>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Candidate<'_>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate<'_> {}

/// The first `count` matches in an order of attributes, without scores.
pub(super) fn first(
    searcher: Searcher<'_>,
    matches: &Matches,
    order: &[OrderBy],
    count: usize,
) -> Result<Vec<PartialHit>, StoreError> {
    let descending: Vec<bool> = order.iter().map(|by| by.descending).collect();
    let view = searcher.view;
    let mut sorting = Sorting::new(searcher, order);
    let mut heap: BinaryHeap<Candidate<'_>> = BinaryHeap::new();
    for (number, rows) in matches.segments.iter().enumerate() {
        for row in rows.iter() {
            let lid = view.lid(number, row);
            let sort = sorting.values(lid, 0.0)?;
            let candidate = Candidate { sort, lid, descending: &descending };
            if heap.len() < count {
                heap.push(candidate);
            } else if heap.peek().is_some_and(|last| candidate < *last) {
                heap.pop();
                heap.push(candidate);
            }
        }
    }
    let hit = |c: Candidate<'_>| PartialHit {
        lid: c.lid,
        node: 0,
        kind: 0,
        relevance: 0.0,
        sort: c.sort,
        features: Vec::new(),
    };
    Ok(heap.into_sorted_vec().into_iter().map(hit).collect())
}

/// What documents are ordered by.
pub(super) struct Sorting<'s> {
    /// With the values of the attribute; scores have none.
    order: Vec<(&'s OrderBy, Option<Cursor<'s>>)>,
    cluster: &'s str,
}

impl<'s> Sorting<'s> {
    pub(super) fn new(searcher: Searcher<'s>, order: &'s [OrderBy]) -> Sorting<'s> {
        let cursor = |by: &'s OrderBy| {
            let OrderKey::Attribute(name) = &by.key else { return (by, None) };
            (by, searcher.view.attribute(name).map(|values| values.cursor()))
        };
        let cluster = searcher.cluster;
        Sorting { order: order.iter().map(cursor).collect(), cluster }
    }

    /// What a document is ordered by.
    pub(super) fn values(
        &mut self,
        lid: u32,
        relevance: f64,
    ) -> Result<Vec<SortValue>, StoreError> {
        let cluster = self.cluster;
        let value = |(by, values): &mut (&OrderBy, Option<Cursor<'_>>)| {
            Ok(match by.key {
                OrderKey::Score => SortValue::Number(relevance),
                OrderKey::Document => SortValue::Integer(i64::from(lid)),
                OrderKey::Source => SortValue::Text(cluster.to_owned()),
                OrderKey::Attribute(_) => {
                    let place = values.as_mut().map_or(Ok(None), |values| values.at(lid))?;
                    place.map_or_else(|| by.missing(false), |place| value(by, place))
                }
            })
        };
        self.order.iter_mut().map(value).collect()
    }
}

/// The value of a document, or what stands for it if there is none: an empty text is none.
fn value(by: &OrderBy, (column, row): (&Column, usize)) -> SortValue {
    let text = |text: &str| (!text.is_empty()).then(|| by.function.value(text));
    let found = match column {
        Column::Numbers(numbers) => number(numbers, row),
        Column::Texts(texts) => texts.get(row).and_then(text),
        Column::Many(many) => {
            let element = |at: usize| match many.elements() {
                // An empty text among several is a value.
                Elements::Texts(texts) => texts.get(at).map(|text| by.function.value(text)),
                Elements::Numbers(list) => element(list, at),
            };
            let values = many.places(row).filter_map(element);
            match by.descending {
                true => values.max_by(SortValue::compare),
                false => values.min_by(SortValue::compare),
            }
        }
        _ => None,
    };
    found.unwrap_or_else(|| by.missing(matches!(column, Column::Many(_))))
}

fn number(numbers: &NumberColumn, row: usize) -> Option<SortValue> {
    match numbers.list().is_whole() {
        true => numbers.integer(row).map(SortValue::Integer),
        false => numbers.get(row).filter(|number| !number.is_nan()).map(SortValue::Number),
    }
}

fn element(list: &NumberList, at: usize) -> Option<SortValue> {
    match list.is_whole() {
        true => list.integer(at).map(SortValue::Integer),
        false => list.get(at).filter(|number| !number.is_nan()).map(SortValue::Number),
    }
}

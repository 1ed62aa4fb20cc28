//! Hits in the order of attributes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use stead_store::{Column, View, fold};

use crate::matching::Matches;
use crate::query::{OrderBy, SortFunction};
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
    view: &View,
    matches: &Matches,
    order: &[OrderBy],
    count: usize,
) -> Vec<PartialHit> {
    let descending: Vec<bool> = order.iter().map(|by| by.descending).collect();
    let mut heap: BinaryHeap<Candidate<'_>> = BinaryHeap::new();
    for (number, rows) in matches.segments.iter().enumerate() {
        for row in rows.iter() {
            let lid = view.lid(number, row);
            let candidate =
                Candidate { sort: values(view, order, lid, 0.0), lid, descending: &descending };
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
    heap.into_sorted_vec().into_iter().map(hit).collect()
}

/// What a document is ordered by.
pub(super) fn values(view: &View, order: &[OrderBy], lid: u32, relevance: f64) -> Vec<SortValue> {
    order.iter().map(|by| value(view, by, lid, relevance)).collect()
}

fn value(view: &View, by: &OrderBy, lid: u32, relevance: f64) -> SortValue {
    let Some(attribute) = &by.attribute else { return SortValue::Number(relevance) };
    let Some((column, row)) = view.attribute(attribute).and_then(|a| a.at(lid)) else {
        return SortValue::Missing;
    };
    match column {
        Column::Numbers(numbers) if numbers.list().is_whole() => {
            numbers.integer(row).map_or(SortValue::Missing, SortValue::Integer)
        }
        Column::Numbers(numbers) => match numbers.get(row) {
            Some(number) if !number.is_nan() => SortValue::Number(number),
            _ => SortValue::Missing,
        },
        Column::Texts(texts) => {
            let text = texts.get(row).unwrap_or_default();
            SortValue::Text(match by.function {
                SortFunction::Raw => text.to_owned(),
                SortFunction::Lowercase => fold(text),
            })
        }
        _ => SortValue::Missing,
    }
}

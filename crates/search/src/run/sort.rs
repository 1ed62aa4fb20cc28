//! Hits in the order of attributes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use stead_store::{Column, Cursor, StoreError, View};
use stead_text::fold;

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
) -> Result<Vec<PartialHit>, StoreError> {
    let descending: Vec<bool> = order.iter().map(|by| by.descending).collect();
    let mut sorting = Sorting::new(view, order);
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
}

impl<'s> Sorting<'s> {
    pub(super) fn new(view: &'s View, order: &'s [OrderBy]) -> Sorting<'s> {
        let cursor = |by: &'s OrderBy| {
            let values = by.attribute.as_ref().and_then(|name| view.attribute(name));
            (by, values.map(|values| values.cursor()))
        };
        Sorting { order: order.iter().map(cursor).collect() }
    }

    /// What a document is ordered by.
    pub(super) fn values(
        &mut self,
        lid: u32,
        relevance: f64,
    ) -> Result<Vec<SortValue>, StoreError> {
        let value = |(by, values): &mut (&OrderBy, Option<Cursor<'_>>)| {
            if by.attribute.is_none() {
                return Ok(SortValue::Number(relevance));
            }
            let place = values.as_mut().map_or(Ok(None), |values| values.at(lid))?;
            Ok(place.map_or(SortValue::Missing, |place| value(by, place)))
        };
        self.order.iter_mut().map(value).collect()
    }
}

fn value(by: &OrderBy, (column, row): (&Column, usize)) -> SortValue {
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

//! Comparing all.

use std::array;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::compare::BATCH;
use crate::search::{Hit, Query, Stop};
use crate::vectors::{Row, Vectors};

/// A hit by its order; the greatest is the one to lose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Nearest {
    pub(super) order: f64,
    document: u32,
    at: u32,
}

impl Eq for Nearest {}

impl Ord for Nearest {
    fn cmp(&self, other: &Nearest) -> Ordering {
        let places = (self.document, self.at).cmp(&(other.document, other.at));
        self.order.total_cmp(&other.order).then(places)
    }
}

impl PartialOrd for Nearest {
    fn partial_cmp(&self, other: &Nearest) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest documents by all of their vectors. Returns whether it was not stopped.
pub(super) fn nearest<V: Vectors>(
    vectors: &V,
    query: &Query<V::Cell>,
    documents: impl Iterator<Item = u32>,
    most: usize,
    stop: &mut Stop<'_>,
    heap: &mut BinaryHeap<Nearest>,
) -> bool {
    heap.clear();
    let mut places = [(0, 0); BATCH];
    let mut rows: [V::Row<'_>; BATCH] = array::from_fn(|_| Default::default());
    let mut count = 0;
    // The nearest vector of the document whose vectors are being compared.
    let mut best: Option<Nearest> = None;
    let mut offer = |best: Option<Nearest>| {
        let Some(best) = best.filter(|best| best.order < f64::INFINITY) else { return };
        if heap.len() < most {
            heap.push(best);
        } else if let Some(mut worst) = heap.peek_mut()
            && best < *worst
        {
            *worst = best;
        }
    };
    let mut compare = |places: &mut [(u32, u32)], best: &mut Option<Nearest>| {
        if V::IS_FAR {
            vectors.will_read(places.iter().copied());
        }
        let mut count = 0;
        for at in 0..places.len() {
            let (document, number) = places[at];
            let row = vectors.vector(document, number).filter(|row| row.len() == query.len());
            let Some(row) = row else { continue };
            (places[count], rows[count]) = ((document, number), row);
            count += 1;
        }
        let mut orders = [0.0; BATCH];
        Row::with(&rows[..count], |rows| query.comparer.orders(rows, &mut orders[..count]));
        for ((document, at), order) in places[..count].iter().zip(orders) {
            let next = Nearest { order, document: *document, at: *at };
            match best {
                Some(same) if same.document == *document => *same = next.min(*same),
                _ => offer(best.replace(next)),
            }
        }
    };
    let mut is_whole = true;
    'all: for document in documents {
        for at in 0..vectors.count(document) {
            places[count] = (document, at);
            count += 1;
            if count == BATCH {
                count = 0;
                compare(&mut places, &mut best);
                if stop.is_time() {
                    is_whole = false;
                    break 'all;
                }
            }
        }
    }
    compare(&mut places[..count], &mut best);
    offer(best);
    is_whole
}

impl Nearest {
    /// As a hit of a query.
    pub(super) fn hit<T: crate::Cell>(self, query: &Query<T>) -> Hit {
        let distance = query.comparer.distance(self.order);
        Hit { document: self.document, at: self.at, distance }
    }
}

//! The documents whose vectors are nearest.
//!
//! They are looked for among the documents that pass everything else that stands beside the operator in an `and`, so that as many
//! are found as were asked for. All vectors are compared, block by block, by as many threads as there are for it, while there is time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use stead_ann::Metric;
use stead_store::View;

use super::beside::{Best, beside};
use super::evaluate::Matcher;
use super::rows::RowSet;
use crate::query::{NearestNeighbor, SearchError, Tree};
use crate::rank::{Means, Ranges};
use crate::vectors::Vectors;

/// The nearest documents.
#[derive(Debug, Default)]
pub(super) struct Winners {
    /// Rows in their order with their distances, by block.
    segments: Vec<Vec<(usize, f64)>>,
}

impl Winners {
    pub(super) fn rows(&self, segment: usize, rows: usize) -> RowSet {
        let mut found = RowSet::none(rows);
        self.segments.get(segment).into_iter().flatten().for_each(|(row, _)| found.insert(*row));
        found
    }

    pub(super) fn distance(&self, segment: usize, row: usize) -> Option<f64> {
        let list = self.segments.get(segment)?;
        list.binary_search_by_key(&row, |(row, _)| *row).ok().map(|at| list[at].1)
    }
}

/// A document with its distance; the farthest is the greatest, and of the same distance the last.
#[derive(Debug, PartialEq)]
struct Candidate {
    distance: f64,
    segment: usize,
    row: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        let place = (self.segment, self.row).cmp(&(other.segment, other.row));
        self.distance.total_cmp(&other.distance).then(place)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The operator.
struct Nearest;

impl Best for Nearest {
    fn number(tree: &Tree) -> Option<usize> {
        match tree {
            Tree::Neighbor(number) => Some(*number),
            _ => None,
        }
    }

    fn is_later(tree: &Tree) -> bool {
        matches!(tree, Tree::Neighbor(_))
    }
}

/// The blocks that a thread compares at a time: some hundred microseconds of short vectors.
const BLOCKS: usize = 4;

/// The nearest documents of each comparison of a query, and the blocks that were left out because it was late.
pub(super) fn winners(
    matcher: &Matcher<'_>,
    view: &View,
    threads: usize,
    means: Means<'_>,
) -> Result<(Vec<Winners>, Vec<usize>), SearchError> {
    let filters = beside::<Nearest>(&matcher.tree.root, matcher.tree.neighbors.len());
    let (mut found, mut late) = (Vec::new(), Vec::new());
    for (neighbor, filters) in matcher.tree.neighbors.iter().zip(filters) {
        let metric = Metric::of_name(neighbor.metric.as_deref())
            .ok_or_else(|| fail(neighbor, "the distance-metric of the field is not known"))?;
        let vector = neighbor.vector.as_ref();
        let vector = vector.ok_or_else(|| fail(neighbor, "the query gives no vector"))?;
        let vector = vector.cells().doubles();
        let attribute = view.kind().attribute_number(&neighbor.attribute);
        let comparison =
            Comparison { matcher, neighbor, attribute, filters, metric, vector: &vector };
        let done: Mutex<Vec<Result<Candidates, SearchError>>> = Mutex::default();
        means.share(threads, (matcher.segments.len(), BLOCKS), &|taken| {
            let best = comparison.best(taken, means);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(best);
        });
        let mut all = Vec::new();
        for best in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let mut best = best?;
            all.extend(best.heap);
            late.append(&mut best.late);
        }
        all.sort_unstable();
        let mut segments = vec![Vec::new(); matcher.segments.len()];
        for candidate in all.into_iter().take(neighbor.target_hits) {
            segments[candidate.segment].push((candidate.row, candidate.distance));
        }
        segments.iter_mut().for_each(|list| list.sort_by_key(|(row, _)| *row));
        found.push(Winners { segments });
    }
    late.sort_unstable();
    late.dedup();
    Ok((found, late))
}

fn fail(neighbor: &NearestNeighbor, text: &str) -> SearchError {
    let (attribute, input) = (&neighbor.attribute, &neighbor.input);
    SearchError::parameter(format!("nearestNeighbor({attribute},{input}): {text}"))
}

/// The vectors of documents against one of a query.
struct Comparison<'c> {
    matcher: &'c Matcher<'c>,
    neighbor: &'c NearestNeighbor,
    /// The number of its attribute.
    attribute: Option<usize>,
    filters: Vec<&'c Tree>,
    metric: Metric,
    vector: &'c [f64],
}

/// What a thread has found.
#[derive(Default)]
struct Candidates {
    heap: BinaryHeap<Candidate>,
    /// Blocks that were left out because it was late.
    late: Vec<usize>,
}

impl Comparison<'_> {
    /// The nearest of some blocks, as many as are wanted.
    fn best(&self, taken: Ranges<'_>, means: Means<'_>) -> Result<Candidates, SearchError> {
        let (mut best, mut distances) = (Candidates::default(), Vec::new());
        for number in taken.flatten() {
            match (means.is_late)() {
                true => best.late.push(number),
                false => self.block(number, &mut distances, &mut best.heap)?,
            }
        }
        Ok(best)
    }

    fn block(
        &self,
        number: usize,
        distances: &mut Vec<f64>,
        heap: &mut BinaryHeap<Candidate>,
    ) -> Result<(), SearchError> {
        let neighbor = self.neighbor;
        for filter in &self.filters {
            if self.matcher.is_ruled_out(filter, number)? {
                return Ok(());
            }
        }
        let Some(work) = self.matcher.work(number) else { return Ok(()) };
        let Some(attribute) = self.attribute else { return Ok(()) };
        let mut among = work.segment().alive();
        for filter in &self.filters {
            among = self.matcher.evaluate(filter, &work, &among)?;
        }
        // What is not compared is not read.
        if among.is_empty() {
            return Ok(());
        }
        let Some(column) = work.column(attribute)? else { return Ok(()) };
        let vectors = Vectors::new(column, self.metric, self.vector)
            .ok_or_else(|| fail(neighbor, "the field has no vectors"))?;
        let most = neighbor.distance_threshold.unwrap_or(f64::INFINITY);
        for run in among.runs() {
            distances.clear();
            vectors.distances(run.clone(), distances);
            for (row, distance) in run.zip(distances.iter().copied()) {
                // Documents without a vector have no distance.
                if distance.is_nan() || distance > most {
                    continue;
                }
                let candidate = Candidate { distance, segment: number, row };
                if heap.len() < neighbor.target_hits {
                    heap.push(candidate);
                } else if heap.peek().is_some_and(|worst| candidate < *worst) {
                    heap.pop();
                    heap.push(candidate);
                }
            }
        }
        Ok(())
    }
}

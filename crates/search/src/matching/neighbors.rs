//! The documents whose vectors are nearest.
//!
//! They are looked for among the documents that pass everything else that stands beside the operator in an `and`, so that as many
//! are found as were asked for: by the [graph](super::graph) of the field, or, where there is none or the query wants it so, by a look at all
//! vectors, block by block, by as many threads as there are for it, while there is time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use stead_ann::{Metric, Strategy};
use stead_store::{Column, View};

use super::beside::{Best, beside};
use super::evaluate::Matcher;
use super::graph;
use super::patience::{Ended, Patience};
use super::rows::RowSet;
use crate::query::{NearestNeighbor, QueryTree, SearchError, Tree};
use crate::rank::{Means, Ranges};
use crate::vectors::Vectors;

/// The nearest documents.
#[derive(Debug, Default)]
pub(super) struct Winners {
    /// Rows in their order with their distances, by block.
    segments: Vec<Vec<(usize, f64)>>,
    /// How they were found.
    pub(super) strategy: Option<Strategy>,
    /// How long that took.
    pub(super) took: Duration,
}

impl Winners {
    pub(super) fn rows(&self, segment: usize, rows: usize) -> RowSet {
        let mut found = RowSet::none(rows);
        self.segments.get(segment).into_iter().flatten().for_each(|(row, _)| found.insert(*row));
        found
    }

    /// How many there are of a block.
    pub(super) fn count(&self, segment: usize) -> usize {
        self.segments.get(segment).map_or(0, Vec::len)
    }

    pub(super) fn distance(&self, segment: usize, row: usize) -> Option<f64> {
        let list = self.segments.get(segment)?;
        list.binary_search_by_key(&row, |(row, _)| *row).ok().map(|at| list[at].1)
    }
}

/// A document with its distance; the farthest is the greatest, and of the same distance the last.
#[derive(Debug, PartialEq)]
pub(super) struct Candidate {
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

    fn is_later(_: &QueryTree, tree: &Tree) -> bool {
        matches!(tree, Tree::Neighbor(_))
    }
}

/// The blocks that a thread compares at a time: some hundred microseconds of short vectors.
const BLOCKS: usize = 4;

/// The nearest documents of all comparisons of a query.
#[derive(Debug, Default)]
pub(super) struct AllWinners {
    pub(super) list: Vec<Winners>,
    /// The blocks that were left out because it was late.
    pub(super) late: Vec<usize>,
    /// Whether a search of a graph ended early for that reason.
    pub(super) is_cut: bool,
    /// Whether one ended early because the time for such searches was over.
    pub(super) is_timed_out: bool,
}

/// The nearest documents of each comparison of a query.
pub(super) fn winners(
    matcher: &Matcher<'_>,
    view: &View,
    threads: usize,
    (means, patience): (Means<'_>, Patience),
) -> Result<AllWinners, SearchError> {
    let filters = beside::<Nearest>(matcher.tree, matcher.tree.neighbors.len());
    let mut winners = AllWinners::default();
    let count = matcher.tree.neighbors.len();
    for (at, (neighbor, filters)) in matcher.tree.neighbors.iter().zip(filters).enumerate() {
        let begin = Instant::now();
        let metric = Metric::of_name(neighbor.metric.as_deref())
            .ok_or_else(|| fail(neighbor, "the distance-metric of the field is not known"))?;
        let vector = neighbor.vector.as_ref();
        let vector = vector.ok_or_else(|| fail(neighbor, "the query gives no vector"))?;
        let vector = vector.cells().doubles();
        let attribute = view.kind().attribute_number(&neighbor.attribute);
        let comparison =
            Comparison { matcher, neighbor, attribute, filters, metric, vector: &vector };
        let mut late = Vec::new();
        let (mut all, strategy) =
            match graph::nearest(&comparison, view, threads, (means, patience, count - at))? {
                Some(mut found) => {
                    late.append(&mut found.late);
                    winners.is_cut |= found.ended == Some(Ended::Late);
                    winners.is_timed_out |= found.ended == Some(Ended::Timeout);
                    (found.candidates, found.strategy)
                }
                None => (comparison.all(threads, means, &mut late)?, Strategy::Exact),
            };
        all.sort_unstable();
        let mut segments = vec![Vec::new(); matcher.segments.len()];
        for candidate in all.into_iter().take(neighbor.target_hits) {
            segments[candidate.segment].push((candidate.row, candidate.distance));
        }
        segments.iter_mut().for_each(|list| list.sort_by_key(|(row, _)| *row));
        let took = begin.elapsed();
        winners.list.push(Winners { segments, strategy: Some(strategy), took });
        winners.late.append(&mut late);
    }
    winners.late.sort_unstable();
    winners.late.dedup();
    Ok(winners)
}

fn fail(neighbor: &NearestNeighbor, text: &str) -> SearchError {
    let (attribute, input) = (&neighbor.attribute, &neighbor.input);
    SearchError::parameter(format!("nearestNeighbor({attribute},{input}): {text}"))
}

/// The vectors of documents against one of a query.
pub(super) struct Comparison<'c> {
    pub(super) matcher: &'c Matcher<'c>,
    pub(super) neighbor: &'c NearestNeighbor,
    /// The number of its attribute.
    pub(super) attribute: Option<usize>,
    pub(super) filters: Vec<&'c Tree>,
    pub(super) metric: Metric,
    pub(super) vector: &'c [f64],
}

/// What a thread has found.
#[derive(Default)]
struct Candidates {
    heap: BinaryHeap<Candidate>,
    /// Blocks that were left out because it was late.
    late: Vec<usize>,
}

impl<'c> Comparison<'c> {
    /// The nearest by a look at all, and others; `late` gets the blocks that there was no time for.
    fn all(
        &self,
        threads: usize,
        means: Means<'_>,
        late: &mut Vec<usize>,
    ) -> Result<Vec<Candidate>, SearchError> {
        let done: Mutex<Vec<Result<Candidates, SearchError>>> = Mutex::default();
        means.share(threads, (self.matcher.segments.len(), BLOCKS), &|taken| {
            let best = self.best(taken, means);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(best);
        });
        let mut all = Vec::new();
        for best in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let mut best = best?;
            all.extend(best.heap);
            late.append(&mut best.late);
        }
        Ok(all)
    }

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

    /// The rows of a block that pass what stands beside the operator.
    pub(super) fn among(&self, number: usize) -> Result<RowSet, SearchError> {
        for filter in &self.filters {
            if self.matcher.is_ruled_out(filter, number)? {
                return Ok(RowSet::none(0));
            }
        }
        let Some(work) = self.matcher.work(number) else { return Ok(RowSet::none(0)) };
        let mut among = work.segment().alive();
        for filter in &self.filters {
            among = self.matcher.evaluate(filter, &work, &among)?;
        }
        Ok(among)
    }

    /// The vectors of a column, and that of the query.
    pub(super) fn vectors<'v>(&'v self, column: &'v Column) -> Result<Vectors<'v>, SearchError> {
        let vectors = Vectors::new(column, self.metric, self.vector);
        vectors.ok_or_else(|| fail(self.neighbor, "the field has no vectors"))
    }

    /// A document at a distance, if it has one that is not too far.
    pub(super) fn candidate(&self, distance: f64, segment: usize, row: usize) -> Option<Candidate> {
        let most = self.neighbor.distance_threshold.unwrap_or(f64::INFINITY);
        // Documents without a vector have no distance.
        (distance <= most).then_some(Candidate { distance, segment, row })
    }

    fn block(
        &self,
        number: usize,
        distances: &mut Vec<f64>,
        heap: &mut BinaryHeap<Candidate>,
    ) -> Result<(), SearchError> {
        let Some(attribute) = self.attribute else { return Ok(()) };
        let among = self.among(number)?;
        // What is not compared is not read.
        if among.is_empty() {
            return Ok(());
        }
        let Some(work) = self.matcher.work(number) else { return Ok(()) };
        let Some(column) = work.column(attribute)? else { return Ok(()) };
        let vectors = self.vectors(column)?;
        for run in among.runs() {
            distances.clear();
            vectors.distances(run.clone(), distances);
            for (row, distance) in run.zip(distances.iter().copied()) {
                let Some(candidate) = self.candidate(distance, number, row) else { continue };
                if heap.len() < self.neighbor.target_hits {
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

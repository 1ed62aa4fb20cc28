//! The documents whose vectors are nearest.
//!
//! They are looked for among the documents that pass everything else that stands beside the operator in an `and`, so that as many
//! are found as were asked for. All vectors are compared.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::evaluate::Matcher;
use super::rows::RowSet;
use crate::metric::Metric;
use crate::query::{SearchError, Tree};
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

/// The nearest documents of each comparison of a query.
pub(super) fn winners(matcher: &Matcher<'_>) -> Result<Vec<Winners>, SearchError> {
    let mut filters: Vec<Vec<&Tree>> = vec![Vec::new(); matcher.tree.neighbors.len()];
    collect(&matcher.tree.root, &mut Vec::new(), &mut filters);
    let mut found = Vec::new();
    for (neighbor, filters) in matcher.tree.neighbors.iter().zip(filters) {
        let mut heap: BinaryHeap<Candidate> = BinaryHeap::new();
        let name = format!("nearestNeighbor({},{})", neighbor.attribute, neighbor.input);
        let fail = |text: &str| SearchError::parameter(format!("{name}: {text}"));
        let metric = Metric::of_name(neighbor.metric.as_deref())
            .ok_or_else(|| fail("the distance-metric of the field is not known"))?;
        let vector = neighbor.vector.as_ref();
        let vector = vector.ok_or_else(|| fail("the query gives no vector"))?.cells().doubles();
        let most = neighbor.distance_threshold.unwrap_or(f64::INFINITY);
        let mut distances = Vec::new();
        for (number, segment) in matcher.segments.iter().enumerate() {
            let Some(column) = segment.column(&neighbor.attribute) else { continue };
            let vectors = Vectors::new(column, metric, &vector)
                .ok_or_else(|| fail("the field has no vectors"))?;
            let mut among = segment.alive();
            for filter in &filters {
                among = matcher.evaluate(filter, number, &among);
            }
            for run in among.runs() {
                distances.clear();
                vectors.distances(run.clone(), &mut distances);
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
        }
        let mut segments = vec![Vec::new(); matcher.segments.len()];
        for candidate in heap.into_sorted_vec() {
            segments[candidate.segment].push((candidate.row, candidate.distance));
        }
        segments.iter_mut().for_each(|list| list.sort_by_key(|(row, _)| *row));
        found.push(Winners { segments });
    }
    Ok(found)
}

/// What documents must pass beside each comparison: parts of the same `and` that compare no vectors themselves.
fn collect<'t>(tree: &'t Tree, outer: &mut Vec<&'t Tree>, found: &mut [Vec<&'t Tree>]) {
    match tree {
        Tree::Neighbor(neighbor) => found[*neighbor].clone_from(outer),
        Tree::And(parts) => {
            for (at, part) in parts.iter().enumerate().filter(|(_, part)| compares(part)) {
                let beside = parts.iter().enumerate();
                let beside = beside.filter(|(other, tree)| *other != at && !compares(tree));
                let before = outer.len();
                outer.extend(beside.map(|(_, tree)| tree));
                collect(part, outer, found);
                outer.truncate(before);
            }
        }
        Tree::Or(parts) => parts.iter().for_each(|part| collect(part, outer, found)),
        Tree::Not(inner) => collect(inner, outer, found),
        Tree::Rank(first, rest) => {
            collect(first, outer, found);
            rest.iter().for_each(|part| collect(part, &mut Vec::new(), found));
        }
        Tree::All | Tree::None | Tree::Term(_) | Tree::SameElement(_) => {}
    }
}

fn compares(tree: &Tree) -> bool {
    match tree {
        Tree::Neighbor(_) => true,
        Tree::And(parts) | Tree::Or(parts) => parts.iter().any(compares),
        Tree::Not(inner) => compares(inner),
        Tree::Rank(first, rest) => compares(first) || rest.iter().any(compares),
        Tree::All | Tree::None | Tree::Term(_) | Tree::SameElement(_) => false,
    }
}

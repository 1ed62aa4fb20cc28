//! The documents whose vectors are nearest, by the graph of a field: without a look at all.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use stead_ann::{Hit, Request, Scratch, Strategy};
use stead_store::View;
use stead_tensor::Bits;

use super::neighbors::{Candidate, Comparison};
use super::patience::{Ended, Patience};
use super::rows::RowSet;
use crate::query::{SearchError, Tree};
use crate::rank::Means;

/// What was found.
pub(super) struct Found {
    pub(super) candidates: Vec<Candidate>,
    pub(super) strategy: Strategy,
    /// Blocks whose documents were left out because it was late.
    pub(super) late: Vec<usize>,
    /// Why the search ended early, if it did.
    pub(super) ended: Option<Ended>,
}

thread_local! {
    /// What searches of graphs need, which is large: a mark for each vector.
    static SCRATCH: RefCell<(Scratch, Vec<Hit>)> = RefCell::default();
}

/// The blocks whose filters a thread goes through at a time.
const BLOCKS: usize = 16;

/// The nearest documents; nothing if the field has no graph, or the query wants none. `left` are the searches of graphs that the time for
/// them must be enough for, this one among them.
pub(super) fn nearest(
    comparison: &Comparison<'_>,
    view: &View,
    threads: usize,
    (means, patience, left): (Means<'_>, Patience, usize),
) -> Result<Option<Found>, SearchError> {
    let Comparison { neighbor, metric, .. } = comparison;
    let Some(attribute) = comparison.attribute.filter(|_| neighbor.is_approximate) else {
        return Ok(None);
    };
    if view.graph(attribute).is_none_or(|graph| graph.options().metric != *metric) {
        return Ok(None);
    }
    let (filter, late) = match comparison.filters.iter().all(|filter| **filter == Tree::All) {
        true => (None, Vec::new()),
        false => filter(comparison, view, threads, means).map(|(bits, late)| (Some(bits), late))?,
    };
    let end = patience.next_of(left);
    let is_late = || end.is_over() || (!patience.has_own() && (means.is_late)());
    let request = Request {
        explore: neighbor.explore,
        filter: filter.as_ref(),
        // Compared once more, without the rounding of the graph's distances.
        farthest: neighbor
            .distance_threshold
            .map_or(f64::INFINITY, |most| most + ROUNDING * most.abs()),
        tuning: neighbor.tuning.tuning(),
        is_late: &is_late,
        ..Request::new(neighbor.target_hits)
    };
    SCRATCH.with_borrow_mut(|(scratch, hits)| {
        let outcome = view.nearest(attribute, comparison.vector, &request, scratch, hits)?;
        let values = view.attribute(&neighbor.attribute);
        let Some((outcome, values)) = outcome.zip(values) else { return Ok(None) };
        let ended = (!outcome.is_complete).then(|| end.why());
        let mut candidates = Vec::with_capacity(hits.len());
        let mut distances = Vec::new();
        for hit in hits.iter() {
            let (segment, row) = comparison.matcher.split(hit.document);
            let Some((column, at)) = values.alone(hit.document)? else { continue };
            distances.clear();
            comparison.vectors(&column)?.distances(at..at + 1, &mut distances);
            candidates
                .extend(distances.iter().filter_map(|d| comparison.candidate(*d, segment, row)));
        }
        let strategy = outcome.strategy;
        Ok(Some(Found { candidates, strategy, late, ended }))
    })
}

/// How far distances of graphs, which are sums of f32, may be off as a part of them.
const ROUNDING: f64 = 1e-3;

/// The documents that pass what stands beside the operator, by their numbers, and the blocks that there was no time for.
fn filter(
    comparison: &Comparison<'_>,
    view: &View,
    threads: usize,
    means: Means<'_>,
) -> Result<(Bits, Vec<usize>), SearchError> {
    type Part = Result<Vec<(usize, Option<RowSet>)>, SearchError>;
    let (blocks, rows) = (comparison.matcher.segments.len(), view.block_rows());
    let done: Mutex<Vec<Part>> = Mutex::default();
    means.share(threads, (blocks, BLOCKS), &|taken| {
        let one = |number: usize| match (means.is_late)() {
            true => Ok((number, None)),
            false => Ok((number, Some(comparison.among(number)?))),
        };
        let part = taken.flatten().map(one).collect();
        done.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    });
    // Blocks have as many rows as some words have bits.
    let (mut words, mut late) = (vec![0; (blocks * rows).div_ceil(64)], Vec::new());
    for part in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        for (number, found) in part? {
            let Some(found) = found else {
                late.push(number);
                continue;
            };
            let own = words.iter_mut().skip(number * rows / 64);
            own.zip(found.words()).for_each(|(word, found)| *word = *found);
        }
    }
    Ok((Bits::from_words(words, blocks * rows).unwrap_or_default(), late))
}

//! Which of the nearest nodes a node is linked to.

use crate::compare::Comparer;
use crate::pool::Candidate;
use crate::search::Walk;
use crate::vectors::{Row, Vectors};

/// Vectors that one is compared with before it is asked whether one of them was near enough.
const AT_ONCE: usize = 8;

/// Brings candidates into the order in which they are chosen from. Of those that are as far, later nodes come first: where many vectors are
/// the same, links to the first of them would be too many for these, and those to the last ones make a chain.
pub(super) fn sort(candidates: &mut [Candidate]) {
    candidates
        .sort_unstable_by(|a, b| a.order.total_cmp(&b.order).then_with(|| b.node.cmp(&a.node)));
}

/// Chooses at most so many of sorted candidates, so that they lie on all sides: each is nearer to the node than to those chosen before
/// (algorithm 4 of the paper, without what it may add in the end). Those that are as far as each other fill no more than half of the places
/// that others want: else vectors that are the same would be linked to no others.
pub(super) fn select<V: Vectors>(
    walk: &Walk<'_, V>,
    candidates: &[Candidate],
    most: usize,
) -> Vec<Candidate> {
    let mut chosen: Vec<Candidate> = Vec::with_capacity(most);
    let mut rows: Vec<V::Row<'_>> = Vec::with_capacity(most);
    let graph = walk.graph;
    let mut more = Vec::new();
    for candidate in candidates.iter().filter(|candidate| candidate.order < f32::INFINITY) {
        if chosen.len() == most {
            break;
        }
        let Some(row) = walk.row(candidate.node) else { continue };
        if chosen.iter().filter(|other| other.order == candidate.order).count() >= most / 2 {
            more.push(*candidate);
            continue;
        }
        if !rows.is_empty() {
            let metric = graph.options.metric;
            let comparer = Comparer::of_vector(metric, graph.isa, &row, graph.longest);
            let is_behind = rows.chunks(AT_ONCE).any(|rows| {
                let mut orders = [0.0; AT_ONCE];
                Row::with(rows, |rows| comparer.orders(rows, &mut orders[..rows.len()]));
                orders[..rows.len()].iter().any(|order| (*order as f32) < candidate.order)
            });
            if is_behind {
                continue;
            }
        }
        chosen.push(*candidate);
        rows.push(row);
    }
    let room = most - chosen.len();
    chosen.extend(more.into_iter().take(room));
    chosen
}

//! Sums of numbers and of cells with labels.

use super::{Fused, Steps, Term};
use crate::functions::{Aggregator, Fn2};
use crate::ir::Rate;

/// The fewest terms of a sum that is worth a step of its own.
const MIN_TERMS: usize = 3;

/// `reduce(a*b, sum)` where both have the same dimensions and labels among them.
pub(super) fn sparse_dot(steps: &Steps<'_>, at: usize) -> Option<(Fused, Vec<usize>)> {
    let (Aggregator::Sum, inner) = steps.reduced(at)? else { return None };
    let (Fn2::Mul, a, b) = steps.joined(inner)? else { return None };
    let kind = |at: usize| &steps.steps[at].kind;
    let is_same = kind(a).dimensions() == kind(b).dimensions();
    let is_whole = kind(at).is_double() && is_same && !kind(a).is_dense();
    is_whole.then(|| (Fused::SparseDot, vec![a, b]))
}

/// A chain of additions and subtractions of numbers, which is followed as long as nothing else needs the sums on the way.
pub(super) fn weighted_sum(steps: &Steps<'_>, at: usize) -> Option<(Fused, Vec<usize>)> {
    // From the last term to the first.
    let (mut terms, mut next) = (Vec::new(), addition(steps, at)?);
    loop {
        let goes_on = |at: usize| if steps.uses[at] == 1 { addition(steps, at) } else { None };
        let (function, a, b) = next;
        let (chain, term) = match (function, goes_on(a), goes_on(b)) {
            // Additions do not care for the order of their two operands.
            (Fn2::Add, None, Some(chain)) => (Err(chain), a),
            (_, Some(chain), _) => (Err(chain), b),
            (_, None, _) => (Ok(a), b),
        };
        terms.push((term, function == Fn2::Sub));
        match chain {
            Ok(first) => {
                terms.push((first, false));
                break;
            }
            Err(chain) => next = chain,
        }
    }
    if terms.len() < MIN_TERMS {
        return None;
    }
    let (mut forms, mut operands) = (Vec::with_capacity(terms.len()), Vec::new());
    for (term, is_subtracted) in terms.into_iter().rev() {
        let weighted = weighted(steps, term);
        operands.extend(
            weighted
                .map_or([Some(term), None], |(number, weight)| [Some(number), Some(weight)])
                .into_iter()
                .flatten(),
        );
        forms.push(Term { is_weighted: weighted.is_some(), is_subtracted });
    }
    Some((Fused::WeightedSum(forms.into()), operands))
}

/// Addition or subtraction of two numbers.
fn addition(steps: &Steps<'_>, at: usize) -> Option<(Fn2, usize, usize)> {
    let (function @ (Fn2::Add | Fn2::Sub), a, b) = steps.joined(at)? else { return None };
    [at, a, b].iter().all(|at| steps.steps[*at].kind.is_double()).then_some((function, a, b))
}

/// A number of documents and its weight, which is the same for all.
fn weighted(steps: &Steps<'_>, at: usize) -> Option<(usize, usize)> {
    let (Fn2::Mul, a, b) = steps.joined(at)? else { return None };
    let is_of_document = |at: usize| steps.steps[at].rate == Rate::Document;
    match (is_of_document(a), is_of_document(b)) {
        _ if steps.uses[at] != 1 => None,
        (true, false) => Some((a, b)),
        (false, true) => Some((b, a)),
        _ => None,
    }
}

//! Measures between vectors of two tensors.

use super::{Best, Fused, Steps};
use crate::functions::{Aggregator, Fn1, Fn2};
use crate::ir::{Op, Rate};
use crate::types::{CellType, TensorType};

/// How two vectors are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Measure {
    /// The sum of the products.
    Dot,
    /// The sum of the squares of the differences.
    SquaredDistance,
    /// The number of bits of int8 cells that differ.
    Hamming,
    /// The sum of the numbers whose bits are set in the int8 cells of the other side.
    Bits { is_big_endian: bool },
}

impl Measure {
    pub(super) fn name(self) -> &'static str {
        match self {
            Measure::Dot => "dot product",
            Measure::SquaredDistance => "squared distance",
            Measure::Hamming => "hamming distance",
            Measure::Bits { .. } => "dot product with bits",
        }
    }

    pub(super) fn best_name(self) -> &'static str {
        match self {
            Measure::Dot => "best dot product",
            Measure::SquaredDistance => "best squared distance",
            Measure::Hamming => "best hamming distance",
            Measure::Bits { .. } => "best dot product with bits",
        }
    }
}

/// A measure along some dimensions: which, and the steps of both sides.
struct Pairwise {
    measure: Measure,
    a: usize,
    b: usize,
    /// The int8 cells whose bits the first side is, to be used instead of it.
    packed: Option<(usize, Measure)>,
    /// The dimensions along which vectors lie.
    along: Vec<String>,
}

/// `reduce(f(a,b), sum, along)`, where the dimensions are the innermost of both sides.
fn pairwise(steps: &Steps<'_>, at: usize) -> Option<Pairwise> {
    let (Aggregator::Sum, inner) = steps.reduced(at)? else { return None };
    let (measure, mut a, mut b) = match (steps.joined(inner), steps.mapped(inner)) {
        (Some((Fn2::Mul, a, b)), _) if a == b => match steps.joined(a) {
            Some((Fn2::Sub, x, y)) => (Measure::SquaredDistance, x, y),
            _ => (Measure::Dot, a, b),
        },
        (Some((Fn2::Mul, a, b)), _) => (Measure::Dot, a, b),
        (Some((Fn2::Hamming, a, b)), _) => (Measure::Hamming, a, b),
        (Some((Fn2::Pow, difference, two)), _) if steps.is_number(two, 2.0) => {
            let (Fn2::Sub, a, b) = steps.joined(difference)? else { return None };
            (Measure::SquaredDistance, a, b)
        }
        (_, Some((Fn1::Square, difference))) => {
            let (Fn2::Sub, a, b) = steps.joined(difference)? else { return None };
            (Measure::SquaredDistance, a, b)
        }
        _ => return None,
    };
    let kind = |at: usize| &steps.steps[at].kind;
    let (all, left) = (kind(inner), kind(at));
    let gone = all.dimensions().iter().filter(|d| left.dimension(&d.name).is_none());
    let along: Vec<String> = gone.map(|d| d.name.to_string()).collect();
    if along.is_empty() || !are_innermost(&along, kind(a)) || !are_innermost(&along, kind(b)) {
        return None;
    }
    if measure == Measure::Hamming && [a, b].iter().any(|at| kind(*at).cell() != CellType::Int8) {
        return None;
    }
    let mut packed = None;
    if measure == Measure::Dot && along.len() == 1 {
        if bits(steps, a).is_none() {
            (a, b) = (b, a);
        }
        let is_of_floats = bits(steps, b).is_none() && kind(b).cell() != CellType::Double;
        packed = bits(steps, a).filter(|_| is_of_floats);
    }
    Some(Pairwise { measure, a, b, packed, along })
}

/// The step that holds int8 cells of which this one is the bits, as floats.
fn bits(steps: &Steps<'_>, at: usize) -> Option<(usize, Measure)> {
    let step = &steps.steps[at];
    match (&step.op, &step.operands[..]) {
        (Op::UnpackBits { is_big_endian }, [packed])
            if steps.steps[*packed].kind.cell() == CellType::Int8
                && step.kind.cell().decay() != CellType::Double =>
        {
            Some((*packed, Measure::Bits { is_big_endian: *is_big_endian }))
        }
        _ => None,
    }
}

fn are_innermost(along: &[String], kind: &TensorType) -> bool {
    let indexed: Vec<&str> = kind.indexed().map(|(d, _)| &*d.name).collect();
    let begin = indexed.len().checked_sub(along.len());
    begin.is_some_and(|begin| indexed[begin..].iter().eq(along.iter()))
}

/// The dimensions beside those of the vectors.
fn others<'k>(kind: &'k TensorType, along: &[String]) -> Vec<&'k str> {
    let names = kind.dimensions().iter().map(|d| &*d.name);
    names.filter(|name| !along.iter().any(|a| a == name)).collect()
}

/// One vector against many or one.
pub(super) fn vectors(steps: &Steps<'_>, at: usize) -> Option<(Fused, Vec<usize>)> {
    let Pairwise { measure, mut a, mut b, packed, along } = pairwise(steps, at)?;
    let is_vector = |at: usize| others(&steps.steps[at].kind, &along).is_empty();
    let rate = |at: usize| steps.steps[at].rate;
    match (is_vector(a), is_vector(b)) {
        (_, true) if let Some((packed, measure)) = packed => {
            return Some((Fused::Vectors(measure), vec![packed, b]));
        }
        // That of the query is the one vector.
        (true, true) if rate(a) < rate(b) => (a, b) = (b, a),
        (_, true) => {}
        (true, false) => (a, b) = (b, a),
        (false, false) => return None,
    }
    Some((Fused::Vectors(measure), vec![a, b]))
}

/// `reduce(reduce(measure, max, d), sum)`: the best of one side's vectors for each of the other's.
pub(super) fn best_match(steps: &Steps<'_>, at: usize) -> Option<(Fused, Vec<usize>)> {
    let (aggregator, inner) = steps.reduced(at)?;
    let gathers =
        |a| matches!(a, Aggregator::Sum | Aggregator::Max | Aggregator::Min | Aggregator::Avg);
    let (found, gathered) = match steps.steps[at].kind.is_double() {
        true if gathers(aggregator) => (best_of_each(steps, inner)?, Some(aggregator)),
        true => return None,
        false => (best_of_each(steps, at)?, None),
    };
    let Found { measure, best, few, many, length } = found;
    Some((Fused::BestMatch { measure, best, length, gathered }, vec![few, many]))
}

/// The best of many vectors for each of few.
struct Found {
    measure: Measure,
    best: Best,
    few: usize,
    many: usize,
    length: usize,
}

fn best_of_each(steps: &Steps<'_>, at: usize) -> Option<Found> {
    let (aggregator, measured) = steps.reduced(at)?;
    let (is_inverse, measured) = match inverse(steps, measured) {
        Some(inner) => (true, inner),
        None => (false, measured),
    };
    let best = match (aggregator, is_inverse) {
        (Aggregator::Max, false) => Best::Most,
        (Aggregator::Min, false) => Best::Least,
        (Aggregator::Max, true) => Best::MostInverse,
        (Aggregator::Min, true) => Best::LeastInverse,
        _ => return None,
    };
    let Pairwise { mut measure, a, b, packed, along } = pairwise(steps, measured)?;
    let kind = |at: usize| &steps.steps[at].kind;
    let kept: Vec<&str> = kind(at).dimensions().iter().map(|d| &*d.name).collect();
    let (of_a, of_b) = (others(kind(a), &along), others(kind(b), &along));
    if of_a.is_empty() || of_b.is_empty() || of_a.iter().any(|name| of_b.contains(name)) {
        return None;
    }
    let (few, mut many) = match () {
        () if kept == of_a => (a, b),
        () if kept == of_b => (b, a),
        () => return None,
    };
    let are_floats = [a, b].iter().all(|at| kind(*at).cell() != CellType::Double);
    let is_supported = match measure {
        Measure::Dot => are_floats && best == Best::Most,
        Measure::Hamming => true,
        Measure::SquaredDistance | Measure::Bits { .. } => false,
    };
    // Vectors that differ from document to document would be laid side by side for each of them.
    if !is_supported || steps.steps[few].rate == Rate::Document {
        return None;
    }
    if let Some((packed, of_bits)) = packed
        && many == a
    {
        (measure, many) = (of_bits, packed);
    }
    let is_along = |name: &str| along.iter().any(|a| a == name);
    let length = kind(few).indexed().filter(|(d, _)| is_along(&d.name)).map(|(_, size)| size);
    Some(Found { measure, best, few, many, length: length.product() })
}

/// `1 / (1 + x)`.
fn inverse(steps: &Steps<'_>, at: usize) -> Option<usize> {
    let (Fn2::Div, one, sum) = steps.joined(at)? else { return None };
    let (Fn2::Add, a, b) = steps.joined(sum)? else { return None };
    let is_one = |at| steps.is_number(at, 1.0);
    match () {
        () if !is_one(one) => None,
        () if is_one(a) => Some(b),
        () if is_one(b) => Some(a),
        () => None,
    }
}

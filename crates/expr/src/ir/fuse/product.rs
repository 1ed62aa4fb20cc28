//! Products of matrices.

use super::{Fused, Steps};
use crate::functions::{Aggregator, Fn2};
use crate::ir::Rate;
use crate::types::{CellType, TensorType};

/// `C[i,j] = sum over k of A[i,k] * B[k,j]`, where each index runs over one or more dimensions, with the cells from one
/// to the next of each. `C` has its columns next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Product {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: [usize; 2],
    pub(crate) b: [usize; 2],
    pub(crate) c: usize,
}

/// Some dimensions as one: how many places, and the cells from one to the next in two tensors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) len: usize,
    pub(super) steps: [usize; 2],
}

/// `reduce(a*b, sum, k)` of floats without labels, where only dimensions that both have are gone, and no others are common.
pub(super) fn product(steps: &Steps<'_>, at: usize) -> Option<(Fused, Vec<usize>)> {
    let (Aggregator::Sum, inner) = steps.reduced(at)? else { return None };
    let (Fn2::Mul, a, b) = steps.joined(inner)? else { return None };
    let kind = |at: usize| &steps.steps[at].kind;
    let is_float = |kind: &TensorType| kind.is_dense() && kind.cell() == CellType::Float;
    let out = kind(at);
    if ![kind(a), kind(b), out].into_iter().all(is_float) {
        return None;
    }
    let is_in = |kind: &TensorType, name: &str| kind.dimension(name).is_some();
    for dimension in kind(inner).dimensions() {
        let name = &*dimension.name;
        let is_common = is_in(kind(a), name) && is_in(kind(b), name);
        if is_common == is_in(out, name) {
            return None;
        }
    }
    let [depth, rows, columns] = [
        run(kind(a), kind(b), |name| !is_in(out, name))?,
        run(kind(a), out, |name| is_in(out, name))?,
        run(kind(b), out, |name| is_in(out, name))?,
    ];
    // Where vectors lie along the innermost dimensions a measure between them reads them as they are; but a matrix
    // that is the same for all documents is read once for many of them.
    let of_document = |at: usize| steps.steps[at].rate == Rate::Document;
    let are_documents_rows =
        |a: usize, rows: Run, b: usize| of_document(a) && rows.len == 1 && !of_document(b);
    let is_lying = (rows.len == 1 || columns.len == 1) && depth.steps == [1, 1];
    let made = match () {
        () if are_documents_rows(a, rows, b) => (rows, columns, depth.steps, [a, b]),
        () if are_documents_rows(b, columns, a) => {
            (columns, rows, [depth.steps[1], depth.steps[0]], [b, a])
        }
        () if is_lying => return None,
        () if columns.steps[1] == 1 => (rows, columns, depth.steps, [a, b]),
        () if rows.steps[1] == 1 => (columns, rows, [depth.steps[1], depth.steps[0]], [b, a]),
        () => return None,
    };
    let (rows, columns, depth_steps, operands) = made;
    let product = Product {
        m: rows.len,
        n: columns.len,
        k: depth.len,
        a: [rows.steps[0], depth_steps[0]],
        b: [depth_steps[1], columns.steps[0]],
        c: rows.steps[1].max(columns.len),
    };
    Some((Fused::Product(product), operands.to_vec()))
}

/// The dimensions of a type that are wanted as one, if they go on in both types from one to the next.
pub(super) fn run(
    of: &TensorType,
    other: &TensorType,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<Run> {
    let steps = |kind: &TensorType, name: &str| {
        let place = kind.indexed().position(|(d, _)| &*d.name == name);
        place.map_or(0, |at| kind.strides()[at])
    };
    let mut all: Option<Run> = None;
    for (dimension, len) in of.indexed().filter(|(d, len)| is_wanted(&d.name) && *len != 1) {
        let next = Run { len, steps: [steps(of, &dimension.name), steps(other, &dimension.name)] };
        all = Some(match all {
            None => next,
            Some(outer) if outer.steps == next.steps.map(|s| s * len) => {
                Run { len: outer.len * len, ..next }
            }
            Some(_) => return None,
        });
    }
    Some(all.unwrap_or(Run { len: 1, steps: [1, 1] }))
}

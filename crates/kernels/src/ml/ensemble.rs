//! Ensembles of trees as ONNX has them: any comparison at a split, any number of votes at a leaf.
//!
//! [`forest`](crate::forest) is for models whose splits all ask `x < threshold` and whose leaves are one number; it turns
//! values into bytes first. Here splits compare the values as they are, and rows walk side by side, so that each waits for
//! its loads while the others go on.

use crate::Parallel;
use crate::chunks::{split_chunks, tasks};
use core::ops::Add;

/// f32 or f64.
pub trait Real: Copy + PartialOrd + Add<Output = Self> + Send + Sync + 'static {
    /// No number.
    const NAN: Self;
}

impl Real for f32 {
    const NAN: f32 = f32::NAN;
}

impl Real for f64 {
    const NAN: f64 = f64::NAN;
}

/// Set in a child that is a leaf; the other bits are its number among all leaves.
pub const LEAF: u32 = 1 << 31;

/// What a split asks of a value that is a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Test<T> {
    /// `x < t`
    Less(T),
    /// `x <= t`
    AtMost(T),
    /// `x == t`
    Equal(T),
    /// Whether `x` is one of so many members from a first one on.
    Among(u32, u32),
}

/// A split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node<T> {
    /// The feature that is asked for.
    pub feature: u32,
    /// The question.
    pub test: Test<T>,
    /// Where rows go that are told yes and no: nodes by their number among all, or leaves.
    pub children: [u32; 2],
    /// Which of the children NaN takes.
    pub nan: u8,
}

/// A number that a leaf gives to an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vote<T> {
    /// The output.
    pub output: u32,
    /// The number.
    pub weight: T,
}

/// All trees.
#[derive(Debug, Clone, Copy)]
pub struct Ensemble<'a, T> {
    /// The root of each tree, which may be a leaf.
    pub roots: &'a [u32],
    /// The splits of all trees.
    pub nodes: &'a [Node<T>],
    /// The first vote of each leaf, and how many it has.
    pub leaves: &'a [(u32, u32)],
    /// The votes of all leaves; weights are finite.
    pub votes: &'a [Vote<T>],
    /// The members of all sets.
    pub members: &'a [T],
}

/// What becomes of the votes for one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Their sum, in the order of trees.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// Rows that walk side by side.
const LANES: usize = 8;

/// What a step down a tree costs beside an addition, for the choice of the number of threads.
const STEPS: usize = 32;

/// Combines the votes of all trees for each row of `x`, `[rows, features]`, in `out`, `[rows, outputs]`. An output that got
/// none is NaN, which a sum of finite votes never is.
///
/// # Panics
/// If a slice is not as long as that, or a feature, a child, a vote or an output is not there.
pub fn votes<T: Real>(
    par: &dyn Parallel,
    ensemble: &Ensemble<'_, T>,
    combine: Combine,
    (features, outputs): (usize, usize),
    x: &[T],
    out: &mut [T],
) {
    if outputs == 0 {
        return;
    }
    let rows = out.len() / outputs;
    assert_eq!(out.len(), rows * outputs, "whole rows");
    assert_eq!(x.len(), rows * features, "features of each row");
    let work = rows.saturating_mul(ensemble.roots.len()).saturating_mul(STEPS);
    split_chunks(par, tasks(par, work, rows), rows, out, outputs, &|range, out| {
        let x = &x[range.start * features..range.end * features];
        out.fill(T::NAN);
        let mut row = 0;
        while row + LANES <= range.len() {
            block::<T, LANES>(
                ensemble,
                combine,
                features,
                outputs,
                &x[row * features..],
                &mut out[row * outputs..],
            );
            row += LANES;
        }
        while row < range.len() {
            block::<T, 1>(
                ensemble,
                combine,
                features,
                outputs,
                &x[row * features..],
                &mut out[row * outputs..],
            );
            row += 1;
        }
    });
}

/// The first `N` rows of `x` through all trees.
#[inline(always)]
fn block<T: Real, const N: usize>(
    ensemble: &Ensemble<'_, T>,
    combine: Combine,
    features: usize,
    outputs: usize,
    x: &[T],
    out: &mut [T],
) {
    for &root in ensemble.roots {
        let mut at = [root; N];
        loop {
            let mut walking = false;
            for (lane, at) in at.iter_mut().enumerate() {
                if *at & LEAF == 0 {
                    let node = &ensemble.nodes[*at as usize];
                    let value = x[lane * features..][..features][node.feature as usize];
                    *at = node.children[child(node, value, ensemble.members)];
                    walking = true;
                }
            }
            if !walking {
                break;
            }
        }
        for (lane, at) in at.iter().enumerate() {
            let (first, count) = ensemble.leaves[(at & !LEAF) as usize];
            let out = &mut out[lane * outputs..][..outputs];
            for vote in &ensemble.votes[first as usize..][..count as usize] {
                let slot = &mut out[vote.output as usize];
                *slot = combined(combine, *slot, vote.weight);
            }
        }
    }
}

#[inline(always)]
fn child<T: Real>(node: &Node<T>, value: T, members: &[T]) -> usize {
    let yes = match node.test {
        Test::Less(t) => value < t,
        Test::AtMost(t) => value <= t,
        Test::Equal(t) => value == t,
        Test::Among(first, count) => members[first as usize..][..count as usize].contains(&value),
    };
    if is_nan(value) { usize::from(node.nan) } else { usize::from(!yes) }
}

#[inline(always)]
fn is_nan<T: Real>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}

#[inline(always)]
fn combined<T: Real>(combine: Combine, so_far: T, weight: T) -> T {
    match combine {
        _ if is_nan(so_far) => weight,
        Combine::Sum => so_far + weight,
        Combine::Min if weight < so_far => weight,
        Combine::Max if weight > so_far => weight,
        Combine::Min | Combine::Max => so_far,
    }
}

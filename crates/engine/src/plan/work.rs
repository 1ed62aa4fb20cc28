//! What steps do, in numbers, and how long they took: for those who look where the time of a run goes.

use std::time::Duration;

/// The work of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Additions and multiplications of products, convolutions and recurrences; 0 for what memory bounds.
    pub flops: u64,
    /// Bytes of operands and results, each counted once; room to work in is left out.
    pub bytes: u64,
}

/// A step that has run.
#[derive(Debug, Clone, Copy)]
pub struct StepRun<'a> {
    /// The kernel.
    pub kernel: &'static str,
    /// The node it worked for.
    pub node: &'a str,
    /// What it did.
    pub work: Work,
    /// How long that took.
    pub time: Duration,
}

/// Additions and multiplications of `count` products of `m x k` by `k x n`.
pub(crate) fn product_flops([count, m, n, k]: [usize; 4]) -> u64 {
    [m, n, k].into_iter().fold(2 * count as u64, |flops, size| flops.saturating_mul(size as u64))
}

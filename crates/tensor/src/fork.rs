//! Several steps at the same time: branches of a plan, each on a thread of its own, in one arena.
//!
//! [`BranchSpans::new`] proves, when a plan is made, that no branch writes what another one touches. [`Blocks::fork`] checks that
//! all of it lies inside the blocks, and [`Fork::take`] hands each branch out once.
#![allow(unsafe_code)] // disjoint mutable views of one allocation on several threads

use crate::AlignedBuf;
use crate::blocks::{Blocks, Span, StepMem, StepSpans};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Branches of a fork, at most: a bit each of the word that tells which are taken.
pub const MAX_BRANCHES: usize = 64;

/// What the steps of some branches touch. No branch writes what another one reads or writes.
#[derive(Debug, Clone)]
pub struct BranchSpans(Box<[Box<[StepSpans]>]>);

impl BranchSpans {
    /// The steps of each branch in order, or `None` when one writes what another touches, or there are more than
    /// [`MAX_BRANCHES`].
    pub fn new(branches: Vec<Vec<StepSpans>>) -> Option<BranchSpans> {
        if branches.len() > MAX_BRANCHES || !are_apart(&branches) {
            return None;
        }
        Some(BranchSpans(branches.into_iter().map(Into::into).collect()))
    }

    /// How many branches.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// Whether no branch writes what another one reads or writes: one sweep over everything that is touched, by where it begins.
fn are_apart(branches: &[Vec<StepSpans>]) -> bool {
    let mut touched: Vec<(Span, usize, bool)> = Vec::new();
    for (branch, steps) in branches.iter().enumerate() {
        for step in steps {
            touched.extend(step.reads().iter().map(|&span| (span, branch, false)));
            touched.extend(step.writes().iter().map(|&span| (span, branch, true)));
        }
    }
    touched.retain(|(span, ..)| span.len > 0);
    touched.sort_unstable_by_key(|(span, ..)| (span.block, span.offset));
    // How far each branch has read and written in the block, as (block, end).
    let mut read = vec![(0, 0); branches.len()];
    let mut written = read.clone();
    touched.into_iter().all(|(span, branch, writes)| {
        // `StepSpans::new` checked that ends do not overflow.
        let (begin, end) = ((span.block, span.offset), (span.block, span.offset + span.len));
        let reaches = |ends: &[(usize, usize)]| {
            let mut others = ends.iter().enumerate().filter(|&(other, _)| other != branch);
            others.any(|(_, &(block, end))| block == span.block && (block, end) > begin)
        };
        let meets = reaches(&written) || (writes && reaches(&read));
        let ends = if writes { &mut written[branch] } else { &mut read[branch] };
        *ends = (*ends).max(end);
        !meets
    })
}

impl Blocks {
    /// The memory of branches that run at the same time, or `None` when a span lies outside its block.
    pub fn fork<'a>(&'a mut self, spans: &'a BranchSpans) -> Option<Fork<'a>> {
        for step in spans.0.iter().flatten() {
            self.step(step)?;
        }
        Some(Fork { base: self.base(), spans, taken: AtomicU64::new(0), life: PhantomData })
    }
}

/// Memory that branches share.
pub struct Fork<'a> {
    base: *mut AlignedBuf,
    spans: &'a BranchSpans,
    /// A bit for each branch.
    taken: AtomicU64,
    life: PhantomData<&'a mut Blocks>,
}

// SAFETY: the pointer leads to memory only by `Branch`, of which there is one for each branch, and `BranchSpans::new` proved
// that what one writes no other touches. The headers of the blocks are only read.
unsafe impl Sync for Fork<'_> {}

impl<'a> Fork<'a> {
    /// A branch, for the thread that runs its steps; `None` when it was taken before or does not exist.
    pub fn take(&self, branch: usize) -> Option<Branch<'_>> {
        let steps = self.spans.0.get(branch)?;
        let bit = 1u64.checked_shl(u32::try_from(branch).ok()?)?;
        let is_free = self.taken.fetch_or(bit, Ordering::Relaxed) & bit == 0;
        is_free.then_some(Branch { base: self.base, steps, life: PhantomData })
    }
}

/// The memory of one branch.
pub struct Branch<'a> {
    base: *mut AlignedBuf,
    steps: &'a [StepSpans],
    life: PhantomData<&'a mut Blocks>,
}

impl Branch<'_> {
    /// The memory of step `index` of the branch; `None` when there is none.
    pub fn step(&mut self, index: usize) -> Option<StepMem<'_>> {
        let spans = self.steps.get(index)?;
        // SAFETY: `Blocks::fork` checked that the spans lie inside their blocks and borrows these for as long as branches
        // live. This branch is the only one of its number, is borrowed while the step runs, and no other touches what
        // it writes.
        Some(unsafe { StepMem::new(self.base, spans) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(block: usize, offset: usize, len: usize) -> Span {
        Span { block, offset, len }
    }

    fn step(reads: &[Span], writes: &[Span]) -> StepSpans {
        StepSpans::new(reads.to_vec(), writes.to_vec()).unwrap()
    }

    #[test]
    fn branches_that_write_what_others_touch_are_refused() {
        let cases = [
            ("apart", vec![step(&[], &[span(0, 0, 8)])], vec![step(&[], &[span(0, 8, 8)])], true),
            (
                "both write",
                vec![step(&[], &[span(0, 0, 9)])],
                vec![step(&[], &[span(0, 8, 8)])],
                false,
            ),
            (
                "both read",
                vec![step(&[span(0, 0, 9)], &[])],
                vec![step(&[span(0, 4, 8)], &[])],
                true,
            ),
            (
                "one reads what the other writes",
                vec![step(&[span(0, 0, 32)], &[span(0, 40, 8)])],
                vec![step(&[], &[span(0, 16, 8)])],
                false,
            ),
            (
                "one writes what the other reads behind",
                vec![step(&[span(0, 20, 4)], &[span(0, 40, 8)])],
                vec![step(&[], &[span(0, 16, 8)])],
                false,
            ),
            (
                "another block",
                vec![step(&[], &[span(0, 0, 9)])],
                vec![step(&[], &[span(1, 0, 9)])],
                true,
            ),
            (
                "a branch may write again what it wrote",
                vec![step(&[], &[span(0, 0, 8)]), step(&[span(0, 0, 8)], &[span(0, 8, 8)])],
                vec![step(&[], &[span(0, 16, 8)])],
                true,
            ),
            (
                "a later step of a branch",
                vec![step(&[], &[span(0, 0, 8)]), step(&[], &[span(0, 16, 8)])],
                vec![step(&[], &[span(0, 8, 8)]), step(&[span(0, 23, 1)], &[])],
                false,
            ),
            (
                "nothing of a place",
                vec![step(&[], &[span(0, 4, 0)])],
                vec![step(&[], &[span(0, 0, 8)])],
                true,
            ),
        ];
        for (label, a, b, fine) in cases {
            assert_eq!(BranchSpans::new(vec![a.clone(), b.clone()]).is_some(), fine, "{label}");
            assert_eq!(BranchSpans::new(vec![b, a]).is_some(), fine, "{label}, turned round");
        }
        let many = vec![vec![step(&[], &[])]; MAX_BRANCHES + 1];
        assert!(BranchSpans::new(many).is_none());
    }

    #[test]
    fn threads_write_their_branches() {
        let mut blocks = Blocks::new();
        blocks.ensure(0, 4096).unwrap();
        let branch = |i: usize| {
            let (from, to) = (span(0, i * 64, 32), span(0, i * 64 + 32, 32));
            vec![step(&[], &[from]), step(&[from], &[to])]
        };
        let spans = BranchSpans::new((0..MAX_BRANCHES).map(branch).collect()).unwrap();
        let fork = blocks.fork(&spans).unwrap();
        std::thread::scope(|scope| {
            for i in 0..spans.count() {
                let fork = &fork;
                scope.spawn(move || {
                    let mut branch = fork.take(i).unwrap();
                    branch.step(0).unwrap().next_write().unwrap().fill(i as u8);
                    let mut second = branch.step(1).unwrap();
                    let out = second.next_write().unwrap();
                    out.copy_from_slice(second.read(0).unwrap());
                    assert!(branch.step(2).is_none());
                });
            }
        });
        assert!(fork.take(0).is_none() && fork.take(MAX_BRANCHES).is_none());
        for i in 0..MAX_BRANCHES {
            assert_eq!(blocks.bytes(span(0, i * 64 + 32, 32)), Some(&[i as u8; 32][..]));
        }
        let outside = BranchSpans::new(vec![vec![step(&[], &[span(0, 4090, 8)])]]).unwrap();
        assert!(blocks.fork(&outside).is_none());
    }
}

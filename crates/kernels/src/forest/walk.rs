//! Trees of any size, from the root to a leaf.

use super::Sum;
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// Set in a child that is a leaf; the other bits are its number among all leaves.
pub const LEAF: u32 = 1 << 31;

/// A split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The column that is asked.
    pub column: u32,
    /// A row with a code above this takes the second child.
    pub code: i8,
    /// Nodes by their number among all nodes, or leaves.
    pub children: [u32; 2],
}

/// Trees and where they begin.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a, T> {
    /// For each tree its root, which may be a leaf, and its output.
    pub roots: &'a [(u32, u32)],
    /// The splits of all trees.
    pub nodes: &'a [Node],
    /// The leaves of all trees.
    pub leaves: &'a [T],
}

/// Rows that walk side by side: each of them waits for its loads.
const LANES: usize = 8;

/// Adds what each tree gives to the sums of the first `count` rows of a block of `rows`.
///
/// `codes`: for each column the codes of all rows of the block. `sums`: for each output the sums of
/// all rows.
///
/// # Panics
/// If a column, a child or an output is not there.
pub fn walk<T: Sum>(
    isa: Isa,
    trees: Walk<'_, T>,
    rows: usize,
    count: usize,
    codes: &[i8],
    sums: &mut [T],
) {
    assert!(count <= rows);
    dispatch(isa, Walker { trees, rows, count, codes, sums });
}

struct Walker<'a, T> {
    trees: Walk<'a, T>,
    rows: usize,
    count: usize,
    codes: &'a [i8],
    sums: &'a mut [T],
}

impl<T: Sum> SimdOp for Walker<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Walker { trees, rows, count, codes, sums } = self;
        for &(root, output) in trees.roots {
            let sums = &mut sums[output as usize * rows..][..rows];
            let mut row = 0;
            while row + LANES <= count {
                descend::<T, LANES>(&trees, root, rows, row, codes, sums);
                row += LANES;
            }
            while row < count {
                descend::<T, 1>(&trees, root, rows, row, codes, sums);
                row += 1;
            }
        }
    }
}

#[inline(always)]
fn descend<T: Sum, const N: usize>(
    trees: &Walk<'_, T>,
    root: u32,
    rows: usize,
    row: usize,
    codes: &[i8],
    sums: &mut [T],
) {
    let mut at = [root; N];
    loop {
        let mut walking = false;
        for (lane, at) in at.iter_mut().enumerate() {
            if *at & LEAF == 0 {
                let node = &trees.nodes[*at as usize];
                let code = codes[node.column as usize * rows + row + lane];
                *at = node.children[usize::from(code > node.code)];
                walking = true;
            }
        }
        if !walking {
            break;
        }
    }
    for (lane, at) in at.iter().enumerate() {
        sums[row + lane] += trees.leaves[(at & !LEAF) as usize];
    }
}

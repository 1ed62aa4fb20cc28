//! Trees of up to 256 leaves: all splits, a block of rows at a time.

use super::{BLOCK, PART, Sum};
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// A split of a tree whose leaves are numbered from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The column that is asked.
    pub column: u32,
    /// A row with a code above this goes right.
    pub code: i8,
    /// The first leaf of the left subtree.
    pub low: u8,
    /// The first leaf of the right subtree.
    pub mid: u8,
}

/// The parts of [`Splits`] that are a tree's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    /// Its first split; they are in pre-order.
    pub split: u32,
    /// How many splits it has, at most 255.
    pub splits: u32,
    /// Its first leaf. There must be 256 numbers from here, whatever the tree makes of them.
    pub leaf: u32,
    /// The output that its leaves are added to.
    pub output: u32,
}

/// Trees of up to 256 leaves.
#[derive(Debug, Clone, Copy)]
pub struct Splits<'a, T> {
    /// In the order in which they are added.
    pub trees: &'a [Tree],
    /// The splits of all trees.
    pub splits: &'a [Split],
    /// The leaves of all trees, and 256 numbers more.
    pub leaves: &'a [T],
}

/// Adds what each tree gives to the sums of a block of rows.
///
/// `codes`: for each column the codes of all rows of the block. `sums`: for each output the sums of
/// all rows. `rows`: [`BLOCK`] or [`PART`].
///
/// # Panics
/// If `rows` is neither, or a split, a leaf or an output is not there.
pub fn add<T: Sum>(isa: Isa, trees: Splits<'_, T>, rows: usize, codes: &[i8], sums: &mut [T]) {
    match rows {
        BLOCK => dispatch(
            isa,
            Add { trees, codes: blocks::<i8, BLOCK>(codes), sums: sums.as_chunks_mut().0 },
        ),
        PART => dispatch(
            isa,
            Add { trees, codes: blocks::<i8, PART>(codes), sums: sums.as_chunks_mut().0 },
        ),
        _ => panic!("blocks have {BLOCK} or {PART} rows, not {rows}"),
    }
}

fn blocks<T, const ROWS: usize>(slice: &[T]) -> &[[T; ROWS]] {
    slice.as_chunks().0
}

struct Add<'a, T, const ROWS: usize> {
    trees: Splits<'a, T>,
    codes: &'a [[i8; ROWS]],
    sums: &'a mut [[T; ROWS]],
}

impl<T: Sum, const ROWS: usize> SimdOp for Add<'_, T, ROWS> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Splits { trees, splits, leaves } = self.trees;
        let mut leaf = [0i8; ROWS];
        for tree in trees {
            let splits = &splits[tree.split as usize..][..tree.splits as usize];
            // As many rows as registers hold beside what a split brings.
            match ROWS / S::BYTES {
                1 => find::<S, ROWS, 1>(s, splits, self.codes, &mut leaf),
                2 => find::<S, ROWS, 2>(s, splits, self.codes, &mut leaf),
                8 => find::<S, ROWS, 8>(s, splits, self.codes, &mut leaf),
                _ => find::<S, ROWS, 4>(s, splits, self.codes, &mut leaf),
            }
            let Some(leaves) = leaves[tree.leaf as usize..].first_chunk::<256>() else {
                panic!("256 numbers stand from the first leaf of a tree");
            };
            let sums = &mut self.sums[tree.output as usize];
            for (sum, leaf) in sums.iter_mut().zip(&leaf) {
                *sum += leaves[*leaf as u8 as usize];
            }
        }
    }
}

/// The leaf of each row, `N` vectors of rows at a time.
#[inline(always)]
fn find<S: Simd, const ROWS: usize, const N: usize>(
    s: S,
    splits: &[Split],
    codes: &[[i8; ROWS]],
    leaf: &mut [i8; ROWS],
) {
    const { assert!(ROWS.is_multiple_of(PART)) };
    let mut at = 0;
    while at + N * S::BYTES <= ROWS {
        let mut reached = [s.splat_i8(0); N];
        for split in splits {
            let column = codes[split.column as usize].as_ptr();
            let low = s.splat_i8(split.low as i8);
            let mid = s.splat_i8(split.mid as i8);
            let code = s.splat_i8(split.code);
            for (i, reached) in reached.iter_mut().enumerate() {
                // SAFETY: i < N, so the vector ends at at + N * BYTES <= ROWS, the length of a column.
                let codes = unsafe { s.load_i8_ptr(column.add(at + i * S::BYTES)) };
                *reached = s.replace_i8(*reached, low, codes, code, mid);
            }
        }
        for (i, reached) in reached.iter().enumerate() {
            // SAFETY: as above; `leaf` has ROWS bytes.
            unsafe { s.store_i8_ptr(leaf.as_mut_ptr().add(at + i * S::BYTES), *reached) };
        }
        at += N * S::BYTES;
    }
    debug_assert_eq!(at, ROWS);
}

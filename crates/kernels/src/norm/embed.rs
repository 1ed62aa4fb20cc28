//! Layer normalisation of sums of rows that indices pick from tables: what an encoder begins with.

use super::row::{Norm, RowNorm, Rows};
use crate::broadcast::Broadcast;
use crate::movement::{Index, OutOfRange, position};
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Rows of a table in the order in which they are added.
#[derive(Debug, Clone, Copy)]
pub enum Picked<'a> {
    /// The rows as they lie.
    All,
    /// Those that indices name.
    I32(&'a [i32]),
    /// Those that indices name.
    I64(&'a [i64]),
}

/// One operand of the sums.
#[derive(Debug, Clone, Copy)]
pub struct Embedding<'a> {
    /// Rows of as many numbers as those of the result have.
    pub table: &'a [f32],
    /// Which of them.
    pub picked: Picked<'a>,
}

impl Embedding<'_> {
    /// How many rows the operand has, once all its indices are known to name rows.
    fn check(&self, cols: usize) -> Result<usize, OutOfRange> {
        fn all(indices: &[impl Index], limit: usize) -> Result<usize, OutOfRange> {
            indices.iter().try_for_each(|&index| position(index, limit).map(|_| ()))?;
            Ok(indices.len())
        }
        let limit = self.table.len() / cols;
        match self.picked {
            Picked::All => Ok(limit),
            Picked::I32(indices) => all(indices, limit),
            Picked::I64(indices) => all(indices, limit),
        }
    }

    /// Row `at` of the operand.
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    fn row(&self, at: usize, cols: usize) -> &[f32] {
        let wrapped =
            |index: i64| if index < 0 { index + (self.table.len() / cols) as i64 } else { index };
        let row = match self.picked {
            Picked::All => at,
            Picked::I32(indices) => wrapped(indices[at].value()) as usize,
            Picked::I64(indices) => wrapped(indices[at]) as usize,
        };
        &self.table[row * cols..][..cols]
    }
}

/// `dst = layer norm(sum of embeddings) * scale + bias` for each row of `cols` numbers. The sum is taken from left to right,
/// so that it has the bits of additions by themselves; `meet` says which rows of the operands meet.
///
/// # Errors
/// [`OutOfRange`] for an index that names no row.
///
/// # Panics
/// If the lengths do not fit together.
#[expect(clippy::too_many_arguments, reason = "the operands of LayerNormalization")]
pub fn norm_embeddings<const N: usize>(
    isa: Isa,
    par: &dyn Parallel,
    cols: usize,
    embeddings: [Embedding<'_>; N],
    meet: &Broadcast<N>,
    scale: Option<&[f32]>,
    bias: Option<&[f32]>,
    epsilon: f32,
    dst: &mut [f32],
) -> Result<(), OutOfRange> {
    if cols == 0 {
        return Ok(());
    }
    for embedding in &embeddings {
        embedding.check(cols)?;
    }
    let rows = meet.elements();
    assert_eq!(dst.len(), rows * cols, "length of the rows");
    let norm = Norm::new(RowNorm::Layer, cols, scale, bias, epsilon);
    let dst = Output::new(dst);
    for_ranges(par, rows, N * cols, &|from, to| {
        // SAFETY: ranges of different tasks are disjoint.
        let dst = unsafe { dst.part(from * cols, (to - from) * cols) };
        dispatch(isa, Sums { norm, embeddings, meet, from, dst });
    });
    Ok(())
}

/// The rows from `from` on, as many as there is room for.
struct Sums<'a, const N: usize> {
    norm: Norm<'a>,
    embeddings: [Embedding<'a>; N],
    meet: &'a Broadcast<N>,
    from: usize,
    dst: &'a mut [f32],
}

impl<const N: usize> SimdOp for Sums<'_, N> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let cols = self.norm.cols;
        let steps = self.meet.row_strides();
        let mut rows = self.dst.chunks_exact_mut(cols);
        let to = self.from + rows.len();
        for run in self.meet.rows(self.from..to) {
            for (i, dst) in (0..run.len).zip(&mut rows) {
                let row: [&[f32]; N] = core::array::from_fn(|k| {
                    let at = run.at[k] as isize + i as isize * steps[k];
                    self.embeddings[k].row(at as usize, cols)
                });
                add(s, row, dst);
                let (src, dst) = (dst.as_ptr(), dst.as_mut_ptr());
                Rows { norm: self.norm, rows: 1, src, dst, mean: None, inv_std: None }.eval(s);
            }
        }
    }
}

/// The sum of rows that are as long as `dst`.
#[inline(always)]
fn add<S: Simd, const N: usize>(s: S, rows: [&[f32]; N], dst: &mut [f32]) {
    let n = dst.len();
    assert!(rows.iter().all(|row| row.len() == n), "lengths of rows");
    let mut j = 0;
    // SAFETY: all rows are of n numbers, checked above, and all offsets are below n.
    unsafe {
        while j + S::LANES <= n {
            let all = sum(s, &rows, |row| s.load_ptr(row.add(j)));
            s.store_ptr(dst.as_mut_ptr().add(j), all);
            j += S::LANES;
        }
        if j < n {
            let all = sum(s, &rows, |row| s.load_part_ptr(row.add(j), n - j));
            s.store_part_ptr(dst.as_mut_ptr().add(j), all, n - j);
        }
    }
}

/// One vector of the sum of rows.
#[inline(always)]
fn sum<S: Simd, const N: usize>(
    s: S,
    rows: &[&[f32]; N],
    load: impl Fn(*const f32) -> S::F32,
) -> S::F32 {
    let first = load(rows[0].as_ptr());
    rows[1..].iter().fold(first, |sum, row| s.add(sum, load(row.as_ptr())))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::Serial;
    use crate::norm::{RowStats, norm_rows};
    use std::vec::Vec;

    fn numbers(n: usize, k: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * k) % 101) as f32 * 0.03 - 1.0).collect()
    }

    /// Two texts of three tokens: words of each, places that are the same for both, and one row for all.
    #[test]
    fn the_bits_of_gathers_sums_and_a_normalisation() {
        let (words, kinds) = ([4i64, 0, -1, 2, 2, 3], [1i32, 0, -2]);
        let meet = Broadcast::new(&[2, 3], [&[3, 1], &[0, 1], &[0, 0]], [0; 3]);
        for isa in Isa::available() {
            for cols in [1, 5, 16, 47, 384] {
                let (a, b, c) = (numbers(5 * cols, 37), numbers(2 * cols, 11), numbers(cols, 13));
                let (scale, bias) = (numbers(cols, 17), numbers(cols, 19));
                let sums: Vec<f32> = (0..6 * cols)
                    .map(|i| {
                        let (row, col) = (i / cols, i % cols);
                        let word = words[row].rem_euclid(5) as usize;
                        let kind = kinds[row % 3].rem_euclid(2) as usize;
                        a[word * cols + col] + b[kind * cols + col] + c[col]
                    })
                    .collect();
                let (s, t) = (Some(&scale[..]), Some(&bias[..]));
                let (mut want, mut got) = (std::vec![0.0; 6 * cols], std::vec![f32::NAN; 6 * cols]);
                let form = RowNorm::Layer;
                let stats = RowStats::default();
                norm_rows(isa, &Serial, form, cols, &sums, s, t, 1e-3, &mut want, stats);
                let of = |table, picked| Embedding { table, picked };
                let all =
                    [of(&a, Picked::I64(&words)), of(&b, Picked::I32(&kinds)), of(&c, Picked::All)];
                norm_embeddings(isa, &Serial, cols, all, &meet, s, t, 1e-3, &mut got).unwrap();
                assert_eq!(got, want, "{isa:?}, {cols} columns");
            }
        }
    }

    #[test]
    fn indices_outside_are_refused() {
        let meet = Broadcast::new(&[2], [&[1]], [0]);
        for (label, ids, index) in [("too large", [1, 3], 3), ("too small", [-4, 0], -4)] {
            let of = Embedding { table: &[0.0; 6], picked: Picked::I64(&ids) };
            let mut y = [7.0; 4];
            let isa = Isa::detect();
            let found = norm_embeddings(isa, &Serial, 2, [of], &meet, None, None, 0.0, &mut y);
            assert_eq!(found, Err(OutOfRange { index, limit: 3 }), "{label}");
            assert_eq!(y, [7.0; 4], "{label}");
        }
    }
}

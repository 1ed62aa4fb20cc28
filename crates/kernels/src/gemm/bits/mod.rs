//! Products by weights of 2, 4 or 8 bits, which stay that small in memory: each is `scale * (q - zero)`, with a scale for
//! each block of numbers of a column and the left operand in f32.
//!
//! * Up to four rows the weights of 4 and 8 bits are widened in registers ([`widens_in_registers`]), and read once. What a block adds is
//!   `scale * (sum of x q - zero * sum of x)`, two sums of f32.
//! * For more rows some columns at a time are widened into scratch, and multiplied as f32 are.
//!
//! Sixteen columns lie side by side, a lane of 32 bits of each: 4 to 16 numbers along `k`, so that a number of the left
//! operand meets a whole vector of columns.

mod vector;
mod widen;

use super::{Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len};
use crate::par::{Output, for_ranges};
use crate::simd::dispatch;
use crate::{Isa, Parallel};
use vector::Vector;

/// Most rows for which weights are widened in registers.
const MAX_ROWS: usize = 4;

/// Columns that lie side by side; fewer at the end, but always whole vectors.
const COLS: usize = 64;
const LEAST: usize = 16;

/// Columns that are widened into scratch together.
const WIDE: usize = 2 * COLS;

/// Sizes of a matrix of weights, `k x n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// Bits of a number: 2, 4 or 8.
    pub bits: usize,
    /// Rows.
    pub k: usize,
    /// Columns.
    pub n: usize,
    /// Numbers of a column that share a scale, at least 1.
    pub block: usize,
}

impl Bits {
    /// Blocks of a column.
    pub fn blocks(&self) -> usize {
        self.k.div_ceil(self.block)
    }

    /// Bytes of a block as it comes, from a whole byte on.
    pub fn block_bytes(&self) -> usize {
        (self.block * self.bits).div_ceil(8)
    }

    /// Lanes of a block of one column.
    fn words(&self) -> usize {
        self.block_bytes().div_ceil(4)
    }

    /// Numbers of the left operand that meet one block, padding included.
    fn padded_block(&self) -> usize {
        self.words() * 32 / self.bits
    }

    fn padded_cols(&self) -> usize {
        self.n.next_multiple_of(LEAST)
    }

    fn sliver(&self, col: usize) -> usize {
        (self.padded_cols() - col).min(COLS)
    }

    /// Lanes that [`pack`] writes.
    pub fn packed_len(&self) -> usize {
        self.padded_cols().saturating_mul(self.blocks()).saturating_mul(self.words())
    }

    /// Numbers that [`pack_each`] writes.
    pub fn each_len(&self) -> usize {
        self.padded_cols().saturating_mul(self.blocks())
    }
}

/// Packs columns that lie one behind the other in blocks, the numbers of a block from the lowest bits of its bytes on.
///
/// # Panics
/// If a slice has another length than the sizes say.
pub fn pack(of: &Bits, bytes: &[u8], dst: &mut [i32]) {
    let (blocks, words, size) = (of.blocks(), of.words(), of.block_bytes());
    assert_eq!(bytes.len(), of.n * blocks * size, "bytes of weights");
    assert_eq!(dst.len(), of.packed_len(), "length of packed weights");
    dst.fill(0);
    for (at, block) in bytes.chunks_exact(size.max(1)).enumerate() {
        let (column, block_at) = (at / blocks, at % blocks);
        let (first, lane) = (column / COLS * COLS, column % COLS);
        let width = of.sliver(first);
        let dst = &mut dst[first * blocks * words..];
        for (i, word) in block.chunks(4).enumerate() {
            let mut bytes = [0; 4];
            bytes[..word.len()].copy_from_slice(word);
            dst[(block_at * words + i) * width + lane] = i32::from_le_bytes(bytes);
        }
    }
}

/// Packs a number for each block of each column, `[n, blocks]`: scales, or zero points.
///
/// # Panics
/// If a slice has another length than the sizes say.
pub fn pack_each(of: &Bits, values: impl ExactSizeIterator<Item = f32>, dst: &mut [f32]) {
    let blocks = of.blocks();
    assert_eq!(values.len(), of.n * blocks, "numbers of blocks");
    assert_eq!(dst.len(), of.each_len(), "length of packed numbers");
    dst.fill(0.0);
    for (at, value) in values.enumerate() {
        let (column, block) = (at / blocks, at % blocks);
        let (first, lane) = (column / COLS * COLS, column % COLS);
        dst[first * blocks + block * of.sliver(first) + lane] = value;
    }
}

/// Packed weights.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    /// Their sizes.
    pub of: Bits,
    /// What [`pack`] made.
    pub words: &'a [i32],
    /// Scales, by [`pack_each`].
    pub scales: &'a [f32],
    /// Zero points, by [`pack_each`]; without, half of the range.
    pub zeros: Option<&'a [f32]>,
}

/// Whether a product of `m` rows widens weights in registers.
pub fn widens_in_registers(m: usize, of: &Bits) -> bool {
    m <= MAX_ROWS && of.bits > 2
}

/// Numbers of scratch that [`product`] needs for `m` rows.
pub fn scratch_len(isa: Isa, m: usize, of: &Bits) -> usize {
    if widens_in_registers(m, of) {
        return m * of.blocks() * (of.padded_block() + 1);
    }
    let a = Lhs::Strided(MatRef::rows(&[], of.k));
    let b = Rhs::Strided(MatRef::rows(&[], WIDE));
    let least = of.n % WIDE;
    let gemm = gemm_scratch_len(isa, m, WIDE.min(of.n), of.k, &a, &b);
    let last = gemm_scratch_len(isa, m, least, of.k, &a, &b);
    of.k * WIDE + gemm.max(last)
}

/// `C = A W + bias` for contiguous `A` of `m x k` and `C` of `m x n`.
///
/// # Panics
/// If an operand is smaller than its sizes say, or `scratch` than [`scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn product(
    isa: Isa,
    par: &dyn Parallel,
    m: usize,
    a: &[f32],
    weights: &Weights<'_>,
    bias: Option<&[f32]>,
    c: &mut [f32],
    scratch: &mut [f32],
) {
    let of = &weights.of;
    assert!(a.len() >= m * of.k && c.len() >= m * of.n, "A or C smaller than their sizes");
    assert!(bias.is_none_or(|bias| bias.len() >= of.n), "bias shorter than n");
    assert_eq!(weights.words.len(), of.packed_len(), "packed weights");
    let each = of.each_len();
    assert!(weights.scales.len() == each && weights.zeros.is_none_or(|z| z.len() == each));
    assert!(matches!(of.bits, 2 | 4 | 8), "bits of weights");
    assert!(scratch.len() >= scratch_len(isa, m, of), "scratch too small");
    if m == 0 || of.n == 0 {
        return;
    }
    if widens_in_registers(m, of) {
        few_rows(isa, par, m, a, weights, bias, c, scratch);
        return;
    }
    let (wide, scratch) = scratch.split_at_mut(of.k * WIDE);
    for col in (0..of.n).step_by(WIDE) {
        let cols = WIDE.min(of.n - col);
        widen::columns(isa, par, weights, col, cols, wide);
        let epilogue = Epilogue { bias_col: bias.map(|bias| &bias[col..]), ..Epilogue::default() };
        let (a, b) = (MatRef::rows(a, of.k), MatRef::rows(&*wide, WIDE));
        let (a, b) = (Lhs::Strided(a), Rhs::Strided(b));
        gemm(isa, par, m, cols, of.k, a, b, &mut c[col..], of.n, &epilogue, scratch);
    }
}

/// Widens in registers.
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
fn few_rows(
    isa: Isa,
    par: &dyn Parallel,
    m: usize,
    a: &[f32],
    weights: &Weights<'_>,
    bias: Option<&[f32]>,
    c: &mut [f32],
    scratch: &mut [f32],
) {
    let of = &weights.of;
    let (blocks, padded) = (of.blocks(), of.padded_block());
    let (x, sums) = scratch[..m * blocks * (padded + 1)].split_at_mut(m * blocks * padded);
    // Blocks with zeros behind what fills whole lanes, so that numbers without a meaning add nothing.
    for (row, x) in a.chunks_exact(of.k.max(1)).zip(x.chunks_exact_mut((blocks * padded).max(1))) {
        for (from, to) in row.chunks(of.block).zip(x.chunks_exact_mut(padded)) {
            to[..from.len()].copy_from_slice(from);
            to[from.len()..].fill(0.0);
        }
    }
    for (x, sum) in x.chunks_exact(padded.max(1)).zip(sums.iter_mut()) {
        *sum = x.iter().sum();
    }
    let (x, sums) = (&*x, &*sums);
    let stride = of.n;
    let out = Output::new(c);
    for_ranges(par, of.n.div_ceil(COLS), of.k * COLS / 4, &|from, to| {
        for first in (from..to).map(|sliver| sliver * COLS) {
            let width = of.sliver(first);
            let vector = Vector {
                weights,
                bias,
                first,
                width,
                cols: width.min(of.n - first),
                rows: m,
                x,
                sums,
                c: out.start(),
                stride,
            };
            dispatch(isa, vector);
        }
    });
}

#[cfg(test)]
mod tests;

//! Scaled dot-product attention of one head, `softmax(scale Q K^T + mask) V`, without ever holding
//! all scores.
//!
//! ```
//! use stead_kernels::attention::{Attention, Sizes, attention, attention_scratch_len};
//! use stead_kernels::gemm::MatRef;
//! use stead_kernels::Isa;
//!
//! let isa = Isa::detect();
//! // Two queries, two keys of width 1; both keys equal, so that values are averaged.
//! let sizes = Sizes { queries: 2, keys: 2, width: 1, value_width: 1 };
//! let job = Attention {
//!     q: MatRef::rows(&[1.0, 2.0], 1),
//!     k: MatRef::rows(&[1.0, 1.0], 1),
//!     v: MatRef::rows(&[10.0, 20.0], 1),
//!     mask: None,
//!     scale: 1.0,
//!     softcap: None,
//!     causal: Some(0),
//! };
//! let mut out = [0.0; 2];
//! let mut scratch = vec![0.0; attention_scratch_len(isa, sizes)];
//! attention(isa, sizes, &job, &mut out, 1, &mut scratch);
//! // The first query sees only the first key.
//! assert_eq!(out, [10.0, 15.0]);
//! ```
//!
//! Scores are computed transposed, a block of keys by a block of queries: the softmax then runs
//! down columns, a vector of queries at a time and without horizontal sums, and the block is
//! itself a packed left operand for the product with the values. Blocks of keys are joined by a
//! running maximum and sum (Milakov and Gimelshein, "Online normalizer calculation for softmax",
//! 2018; Dao et al., "FlashAttention", 2022).

use crate::Isa;
use crate::gemm::shape::shape;
use crate::gemm::{MatRef, fits};
use crate::simd::dispatch;

mod ahead;
mod few;
mod half;
mod heads;
mod linear;
mod rotary;
mod scores;
mod tiled;
mod transposed;

use ahead::Ahead;
pub use heads::{HeadLayout, Heads, MultiHead, multi_head, multi_head_scratch_len};
pub use linear::{Linear, LinearSizes, PerHead, linear_attention};
pub use rotary::{Rotation, rotate};
pub use scores::{Hide, Stage, scores, write_bias};

/// The sizes of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of `Q` and of the output.
    pub queries: usize,
    /// Rows of `K` and `V`.
    pub keys: usize,
    /// Columns of `Q` and `K`.
    pub width: usize,
    /// Columns of `V` and of the output.
    pub value_width: usize,
}

/// Numbers added to the scores: one per query and key, minus infinity where a key is hidden.
#[derive(Debug, Clone, Copy)]
pub struct Mask<'a> {
    /// Element of query `i` and key `j` at `i * row_stride + j`.
    pub data: &'a [f32],
    /// 0 if one row is for all queries.
    pub row_stride: usize,
}

/// The operands of one head. Rows must be contiguous (column stride 1).
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// Queries
    pub q: MatRef<'a>,
    /// Keys
    pub k: MatRef<'a>,
    /// Values
    pub v: MatRef<'a>,
    /// What is added to the scores.
    pub mask: Option<Mask<'a>>,
    /// Factor of the scores, often 1 / sqrt(width).
    pub scale: f32,
    /// `c tanh(score / c)` in place of the score, before the mask is added.
    pub softcap: Option<f32>,
    /// Query `i` sees only keys up to `i + offset`: 0 for equal positions, the number of cached
    /// keys when the queries come after them.
    pub causal: Option<isize>,
}

impl Attention<'_> {
    /// Keys that query `i` may see.
    #[inline(always)]
    fn visible(&self, i: usize, keys: usize) -> usize {
        match self.causal {
            None => keys,
            Some(offset) => {
                let end = (i as isize).saturating_add(offset).saturating_add(1);
                usize::try_from(end).map_or(0, |end| end.min(keys))
            }
        }
    }

    fn check(&self, z: Sizes) {
        for (name, x, rows, cols) in [
            ("Q", self.q, z.queries, z.width),
            ("K", self.k, z.keys, z.width),
            ("V", self.v, z.keys, z.value_width),
        ] {
            assert!(x.col_stride == 1 || cols <= 1, "rows of {name} are not contiguous");
            assert!(x.covers(rows, cols), "{name} smaller than {rows} x {cols}");
        }
        assert!(
            self.mask.is_none_or(|m| fits(m.data.len(), z.queries, m.row_stride, z.keys, 1)),
            "mask smaller than queries x keys"
        );
    }
}

/// Queries up to which each is computed on its own, as vectors times matrices.
const FEW: usize = 4;

/// Numbers of scratch that [`attention`] needs.
pub fn attention_scratch_len(isa: Isa, sizes: Sizes) -> usize {
    if is_tiled(sizes) {
        tiled::scratch_len(shape(isa.effective()), sizes)
    } else {
        few::scratch_len(sizes)
    }
}

/// `out = softmax(scale Q K^T + mask) V`, `out` of `queries x value_width` at `out_stride` elements
/// from row to row. A query that sees no key gets zeros.
///
/// # Panics
/// If an operand is smaller than its sizes say, or `scratch` than [`attention_scratch_len`].
pub fn attention(
    isa: Isa,
    sizes: Sizes,
    job: &Attention<'_>,
    out: &mut [f32],
    out_stride: usize,
    scratch: &mut [f32],
) {
    let Sizes { queries, value_width, .. } = sizes;
    if queries == 0 || value_width == 0 {
        return;
    }
    assert!(fits(out.len(), queries, out_stride, value_width, 1), "output too small");
    assert!(queries == 1 || out_stride >= value_width, "rows of the output overlap");
    if is_tiled(sizes) {
        let ahead = Ahead::nothing();
        // SAFETY: the rows are in `out`, as asserted above, and borrowed from the caller.
        unsafe { attention_to(isa, sizes, job, out.as_mut_ptr(), out_stride, scratch, ahead) };
        return;
    }
    let isa = isa.effective();
    let (job, scores) = prepare(isa, sizes, job, scratch);
    dispatch(isa, few::Few { sizes, job: &job, out, out_stride, scores });
}

/// Whether heads of these sizes are for [`attention_to`].
fn is_tiled(sizes: Sizes) -> bool {
    sizes.queries > FEW
}

/// As [`attention`], for what [`is_tiled`]: into rows that may lie between those of other threads, while what is `ahead` is asked
/// for.
///
/// # Safety
/// `out` must have `value_width` numbers for each query, `out_stride` from one query to the next, which nobody else reads or writes.
unsafe fn attention_to(
    isa: Isa,
    sizes: Sizes,
    job: &Attention<'_>,
    out: *mut f32,
    out_stride: usize,
    scratch: &mut [f32],
    ahead: Ahead,
) {
    debug_assert!(is_tiled(sizes) && (out_stride >= sizes.value_width || sizes.queries == 1));
    let isa = isa.effective();
    let (job, scratch) = prepare(isa, sizes, job, scratch);
    dispatch(isa, tiled::Tiled { sizes, job: &job, out, out_stride, scratch, ahead });
}

/// The operands, checked, and as much of the scratch as is needed.
fn prepare<'a, 'b>(
    isa: Isa,
    sizes: Sizes,
    job: &Attention<'a>,
    scratch: &'b mut [f32],
) -> (Attention<'a>, &'b mut [f32]) {
    job.check(sizes);
    // Operands of no columns may lie anywhere, even behind their slices.
    let nowhere = MatRef { data: &[], row_stride: 0, col_stride: 1 };
    let job = if sizes.width == 0 { Attention { q: nowhere, k: nowhere, ..*job } } else { *job };
    let len = attention_scratch_len(isa, sizes);
    assert!(scratch.len() >= len, "scratch too small");
    (job, &mut scratch[..len])
}

#[cfg(test)]
mod tests;

//! The register tile: some pixels by one or two blocks of output channels, summed over all products.

use super::BLOCK;
use crate::Isa;
use crate::gemm::{ActivateRows, Activation};
use crate::simd::{Simd, SimdOp};

/// Blocks of output channels in a tile.
pub(super) const fn blocks_of(isa: Isa) -> usize {
    match isa {
        Isa::Avx512 | Isa::Amx => 2,
        Isa::Avx2 | Isa::Neon | Isa::Scalar => 1,
    }
}

/// The most pixels in a tile: as many as leave registers for the weights and one number of the input.
pub(super) const fn pixels_of(isa: Isa) -> usize {
    match isa {
        // 28 sums of 32 registers.
        Isa::Avx512 | Isa::Amx => 14,
        // 12 sums of 16 registers.
        Isa::Avx2 => 6,
        // 24 sums of 32 registers.
        Isa::Neon => 6,
        // 8 sums of 16 registers.
        Isa::Scalar => 2,
    }
}

/// Rows of outputs that a tile of so narrow an image joins.
pub(super) const fn rows_of(isa: Isa, width: usize) -> usize {
    let has_room = matches!(isa, Isa::Avx512 | Isa::Amx);
    if width > 1 && 2 * width <= pixels_of(isa) && has_room { 2 } else { 1 }
}

/// Channels by which weights are asked for before they are needed: the first tile of a strip reads them from memory, and
/// those of a deep layer do not stay in the first-level cache for the next.
const AHEAD: usize = 16;

/// Everything that a tile reads and writes.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    /// The first pixel.
    pub x: *const f32,
    /// Numbers from one row of pixels to the next.
    pub x_row: usize,
    /// Where each chunk lies, counted from a pixel.
    pub offsets: *const u32,
    /// Chunks of a whole run of channels.
    pub full: usize,
    /// The chunks behind those, and the channels of each.
    pub last: usize,
    pub tail: usize,
    pub weights: *const f32,
    /// The first output, in the first block.
    pub y: *mut f32,
    /// Numbers from one row of outputs to the next.
    pub y_row: usize,
    /// Numbers from one block of channels to the next.
    pub y_block: usize,
    /// A number for each channel.
    pub bias: *const f32,
    /// Lies as the output; null where there is none.
    pub residual: *const f32,
    /// By reference: its narrow fields would be written for each tile and read at once by wider loads, which wait until all stores
    /// before them are done: the outputs of the last tile.
    pub activation: &'a Activation,
}

/// `R` rows of `W` pixels by `NV` vectors of channels; `RUN` numbers of the input belong to a pixel.
struct Tile<'a, const R: usize, const W: usize, const NV: usize, const RUN: usize>(Operands<'a>);

impl<const R: usize, const W: usize, const NV: usize, const RUN: usize> SimdOp
    for Tile<'_, R, W, NV, RUN>
{
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let mut acc = [[[s.zero(); NV]; W]; R];
        let mut w = t.weights;
        // SAFETY: each chunk lies inside the input for every pixel of the tile, and the weights have a row for
        // each of its channels.
        unsafe {
            for chunk in 0..t.full {
                let x = t.x.add(*t.offsets.add(chunk) as usize);
                for c in 0..RUN {
                    step(s, x.add(c), t.x_row, w, &mut acc, RUN);
                    w = w.add(NV * S::LANES);
                }
            }
            for chunk in t.full..t.full + t.last {
                let x = t.x.add(*t.offsets.add(chunk) as usize);
                for c in 0..t.tail {
                    step(s, x.add(c), t.x_row, w, &mut acc, RUN);
                    w = w.add(NV * S::LANES);
                }
            }
        }
        // SAFETY: the outputs of the tile exist. By value, so that the sums above stay in registers.
        unsafe { finish(s, acc, t) }
    }
}

/// Adds bias and residual to the sums, applies the activation and stores them.
///
/// # Safety
/// The operands reach to `R` rows of `W` pixels of `NV` vectors.
#[inline(always)]
unsafe fn finish<S: Simd, const R: usize, const W: usize, const NV: usize>(
    s: S,
    mut acc: [[[S::F32; NV]; W]; R],
    t: Operands<'_>,
) {
    let vectors = BLOCK / S::LANES;
    let bounds = t.activation.bounds();
    let (lo, hi) = bounds.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
    let limits = bounds.is_some() && *t.activation != Activation::None;
    // SAFETY: the caller's promise.
    unsafe {
        for v in 0..NV {
            let bias = s.load_ptr(t.bias.add(v * S::LANES));
            for row in &mut acc {
                for pixel in row {
                    pixel[v] = s.add(pixel[v], bias);
                }
            }
        }
        for (r, row) in acc.iter().enumerate() {
            for (i, pixel) in row.iter().enumerate() {
                for (v, sum) in pixel.iter().enumerate() {
                    let block = v / vectors * t.y_block + v % vectors * S::LANES;
                    let place = r * t.y_row + i * BLOCK + block;
                    let mut sum = *sum;
                    if !t.residual.is_null() {
                        sum = s.add(sum, s.load_ptr(t.residual.add(place)));
                    }
                    if limits {
                        sum = s.min(s.splat(hi), s.max(s.splat(lo), sum));
                    }
                    s.store_ptr(t.y.add(place), sum);
                }
            }
        }
        if bounds.is_none() {
            for r in 0..R {
                s.call(ActivateRows {
                    act: *t.activation,
                    data: t.y.add(r * t.y_row),
                    rows: NV / vectors,
                    cols: W * BLOCK,
                    stride: t.y_block,
                });
            }
        }
    }
}

/// Adds the products of one channel.
///
/// # Safety
/// `x` reaches `W` pixels in each of `R` rows, and `w` has `NV` vectors.
#[inline(always)]
unsafe fn step<S: Simd, const R: usize, const W: usize, const NV: usize>(
    s: S,
    x: *const f32,
    x_row: usize,
    w: *const f32,
    acc: &mut [[[S::F32; NV]; W]; R],
    run: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut weights = [s.zero(); NV];
        for (v, weight) in weights.iter_mut().enumerate() {
            *weight = s.load_ptr(w.add(v * S::LANES));
            s.prefetch(w.wrapping_add((v + AHEAD * NV) * S::LANES));
        }
        for (r, row) in acc.iter_mut().enumerate() {
            for (i, pixel) in row.iter_mut().enumerate() {
                let x = s.splat(*x.add(r * x_row + i * run));
                for (sum, weight) in pixel.iter_mut().zip(weights) {
                    *sum = s.fma(x, weight, *sum);
                }
            }
        }
    }
}

/// Computes a tile of `rows` rows of `width` pixels by `blocks` blocks.
///
/// # Safety
/// The operands reach as far as the tile does.
///
/// # Panics
/// If no tile has these sizes.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd, const RUN: usize>(
    s: S,
    rows: usize,
    width: usize,
    blocks: usize,
    t: Operands<'_>,
) {
    macro_rules! widths {
        ($r:literal, $nv:literal, $($w:literal)*) => {
            match width {
                $($w => s.call(Tile::<$r, $w, $nv, RUN>(t)),)*
                _ => panic!("no tile of {width} pixels"),
            }
        };
    }
    if S::LANES == 16 {
        match (rows, blocks) {
            (1, 1) => widths!(1, 1, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            (1, 2) => widths!(1, 2, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            (2, 1) => widths!(2, 1, 2 3 4 5 6 7),
            (2, 2) => widths!(2, 2, 2 3 4 5 6 7),
            _ => panic!("no tile of {rows} rows and {blocks} blocks"),
        }
    } else if S::LANES == 8 {
        widths!(1, 2, 1 2 3 4 5 6)
    } else if S::REGISTERS > 16 {
        widths!(1, 4, 1 2 3 4 5 6)
    } else {
        widths!(1, 4, 1 2)
    }
}

//! The register tile: some pixels by one or two blocks of output channels, summed over all products.

use super::BLOCK;
use crate::Isa;
use crate::gemm::{ActivateRows, Activation};
use crate::simd::{LINE, Simd, SimdOp};

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

/// The most pixels of a tile that may lie anywhere: each has a register for where it is.
pub(super) const MOST_APART: usize = 6;

/// The widest rows of outputs that are not cut for themselves: tiles then hold pixels of two rows and are as large as they can
/// be, or nearly. In wider rows less is lost than it takes to find each pixel.
const WIDEST_APART: usize = 28;

/// Whether tiles take the outputs of an image one after the other, in whatever rows they are.
pub(super) fn takes_apart(isa: Isa, width: usize, run: usize) -> bool {
    isa == Isa::Avx2 && run == BLOCK && width <= WIDEST_APART
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
    /// Where the pixels of a tile lie apart, in numbers from `x`.
    pub apart: [u32; MOST_APART],
    /// Where each chunk lies, counted from a pixel.
    pub offsets: *const u32,
    /// Chunks of a whole run of channels.
    pub full: usize,
    /// The chunks behind those, and the channels of each.
    pub last: usize,
    pub tail: usize,
    pub weights: *const f32,
    /// What later tiles will read, asked for meanwhile: so many lines for each chunk.
    pub later: *const f32,
    pub later_lines: usize,
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

impl Operands<'_> {
    /// Where a chunk of the pixels of a tile lies.
    ///
    /// # Safety
    /// The operands must have the chunk, and reach as far as the tile does.
    #[inline(always)]
    unsafe fn pixels<const R: usize, const W: usize, const RUN: usize, const APART: bool>(
        &self,
        chunk: usize,
    ) -> [[*const f32; W]; R] {
        // SAFETY: the caller's promise.
        unsafe {
            let x = self.x.add(*self.offsets.add(chunk) as usize);
            let mut pixels = [[x; W]; R];
            for (r, row) in pixels.iter_mut().enumerate() {
                for (i, pixel) in row.iter_mut().enumerate() {
                    *pixel = if APART {
                        x.add(self.apart[i] as usize)
                    } else {
                        x.add(r * self.x_row + i * RUN)
                    };
                }
            }
            pixels
        }
    }
}

/// `R` rows of `W` pixels by `NV` vectors of channels; `RUN` numbers of the input belong to a pixel. If `APART`, pixels of the
/// one row lie anywhere in the input.
struct Tile<
    'a,
    const R: usize,
    const W: usize,
    const NV: usize,
    const RUN: usize,
    const APART: bool,
>(Operands<'a>);

impl<const R: usize, const W: usize, const NV: usize, const RUN: usize, const APART: bool> SimdOp
    for Tile<'_, R, W, NV, RUN, APART>
{
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let mut acc = [[[s.zero(); NV]; W]; R];
        let (mut w, mut later) = (t.weights, t.later);
        // SAFETY: each chunk lies inside the input for every pixel of the tile, and the weights have a row for
        // each of its channels.
        unsafe {
            for chunk in 0..t.full {
                let pixels = t.pixels::<R, W, RUN, APART>(chunk);
                for _ in 0..t.later_lines {
                    s.prefetch_far(later);
                    later = later.wrapping_add(LINE);
                }
                for c in 0..RUN {
                    step(s, &pixels, c, w, &mut acc);
                    w = w.add(NV * S::LANES);
                }
            }
            for chunk in t.full..t.full + t.last {
                let pixels = t.pixels::<R, W, RUN, APART>(chunk);
                for c in 0..t.tail {
                    step(s, &pixels, c, w, &mut acc);
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

/// Adds the products of channel `c` of a chunk.
///
/// # Safety
/// Each of the pixels has the channel, and `w` has `NV` vectors.
#[inline(always)]
unsafe fn step<S: Simd, const R: usize, const W: usize, const NV: usize>(
    s: S,
    pixels: &[[*const f32; W]; R],
    c: usize,
    w: *const f32,
    acc: &mut [[[S::F32; NV]; W]; R],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut weights = [s.zero(); NV];
        for (v, weight) in weights.iter_mut().enumerate() {
            *weight = s.load_ptr(w.add(v * S::LANES));
            // Once for each line.
            if (v * S::LANES).is_multiple_of(LINE) {
                s.prefetch(w.wrapping_add((v + AHEAD * NV) * S::LANES));
            }
        }
        for (r, row) in acc.iter_mut().enumerate() {
            for (i, sums) in row.iter_mut().enumerate() {
                let x = s.splat(*pixels[r][i].add(c));
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = s.fma(x, weight, *sum);
                }
            }
        }
    }
}

/// Computes a tile of `rows` rows of `width` pixels by `blocks` blocks, or of one row of pixels that lie apart.
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
    is_apart: bool,
    t: Operands<'_>,
) {
    debug_assert!(!is_apart || S::LANES == 8 && rows == 1);
    macro_rules! widths {
        ($r:literal, $nv:literal, $($w:literal)*) => { widths!($r, $nv, false, $($w)*) };
        ($r:literal, $nv:literal, $apart:literal, $($w:literal)*) => {
            match width {
                $($w => s.call(Tile::<$r, $w, $nv, RUN, $apart>(t)),)*
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
    } else if S::LANES == 8 && RUN == BLOCK && is_apart {
        widths!(1, 2, true, 1 2 3 4 5 6)
    } else if S::LANES == 8 {
        widths!(1, 2, 1 2 3 4 5 6)
    } else if S::REGISTERS > 16 {
        widths!(1, 4, 1 2 3 4 5 6)
    } else {
        widths!(1, 4, 1 2)
    }
}

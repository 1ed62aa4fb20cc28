//! Products by tiles of AMX (`tdpbf16ps`): `A` packed for them, and blocks of sums.

use super::super::MatRef;
use super::super::on_tiles::{STEP, Stored, steps_of_rows};
use super::super::pack::sliver_width;
use super::super::shape::shape;
use super::blocked::Block;
use super::round::rounded;
use crate::amx::{Kind, LANES, ROWS, Rows, SUMS_STRIDE, Sweep, Width};
use crate::simd::{Arithmetic, Avx512, Simd, SimdOp};
use core::arch::x86_64::{_mm256_storeu_si256, _mm512_cvtepi32_epi16};

/// Packs and rounds rows `start..start + rows` of `A`, no more than a tile has: for each 32 columns, filled up with zeros,
/// 64 bytes of each row. So tiles are read in one go, whatever the strides of `A`.
///
/// # Safety
/// The machine must have AVX-512 F, BW, VL and DQ, AVX2, FMA, F16C and POPCNT.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,popcnt")]
pub unsafe fn pack(a: MatRef<'_>, (start, rows): (usize, usize), k: usize, dst: &mut [f32]) {
    // SAFETY: the machine has what the token stands for.
    let s = unsafe { Avx512::new() };
    debug_assert!(rows <= ROWS && dst.len() == rows * LANES * k.div_ceil(STEP));
    steps_of_rows(a, (start, rows), (0, k), |step, row, numbers| {
        let to = &mut dst[(step * rows + row) * LANES..][..LANES];
        for half in 0..2 {
            // SAFETY: a row has two vectors, of which each becomes half of one.
            unsafe {
                let x = rounded(s, s.load_ptr(numbers.as_ptr().add(half * LANES)));
                let halves = _mm512_cvtepi32_epi16(s.shr_i32::<16>(x));
                _mm256_storeu_si256(to.as_mut_ptr().add(half * LANES / 2).cast(), halves);
            }
        }
    });
}

/// A task by tiles: a function of its own, so that the frame of the one for vectors stays small.
pub struct ByTiles(Block);

impl ByTiles {
    /// The task.
    ///
    /// # Safety
    /// The machine must have [`Isa::Amx`], and panels at most 16 rows, packed by [`pack`].
    pub unsafe fn new(block: Block) -> ByTiles {
        ByTiles(block)
    }
}

impl SimdOp for ByTiles {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let shape = const { shape(S::ISA) };
        // Larger panels come first: those behind have as many rows, or one row less. Their tiles begin a row earlier, in what
        // is packed before them, and the first row of their sums means nothing.
        let most = t.panels.rows(t.panel.0);
        let row_len = t.pairs.next_multiple_of(LANES);
        let sweep =
            Sweep { kind: Kind::Pairs, panels: t.panel, slivers: t.sliver, depth: t.pairs, most };
        let rows = |panel| {
            let (row, rows) = (t.panels.start(panel), t.panels.rows(panel));
            let at = t.a.wrapping_add((row - t.base) * row_len);
            Rows {
                at: at.wrapping_sub((most - rows) * LANES).cast(),
                stride: 4 * LANES,
                step: 4 * LANES * rows,
            }
        };
        let sliver = |sliver| {
            let col = sliver * shape.cols();
            Width { at: t.b.wrapping_add(col * t.pairs), width: sliver_width(shape, t.cols, col) }
        };
        // SAFETY: `new` demands tiles and panels of whole ones, no task begins inside another, and slivers have as many pairs.
        // Rows and columns of what is stored lie in C and in the epilogue's operands.
        unsafe {
            sweep.run(rows, sliver, |sums, panel, sliver| {
                let (row, rows) = (t.panels.start(panel), t.panels.rows(panel));
                let col = sliver * shape.cols();
                s.call(Stored {
                    sums: sums.wrapping_add((most - rows) * SUMS_STRIDE).cast(),
                    rows,
                    cols: sliver_width(shape, t.cols, col).min(t.cols - col),
                    c: t.c.add(row * t.c_stride + col),
                    c_stride: t.c_stride,
                    epilogue: &t.epilogue,
                    at: (row, col),
                });
            });
        }
    }
}

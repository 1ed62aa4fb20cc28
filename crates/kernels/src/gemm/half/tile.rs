//! The register tile: `MR` rows by `NV` vectors of `C` over one block of pairs of `k`.

use super::super::epilogue::Raw;
use super::super::shape::{MAX_COLS, MAX_ROWS, shape};
use super::super::tile::{Later, finish};
use super::round::{even, odd};
use crate::simd::{Simd, SimdOp};

/// Everything a tile reads and writes. The pair `q` of column `j` is `b[q * b_stride + j]`.
#[derive(Clone, Copy)]
pub struct Operands {
    /// Pairs of `k`.
    pub pairs: usize,
    /// Row `i` at depth `p` is `a[p * rows + i]`, rounded to bf16; or, for `vdpbf16ps`, pair `q` of row `i` is the lane
    /// at `a[q * rows + i]`.
    pub a: *const f32,
    pub b: *const u32,
    pub b_stride: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    /// Columns of `C` that exist: the vectors of `B` may be wider.
    pub cols: usize,
    /// What later tiles will read, asked for meanwhile.
    pub later: Later,
    pub epilogue: Raw,
}

/// The tile of instruction sets without products of bf16 as a function of its own.
struct Tile<const MR: usize, const NV: usize>(Operands);

impl<const MR: usize, const NV: usize> SimdOp for Tile<MR, NV> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        const { assert!(MR <= MAX_ROWS && NV * S::LANES <= MAX_COLS) };
        let t = self.0;
        let mut acc = [[s.zero(); NV]; MR];
        let (mut a, mut b, mut later) = (t.a, t.b, t.later.at);
        for _ in 0..t.pairs {
            for v in 0..NV {
                s.prefetch_far(later.wrapping_add(v * S::LANES));
            }
            later = later.wrapping_add(t.later.step);
            // SAFETY: `a` has two rows of MR numbers and `b` NV vectors at each of `pairs` strides.
            unsafe {
                for upper in [false, true] {
                    let mut bv = [s.zero(); NV];
                    for (v, bv) in bv.iter_mut().enumerate() {
                        let lanes = s.load_i32_ptr(b.add(v * S::LANES).cast());
                        *bv = if upper { odd(s, lanes) } else { even(s, lanes) };
                    }
                    for (i, row) in acc.iter_mut().enumerate() {
                        let x = s.splat(*a.add(i));
                        for (v, sum) in row.iter_mut().enumerate() {
                            *sum = s.fma(x, bv[v], *sum);
                        }
                    }
                    a = a.wrapping_add(MR);
                }
                b = b.wrapping_add(t.b_stride);
            }
        }
        // SAFETY: the tile's part of C and of the epilogue's operands exists.
        unsafe { finish(s, acc, t.c, t.c_stride, t.cols, t.epilogue) }
    }
}

/// Runs the tile of `rows` rows.
///
/// # Safety
/// The operands must reach to `rows` rows, `NV` vectors (`cols` columns of `C`) and `pairs` pairs. `NATIVE` only where
/// the instruction set is AVX-512 and the machine has AVX512-BF16.
#[inline(always)]
pub unsafe fn tile<S: Simd, const NV: usize, const NATIVE: bool>(s: S, rows: usize, t: Operands) {
    const { assert!(MAX_ROWS == 14) };
    debug_assert!((1..=const { shape(S::ISA).rows }).contains(&rows));
    macro_rules! by_rows {
        ($($n:literal)*) => {
            match rows {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the caller's promise.
                $($n if NATIVE => unsafe { super::avx512::tile::<$n, NV>(t) },)*
                // Tiles that the instruction set never uses are not compiled for it.
                $($n if $n <= const { shape(S::ISA).rows } => s.call(Tile::<$n, NV>(t)),)*
                _ => {}
            }
        };
    }
    by_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}

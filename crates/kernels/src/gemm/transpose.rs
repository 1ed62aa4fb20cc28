//! Transposed copies, four by four numbers in registers.

/// `dst[p * dst_stride + i] = src[i * src_stride + p]` for `rows` rows `i` of `cols` columns `p`.
///
/// # Panics
/// If either slice is too short.
pub fn transpose(
    src: &[f32],
    src_stride: usize,
    rows: usize,
    cols: usize,
    dst: &mut [f32],
    dst_stride: usize,
) {
    if rows == 0 || cols == 0 {
        return;
    }
    assert!(src.len() > (rows - 1) * src_stride + cols - 1, "source too short");
    assert!(dst.len() > (cols - 1) * dst_stride + rows - 1, "destination too short");
    if rows < 4 || cols < 4 {
        for i in 0..rows {
            for p in 0..cols {
                dst[p * dst_stride + i] = src[i * src_stride + p];
            }
        }
        return;
    }
    // Runs short enough that the lines of `dst` stay in the first-level cache while its columns
    // are filled four at a time.
    const RUN: usize = 64;
    let mut from = 0;
    while from < cols {
        let to = (from + RUN).min(cols);
        let mut i = 0;
        while i < rows {
            // The last block overlaps the one before it.
            let row = i.min(rows - 4);
            let mut p = from;
            while p < to {
                let col = p.min(cols - 4);
                // SAFETY: row + 3 < rows and col + 3 < cols, and both slices reach to the last.
                unsafe {
                    block(
                        src.as_ptr().add(row * src_stride + col),
                        src_stride,
                        dst.as_mut_ptr().add(col * dst_stride + row),
                        dst_stride,
                    );
                }
                p += 4;
            }
            i += 4;
        }
        from = to;
    }
}

/// Four rows of four numbers.
///
/// # Safety
/// Both pointers must reach four numbers in each of four rows.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn block(src: *const f32, src_stride: usize, dst: *mut f32, dst_stride: usize) {
    use core::arch::x86_64::{
        _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    // SAFETY: the caller's promise; SSE is part of the x86-64 baseline.
    unsafe {
        let a = _mm_loadu_ps(src);
        let b = _mm_loadu_ps(src.add(src_stride));
        let c = _mm_loadu_ps(src.add(2 * src_stride));
        let d = _mm_loadu_ps(src.add(3 * src_stride));
        let (ab_lo, ab_hi) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let (cd_lo, cd_hi) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(dst, _mm_movelh_ps(ab_lo, cd_lo));
        _mm_storeu_ps(dst.add(dst_stride), _mm_movehl_ps(cd_lo, ab_lo));
        _mm_storeu_ps(dst.add(2 * dst_stride), _mm_movelh_ps(ab_hi, cd_hi));
        _mm_storeu_ps(dst.add(3 * dst_stride), _mm_movehl_ps(cd_hi, ab_hi));
    }
}

/// Four rows of four numbers.
///
/// # Safety
/// Both pointers must reach four numbers in each of four rows.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn block(src: *const f32, src_stride: usize, dst: *mut f32, dst_stride: usize) {
    for i in 0..4 {
        for p in 0..4 {
            // SAFETY: the caller's promise.
            unsafe { *dst.add(p * dst_stride + i) = *src.add(i * src_stride + p) }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_small_shape() {
        for rows in 0..20 {
            for cols in (0..20).chain([63, 64, 65, 130]) {
                let (rs, cs) = (cols + 3, rows + 1);
                let src: Vec<f32> = (0..rows * rs + 1).map(|i| i as f32).collect();
                let mut dst = std::vec![-1.0; cols * cs + 1];
                transpose(&src, rs, rows, cols, &mut dst, cs);
                for (at, &x) in dst.iter().enumerate() {
                    let (p, i) = (at / cs, at % cs);
                    let inside = i < rows && p < cols;
                    let want = if inside { (i * rs + p) as f32 } else { -1.0 };
                    assert_eq!(x, want, "{rows} x {cols} ({i}, {p})");
                }
            }
        }
    }
}

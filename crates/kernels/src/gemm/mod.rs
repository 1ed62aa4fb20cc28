//! Matrix products with an epilogue.
//!
//! [`gemm`] computes `C = act(alpha A B + ...)` (see [`Epilogue`]) for f32. `A` and `B` may lie in
//! memory with any strides, or packed beforehand ([`pack_a`], [`pack_b`]), which pays for constants.
//! Weights may be rounded to bf16 while they are packed ([`pack_half`]), be [bytes](pack_bytes), or have few [`bits`].
//! [`generic`] has the other element types and [`integer`] the quantised product.
//!
//! ```
//! use stead_kernels::gemm::{Activation, Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len};
//! use stead_kernels::{Isa, Serial};
//!
//! let isa = Isa::detect();
//! let (m, n, k) = (2, 3, 2);
//! let a = Lhs::Strided(MatRef::rows(&[1.0, 2.0, 3.0, 4.0], k));
//! let b = Rhs::Strided(MatRef::rows(&[1.0, 0.0, -1.0, 0.0, 1.0, 0.0], n));
//! let epilogue = Epilogue {
//!     bias_col: Some(&[0.5, 0.0, 0.0]),
//!     activation: Activation::Relu,
//!     ..Epilogue::default()
//! };
//! let mut c = [0.0; 6];
//! let mut scratch = vec![0.0; gemm_scratch_len(isa, m, n, k, &a, &b)];
//! gemm(isa, &Serial, m, n, k, a, b, &mut c, n, &epilogue, &mut scratch);
//! assert_eq!(c, [1.5, 2.0, 0.0, 3.5, 4.0, 0.0]);
//! ```

mod activation;
pub mod bits;
mod blocked;
mod bytes;
pub(crate) mod dot;
#[cfg(test)]
mod drawn;
mod driver;
pub(crate) mod epilogue;
mod few;
pub mod generic;
mod half;
pub mod integer;
#[cfg(target_arch = "x86_64")]
mod on_tiles;
pub(crate) mod pack;
pub(crate) mod shape;
#[cfg(target_arch = "x86_64")]
mod thirds;
pub(crate) mod tile;
mod transpose;
pub(crate) mod vector;

pub(crate) use activation::ActivateRows;
pub(crate) use activation::per_activation;
pub use activation::{Activation, activate, activate_slice};
pub use bytes::{Bytes, bytes_len, pack_bytes};
pub(crate) use dot::dots;
pub(crate) use driver::Shared;
pub use driver::{gemm, gemm_scratch_len};
pub use epilogue::{Epilogue, Residual};
pub use half::{half_len, pack_half, pays_in_half};
pub(crate) use pack::{is_dot, packed_columns, sliver_width, slivers_len};
pub use pack::{pack_a, pack_b, packed_a_len, packed_b_len};
pub use shape::RowBlocks;
pub(crate) use shape::{Panels, shape as tile_shape};
pub(crate) use transpose::transpose;

/// A matrix in a slice: element `(i, j)` is at `i * row_stride + j * col_stride`.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a, T = f32> {
    /// The elements.
    pub data: &'a [T],
    /// Elements from one row to the next; 0 repeats one row.
    pub row_stride: usize,
    /// Elements from one column to the next.
    pub col_stride: usize,
}

impl<'a, T> MatRef<'a, T> {
    /// A row-major matrix of `cols` columns without gaps.
    pub fn rows(data: &'a [T], cols: usize) -> Self {
        MatRef { data, row_stride: cols, col_stride: 1 }
    }

    /// The transpose of a row-major matrix: `rows` is the stored row length.
    pub fn transposed(data: &'a [T], rows: usize) -> Self {
        MatRef { data, row_stride: 1, col_stride: rows }
    }

    /// Whether all of `rows x cols` lies inside the slice.
    pub(crate) fn covers(&self, rows: usize, cols: usize) -> bool {
        fits(self.data.len(), rows, self.row_stride, cols, self.col_stride)
    }
}

/// Whether a slice of `len` holds `rows x cols` elements at these strides.
pub(crate) fn fits(len: usize, rows: usize, rs: usize, cols: usize, cs: usize) -> bool {
    if rows == 0 || cols == 0 {
        return true;
    }
    let last = (rows - 1)
        .checked_mul(rs)
        .and_then(|r| (cols - 1).checked_mul(cs).and_then(|c| r.checked_add(c)));
    last.is_some_and(|last| last < len)
}

/// The left operand of [`gemm`], `m x k`.
#[derive(Debug, Clone, Copy)]
pub enum Lhs<'a> {
    /// As it lies.
    Strided(MatRef<'a>),
    /// What [`pack_a`] made for the same instruction set, `m` and `k`.
    Packed(&'a [f32]),
}

/// The right operand of [`gemm`], `k x n`.
#[derive(Debug, Clone, Copy)]
pub enum Rhs<'a> {
    /// As it lies.
    Strided(MatRef<'a>),
    /// What [`pack_b`] made for the same instruction set, `k` and `n`.
    Packed(&'a [f32]),
    /// The same where all numbers are finite, which lets tiles of AMX multiply them in parts; a NaN or an infinity would make sums of rows
    /// NaN.
    Finite(&'a [f32]),
    /// What [`pack_half`] made for the same instruction set, `k` and `n`; the left operand must be strided.
    Half(&'a [u32]),
    /// What [`pack_bytes`] made for the same instruction set, `k` and `n`; the left operand must be strided.
    Bytes(Bytes<'a>),
}

#[cfg(test)]
mod tests;

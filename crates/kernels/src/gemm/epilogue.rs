//! What happens to a product before it is stored.

use super::{Activation, fits};

/// A matrix added to the product.
#[derive(Debug, Clone, Copy)]
pub struct Residual<'a> {
    /// Element `(i, j)` is at `i * row_stride + j`.
    pub data: &'a [f32],
    /// Elements from one row to the next; 0 adds one row to all.
    pub row_stride: usize,
    /// Factor.
    pub scale: f32,
}

/// `C = activation(alpha A B + [C] + bias_col + bias_row + scale residual)`, all of it done on a
/// tile while it is in registers or in the first-level cache.
#[derive(Debug, Clone, Copy)]
pub struct Epilogue<'a> {
    /// Factor of the product.
    pub alpha: f32,
    /// Whether the old `C` is added.
    pub accumulate: bool,
    /// One number per column.
    pub bias_col: Option<&'a [f32]>,
    /// One number per row.
    pub bias_row: Option<&'a [f32]>,
    /// A matrix shaped like `C`.
    pub residual: Option<Residual<'a>>,
    /// The last step.
    pub activation: Activation,
}

impl Default for Epilogue<'_> {
    /// The plain product.
    fn default() -> Self {
        Epilogue {
            alpha: 1.0,
            accumulate: false,
            bias_col: None,
            bias_row: None,
            residual: None,
            activation: Activation::None,
        }
    }
}

impl Epilogue<'_> {
    /// Whether every operand covers `m x n`.
    pub(crate) fn covers(&self, m: usize, n: usize) -> bool {
        self.bias_col.is_none_or(|b| b.len() >= n)
            && self.bias_row.is_none_or(|b| b.len() >= m)
            && self.residual.is_none_or(|r| fits(r.data.len(), m, r.row_stride, n, 1))
    }

    /// As pointers to element `(0, 0)`.
    pub(crate) fn raw(&self) -> Raw {
        let null = core::ptr::null();
        Raw {
            alpha: self.alpha,
            accumulate: self.accumulate,
            bias_col: self.bias_col.map_or(null, <[f32]>::as_ptr),
            bias_row: self.bias_row.map_or(null, <[f32]>::as_ptr),
            residual: self.residual.map_or(null, |r| r.data.as_ptr()),
            residual_stride: self.residual.map_or(0, |r| r.row_stride),
            residual_scale: self.residual.map_or(0.0, |r| r.scale),
            activation: self.activation,
        }
    }
}

/// The epilogue of one tile: pointers to the tile's first element, null where there is none.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    pub alpha: f32,
    pub accumulate: bool,
    pub bias_col: *const f32,
    pub bias_row: *const f32,
    pub residual: *const f32,
    pub residual_stride: usize,
    pub residual_scale: f32,
    pub activation: Activation,
}

impl Raw {
    /// The epilogue of the tile that starts at `(row, col)` of the one that starts here.
    ///
    /// # Safety
    /// The operands must reach at least to `(row, col)`.
    #[inline(always)]
    pub unsafe fn at(self, row: usize, col: usize) -> Raw {
        // SAFETY: the caller's promise; null stays null.
        unsafe {
            Raw {
                bias_col: step(self.bias_col, col),
                bias_row: step(self.bias_row, row),
                residual: step(self.residual, row * self.residual_stride + col),
                ..self
            }
        }
    }

    /// Where the residual of the tile at `(row, col)` begins, and from one of its rows to the next; `None` where there is none.
    #[inline(always)]
    pub fn residual_at(&self, (row, col): (usize, usize)) -> Option<(*const f32, usize)> {
        let stride = self.residual_stride;
        let begin = self.residual.wrapping_add(row * stride + col);
        (!self.residual.is_null()).then_some((begin, stride))
    }

    /// For a block of `k`: all but the last only add up, all but the first start from `C`.
    #[inline(always)]
    pub fn block(self, first: bool, last: bool) -> Raw {
        let accumulate = self.accumulate || !first;
        let null = core::ptr::null();
        if last {
            Raw { accumulate, ..self }
        } else {
            Raw {
                alpha: self.alpha,
                accumulate,
                bias_col: null,
                bias_row: null,
                residual: null,
                residual_stride: 0,
                residual_scale: 0.0,
                activation: Activation::None,
            }
        }
    }
}

/// # Safety
/// `p` is null, or `p + n` lies in its slice or just behind it.
#[inline(always)]
unsafe fn step(p: *const f32, n: usize) -> *const f32 {
    // SAFETY: the caller's promise.
    if p.is_null() { p } else { unsafe { p.add(n) } }
}

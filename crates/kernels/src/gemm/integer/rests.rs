//! What the dense part of a left operand lacks, quad by quad.

use super::pack::COLS;
use crate::simd::{Simd, SimdOp};

/// Bits of an element of a list that say which row it is of; the quad is above them.
pub const ROW_BITS: u32 = 4;

/// Most lanes of a vector, which lists have room for behind their last element.
pub const LANES: usize = 16;

/// Rests of a panel.
#[derive(Clone, Copy)]
pub struct List {
    /// Quad and row of each.
    pub at: *const i32,
    /// The bytes of each quad.
    pub bytes: *const i32,
    pub len: usize,
}

/// Adds the rests of a panel to the sums of a sliver, or subtracts them.
pub struct Rests<const ADD: bool> {
    pub list: List,
    /// The sliver.
    pub b: *const i32,
    pub width: usize,
    /// Rows of [`COLS`] sums.
    pub sums: *mut i32,
}

impl<const ADD: bool> SimdOp for Rests<ADD> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        // SAFETY: as whoever builds the struct promises, the list is of a panel that has the sums, and the sliver of as many
        // quads.
        unsafe {
            if self.width == COLS {
                self.add::<S, COLS>(s);
            } else {
                self.add::<S, LANES>(s);
            }
        }
    }
}

impl<const ADD: bool> Rests<ADD> {
    /// # Safety
    /// The rows and quads that the list has must exist, and be `WIDTH` wide.
    #[inline(always)]
    unsafe fn add<S: Simd, const WIDTH: usize>(&self, s: S) {
        debug_assert!(self.width == WIDTH);
        // SAFETY: the caller's promise; widths are multiples of 16, and so of every vector.
        unsafe {
            for i in 0..self.list.len {
                let at = *self.list.at.add(i) as usize;
                let row = at % (1 << ROW_BITS);
                let rest = s.splat_i32(*self.list.bytes.add(i));
                // The quad, which is above the row, times the width.
                let b = self.b.add((at - row) * (WIDTH >> ROW_BITS));
                let sums = self.sums.add(row * COLS);
                for v in (0..WIDTH).step_by(S::LANES) {
                    let (b, sums) = (s.load_i32_ptr(b.add(v)), sums.add(v));
                    let old = s.load_i32_ptr(sums);
                    let new = if ADD {
                        s.dot4_low(old, rest, b)
                    } else {
                        s.sub_i32(old, s.dot4_low(s.splat_i32(0), rest, b))
                    };
                    s.store_i32_ptr(sums, new);
                }
            }
        }
    }
}

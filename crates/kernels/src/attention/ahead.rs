//! What the next head reads and writes, asked for while this one is computed.

use crate::simd::{LINE, Simd};

/// The most numbers of a head that are asked for, 256 KiB: those of the head before are in the second-level cache as well, of
/// which common processors have 1 to 2 MiB.
const MOST: usize = 1 << 16;

/// Rows of a matrix.
#[derive(Clone, Copy)]
pub struct Rows {
    pub at: *const f32,
    pub stride: usize,
    pub rows: usize,
    pub cols: usize,
}

impl Rows {
    const NONE: Rows = Rows { at: core::ptr::null(), stride: 0, rows: 0, cols: 0 };

    fn lines(&self) -> usize {
        self.rows * self.cols.div_ceil(LINE)
    }
}

/// Matrices that are asked for by turns, so that no burst fills the buffers that loads wait in. Heads lie side by side in the
/// rows of a product: a row of one head is a line or two, the next one pages away, and no processor sees a pattern in that.
pub struct Ahead {
    matrices: [Rows; Ahead::MATRICES],
    /// The matrix that comes next.
    at: usize,
    /// Lines by a turn.
    quota: usize,
}

impl Ahead {
    /// Queries, keys, values and the output.
    const MATRICES: usize = 4;

    pub fn nothing() -> Ahead {
        Ahead { matrices: [Rows::NONE; Ahead::MATRICES], at: Ahead::MATRICES, quota: 0 }
    }

    pub fn new(matrices: [Rows; Ahead::MATRICES]) -> Ahead {
        let is_small = matrices.iter().map(Rows::lines).sum::<usize>() <= MOST / LINE;
        if is_small { Ahead { matrices, at: 0, quota: 0 } } else { Ahead::nothing() }
    }

    /// Spreads the lines evenly over this many calls of [`Ahead::turn`].
    pub fn spread(&mut self, turns: usize) {
        self.quota = self.matrices.iter().map(Rows::lines).sum::<usize>().div_ceil(turns.max(1));
    }

    /// Asks for some lines.
    #[inline(always)]
    pub fn turn<S: Simd>(&mut self, s: S) {
        let mut left = self.quota;
        while left > 0
            && let Some(matrix) = self.matrices.get_mut(self.at)
        {
            if matrix.rows == 0 {
                self.at += 1;
                continue;
            }
            for col in (0..matrix.cols).step_by(LINE) {
                s.prefetch_far(matrix.at.wrapping_add(col));
            }
            left = left.saturating_sub(matrix.cols.div_ceil(LINE));
            matrix.at = matrix.at.wrapping_add(matrix.stride);
            matrix.rows -= 1;
        }
    }
}

//! The order in which steps read recurrent weights that the second-level cache does not hold.
//!
//! Every step reads all weights. Read from the first to the last each time, what a step read last pushes out what the next one
//! reads first, and a cache that holds half of the weights gives none. Read there and back, a step begins with what the step
//! before has left.

use crate::gemm::{Epilogue, Lhs, MatRef, Rhs, gemm, packed_columns, tile_shape};
use crate::{Isa, Parallel, Serial};
use core::ops::Range;

/// Columns that are read together, forwards: what a product of one row keeps in registers at a time on every instruction set.
const CHUNK: usize = 128;

/// Bytes of the weights of a layer beyond which the order is worth a product for each chunk: less stays in the second-level
/// cache as a whole.
const STREAMED: usize = 1 << 20;

/// Most sequences: the products of more are bound by arithmetic.
const MAX_BATCH: usize = 4;

/// The way through the weights of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// All of a product at once, by all threads that are there.
    Whole,
    /// Chunk by chunk, from the first to the last.
    There,
    /// Chunk by chunk, from the last to the first.
    Back,
}

impl Way {
    /// That of step `step`, counted as they run, of a layer whose recurrent weights have `bytes`. It is chosen once for all
    /// products of a step: threads may come and go between them.
    pub fn of_step(step: usize, threads: usize, batch: usize, bytes: usize) -> Way {
        // Several threads divide each product in the same way every time, and have a cache each.
        if threads > 1 || batch > MAX_BATCH || bytes <= STREAMED {
            Way::Whole
        } else if step.is_multiple_of(2) {
            Way::There
        } else {
            Way::Back
        }
    }
}

/// The recurrent products of a step.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub isa: Isa,
    pub par: &'a dyn Parallel,
    pub batch: usize,
    pub hidden: usize,
    pub weights: Rhs<'a>,
    /// Columns of the weights.
    pub columns: usize,
    pub way: Way,
    /// What is added in place of the sums so far, a number for each column.
    pub bias: Option<&'a [f32]>,
}

impl Product<'_> {
    /// The packed weights, if they are read chunk by chunk.
    fn swept(&self) -> Option<&[f32]> {
        match self.weights {
            Rhs::Packed(weights) if self.way != Way::Whole => Some(weights),
            _ => None,
        }
    }

    /// Whether the columns before and those from `column` on may be products of their own.
    pub fn divides(&self, column: usize) -> bool {
        let is_edge = column.is_multiple_of(tile_shape(self.isa.effective()).cols());
        self.swept().is_some() && is_edge && column >= CHUNK && self.columns - column >= CHUNK
    }

    /// `sums = states R + sums` for a range of columns, all of them or from where the product [divides](Product::divides), or
    /// with the bias in the place of the sums. Rows of `sums` are `stride` apart and begin at the first column of the range.
    pub fn run(
        &self,
        range: Range<usize>,
        states: &[f32],
        sums: &mut [f32],
        stride: usize,
        room: &mut [f32],
    ) {
        let Product { isa, par, batch, hidden, bias, .. } = *self;
        let a = Lhs::Strided(MatRef::rows(states, hidden));
        let epilogue = |range: Range<usize>| Epilogue {
            accumulate: bias.is_none(),
            bias_col: bias.map(|bias| &bias[range]),
            ..Epilogue::default()
        };
        let Some(weights) = self.swept() else {
            let (n, e) = (range.len(), epilogue(range));
            return gemm(isa, par, batch, n, hidden, a, self.weights, sums, stride, &e, room);
        };
        let chunks = (range.len() / CHUNK).max(1);
        for i in 0..chunks {
            let chunk = if self.way == Way::Back { chunks - 1 - i } else { i };
            let from = range.start + chunk * CHUNK;
            // The last chunk takes what is left, so that none has the few columns that are packed in another way.
            let to = if chunk + 1 == chunks { range.end } else { from + CHUNK };
            let (n, e) = (to - from, epilogue(from..to));
            let b = Rhs::Packed(packed_columns(weights, hidden, from));
            let c = &mut sums[from - range.start..];
            gemm(isa, &Serial, batch, n, hidden, a, b, c, stride, &e, room);
        }
    }
}

#[cfg(test)]
mod tests;

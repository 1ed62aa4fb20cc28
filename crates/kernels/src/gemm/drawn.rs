//! Numbers that look random, for tests.

extern crate std;
use super::{Activation, Epilogue, Residual};
use std::vec::Vec;

/// Draws numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    /// In -1..1.
    pub fn number(&mut self) -> f32 {
        self.next() as f32 / (1u32 << 30) as f32 - 1.0
    }

    /// `n` numbers in -1..1.
    pub fn numbers(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.number()).collect()
    }

    /// All bytes, the lowest too.
    pub fn bytes(&mut self, n: usize) -> Vec<i8> {
        (0..n).map(|_| self.below(256) as u8 as i8).collect()
    }

    /// An epilogue of a product of `m x n` with some of what there is, from `data`, which has `m (n + 1)` numbers and 100 more than `m` or `n`.
    pub fn epilogue<'a>(&mut self, data: &'a [f32], (m, n): (usize, usize)) -> Epilogue<'a> {
        Epilogue {
            alpha: if self.below(2) == 0 { 1.0 } else { -0.5 },
            accumulate: self.below(2) == 0,
            bias_col: (self.below(2) == 0).then_some(&data[..n]),
            bias_row: (self.below(2) == 0).then_some(&data[100..100 + m]),
            residual: (self.below(2) == 0).then_some(Residual {
                data,
                row_stride: n + 1,
                scale: 0.75,
            }),
            activation: if self.below(2) == 0 { Activation::Relu } else { Activation::None },
        }
    }
}

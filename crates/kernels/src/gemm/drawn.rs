//! Numbers that look random, for tests.

extern crate std;
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
}

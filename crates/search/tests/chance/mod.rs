//! Numbers by chance, the same for the same seed.

/// A xorshift generator (Marsaglia, 2003).
pub struct Chance(pub u64);

impl Chance {
    /// Chance that begins at a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1))
    }

    /// One of the numbers below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

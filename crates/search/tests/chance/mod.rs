//! Numbers by chance, the same for the same seed, and which seeds a test runs.

use std::ops::Range;

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

/// The seeds of a test: `STEAD_SEEDS` of them from `STEAD_SEED` on, or that one; else so many as usual from 1 on. Also whether they are at least
/// as many as usual.
pub fn seeds(usual: u64) -> (Range<u64>, bool) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("STEAD_SEED");
    let count = number("STEAD_SEEDS").unwrap_or(if first.is_some() { 1 } else { usual });
    let first = first.unwrap_or(1);
    (first..first.saturating_add(count), count >= usual)
}

/// Says how a test fails again: by the seed and what stands behind `cargo test -p stead-search`.
pub struct Repro(pub u64, pub String);

impl Drop for Repro {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Repro(seed, test) = self;
            eprintln!("STEAD_SEED={seed} cargo test -p stead-search {test}");
        }
    }
}

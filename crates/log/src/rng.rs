//! Randomness as a value that tests can repeat.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where random numbers come from.
pub trait Rng: Send + Sync {
    /// 64 random bits.
    ///
    /// # Errors
    /// What the operating system answers if it has no randomness to give. A caller that makes ids must pass
    /// the error on: an id that can be guessed is worse than none.
    fn next_u64(&self) -> io::Result<u64>;
}

/// The operating system's generator: fit for ids that nobody may guess.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRng;

impl Rng for SystemRng {
    fn next_u64(&self) -> io::Result<u64> {
        getrandom::u64().map_err(io::Error::from)
    }
}

/// Numbers that follow from a seed (SplitMix64, Steele, Lea and Flood 2014). Anyone can guess them: for tests
/// and simulation only.
#[derive(Debug)]
pub struct SeededRng {
    state: AtomicU64,
}

impl SeededRng {
    /// The generator of `seed`; equal seeds give equal numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// The next 64 bits.
    pub fn bits(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0 (0 is treated as 1). Slightly uneven for huge bounds.
    pub fn below(&self, bound: u64) -> u64 {
        self.bits() % bound.max(1)
    }
}

impl Rng for SeededRng {
    fn next_u64(&self) -> io::Result<u64> {
        Ok(self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        let rng = SeededRng::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([rng.bits(), rng.bits()], expected);
    }

    #[test]
    fn the_system_does_not_repeat_itself() {
        assert_ne!(SystemRng.next_u64().unwrap(), SystemRng.next_u64().unwrap());
    }
}

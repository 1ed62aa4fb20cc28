//! Choices that a seed repeats.
#![allow(clippy::print_stdout)] // a soak tells its seed

use std::time::{SystemTime, UNIX_EPOCH};

/// How often a test kills, and the seed of its choices, which it tells: those of `STEAD_KILLS` and `STEAD_SEED`, or ten, and a seed
/// of the clock.
pub fn kills_and_seed() -> (u64, u64) {
    let given = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = given("STEAD_SEED").unwrap_or(clock.as_micros() as u64);
    println!("seed {seed}");
    (given("STEAD_KILLS").unwrap_or(10), seed)
}

/// `xorshift64*` (Marsaglia, 2003; Vigna, 2016).
pub struct Chance(pub u64);

impl Chance {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }
}

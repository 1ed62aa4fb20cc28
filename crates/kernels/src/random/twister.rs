//! The Mersenne Twister MT19937 of M. Matsumoto and T. Nishimura (1998), seeded and read as NumPy's `RandomState` does: what the expected
//! results of the standard's own tests are drawn with.

/// Words of the state, and the distance between those that are mixed.
const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// A generator. A large value: it has no place on a small stack.
#[derive(Debug, Clone)]
pub struct Twister {
    words: [u32; WORDS],
    /// Words that were given.
    given: usize,
}

impl Twister {
    /// As `numpy.random.RandomState(seed)`.
    pub fn new(seed: u32) -> Twister {
        let mut words = [seed; WORDS];
        for at in 1..WORDS {
            let before = words[at - 1];
            let mixed = (before ^ before >> 30).wrapping_mul(1_812_433_253);
            words[at] = mixed.wrapping_add(at as u32);
        }
        Twister { words, given: WORDS }
    }

    /// As `numpy.random.RandomState(key)` with a list of numbers.
    ///
    /// # Panics
    /// If there are none.
    pub fn of_key(key: &[u32]) -> Twister {
        let mut words = Twister::new(19_650_218).words;
        let mut at = 1;
        let mut mix = |factor: u32, added: &dyn Fn(usize) -> u32| {
            let before = words[at - 1];
            let mixed = words[at] ^ (before ^ before >> 30).wrapping_mul(factor);
            words[at] = mixed.wrapping_add(added(at));
            at += 1;
            if at == WORDS {
                words[0] = words[WORDS - 1];
                at = 1;
            }
        };
        for i in 0..WORDS.max(key.len()) {
            let i = i % key.len();
            mix(1_664_525, &|_| key[i].wrapping_add(i as u32));
        }
        for _ in 1..WORDS {
            mix(1_566_083_941, &|at| (at as u32).wrapping_neg());
        }
        words[0] = 1 << 31;
        Twister { words, given: WORDS }
    }

    /// Makes all words anew.
    fn twist(&mut self) {
        for at in 0..WORDS {
            let next = self.words[(at + 1) % WORDS];
            let joined = self.words[at] & 1 << 31 | next & !(1 << 31);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[at] = self.words[(at + MIDDLE) % WORDS] ^ joined >> 1 ^ odd;
        }
        self.given = 0;
    }

    fn word(&mut self) -> u32 {
        if self.given == WORDS {
            self.twist();
        }
        let mut y = self.words[self.given];
        self.given += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }

    /// A number of equal chance from 0 to below 1, a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * f64::from(1 << 26) + f64::from(low)) / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn numbers_are_those_of_numpy() {
        // `numpy.random.RandomState(seed).random_sample(n)[-1]` of NumPy 2.4.6.
        let cases: [(Twister, [(usize, f64); 3]); 3] = [
            (
                Twister::new(0),
                [(0, 0.5488135039273248), (1, 0.7151893663724195), (999, 0.6771411441114241)],
            ),
            (
                Twister::new(123_456_789),
                [(0, 0.532833024789759), (1, 0.5341366008904166), (999, 0.03900017692190372)],
            ),
            (
                Twister::of_key(&[7, 0, 3]),
                [(0, 0.34124965520609973), (1, 0.650058273130859), (999, 0.4866925715869548)],
            ),
        ];
        for (case, (mut twister, expected)) in cases.into_iter().enumerate() {
            let numbers: Vec<f64> = (0..1000).map(|_| twister.uniform()).collect();
            for (at, number) in expected {
                assert_eq!(numbers[at], number, "case {case}, number {at}");
            }
        }
    }
}

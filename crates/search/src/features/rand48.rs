//! The generator of `lrand48`: a linear congruence of 48 bits (POSIX, `drand48`), whose upper 31 bits are a number.

/// The generator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rand48 {
    state: u64,
}

const FACTOR: u64 = 0x5_deec_e66d;
const STEP: u64 = 0xb;
const MASK: u64 = (1 << 48) - 1;

impl Rand48 {
    pub(super) fn new(seed: u64) -> Rand48 {
        Rand48 { state: ((seed & 0xffff_ffff) << 16) + 0x330e }
    }

    /// The next number from 0 to below 1.
    pub(super) fn uniform(&mut self) -> f64 {
        self.state = FACTOR.wrapping_mul(self.state).wrapping_add(STEP) & MASK;
        (self.state >> 17) as f64 / f64::from(1_u32 << 31)
    }

    /// Leaves out so many numbers. Steps are squared, so that any number of them costs at most 64.
    pub(super) fn skip(&mut self, mut count: u64) {
        let (mut factor, mut step) = (FACTOR, STEP);
        while count > 0 {
            if count & 1 == 1 {
                self.state = factor.wrapping_mul(self.state).wrapping_add(step) & MASK;
            }
            step = factor.wrapping_add(1).wrapping_mul(step) & MASK;
            factor = factor.wrapping_mul(factor) & MASK;
            count >>= 1;
        }
    }

    /// The next number of a normal distribution (the polar method of Marsaglia).
    pub(super) fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.uniform() * 2.0 - 1.0, self.uniform() * 2.0 - 1.0);
            let s = u * u + v * v;
            if s < 1.0 && s != 0.0 {
                return u * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rand48;

    #[test]
    fn numbers_are_those_of_the_c_library() {
        // srand48(42); lrand48() three times, with glibc.
        let mut random = Rand48::new(42);
        let found = [0; 3].map(|_| (random.uniform() * f64::from(1_u32 << 31)) as u64);
        assert_eq!(found, [1_598_855_263, 735_945_821, 238_553_827]);
    }

    #[test]
    fn skipping_is_the_same_as_drawing() {
        for count in [0, 1, 2, 7, 1000] {
            let (mut drawn, mut skipped) = (Rand48::new(7), Rand48::new(7));
            (0..count).for_each(|_| {
                drawn.uniform();
            });
            skipped.skip(count);
            assert_eq!(drawn.uniform(), skipped.uniform(), "{count}");
        }
    }
}

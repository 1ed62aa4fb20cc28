//! Random numbers that follow from a place: Philox4x32-10 of J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011).
//!
//! A number depends on the key, the stream and its own index alone, so that any number of threads draw the same.

mod twister;

use crate::Parallel;
use crate::par::{Output, for_ranges};

pub use twister::Twister;

/// Who draws, and how often it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// What tells generators apart: the seed.
    pub key: u64,
    /// What tells the draws of a generator apart.
    pub number: u64,
}

/// The words of a block.
const WORDS: usize = 4;

/// Random bits of block `index`.
fn block(stream: Stream, index: u64) -> [u32; WORDS] {
    const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    const ROUNDS: usize = 10;
    let (mut c, mut key) =
        (halves(index, stream.number), [stream.key as u32, (stream.key >> 32) as u32]);
    for _ in 0..ROUNDS {
        let [a, b] = [MULTIPLIERS[0] * u64::from(c[0]), MULTIPLIERS[1] * u64::from(c[2])];
        c = [
            (b >> 32) as u32 ^ c[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    c
}

fn halves(low: u64, high: u64) -> [u32; WORDS] {
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}

/// Numbers of equal chance from 0 to below 1, multiples of 2^-24.
pub fn uniform_f32(stream: Stream, parallel: &dyn Parallel, out: &mut [f32]) {
    draw(stream, parallel, out, |words| {
        words.map(|word| (word >> 8) as f32 * (1.0 / (1 << 24) as f32))
    });
}

/// As [`uniform_f32`], multiples of 2^-53.
pub fn uniform_f64(stream: Stream, parallel: &dyn Parallel, out: &mut [f64]) {
    draw(stream, parallel, out, |[a, b, c, d]| {
        [(a, b), (c, d)].map(|(low, high)| {
            let bits = u64::from(low) | u64::from(high) << 32;
            (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
        })
    });
}

/// Fills memory with the numbers of one block after the other.
fn draw<T: Copy + Send, const N: usize>(
    stream: Stream,
    parallel: &dyn Parallel,
    out: &mut [T],
    numbers: impl Fn([u32; WORDS]) -> [T; N] + Sync,
) {
    let len = out.len();
    let out = Output::new(out);
    for_ranges(parallel, len.div_ceil(N), WORDS * N, &|from, to| {
        for index in from..to {
            let count = N.min(len - index * N);
            // SAFETY: each block is in one range.
            let out = unsafe { out.part(index * N, count) };
            out.copy_from_slice(&numbers(block(stream, index as u64))[..count]);
        }
    });
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::{Stream, block, uniform_f32, uniform_f64};
    use crate::Serial;
    use crate::par::Backwards;

    /// From the known answers of Random123 (`kat_vectors`).
    #[test]
    fn blocks_are_those_of_the_authors() {
        let cases = [
            ((0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ((u64::MAX, u64::MAX, u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                (0x299f_31d0_a409_3822, 0x0370_7344_1319_8a2e, 0x85a3_08d3_243f_6a88),
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for ((key, number, index), expected) in cases {
            assert_eq!(block(Stream { key, number }, index), expected);
        }
    }

    #[test]
    fn numbers_are_spread_evenly_and_follow_from_their_place() {
        const COUNT: usize = 100_003;
        let stream = Stream { key: 5, number: 1 };
        let (mut a, mut b) = (vec![2.0; COUNT], vec![2.0; COUNT]);
        uniform_f32(stream, &Serial, &mut a);
        uniform_f32(stream, &Backwards(4), &mut b);
        assert_eq!(a, b);
        uniform_f32(Stream { number: 2, ..stream }, &Serial, &mut b);
        assert!(a.iter().zip(&b).filter(|(a, b)| a == b).count() < 5);
        let mut wide = vec![2.0; COUNT];
        uniform_f64(stream, &Serial, &mut wide);
        for numbers in [a.iter().map(|n| f64::from(*n)).collect(), wide] {
            let mut tenths = [0_usize; 10];
            numbers.iter().for_each(|n| tenths[(n * 10.0) as usize] += 1);
            // Six standard deviations.
            assert!(tenths.iter().all(|n| n.abs_diff(COUNT / 10) < 570), "{tenths:?}");
        }
    }
}

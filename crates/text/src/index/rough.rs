//! Scores as `f32`: what they are off, and which of them are good enough.

use super::list::List;
use super::packed::BLOCK;
use crate::bm25::Rough;

/// How far a sum of so many scores as `f32` is off at most, as a factor: each and each addition by some units of the last place.
pub(super) fn slack(terms: usize) -> f64 {
    1.0 + (terms + 8) as f64 * f64::from(f32::EPSILON)
}

/// A number that is less as `f32` is less.
pub(super) fn least(score: f64) -> f32 {
    match score.is_finite() {
        true => (score - score.abs() * f64::from(f32::EPSILON)) as f32,
        false => f32::NEG_INFINITY,
    }
}

/// No document of a list of one block has a greater score, which is read for that: of others it is known without.
pub(super) fn most_of(list: &List<'_>, weight: f64, rough: &Rough, lengths: &[u32]) -> f64 {
    let (block, mut docs, mut counts) = (list.block(0), [0; BLOCK], [0; BLOCK]);
    block.docs(&mut docs);
    block.counts(&mut counts);
    let scores = docs.iter().zip(&counts).take(block.count).map(|(doc, count)| {
        let length = lengths.get(*doc as usize).copied().unwrap_or_default();
        rough.score(weight as f32, count.wrapping_add(1), length)
    });
    f64::from(scores.fold(0.0, f32::max)) * slack(1)
}

/// Where the first number is that is not less than another.
pub(super) fn position(numbers: &[f32], least: f32) -> Option<usize> {
    // Many at a time, of which mostly none is.
    let (chunks, rest) = numbers.as_chunks::<16>();
    let has = |chunk: &[f32; 16]| chunk.iter().fold(false, |has, x| has | (*x >= least));
    let (begin, among) = match chunks.iter().position(has) {
        Some(chunk) => (chunk * 16, &chunks[chunk][..]),
        None => (chunks.len() * 16, rest),
    };
    Some(begin + among.iter().position(|x| *x >= least)?)
}

/// How many numbers are not less than another.
pub(super) fn count(numbers: &[f32], least: f32) -> usize {
    numbers.iter().map(|x| u32::from(*x >= least)).sum::<u32>() as usize
}

#[cfg(test)]
mod tests {
    use super::{count, position};

    #[test]
    fn the_first_that_is_no_less() {
        for length in [0, 1, 15, 16, 17, 40] {
            let mut numbers = vec![1.0; length];
            assert_eq!(position(&numbers, 2.0), None);
            for at in (0..length).rev() {
                numbers[at] = 2.0;
                assert_eq!(position(&numbers, 2.0), Some(at), "{length}");
                assert_eq!(count(&numbers, 2.0), length - at, "{length}");
            }
            assert_eq!(position(&numbers, f32::NEG_INFINITY), numbers.first().map(|_| 0));
        }
    }
}

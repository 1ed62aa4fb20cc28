//! Vectors in four bits a number: what tells of most neighbours that they are too far, for an eighth of the memory of f32.
//!
//! A number stands for a step, times the middle of one of 16 pieces as long as it. The products with a vector in whole numbers are exact, so
//! that they are the same on every machine.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch, dispatch_bytes};

/// Numbers of a line.
pub const SKETCHED: usize = 128;

/// A cache line with four bits for each of [`SKETCHED`] numbers: the first half in the lower bits of its bytes, the second in the higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct SketchLine([u8; HALF]);

const HALF: usize = SKETCHED / 2;

impl Default for SketchLine {
    fn default() -> SketchLine {
        SketchLine([0; HALF])
    }
}

/// What a [line](SketchLine) is multiplied with: whole numbers up to [`SKETCH_MOST`], each in two parts of 8 bits, in the order in which the
/// line has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct SketchFactors {
    high: [[i8; HALF]; 2],
    low: [[i8; HALF]; 2],
}

/// The bits of a lower part, with its sign.
const PART_BITS: i32 = 6;

impl SketchFactors {
    /// Those of so many numbers.
    pub fn of(numbers: &[i16; SKETCHED]) -> SketchFactors {
        let mut factors = SketchFactors { high: [[0; HALF]; 2], low: [[0; HALF]; 2] };
        for (at, number) in numbers.iter().enumerate() {
            debug_assert!(number.abs() <= SKETCH_MOST, "a number up to SKETCH_MOST");
            let high = (number + (1 << (PART_BITS - 1))) >> PART_BITS;
            factors.high[at / HALF][at % HALF] = high as i8;
            factors.low[at / HALF][at % HALF] = (number - (high << PART_BITS)) as i8;
        }
        factors
    }
}

/// What a number of a sketch is less than the middle of its piece.
pub const MIDDLE: f32 = 7.5;

/// The longest vector whose [products](sketch_dots) surely fit, of numbers up to [`SKETCH_MOST`].
pub const SKETCH_LEN: usize = 1 << 15;

/// The largest number of a vector that sketches are multiplied with.
pub const SKETCH_MOST: i16 = 4095;

/// Where the outermost pieces begin, as parts of the largest number: of numbers of the normal distribution those beyond about 5/6 are so few
/// that all others are told better with shorter pieces; of others fewer or more.
const PARTS: [f32; 4] = [1.0, 0.85, 0.7, 0.5];

/// Sums that are made side by side: two vectors of the widest instruction set.
const SUMS: usize = 32;

/// Sketches a vector and returns the sum of its products with the sketch, as numbers less [`MIDDLE`], and the sum of the squares of these.
/// Both are 0 if nothing of the vector can be told.
///
/// # Panics
/// If `out` is not a line for each [`SKETCHED`] numbers.
pub fn sketch(isa: Isa, vector: &[f32], out: &mut [SketchLine]) -> (f32, f32) {
    assert_eq!(out.len(), vector.len().div_ceil(SKETCHED), "a line for each numbers");
    dispatch(isa, Sketch { vector, out })
}

struct Sketch<'a> {
    vector: &'a [f32],
    out: &'a mut [SketchLine],
}

impl SimdOp for Sketch<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) -> (f32, f32) {
        let most = most(self.vector);
        let (mut best, mut per_step) = ((0.0, 0.0), 0.0);
        for part in PARTS {
            let inverse = (MIDDLE + 0.5) / (most * part);
            let (dot, square) = sums(self.vector, inverse);
            // Of equals the first: with NaN, none.
            if dot * dot * best.1 > best.0 * best.0 * square || (best.1 == 0.0 && dot > 0.0) {
                (best, per_step) = ((dot, square), inverse);
            }
        }
        for (line, numbers) in self.out.iter_mut().zip(self.vector.chunks(SKETCHED)) {
            let mut padded = [0.0; SKETCHED];
            padded[..numbers.len()].copy_from_slice(numbers);
            for i in 0..HALF {
                let [low, high] =
                    [i, HALF + i].map(|i| piece_of(padded[i], per_step).to_bits() & 15);
                line.0[i] = (low | high << 4) as u8;
            }
        }
        if best.0.is_finite() && best.1.is_finite() { best } else { (0.0, 0.0) }
    }
}

/// The largest number, whatever its sign.
#[inline(always)]
fn most(vector: &[f32]) -> f32 {
    let mut most = [0.0_f32; SUMS];
    let mut add = |i: usize, x: f32| most[i] = most[i].max(x.abs());
    let (wholes, rest) = vector.as_chunks::<SUMS>();
    for numbers in wholes {
        (0..SUMS).for_each(|i| add(i, numbers[i]));
    }
    rest.iter().enumerate().for_each(|(i, x)| add(i, *x));
    most.into_iter().fold(0.0, f32::max)
}

/// Beside it f32 have whole numbers only, and these in their lowest bits.
const WHOLE: f32 = (1 << 23) as f32;

/// The piece of a number, 0 to 15, more than [`WHOLE`]; without a cast, which would not be made for several numbers at once.
#[inline(always)]
fn piece_of(x: f32, per_step: f32) -> f32 {
    (x * per_step + MIDDLE).clamp(0.0, 2.0 * MIDDLE) + WHOLE
}

/// The sums that [`sketch`] returns, with pieces that are so many as long as 1.
#[inline(always)]
fn sums(vector: &[f32], per_step: f32) -> (f32, f32) {
    let (mut dots, mut squares) = ([0.0; SUMS], [0.0; SUMS]);
    let mut add = |i: usize, x: f32| {
        let y = piece_of(x, per_step) - WHOLE - MIDDLE;
        dots[i] += x * y;
        squares[i] += y * y;
    };
    let (wholes, rest) = vector.as_chunks::<SUMS>();
    for numbers in wholes {
        (0..SUMS).for_each(|i| add(i, numbers[i]));
    }
    rest.iter().enumerate().for_each(|(i, x)| add(i, *x));
    (dots.iter().sum(), squares.iter().sum())
}

/// The sum of the products of a vector and each of `list`, sketches whose numbers are 0 to 15. The vector has factors for whole lines, 0 behind its
/// last.
///
/// # Panics
/// If the lengths do not fit.
pub fn sketch_dots(isa: Isa, vector: &[SketchFactors], list: &[&[SketchLine]], out: &mut [i32]) {
    assert!(
        vector.len() * SKETCHED <= SKETCH_LEN,
        "no more numbers than sums surely have room for"
    );
    assert!(list.iter().all(|sketch| sketch.len() == vector.len()), "the lines of the sketches");
    assert_eq!(list.len(), out.len(), "a result for each sketch");
    dispatch_bytes(isa, true, Dots { vector, list, out });
}

/// The most lanes of an instruction set.
const MOST_LANES: usize = 16;

struct Dots<'a> {
    vector: &'a [SketchFactors],
    list: &'a [&'a [SketchLine]],
    out: &'a mut [i32],
}

impl SimdOp for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        const { assert!(HALF.is_multiple_of(4 * S::LANES) && S::LANES <= MOST_LANES) };
        let lower = s.splat_i32(0x0f0f_0f0f);
        for (sketch, out) in self.list.iter().zip(self.out) {
            let (mut high, mut low) = (s.splat_i32(0), s.splat_i32(0));
            for (line, factors) in sketch.iter().zip(self.vector) {
                for at in (0..HALF).step_by(4 * S::LANES) {
                    debug_assert!(at + 4 * S::LANES <= HALF);
                    // SAFETY: a vector of bytes lies behind `at` in the line and in each half of each part.
                    unsafe {
                        let bytes = s.load_i32_ptr(line.0.as_ptr().add(at).cast());
                        let halves =
                            [s.and_i32(bytes, lower), s.and_i32(s.shr_i32::<4>(bytes), lower)];
                        for (half, numbers) in halves.into_iter().enumerate() {
                            let of_high =
                                s.load_i32_ptr(factors.high[half].as_ptr().add(at).cast());
                            let of_low = s.load_i32_ptr(factors.low[half].as_ptr().add(at).cast());
                            high = s.dot4_low(high, numbers, of_high);
                            low = s.dot4_low(low, numbers, of_low);
                        }
                    }
                }
            }
            let mut sums = [0; MOST_LANES];
            let sum = s.add_i32(s.shl_i32::<PART_BITS>(high), low);
            // SAFETY: there is room for the most lanes.
            unsafe { s.store_i32_ptr(sums.as_mut_ptr(), sum) };
            *out = sums.iter().sum();
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::{
        HALF, MIDDLE, SKETCH_LEN, SKETCH_MOST, SKETCHED, SketchFactors, SketchLine, sketch,
        sketch_dots,
    };
    use crate::Isa;

    /// Numbers that look random, some of them much larger than the others.
    fn vector(len: usize, seed: usize) -> Vec<f32> {
        let at = |i: usize| (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503) >> 7;
        (0..len).map(|i| (at(i) % 2001) as f32 - 1000.0).map(|x| x * x * x / 1e6).collect()
    }

    fn numbers(lines: &[SketchLine]) -> Vec<u8> {
        let of_line = |line: &SketchLine| {
            (0..SKETCHED).map(|i| line.0[i % HALF] >> (4 * (i / HALF)) & 15).collect::<Vec<u8>>()
        };
        lines.iter().flat_map(of_line).collect()
    }

    #[test]
    fn sketches_lie_along_their_vectors() {
        for len in [1, 31, 32, 100, 127, 128, 129, 300, 1000] {
            let vector = vector(len, 3);
            let mut first: Option<Vec<SketchLine>> = None;
            for isa in Isa::available() {
                let mut lines = std::vec![SketchLine::default(); len.div_ceil(SKETCHED)];
                let (dot, square) = sketch(isa, &vector, &mut lines);
                let numbers = numbers(&lines);
                let middles = numbers.iter().map(|x| f64::from(*x) - f64::from(MIDDLE));
                let pairs = || middles.clone().zip(vector.iter().map(|x| f64::from(*x)));
                let expected: f64 = pairs().map(|(x, y)| x * y).sum();
                assert!((f64::from(dot) - expected).abs() <= 1e-5 * expected, "{isa:?} {len}");
                let expected: f64 = pairs().map(|(x, _)| x * x).sum();
                assert!((f64::from(square) - expected).abs() <= 1e-5 * expected, "{isa:?} {len}");
                let of_vector: f64 = pairs().map(|(_, y)| y * y).sum();
                let cosine = f64::from(dot) / (f64::from(square) * of_vector).sqrt();
                assert!(cosine > 0.97, "{isa:?} {len}: {cosine}");
                // Machines need not agree on a number between two pieces; none of these is.
                assert_eq!(*first.get_or_insert_with(|| lines.clone()), lines, "{isa:?} {len}");
            }
        }
    }

    #[test]
    fn of_some_vectors_nothing_can_be_told() {
        for isa in Isa::available() {
            let mut lines = [SketchLine::default()];
            for odd in [0.0, f32::NAN, f32::INFINITY, -f32::INFINITY] {
                let vector = [odd; 100];
                assert_eq!(sketch(isa, &vector, &mut lines), (0.0, 0.0), "{isa:?} {odd}");
            }
            for whole in [f32::MIN_POSITIVE, 1e-30, 1e18, f32::MAX] {
                let (dot, square) = sketch(isa, &[whole, -whole], &mut lines);
                assert!(dot >= 0.0 && square >= 0.0 && dot.is_finite(), "{isa:?} {whole}");
            }
        }
    }

    #[test]
    fn products_with_sketches_are_exact() {
        for isa in Isa::available() {
            for lines in [1, 2, 3, 8, SKETCH_LEN / SKETCHED] {
                let whole = |x: f32| (x / 1000.0 * f32::from(SKETCH_MOST)) as i16;
                let mut few: Vec<i16> =
                    vector(lines * SKETCHED, 1).into_iter().map(whole).collect();
                match lines {
                    2 => few.fill(-SKETCH_MOST),
                    _ if lines == SKETCH_LEN / SKETCHED => few.fill(SKETCH_MOST),
                    _ => {}
                }
                let factors: Vec<SketchFactors> =
                    few.as_chunks().0.iter().map(SketchFactors::of).collect();
                let of = |seed| {
                    let mut sketch_of = std::vec![SketchLine::default(); lines];
                    sketch(isa, &vector(lines * SKETCHED, seed), &mut sketch_of);
                    sketch_of
                };
                let most = std::vec![SketchLine([255; HALF]); lines];
                let list = [of(1), of(2), most, of(5)];
                let expected = list.iter().map(|lines| {
                    let products = numbers(lines).into_iter().zip(&few);
                    products.map(|(x, y)| i64::from(x) * i64::from(*y)).sum::<i64>()
                });
                let expected: Vec<i64> = expected.collect();
                let list: Vec<&[SketchLine]> = list.iter().map(|lines| &lines[..]).collect();
                for count in 0..=list.len() {
                    let mut out = std::vec![7; count];
                    sketch_dots(isa, &factors, &list[..count], &mut out);
                    let out: Vec<i64> = out.into_iter().map(i64::from).collect();
                    assert_eq!(out, expected[..count], "{isa:?} {lines}");
                }
            }
        }
    }
}

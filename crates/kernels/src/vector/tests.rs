//! Every kernel against loops that say what it means, on every instruction set of the machine.

extern crate std;
use super::*;
use crate::Isa;
use half::bf16;
use std::vec;
use std::vec::Vec;

/// Small whole numbers that look random: sums of their products are exact in f32.
fn numbers(count: usize, seed: usize) -> Vec<i8> {
    let at = |i: usize| (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503) >> 7;
    (0..count).map(|i| (at(i) % 15) as i8 - 7).collect()
}

fn floats(count: usize, seed: usize) -> Vec<f32> {
    numbers(count, seed).into_iter().map(f32::from).collect()
}

const LENGTHS: [usize; 12] = [1, 2, 7, 8, 15, 16, 31, 63, 64, 65, 128, 200];

#[test]
fn measures_of_rows() {
    for isa in Isa::available() {
        for n in LENGTHS {
            for count in [0, 1, 3, 4, 9] {
                let (v, list) = (numbers(n, 1), numbers(n * count, 2));
                for measure in [Measure::Dot, Measure::SquaredDistance] {
                    let pair = |x: i8, y: i8| match measure {
                        Measure::Dot => i64::from(x) * i64::from(y),
                        Measure::SquaredDistance => (i64::from(x) - i64::from(y)).pow(2),
                    };
                    let expected: Vec<i64> = list
                        .chunks_exact(n)
                        .map(|row| row.iter().zip(&v).map(|(y, x)| pair(*x, *y)).sum())
                        .collect();
                    let label = std::format!("{isa:?} {measure:?} {n} {count}");
                    let wide: Vec<f32> = v.iter().map(|x| f32::from(*x)).collect();
                    let double: Vec<f64> = v.iter().map(|x| f64::from(*x)).collect();
                    macro_rules! check {
                        ($vector:expr, $w:ty, $convert:expr) => {{
                            let stored: Vec<_> = list.iter().map($convert).collect();
                            let mut out = vec![0.0; count];
                            rows(isa, measure, $vector, &stored, &mut out);
                            let expected: Vec<$w> = expected.iter().map(|x| *x as $w).collect();
                            assert_eq!(out, expected, "{label}");
                        }};
                    }
                    check!(&wide, f32, |x| f32::from(*x));
                    check!(&wide, f32, |x| bf16::from_f32(f32::from(*x)));
                    check!(&wide, f32, |x| *x);
                    check!(&double, f64, |x| f64::from(*x));
                    check!(&double, f64, |x| f32::from(*x));
                    check!(&double, f64, |x| bf16::from_f32(f32::from(*x)));
                    if measure == Measure::Dot && count > 0 {
                        assert_eq!(dot_i8(isa, &v, &list[..n]), expected[0], "{label}");
                    }
                }
            }
        }
        let most = vec![-128_i8; 200_000];
        assert_eq!(dot_i8(isa, &most, &most), 16_384 * 200_000, "{isa:?}");
    }
}

/// Vectors that lie anywhere: in another order, one of them twice.
#[test]
fn measures_of_scattered_vectors() {
    for isa in Isa::available() {
        for n in LENGTHS {
            for count in [0, 1, 2, 5, 11] {
                let (v, list) = (numbers(n, 11), numbers(n * count, 12));
                let order: Vec<usize> =
                    (0..count).map(|i| i * 7 % count).chain((count > 0).then_some(0)).collect();
                let sum = |row: usize, of: &dyn Fn(i64, i64) -> i64| -> i64 {
                    let row = &list[row * n..][..n];
                    v.iter().zip(row).map(|(x, y)| of(i64::from(*x), i64::from(*y))).sum()
                };
                let label = std::format!("{isa:?} {n} {count}");
                macro_rules! check {
                    ($w:ty, $convert:expr) => {{
                        let vector: Vec<$w> = v.iter().map(|x| <$w>::from(*x)).collect();
                        let stored: Vec<_> = list.iter().map($convert).collect();
                        let rows: Vec<_> = order.iter().map(|at| &stored[at * n..][..n]).collect();
                        let expected = |of: &dyn Fn(i64, i64) -> i64| -> Vec<$w> {
                            order.iter().map(|row| sum(*row, of) as $w).collect()
                        };
                        let mut out = vec![<$w>::NAN; rows.len()];
                        scattered(isa, Measure::Dot, &vector, &rows, &mut out);
                        assert_eq!(out, expected(&|x, y| x * y), "{label}");
                        scattered(isa, Measure::SquaredDistance, &vector, &rows, &mut out);
                        assert_eq!(out, expected(&|x, y| (x - y) * (x - y)), "{label}");
                        let (mut dots, mut squares) =
                            (vec![<$w>::NAN; rows.len()], vec![<$w>::NAN; rows.len()]);
                        dots_and_squares(isa, &vector, &rows, &mut dots, &mut squares);
                        assert_eq!(dots, expected(&|x, y| x * y), "{label}");
                        assert_eq!(squares, expected(&|_, y| y * y), "{label}");
                    }};
                }
                check!(f32, |x| f32::from(*x));
                check!(f32, |x| bf16::from_f32(f32::from(*x)));
                check!(f32, |x| *x);
                check!(f64, |x| f64::from(*x));
                check!(f64, |x| f32::from(*x));
                check!(f64, |x| bf16::from_f32(f32::from(*x)));
                check!(f64, |x| *x);
                let rows: Vec<&[i8]> = order.iter().map(|at| &list[at * n..][..n]).collect();
                let mut out = vec![u32::MAX; rows.len()];
                hamming_scattered(isa, &v, &rows, &mut out);
                let bits = |x: i64, y: i64| i64::from((x as i8 ^ y as i8).count_ones());
                let expected: Vec<u32> = order.iter().map(|row| sum(*row, &bits) as u32).collect();
                assert_eq!(out, expected, "{label}");
            }
        }
        // Whatever is not a number stays none.
        let (x, y) = ([1.0_f32, f32::NAN, 3.0], [1.0_f32, 2.0, f32::INFINITY]);
        let mut out = [0.0];
        scattered(isa, Measure::SquaredDistance, &x, &[&y[..]], &mut out);
        assert!(out[0].is_nan(), "{isa:?}");
        scattered(isa, Measure::Dot, &x[..1], &[&y[2..]], &mut out);
        assert_eq!(out, [f32::INFINITY], "{isa:?}");
    }
}

#[test]
fn best_matches() {
    for isa in Isa::available() {
        for (count, n) in [(1, 1), (3, 7), (16, 8), (17, 16), (32, 128), (50, 33)] {
            for tokens_count in [0, 1, 2, 5, 6, 12, 13, 31] {
                let (few, many) = (floats(count * n, 3), floats(tokens_count * n, 4));
                let mut packed = vec![f32::NAN; lanes_len(count, n)];
                lanes(count, n, &few, &mut packed);
                let mut best = vec![f32::NEG_INFINITY; count.next_multiple_of(LANES)];
                tokens(isa, n, &packed, &many, &mut best);
                for (lane, x) in few.chunks_exact(n).enumerate() {
                    let dot = |y: &[f32]| -> f32 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
                    let most = many.chunks_exact(n).map(dot).fold(f32::NEG_INFINITY, f32::max);
                    assert_eq!(best[lane], most, "{isa:?} {count} {n} {tokens_count} {lane}");
                }
            }
        }
        // A NaN is larger than nothing.
        let mut packed = vec![0.0; lanes_len(1, 1)];
        lanes(1, 1, &[1.0], &mut packed);
        let mut best = [f32::NEG_INFINITY; LANES];
        tokens(isa, 1, &packed, &[f32::NAN, 2.0, f32::NAN], &mut best);
        assert_eq!(best[0], 2.0, "{isa:?}");
    }
}

#[test]
fn sums_of_bits() {
    for isa in Isa::available() {
        for (count, bytes) in [(1, 1), (3, 2), (16, 3), (17, 16), (32, 16)] {
            for is_big_endian in [false, true] {
                let few = floats(count * bytes * 8, 5);
                let many: Vec<i8> =
                    numbers(9 * bytes, 6).iter().map(|x| x.wrapping_mul(37)).collect();
                let mut tables = vec![f32::NAN; bit_tables_len(count, bytes)];
                bit_tables(count, bytes, is_big_endian, &few, &mut tables);
                let mut best = vec![f32::NEG_INFINITY; count.next_multiple_of(LANES)];
                bit_tokens(isa, bytes, is_big_endian, &tables, &many, &mut best);
                let sum = |x: &[f32], token: &[i8]| -> f32 {
                    let bit = |k: usize| {
                        let place = if is_big_endian { 7 - k % 8 } else { k % 8 };
                        token[k / 8] as u8 >> place & 1
                    };
                    x.iter().enumerate().map(|(k, x)| x * f32::from(bit(k))).sum()
                };
                let label = std::format!("{isa:?} {count} {bytes} {is_big_endian}");
                for (lane, x) in few.chunks_exact(bytes * 8).enumerate() {
                    let sums = many.chunks_exact(bytes).map(|token| sum(x, token));
                    assert_eq!(best[lane], sums.fold(f32::NEG_INFINITY, f32::max), "{label}");
                }
                let mut tables = vec![f32::NAN; bit_tables_len(1, bytes)];
                bit_tables(1, bytes, is_big_endian, &few[..bytes * 8], &mut tables);
                let mut sums = vec![0.0; 9];
                bit_sums(isa, bytes, is_big_endian, &tables, &many, &mut sums);
                let expected: Vec<f32> =
                    many.chunks_exact(bytes).map(|token| sum(&few[..bytes * 8], token)).collect();
                assert_eq!(sums, expected, "{label}");
            }
        }
    }
}

#[test]
fn bits_that_differ() {
    let bytes_of = |count: usize, seed| -> Vec<i8> {
        numbers(count, seed).iter().map(|x| x.wrapping_mul(37)).collect()
    };
    let differ =
        |x: &[i8], y: &[i8]| -> u32 { x.iter().zip(y).map(|(x, y)| (x ^ y).count_ones()).sum() };
    for isa in Isa::available() {
        for bytes in [1, 2, 7, 8, 9, 16, 33, 64] {
            let (v, list) = (bytes_of(bytes, 7), bytes_of(bytes * 5, 8));
            let mut out = [0; 5];
            hamming_rows(isa, &v, &list, &mut out);
            let expected: Vec<u32> = list.chunks_exact(bytes).map(|row| differ(&v, row)).collect();
            assert_eq!(&out[..], expected, "{isa:?} {bytes}");
            for count in [1, 7, 8, 9, 32] {
                let few = bytes_of(count * bytes, 9);
                let mut words = vec![u64::MAX; hamming_words_len(count, bytes)];
                hamming_words(count, bytes, &few, &mut words);
                for (extreme, start) in [(Extreme::Least, u64::MAX), (Extreme::Most, 0)] {
                    let mut best = vec![start; count.next_multiple_of(8)];
                    hamming_tokens(isa, bytes, extreme, &words, &list, &mut best);
                    for (lane, x) in few.chunks_exact(bytes).enumerate() {
                        let all = list.chunks_exact(bytes).map(|y| u64::from(differ(x, y)));
                        let expected = match extreme {
                            Extreme::Least => all.min(),
                            Extreme::Most => all.max(),
                        };
                        assert_eq!(
                            Some(best[lane]),
                            expected,
                            "{isa:?} {bytes} {count} {extreme:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn functions_of_numbers() {
    let nan = f64::NAN;
    for isa in Isa::available() {
        for (op, x, y, expected) in [
            (Zip::Add, 1.0, 2.0, 3.0),
            (Zip::Sub, 1.0, 2.0, -1.0),
            (Zip::Mul, 3.0, 2.0, 6.0),
            (Zip::Div, 1.0, 0.0, f64::INFINITY),
            (Zip::Max, nan, 1.0, nan),
            (Zip::Max, 1.0, nan, 1.0),
            (Zip::Min, nan, 1.0, nan),
            (Zip::Min, 1.0, -1.0, -1.0),
            (Zip::Equal, nan, nan, 0.0),
            (Zip::NotEqual, nan, nan, 1.0),
            (Zip::Less, 1.0, 2.0, 1.0),
            (Zip::LessEqual, 2.0, 2.0, 1.0),
            (Zip::Greater, 1.0, 2.0, 0.0),
            (Zip::GreaterEqual, nan, 2.0, 0.0),
        ] {
            for n in LENGTHS {
                let (xs, ys) = (vec![x; n], vec![y; n]);
                for a in [Operand::Each(&xs[..]), Operand::One(x)] {
                    for b in [Operand::Each(&ys[..]), Operand::One(y)] {
                        let mut out = vec![9.0; n];
                        zip(isa, op, a, b, &mut out);
                        let same = |z: &f64| *z == expected || z.is_nan() && expected.is_nan();
                        assert!(out.iter().all(same), "{isa:?} {op:?} {x} {y} {n}: {out:?}");
                    }
                }
            }
        }
        for n in LENGTHS {
            let xs = floats(n, 10);
            let (mut sums, mut wide) = (vec![1.0; n], vec![0.0_f64; n]);
            add_scaled(isa, 0.1, &xs, &mut sums);
            widen(isa, &xs, &mut wide);
            for ((x, sum), wide) in xs.iter().zip(sums).zip(wide) {
                assert_eq!((sum, wide), (1.0 + 0.1 * f64::from(*x), f64::from(*x)), "{isa:?}");
            }
        }
    }
}

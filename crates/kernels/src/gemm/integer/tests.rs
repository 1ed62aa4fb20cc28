//! Every form of the product against its definition, on every instruction set.

extern crate std;
use super::driver::{gemm_by, scratch_len_by};
use super::*;
use crate::{Isa, Parallel, Serial};
use std::format;
use std::string::String;
use std::vec::Vec;

/// Bytes that look random.
fn bytes(n: usize, seed: u32) -> Vec<u8> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The ends of the range are what saturating arithmetic fails on.
            [0, 255, 127, 128, (x >> 24) as u8, (x >> 16) as u8][(x >> 8) as usize % 6]
        })
        .collect()
}

/// A kind of byte that tests can make.
trait TestByte: Byte {
    fn of(bits: u8) -> Self;
}

impl TestByte for u8 {
    fn of(bits: u8) -> u8 {
        bits
    }
}

impl TestByte for i8 {
    fn of(bits: u8) -> i8 {
        bits as i8
    }
}

fn of<T: TestByte>(bits: Vec<u8>) -> Vec<T> {
    bits.into_iter().map(T::of).collect()
}

/// A thread for each task.
struct Threads;

impl Parallel for Threads {
    fn threads(&self) -> usize {
        3
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for i in 0..n {
                scope.spawn(move || f(i));
            }
        });
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Rows,
    Columns,
    Apart,
    Packed,
}

fn lay_out<T: TestByte>(
    layout: Layout,
    rows: usize,
    cols: usize,
    x: &[T],
) -> (Vec<T>, usize, usize) {
    let (rs, cs) = match layout {
        Layout::Rows | Layout::Packed => (cols, 1),
        Layout::Columns => (1, rows + 2),
        Layout::Apart => (3 * cols + 1, 3),
    };
    let mut data = std::vec![T::of(77); rows * rs + cols * cs + 1];
    for i in 0..rows {
        for j in 0..cols {
            data[i * rs + j * cs] = x[i * cols + j];
        }
    }
    (data, rs, cs)
}

fn zero_at<T: TestByte>(zero: &ZeroPoint<'_, T>, i: usize) -> i32 {
    match zero {
        ZeroPoint::One(z) => (*z).into(),
        ZeroPoint::Each(z) => z[i].into(),
    }
}

/// Every way of computing bytes that the machine has.
fn ways() -> impl Iterator<Item = (Isa, bool)> {
    Isa::available()
        .flat_map(|isa| [(isa, false), (isa, true)])
        .filter(|(isa, dot4)| !dot4 || isa.has_dot4())
}

struct Case {
    sizes: (usize, usize, usize),
    layouts: (Layout, Layout),
    each: (bool, bool),
}

/// Checks the sums of one case on every instruction set, alone and with threads.
fn check<A: TestByte, B: TestByte>(case: &Case, seed: u32) {
    let (m, n, k) = case.sizes;
    let numbers = Numbers {
        a: of::<A>(bytes(m * k, seed)),
        b: of::<B>(bytes(k * n, seed + 1)),
        a_zero: of(bytes(m, seed + 2)),
        b_zero: of(bytes(n, seed + 3)),
    };
    check_numbers(case, &numbers, &format!("seed {seed}"));
}

/// Operands and their zero points, of which the first ones are those of all unless a case says otherwise.
struct Numbers<A, B> {
    a: Vec<A>,
    b: Vec<B>,
    a_zero: Vec<A>,
    b_zero: Vec<B>,
}

fn check_numbers<A: TestByte, B: TestByte>(case: &Case, numbers: &Numbers<A, B>, label: &str) {
    let (m, n, k) = case.sizes;
    let Numbers { a, b, a_zero: za, b_zero: zb } = numbers;
    let zero_a = if case.each.0 { ZeroPoint::Each(&za[..]) } else { ZeroPoint::One(za[0]) };
    let zero_b = if case.each.1 { ZeroPoint::Each(&zb[..]) } else { ZeroPoint::One(zb[0]) };
    let label =
        || -> String { format!("{:?} {:?} {:?} {label}", case.sizes, case.layouts, case.each) };
    let mut want = std::vec![0i32; m * n];
    for i in 0..m {
        for j in 0..n {
            want[i * n + j] = (0..k)
                .map(|p| {
                    let (x, y): (i32, i32) = (a[i * k + p].into(), b[p * n + j].into());
                    (x - zero_at(&zero_a, i)) * (y - zero_at(&zero_b, j))
                })
                .sum();
        }
    }
    let (la, lb) = case.layouts;
    let (da, ars, acs) = lay_out(la, m, k, a);
    let (db, brs, bcs) = lay_out(lb, k, n, b);
    let left =
        Left { matrix: MatRef { data: &da, row_stride: ars, col_stride: acs }, zero: zero_a };
    let matrix = MatRef { data: &db[..], row_stride: brs, col_stride: bcs };
    let mut packed = std::vec![-1; packed_len(k, n)];
    pack(k, n, matrix, &mut packed);
    let right = if lb == Layout::Packed {
        Right { matrix: None, packed: Some(&packed[..]), zero: zero_b }
    } else {
        Right { matrix: Some(matrix), packed: None, zero: zero_b }
    };
    let stride = n + 3;
    for (isa, dot4) in ways() {
        for par in [&Serial as &dyn Parallel, &Threads] {
            let mut scratch = std::vec![-7; scratch_len_by(isa, dot4, (m, n, k), &left, &right)];
            let mut c = std::vec![i32::MIN; m * stride];
            let target = Target::Sums(&mut c);
            gemm_by(isa, dot4, par, (m, n, k), left, right, target, stride, &mut scratch);
            for i in 0..m {
                let got = &c[i * stride..][..stride];
                assert_eq!(got[..n], want[i * n..][..n], "{isa:?} {dot4} row {i}: {}", label());
                assert_eq!(got[n..], [i32::MIN; 3], "{isa:?} {dot4} wrote behind: {}", label());
            }
        }
    }
}

fn check_all(case: &Case, seed: u32) {
    check::<u8, i8>(case, seed);
    check::<u8, u8>(case, seed);
    check::<i8, i8>(case, seed);
    check::<i8, u8>(case, seed);
}

#[test]
fn sums_are_exact_for_every_kind_and_zero_point() {
    let sizes = [
        (1, 1, 1),
        (1, 33, 64),
        (2, 16, 7),
        (3, 40, 16),
        (4, 5, 12),
        (5, 64, 4),
        (13, 31, 20),
        (14, 32, 24),
        (29, 65, 9),
        (17, 100, 1),
        (3, 4, 0),
    ];
    for (i, sizes) in sizes.into_iter().enumerate() {
        for each in [(false, false), (true, false), (false, true), (true, true)] {
            for layouts in [
                (Layout::Rows, Layout::Packed),
                (Layout::Columns, Layout::Rows),
                (Layout::Apart, Layout::Columns),
                (Layout::Rows, Layout::Apart),
            ] {
                check_all(&Case { sizes, layouts, each }, i as u32);
            }
        }
    }
}

#[test]
fn sums_are_exact_for_random_sizes() {
    let pick = |seed: u32, i: u32, n: usize| {
        let x = (seed * 8 + i).wrapping_mul(2_654_435_761) ^ 0x9e37_79b9;
        (x.wrapping_mul(1_664_525) >> 9) as usize % n
    };
    for seed in 0..60 {
        let sizes = (1 + pick(seed, 0, 40), 1 + pick(seed, 1, 90), pick(seed, 2, 200));
        let layout =
            |i| [Layout::Rows, Layout::Columns, Layout::Apart, Layout::Packed][pick(seed, i, 4)];
        let each = (pick(seed, 5, 2) == 1, pick(seed, 6, 2) == 1);
        check_all(&Case { sizes, layouts: (layout(3), layout(4)), each }, seed);
    }
}

#[test]
fn large_products_are_cut_for_caches_and_threads() {
    let layouts = (Layout::Rows, Layout::Packed);
    // The last one is large enough for threads on tiles.
    for sizes in [(150, 70, 4100), (6, 40, 4096), (200, 300, 64), (300, 290, 130), (700, 33, 2050)]
    {
        check::<u8, i8>(&Case { sizes, layouts, each: (false, false) }, 5);
    }
}

/// Left operands that are all, nearly all, or hardly within the 128 numbers that a byte below 128 can say of them.
#[test]
fn sums_are_exact_wherever_the_left_operand_is() {
    // Sizes of one panel and several, vectors of every length behind the last whole one, and enough work for threads.
    let sizes = [(1, 64, 64), (5, 40, 67), (13, 33, 130), (31, 96, 200), (70, 130, 321)];
    // The zero point, what numbers are most of the time, what few are, and every how many numbers.
    let cases: [(&str, u8, &[u8], &[u8], usize); 12] = [
        ("all 255", 0, &[255], &[255], 1),
        ("all 0", 255, &[0], &[0], 1),
        ("the ends of the dense part", 128, &[64, 191], &[64], 7),
        ("one beyond its ends", 128, &[64, 191], &[63, 192], 11),
        ("the farthest rests", 128, &[100, 150], &[0, 255], 37),
        ("behind Relu", 0, &[0, 0, 0, 3, 90], &[127, 128, 255], 29),
        ("a low zero point", 8, &[8, 0, 127], &[128, 255], 17),
        ("a high zero point", 255, &[255, 200, 127], &[0, 126], 17),
        ("rests in one part of the rows", 128, &[128], &[255], 64),
        ("as many rests as are listed", 0, &[1, 127], &[255], 33),
        ("more rests than are listed", 0, &[1, 127], &[255], 8),
        ("far from the zero point", 200, &[3, 5, 7], &[255], 50),
    ];
    let weights = [
        &[-128i8][..],
        &[127],
        &[-128, 127],
        &[-128, 127, 127, -128, 0, -1],
        &[60, 70, -90, 40, 64, 64, -64, -65, 5],
        &[-1, 100, -128, 30, -30, 2, 127],
    ];
    for (at, &sizes) in sizes.iter().enumerate() {
        let (m, n, k) = sizes;
        for (i, &(label, zero, most, few, every)) in cases.iter().enumerate() {
            let number = |p: usize| {
                let (row, col) = (p / k, p % k);
                // The last number of a row is one of the few in every other row.
                let is_few = (col + 3 * row) % every == 0 || (col + 1 == k && row % 2 == 0);
                let list = if is_few { few } else { most };
                list[(p / 3 + row) % list.len()]
            };
            let a: Vec<u8> = (0..m * k).map(number).collect();
            let weights = weights[(at + i) % weights.len()];
            let b: Vec<i8> = (0..k * n).map(|p| weights[(p + p / n) % weights.len()]).collect();
            // One zero point, and one of each row that is another one.
            let zeros: Vec<u8> = (0..m).map(|row| zero.wrapping_add((row * 85) as u8)).collect();
            for (each, layout, b_zero) in [
                ((false, false), Layout::Rows, 0i8),
                ((false, false), Layout::Rows, -7),
                ((true, true), Layout::Apart, 5),
            ] {
                let case = Case { sizes, layouts: (layout, Layout::Packed), each };
                let b_zeros: Vec<i8> = (0..n).map(|j| b_zero.wrapping_add(j as i8)).collect();
                let numbers =
                    Numbers { a: a.clone(), b: b.clone(), a_zero: zeros.clone(), b_zero: b_zeros };
                check_numbers(&case, &numbers, label);
                let signed = |x: &[u8]| x.iter().map(|&x| (x ^ 0x80) as i8).collect();
                let numbers = Numbers {
                    a: signed(&numbers.a),
                    a_zero: signed(&numbers.a_zero),
                    b: numbers.b,
                    b_zero: numbers.b_zero,
                };
                check_numbers::<i8, i8>(&case, &numbers, label);
            }
        }
    }
}

#[test]
fn sums_are_exact_at_the_limits() {
    let (m, n, k) = (26, 48, 141);
    for (seed, shift) in [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)] {
        let b: Vec<i8> = bytes(k * n, seed).iter().map(|&b| b as i8 >> shift).collect();
        let mut packed = std::vec![0; packed_len(k, n)];
        pack(k, n, MatRef::rows(&b, n), &mut packed);
        let limits = &packed[pack::limits_at(k, n)..];
        let bounds = &limits[pack::limits_len(k)..];
        // With zero point 0 nothing is moved: half of the numbers are at the limit, few are one beyond, and some are as
        // large as what stands beside them in their pair lets them be.
        let near = |p: usize| {
            let limit = limits[p % k / 4].to_le_bytes()[0];
            match (p * 7 + p / k) % 23 {
                0 => limit.saturating_add(1),
                1..12 => limit,
                step => (step * 11) as u8 & 0x7f,
            }
        };
        let number = |p: usize| {
            let column = p % k;
            if !(p / k).is_multiple_of(3) || column.is_multiple_of(2) {
                return near(p);
            }
            let bounds = bounds[column / 4].to_le_bytes();
            let [other, own] = [column - 1, column].map(|c| i32::from(bounds[c % 4]));
            let left = i32::from(crate::simd::PAIR) - i32::from(near(p - 1)) * other;
            (left / own.max(1)).clamp(0, 255) as u8
        };
        let a: Vec<u8> = (0..m * k).map(number).collect();
        for b_zero in [0, 9] {
            let case = Case {
                sizes: (m, n, k),
                layouts: (Layout::Rows, Layout::Packed),
                each: (false, false),
            };
            let numbers = Numbers {
                a: a.clone(),
                b: b.clone(),
                a_zero: std::vec![0u8; m],
                b_zero: std::vec![b_zero; n],
            };
            check_numbers(&case, &numbers, &format!("at the limits, seed {seed}"));
        }
    }
}

#[test]
fn limits_are_the_greatest_that_fit_16_bits() {
    for (seed, (k, n)) in [(4, 1), (8, 40), (67, 16), (130, 70)].into_iter().enumerate() {
        // All sizes of numbers, and extremes.
        let shift = seed as u32 % 3;
        let b: Vec<i8> = bytes(k * n, seed as u32).iter().map(|&b| b as i8 >> shift).collect();
        let mut packed = std::vec![-1; packed_len(k, n)];
        pack(k, n, MatRef::rows(&b, n), &mut packed);
        for (q, limit) in packed[pack::limits_at(k, n)..].iter().take(k.div_ceil(4)).enumerate() {
            let [limit, rest @ ..] = limit.to_le_bytes();
            assert_eq!(rest, [limit; 3], "{k}x{n} quad {q}");
            let fits = |a: i32| {
                (0..n).all(|j| {
                    [4 * q, 4 * q + 2].into_iter().all(|p| {
                        let pair =
                            [p, p + 1].map(|p| if p < k { i32::from(b[p * n + j]) } else { 0 });
                        let above: i32 = pair.iter().map(|&b| a * b.max(0)).sum();
                        let below: i32 = pair.iter().map(|&b| a * b.min(0)).sum();
                        above <= i32::from(i16::MAX) && below >= i32::from(i16::MIN)
                    })
                })
            };
            let limit = i32::from(limit);
            assert!(limit >= 128 && fits(limit), "{k}x{n} quad {q}: {limit}");
            assert!(limit == 255 || !fits(limit + 1), "{k}x{n} quad {q}: {limit} is not all");
        }
        let bounds = &packed[pack::limits_at(k, n) + pack::limits_len(k)..];
        for (q, bounds) in bounds.iter().take(k.div_ceil(4)).enumerate() {
            for (i, bound) in bounds.to_le_bytes().into_iter().enumerate() {
                let p = 4 * q + i;
                let row = if p < k { &b[p * n..(p + 1) * n] } else { &[] };
                let most = row.iter().map(|b| b.unsigned_abs().min(127)).max().unwrap_or(0);
                assert_eq!(bound, most, "{k}x{n} row {p}");
            }
        }
    }
}

#[test]
fn nothing_is_written_for_empty_products() {
    let left = Left { matrix: MatRef::rows(&[] as &[u8], 3), zero: ZeroPoint::One(1) };
    let right =
        Right { matrix: Some(MatRef::rows(&[0i8; 6], 2)), packed: None, zero: ZeroPoint::One(0) };
    gemm(Isa::detect(), &Serial, 0, 2, 3, left, right, Target::Sums(&mut []), 2, &mut []);
    let left = Left { matrix: MatRef::rows(&[0u8; 6], 3), zero: ZeroPoint::One(1) };
    let right = Right {
        matrix: Some(MatRef::rows(&[] as &[i8], 0)),
        packed: None,
        zero: ZeroPoint::One(0),
    };
    gemm(Isa::detect(), &Serial, 2, 0, 3, left, right, Target::Sums(&mut []), 0, &mut []);
}

#[test]
fn floats_are_those_of_the_steps_one_by_one() {
    for (m, n, k) in [(1, 3, 5), (7, 32, 16), (15, 50, 33)] {
        let (a, b) = (bytes(m * k, 1), of::<i8>(bytes(k * n, 2)));
        let scales: Vec<f32> = (0..n).map(|j| 0.01 + j as f32 * 0.003).collect();
        let bias: Vec<f32> = (0..n).map(|j| j as f32 * 0.7 - 3.0).collect();
        let residual: Vec<f32> = (0..m * n).map(|i| (i % 11) as f32 * 1.3).collect();
        let left = Left { matrix: MatRef::rows(&a, k), zero: ZeroPoint::One(100) };
        let right =
            Right { matrix: Some(MatRef::rows(&b, n)), packed: None, zero: ZeroPoint::One(3) };
        for (isa, dot4) in ways() {
            let mut scratch = std::vec![0; scratch_len_by(isa, dot4, (m, n, k), &left, &right)];
            let mut run = |target: Target<'_>| {
                gemm_by(isa, dot4, &Serial, (m, n, k), left, right, target, n, &mut scratch);
            };
            let mut sums = std::vec![0; m * n];
            run(Target::Sums(&mut sums));
            for (scales, has_bias, has_residual, activation) in [
                (&scales[..1], false, false, Activation::None),
                (&scales[..], true, false, Activation::Relu),
                (&scales[..], true, true, Activation::None),
                (&scales[..1], false, true, Activation::Sigmoid),
                (&scales[..], true, false, Activation::GeluErf),
            ] {
                let scaled = Scaled {
                    a_scale: 0.37,
                    b_scale: scales,
                    bias: has_bias.then_some(&bias[..]),
                    along: Along::Columns,
                    residual: has_residual.then_some(Residual {
                        data: &residual,
                        row_stride: n,
                        scale: 1.0,
                    }),
                    activation,
                };
                let mut got = std::vec![f32::NAN; m * n];
                run(Target::Floats(&mut got, scaled));
                let mut want: Vec<f32> = (0..m * n)
                    .map(|i| {
                        let scale = 0.37 * scales[if scales.len() == 1 { 0 } else { i % n }];
                        let mut x = sums[i] as f32 * scale;
                        if has_bias {
                            x += bias[i % n];
                        }
                        if has_residual {
                            x += residual[i];
                        }
                        x
                    })
                    .collect();
                crate::gemm::activate_slice(isa, activation, &mut want);
                assert_eq!(got, want, "{isa:?} {dot4} {activation:?} {m}x{n}x{k}");
            }
        }
    }
}

//! Products in bf16 against f64 of the rounded operands, on every instruction set.

extern crate std;
use super::super::drawn::Random;
use super::super::shape::shape;
use super::super::{
    Activation, Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, half_len, pack_half,
};
use super::*;
use crate::par::Backwards;
use crate::{Parallel, Serial};
use std::vec::Vec;

/// The definition: to nearest, ties to even.
fn to_bf16(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    let down = f32::from_bits(x.to_bits() & 0xffff_0000);
    let up = f32::from_bits((x.to_bits() & 0xffff_0000).wrapping_add(0x1_0000));
    // What lies above the largest number counts as the power of two that would follow.
    let value =
        |x: f32| if x.is_infinite() { 2f64.powi(128).copysign(f64::from(x)) } else { f64::from(x) };
    if x.is_infinite() {
        return x;
    }
    let (below, above) = ((value(x) - value(down)).abs(), (value(up) - value(x)).abs());
    let is_even = down.to_bits() & 0x1_0000 == 0;
    if below < above || (below == above && is_even) { down } else { up }
}

/// A matrix whose strides are row, column or neither.
fn lay_out(how: usize, rows: usize, cols: usize, x: &[f32]) -> (Vec<f32>, usize, usize) {
    let (rs, cs) = match how {
        0 => (cols + 3, 1),
        1 => (1, rows + 2),
        _ => (3 * cols + 1, 3),
    };
    let mut data = std::vec![f32::NAN; rows * rs + cols * cs];
    for i in 0..rows {
        for j in 0..cols {
            data[i * rs + j * cs] = x[i * cols + j];
        }
    }
    (data, rs, cs)
}

struct Case<'a> {
    isa: Isa,
    way: Way,
    par: &'a dyn Parallel,
    size: (usize, usize, usize),
    layouts: (usize, usize),
}

/// Every instruction set, and AVX-512 both with and without products of bf16.
fn forms() -> Vec<(Isa, Way)> {
    let mut forms: Vec<_> = Isa::available().map(|isa| (isa, Way::of(isa))).collect();
    if Isa::Avx512.multiplies_bf16() {
        let other = if Isa::Avx512.gains_by_bf16() { Way::Widened } else { Way::Pairs };
        forms.push((Isa::Avx512, other));
    }
    forms
}

/// The product of these operands, as the form of `case` computes it.
fn compute(case: &Case<'_>, xa: &[f32], xb: &[f32], e: &Epilogue<'_>, before: &[f32]) -> Vec<f32> {
    let (isa, (m, n, k)) = (case.isa, case.size);
    let (da, ars, acs) = lay_out(case.layouts.0, m, k, xa);
    let (db, brs, bcs) = lay_out(case.layouts.1, k, n, xb);
    let a = MatRef { data: &da, row_stride: ars, col_stride: acs };
    let mut packed = std::vec![0xffff_ffff; half_len(isa, k, n)];
    pack_half(isa, k, n, MatRef { data: &db, row_stride: brs, col_stride: bcs }, &mut packed);
    let c_stride = n + 5;
    let mut c = before.to_vec();
    let (lhs, rhs) = (Lhs::Strided(a), Rhs::Half(&packed));
    let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &lhs, &rhs)];
    if case.way == Way::of(isa) {
        gemm(isa, case.par, m, n, k, lhs, rhs, &mut c, c_stride, e, &mut scratch);
    } else {
        let job = Job {
            isa,
            shape: shape(isa),
            par: case.par,
            m,
            n,
            k,
            c: c.as_mut_ptr(),
            c_stride,
            epilogue: e.raw(),
        };
        if m > 0 && n > 0 {
            product(&job, case.way, a, &packed, &mut scratch);
        }
    }
    c
}

/// Checks a product against f64.
fn check(case: &Case<'_>, seed: u64, e: &Epilogue<'_>) -> Vec<f32> {
    let (m, n, k) = case.size;
    let mut random = Random(seed);
    let (xa, xb) = (random.numbers(m * k), random.numbers(k * n));
    let before = random.numbers(m * (n + 5));
    let c = compute(case, &xa, &xb, e, &before);
    let rounds_a = m > MAX_VECTOR_ROWS;
    for i in 0..m {
        for j in 0..n + 5 {
            let at = i * (n + 5) + j;
            let label = std::format!(
                "{:?} {:?} {:?} {:?} seed {seed} ({i}, {j})",
                case.isa,
                case.way,
                case.size,
                case.layouts
            );
            if j >= n {
                assert_eq!(c[at], before[at], "{label}: behind the row");
                continue;
            }
            let (mut sum, mut size) = (0.0, 0.0);
            for p in 0..k {
                let a = xa[i * k + p];
                let a = f64::from(if rounds_a { to_bf16(a) } else { a });
                let b = f64::from(to_bf16(xb[p * n + j]));
                sum += a * b;
                size += (a * b).abs();
            }
            let mut want = f64::from(e.alpha) * sum;
            want += if e.accumulate { f64::from(before[at]) } else { 0.0 };
            want += e.bias_col.map_or(0.0, |b| f64::from(b[j]));
            want += e.bias_row.map_or(0.0, |b| f64::from(b[i]));
            want += e
                .residual
                .map_or(0.0, |r| f64::from(r.scale) * f64::from(r.data[i * r.row_stride + j]));
            if e.activation == Activation::Relu {
                want = want.max(0.0);
            }
            let bound = k as f64 * 2f64.powi(-23) * size + 1e-6 * (1.0 + want.abs());
            let got = f64::from(c[at]);
            assert!((got - want).abs() <= bound, "{label}: {got}, expected {want} within {bound}");
        }
    }
    c
}

const SIZES: [(usize, usize, usize); 24] = [
    // Few rows: whole groups, a narrow last sliver, a ragged edge, odd depths.
    (1, 256, 64),
    (1, 130, 33),
    (1, 1, 70),
    (1, 16, 1),
    (2, 47, 17),
    (3, 33, 5),
    (3, 200, 31),
    (4, 100, 40),
    (4, 3, 2),
    // Tiles: every edge, one and many panels, several blocks of k.
    (5, 32, 16),
    (5, 1, 1),
    (7, 3, 50),
    (9, 1, 129),
    (14, 64, 31),
    (15, 50, 8),
    (40, 96, 40),
    (29, 17, 400),
    (6, 33, 900),
    (12, 20, 1601),
    (300, 40, 20),
    // Degenerate.
    (3, 5, 0),
    (6, 40, 0),
    (0, 7, 3),
    (7, 0, 3),
];

#[test]
fn every_size_and_layout() {
    for (isa, way) in forms() {
        for size in SIZES {
            for layouts in [(0, 0), (0, 1), (1, 0), (2, 2)] {
                let case = Case { isa, way, par: &Serial, size, layouts };
                check(&case, 1, &Epilogue::default());
            }
        }
    }
}

#[test]
fn random_shapes_and_epilogues() {
    let mut random = Random(20);
    let data = random.numbers(80 * 80 + 200);
    for seed in 0..150 {
        let mut r = Random(seed);
        let size = (1 + r.below(40), 1 + r.below(75), r.below(70));
        let (m, n, _) = size;
        let e = r.epilogue(&data, (m, n));
        let layouts = (r.below(3), r.below(3));
        for (isa, way) in forms() {
            let serial = check(&Case { isa, way, par: &Serial, size, layouts }, seed, &e);
            let parallel = check(&Case { isa, way, par: &Backwards(3), size, layouts }, seed, &e);
            assert!(serial == parallel, "{isa:?} {size:?} seed {seed}: not the same bits");
        }
    }
}

#[test]
fn threads_change_nothing() {
    for (isa, way) in forms() {
        for size in [
            (1, 600, 700),
            (64, 300, 90),
            (500, 3, 400),
            (500, 20, 300),
            (3, 700, 600),
            // Large enough for threads on tiles.
            (90, 200, 300),
        ] {
            let of = |par| {
                check(&Case { isa, way, par, size, layouts: (0, 1) }, 3, &Epilogue::default())
            };
            assert!(of(&Serial) == of(&Backwards(3)), "{isa:?} {size:?}: not the same bits");
        }
    }
}

#[test]
fn operands_are_rounded_to_nearest_even() {
    let cases = [
        ("exact", 1.5f32, 1.5f32),
        ("below a tie", f32::from_bits(0x3f80_7fff), 1.0),
        ("tie to even below", f32::from_bits(0x3f80_8000), 1.0),
        ("tie to even above", f32::from_bits(0x3f81_8000), f32::from_bits(0x3f82_0000)),
        ("above a tie", f32::from_bits(0x3f80_8001), f32::from_bits(0x3f81_0000)),
        ("carry into the exponent", f32::from_bits(0x3fff_ffff), 2.0),
        ("largest", f32::MAX, f32::INFINITY),
        ("below the overflow", 3.389e38, f32::from_bits(0x7f7f_0000)),
        ("infinity", f32::NEG_INFINITY, f32::NEG_INFINITY),
        ("negative zero", -0.0, -0.0),
        ("a NaN with a small payload", f32::from_bits(0x7f80_0001), f32::NAN),
        ("a NaN of all ones", f32::from_bits(0xffff_ffff), f32::NAN),
        ("a denormal", f32::from_bits(0x0001_8000), f32::from_bits(0x0002_0000)),
    ];
    for isa in Isa::available() {
        for (label, x, want) in cases {
            let want_of = to_bf16(x);
            assert!(
                want_of.to_bits() == want.to_bits() || (want_of.is_nan() && want.is_nan()),
                "reference: {label}"
            );
            for p in 0..2 {
                let mut b = [0.0; 2];
                b[p] = x;
                let mut packed = std::vec![0; half_len(isa, 2, 1)];
                pack_half(isa, 2, 1, MatRef::rows(&b, 1), &mut packed);
                let got =
                    f32::from_bits(if p == 0 { packed[0] << 16 } else { packed[0] & 0xffff_0000 });
                let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                assert!(same, "{isa:?} {label} at {p}: {got:?}, expected {want:?}");
                let other = if p == 0 { packed[0] >> 16 } else { packed[0] & 0xffff };
                assert_eq!(other, 0, "{isa:?} {label}: its neighbour");
            }
        }
    }
}

#[test]
fn special_values_stay_what_they_are() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    // Into a product of ones: what stands at one place of A and of B, and what its sum becomes.
    let cases = [
        ("NaN in A", nan, 1.0, nan),
        ("NaN in B", 1.0, nan, nan),
        ("a NaN of a small payload in A", f32::from_bits(0x7f80_0001), 1.0, nan),
        ("infinity by one", inf, 1.0, inf),
        ("one by minus infinity", 1.0, -inf, -inf),
        ("infinity by zero", inf, 0.0, nan),
        ("zero by infinity", 0.0, inf, nan),
        ("denormals vanish beside ones", 1e-40, 1e-40, 6.0),
        ("products that overflow", 3e38, 3e38, inf),
    ];
    for (isa, way) in forms() {
        for m in [1, 4, 6, 17] {
            for (n, k) in [(1, 7), (20, 7), (40, 7)] {
                for (label, x, y, want) in cases {
                    let (mut a, mut b) = (std::vec![1.0; m * k], std::vec![1.0; k * n]);
                    let (row, col, p) = (m - 1, n - 1, 4);
                    a[row * k + p] = x;
                    b[p * n + col] = y;
                    let case = Case { isa, way, par: &Serial, size: (m, n, k), layouts: (0, 0) };
                    let before = std::vec![0.0; m * (n + 5)];
                    let c = compute(&case, &a, &b, &Epilogue::default(), &before);
                    let got = c[row * (n + 5) + col];
                    let same = got == want || (got.is_nan() && want.is_nan());
                    assert!(same, "{isa:?} {way:?} {m}x{n}: {label}: {got}, expected {want}");
                    if m > 1 && n > 1 {
                        assert_eq!(c[0], 7.0, "{isa:?} {way:?} {m}x{n}: {label}: another element");
                    }
                }
            }
        }
    }
}

#[test]
fn denormal_operands_and_sums_are_at_most_flushed() {
    let tiny = f32::from_bits(0x0040_0000);
    for (isa, way) in forms() {
        for m in [1, 6] {
            let (n, k) = (20, 9);
            let case = Case { isa, way, par: &Serial, size: (m, n, k), layouts: (0, 0) };
            let before = std::vec![0.0; m * (n + 5)];
            let c = compute(
                &case,
                &std::vec![tiny; m * k],
                &std::vec![1.5; k * n],
                &Epilogue::default(),
                &before,
            );
            let (exact, got) = (f64::from(tiny) * 1.5 * k as f64, f64::from(c[0]));
            let bound = 2f64.powi(-126) * k as f64 * (1.0 + 1.5 + f64::from(tiny));
            assert!((got - exact).abs() <= bound, "{isa:?} {way:?} {m}: {got}, exactly {exact}");
        }
    }
}

//! Products in three parts against f64, on tiles of the processor or on their emulation.

extern crate std;
use super::super::drawn::Random;
use super::super::pack::{pack_b, packed_b_len};
use super::super::{Activation, Epilogue, gemm, gemm_scratch_len};
use super::*;
use crate::par::Backwards;
use crate::{Parallel, Serial};
use std::vec::Vec;

struct Case<'a> {
    par: &'a dyn Parallel,
    size: (usize, usize, usize),
    /// Whether rows of `A`, its columns, or neither have no gaps.
    layout: usize,
}

/// `x` of `m x k` with these strides.
fn lay_out(layout: usize, m: usize, k: usize, x: &[f32]) -> (Vec<f32>, usize, usize) {
    let (row, col) = [(k + 3, 1), (1, m + 2), (3 * k + 1, 3)][layout];
    let mut data = std::vec![f32::NAN; m * row + k * col];
    for (at, x) in x.iter().enumerate() {
        data[at / k * row + at % k * col] = *x;
    }
    (data, row, col)
}

/// The product with `B` as finite numbers, or as it is packed.
fn compute(case: &Case<'_>, a: &[f32], b: &[f32], e: &Epilogue<'_>, finite: bool) -> Vec<f32> {
    let (isa, (m, n, k)) = (Isa::Amx, case.size);
    let (data, row_stride, col_stride) = lay_out(case.layout, m, k, a);
    let mut packed = std::vec![f32::NAN; packed_b_len(isa, k, n)];
    assert!(pack_b(isa, k, n, MatRef::rows(b, n), &mut packed));
    let lhs = Lhs::Strided(MatRef { data: &data, row_stride, col_stride });
    let rhs = if finite { Rhs::Finite(&packed) } else { Rhs::Packed(&packed) };
    let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &lhs, &rhs)];
    let stride = n + 5;
    let mut c: Vec<f32> = (0..m * stride).map(|i| i as f32).collect();
    gemm(isa, case.par, m, n, k, lhs, rhs, &mut c, stride, e, &mut scratch);
    for row in 0..m {
        let behind = row * stride + n..(row + 1) * stride;
        assert!(
            behind.clone().all(|i| c[i] == i as f32),
            "{:?}: wrote behind row {row}",
            case.size
        );
    }
    (0..m * n).map(|i| c[i / n * stride + i % n]).collect()
}

/// Checks a product against f64, by the error that the module promises.
fn check(case: &Case<'_>, seed: u64, e: &Epilogue<'_>) -> Vec<f32> {
    let (m, n, k) = case.size;
    let mut random = Random(seed);
    let (a, b) = (random.numbers(m * k), random.numbers(k * n));
    let c = compute(case, &a, &b, e, true);
    for (at, &got) in c.iter().enumerate() {
        let (i, j) = (at / n, at % n);
        let product = |p: usize| f64::from(a[i * k + p]) * f64::from(b[p * n + j]);
        let sum: f64 = (0..k).map(product).sum();
        let size: f64 = (0..k).map(|p| product(p).abs()).sum();
        let mut want = f64::from(e.alpha) * sum;
        want += if e.accumulate { (i * (n + 5) + j) as f64 } else { 0.0 };
        want += e.bias_col.map_or(0.0, |b| f64::from(b[j]));
        want += e.bias_row.map_or(0.0, |b| f64::from(b[i]));
        want += e.residual.map_or(0.0, |r| f64::from(r.scale * r.data[i * r.row_stride + j]));
        if e.activation == Activation::Relu {
            want = want.max(0.0);
        }
        let bound = (k + 32) as f64 * 2f64.powi(-23) * size + 2e-7 * (1.0 + want.abs());
        let off = (f64::from(got) - want).abs();
        assert!(off <= bound, "{:?} seed {seed} ({i}, {j}): {got}, expected {want}", case.size);
    }
    c
}

#[test]
fn every_edge_of_tiles_blocks_and_depths() {
    if !Isa::Amx.is_available() {
        return;
    }
    let sizes = [
        (48, 32, 64),
        // Cut off in all three directions; one panel that is alone; one vector of columns in the last sliver.
        (49, 33, 65),
        (57, 48, 95),
        (63, 70, 97),
        // Several parts of a sliver, blocks of `k`, and of rows.
        (51, 40, 400),
        (49, 34, 801),
        (300, 33, 66),
    ];
    for size in sizes {
        assert!(pays(Isa::Amx, size.0, size.1, size.2), "{size:?}");
        for layout in 0..3 {
            check(&Case { par: &Serial, size, layout }, 1, &Epilogue::default());
        }
    }
}

#[test]
fn random_shapes_and_epilogues_on_any_number_of_threads() {
    if !Isa::Amx.is_available() {
        return;
    }
    let data = Random(20).numbers(20_000);
    for seed in 0..24 {
        let mut r = Random(seed);
        let size = (48 + r.below(60), 32 + r.below(75), 64 + r.below(100));
        let (m, n, _) = size;
        let e = r.epilogue(&data, (m, n));
        let layout = r.below(3);
        let serial = check(&Case { par: &Serial, size, layout }, seed, &e);
        let parallel = check(&Case { par: &Backwards(3), size, layout }, seed, &e);
        assert!(serial == parallel, "{size:?} seed {seed}: not the same bits");
    }
}

#[test]
fn rows_that_are_not_finite_are_those_of_vectors_and_others_do_not_change() {
    if !Isa::Amx.is_available() {
        return;
    }
    let size = (70, 50, 100);
    let (m, n, k) = size;
    let case = Case { par: &Backwards(3), size, layout: 0 };
    let (a, mut b) = (Random(1).numbers(m * k), Random(2).numbers(k * n));
    b[7 * n + 3] = 0.0;
    let plain = compute(&case, &a, &b, &Epilogue::default(), true);
    for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(0x7f80_0001)] {
        for row in [0, 31, 69] {
            let mut a = a.to_vec();
            a[row * k + 7] = x;
            let got = compute(&case, &a, &b, &Epilogue::default(), true);
            let want = compute(&case, &a, &b, &Epilogue::default(), false);
            let bits = |x: f32| if x.is_nan() { u32::MAX } else { x.to_bits() };
            for (at, (&got, &plain)) in got.iter().zip(&plain).enumerate() {
                let want = if at / n == row { want[at] } else { plain };
                assert!(bits(got) == bits(want), "{x} in row {row}, {at}: {got}, expected {want}");
            }
            assert!(got[row * n + 3].is_nan(), "{x} by zero");
        }
    }
}

#[test]
fn large_and_small_numbers_are_those_of_f32() {
    if !Isa::Amx.is_available() {
        return;
    }
    let size = (48, 32, 64);
    let case = Case { par: &Serial, size, layout: 0 };
    // All numbers of A, all of B, and what a sum of 64 products may be off by.
    let cases = [
        ("products that overflow", 3e38, 3e38, f32::INFINITY, 0.0),
        ("the largest", f32::MAX, 1.0 / 128.0, f32::MAX / 2.0, f32::MAX * 1e-6),
        ("the least that is normal", f32::MIN_POSITIVE, 1.0, 64.0 * f32::MIN_POSITIVE, 7.6e-37),
        ("denormals", 1e-40, 1.0, 6.4e-39, 64.0 * 1.2e-38),
        ("negative zero", -0.0, 1.0, 0.0, 0.0),
    ];
    for (label, x, y, want, off) in cases {
        let (a, b) = (std::vec![x; size.0 * size.2], std::vec![y; size.2 * size.1]);
        for got in compute(&case, &a, &b, &Epilogue::default(), true) {
            assert!(got == want || (got - want).abs() <= off, "{label}: {got}, expected {want}");
        }
    }
}

#[test]
fn three_parts_are_a_number_exactly() {
    if !Isa::Amx.is_available() {
        return;
    }
    let mut random = Random(9);
    for _ in 0..200 {
        // Exponents of which the last of 24 bits is normal too.
        let numbers: [f32; 64] = core::array::from_fn(|_| {
            let exponent = 30 + random.below(220) as u32;
            let sign = (random.below(2) as u32) << 31;
            f32::from_bits(sign | exponent << 23 | random.below(1 << 23) as u32)
        });
        let mut rows = [0.0; STEP_OF_A];
        let mut pairs = [0u32; 3 * ROWS * 32];
        // SAFETY: a machine with tiles has AVX-512; a row of 32 numbers, and two rows of 32.
        let bad = unsafe {
            let sliver = cut::Sliver { at: numbers.as_ptr(), width: 32, depth: 2 };
            cut::pairs(sliver, (0, 1), pairs.as_mut_ptr());
            cut::rows(MatRef::rows(&numbers, 32), (1, 1), (0, 32), &mut rows)
        };
        assert_eq!(bad, 0);
        let part = |halves: u32, upper: bool| {
            f64::from(f32::from_bits(if upper { halves & 0xffff_0000 } else { halves << 16 }))
        };
        for col in 0..32 {
            let of_row: f64 =
                (0..3).map(|p| part(rows[p * ROWS * LINE + col / 2].to_bits(), col % 2 == 1)).sum();
            assert_eq!(of_row, f64::from(numbers[32 + col]), "column {col} of a row");
            for row in 0..2 {
                let of_pair: f64 = (0..3).map(|p| part(pairs[p * ROWS * 32 + col], row == 1)).sum();
                assert_eq!(of_pair, f64::from(numbers[32 * row + col]), "row {row}, column {col}");
            }
        }
    }
}

//! Products by bytes against f64, and against products by the same numbers in f32.

extern crate std;
use super::super::drawn::Random;
use super::super::{
    Activation, Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, pack_b, packed_b_len,
};
use super::*;
use crate::par::Backwards;
use crate::{Parallel, Serial};
use std::vec::Vec;

/// The operands of a product.
struct Case {
    size: (usize, usize, usize),
    a: Vec<f32>,
    /// Row-major.
    b: Vec<i8>,
    scales: Vec<f32>,
    before: Vec<f32>,
}

/// Numbers behind each row of `C`.
const GAP: usize = 5;

impl Case {
    fn new(seed: u64, size: (usize, usize, usize)) -> Case {
        let ((m, n, k), mut r) = (size, Random(seed));
        let scales = r.numbers(n).iter().map(|x| 0.01 + x.abs()).collect();
        let (a, b, before) = (r.numbers(m * k), r.bytes(k * n), r.numbers(m * (n + GAP)));
        Case { size, a, b, scales, before }
    }

    /// The product; columns of `B` are given one behind the other where `turned`, and rows of `A` as `A` is.
    fn compute(&self, isa: Isa, par: &dyn Parallel, turned: bool, e: &Epilogue<'_>) -> Vec<f32> {
        let (m, n, k) = self.size;
        let flip = |rows: usize, cols: usize, at: usize| (at % rows) * cols + at / rows;
        let a: Vec<f32> =
            (0..m * k).map(|i| self.a[if turned { flip(m, k, i) } else { i }]).collect();
        let b: Vec<i8> =
            (0..n * k).map(|i| self.b[if turned { flip(k, n, i) } else { i }]).collect();
        let (a, b) = match turned {
            true => (MatRef::transposed(&a, m), MatRef::transposed(&b, k)),
            false => (MatRef::rows(&a, k), MatRef::rows(&b, n)),
        };
        let mut numbers = std::vec![99; bytes_len(isa, k, n)];
        pack_bytes(isa, k, n, b, &mut numbers);
        let b = Rhs::Bytes(Bytes { numbers: &numbers, scales: &self.scales });
        self.run(isa, par, Lhs::Strided(a), b, e)
    }

    fn run(
        &self,
        isa: Isa,
        par: &dyn Parallel,
        a: Lhs<'_>,
        b: Rhs<'_>,
        e: &Epilogue<'_>,
    ) -> Vec<f32> {
        let (m, n, k) = self.size;
        let mut c = self.before.clone();
        let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &a, &b)];
        gemm(isa, par, m, n, k, a, b, &mut c, n + GAP, e, &mut scratch);
        c
    }

    /// Compares a result with f64.
    fn check(&self, label: &str, c: &[f32], e: &Epilogue<'_>) {
        let (m, n, k) = self.size;
        for (at, &got) in c.iter().enumerate() {
            let (i, j) = (at / (n + GAP), at % (n + GAP));
            if j >= n {
                assert_eq!(got, self.before[at], "{label} ({i}, {j}): behind the row");
                continue;
            }
            let terms = (0..k).map(|p| {
                let number = f64::from(self.b[p * n + j]) * f64::from(self.scales[j]);
                f64::from(self.a[i * k + p]) * number
            });
            let (mut sum, mut size) = (0.0, 0.0);
            for term in terms {
                (sum, size) = (sum + term, size + term.abs());
            }
            let mut want = f64::from(e.alpha) * sum;
            want += if e.accumulate { f64::from(self.before[at]) } else { 0.0 };
            want += e.bias_col.map_or(0.0, |b| f64::from(b[j]));
            want += e.bias_row.map_or(0.0, |b| f64::from(b[i]));
            want += e
                .residual
                .map_or(0.0, |r| f64::from(r.scale) * f64::from(r.data[i * r.row_stride + j]));
            if e.activation == Activation::Relu {
                want = want.max(0.0);
            }
            let bound = (k + 1) as f64 * 2f64.powi(-23) * size + 1e-6 * (1.0 + want.abs());
            let off = (f64::from(got) - want).abs();
            assert!(off <= bound, "{label} ({i}, {j}): {got}, expected {want} within {bound}");
        }
        assert_eq!(c.len(), m * (n + GAP));
    }
}

const SIZES: [(usize, usize, usize); 18] = [
    // Few rows: whole groups, a narrow last sliver, a ragged edge.
    (1, 256, 64),
    (1, 130, 33),
    (1, 1, 70),
    (2, 47, 17),
    (3, 200, 31),
    (4, 100, 40),
    (4, 3, 2),
    // Tiles: every edge, one and many panels, several blocks of columns.
    (5, 32, 16),
    (5, 1, 1),
    (7, 3, 50),
    (15, 50, 8),
    (29, 17, 400),
    (6, 700, 900),
    (240, 70, 1601),
    // Degenerate.
    (3, 5, 0),
    (6, 40, 0),
    (0, 7, 3),
    (7, 0, 3),
];

#[test]
fn every_size_and_layout() {
    for isa in Isa::available() {
        for size in SIZES {
            for turned in [false, true] {
                let (case, e) = (Case::new(1, size), Epilogue::default());
                let c = case.compute(isa, &Serial, turned, &e);
                case.check(&std::format!("{isa:?} {size:?} {turned}"), &c, &e);
                let threads = case.compute(isa, &Backwards(3), turned, &e);
                assert!(c == threads, "{isa:?} {size:?} {turned}: not the same bits by threads");
            }
        }
    }
}

#[test]
fn random_shapes_and_epilogues() {
    let data = Random(20).numbers(80 * 80 + 200);
    for seed in 0..150 {
        let mut r = Random(seed);
        let size = (1 + r.below(40), 1 + r.below(75), r.below(70));
        let (m, n, _) = size;
        let e = r.epilogue(&data, (m, n));
        let turned = r.below(2) == 0;
        for isa in Isa::available() {
            let case = Case::new(seed, size);
            let c = case.compute(isa, &Serial, turned, &e);
            case.check(&std::format!("{isa:?} {size:?} seed {seed}"), &c, &e);
        }
    }
}

#[test]
fn many_rows_have_the_bits_of_f32() {
    for isa in Isa::available() {
        for size in [(5, 40, 30), (17, 300, 33), (230, 65, 700), (9, 600, 1000)] {
            let (case, e) = (Case::new(3, size), Epilogue::default());
            let (_, n, k) = size;
            let number = |i: usize| f32::from(case.b[i]) * case.scales[i % n];
            let wide: Vec<f32> = (0..k * n).map(number).collect();
            let mut packed = std::vec![0.0; packed_b_len(isa, k, n)];
            pack_b(isa, k, n, MatRef::rows(&wide, n), &mut packed);
            let a = Lhs::Strided(MatRef::rows(&case.a, k));
            let want = case.run(isa, &Serial, a, Rhs::Packed(&packed), &e);
            let got = case.compute(isa, &Serial, false, &e);
            assert!(got == want, "{isa:?} {size:?}");
        }
    }
}

#[test]
fn nan_and_infinity_reach_all_columns_of_their_row() {
    for isa in Isa::available() {
        for (m, n, k) in [(2, 40, 7), (6, 40, 7)] {
            for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut case = Case::new(5, (m, n, k));
                case.b.fill(-3);
                case.a[k + 2] = x;
                let c = case.compute(isa, &Serial, false, &Epilogue::default());
                for (j, &got) in c[n + GAP..][..n].iter().enumerate() {
                    let same = got == -x || (got.is_nan() && x.is_nan());
                    assert!(same, "{isa:?} {m} rows, column {j}: {got} by {x}");
                }
                assert!(c[..n].iter().all(|x| x.is_finite()), "{isa:?} {m}: another row");
            }
        }
    }
}

//! Every form of the product against f64, on every instruction set.

extern crate std;
use super::*;
use crate::par::Backwards;
use crate::{Isa, Parallel, Serial};
use std::vec::Vec;

/// Numbers in -1..1 that look random.
fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// A thread per task.
struct Threads;

impl Parallel for Threads {
    fn threads(&self) -> usize {
        4
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
    Cols,
    Both,
    Packed,
}

/// A matrix with these strides, and the numbers it holds in row-major order.
fn lay_out(layout: Layout, rows: usize, cols: usize, x: &[f32]) -> (Vec<f32>, usize, usize) {
    let (rs, cs) = match layout {
        Layout::Rows | Layout::Packed => (cols + 3, 1),
        Layout::Cols => (1, rows + 2),
        Layout::Both => (3 * cols + 1, 3),
    };
    let mut data = std::vec![f32::NAN; rows * rs + cols * cs];
    for i in 0..rows {
        for j in 0..cols {
            data[i * rs + j * cs] = x[i * cols + j];
        }
    }
    (data, rs, cs)
}

/// Returns the product, whose numbers have been checked. A column is made once more without gaps, and follows.
fn check(
    isa: Isa,
    par: &dyn Parallel,
    size: (usize, usize, usize),
    la: Layout,
    lb: Layout,
    e: &Epilogue<'_>,
) -> Vec<f32> {
    let mut c = check_into(isa, par, size, size.1 + 5, la, lb, e);
    if size.1 == 1 {
        c.extend(check_into(isa, par, size, 1, la, lb, e));
    }
    c
}

fn check_into(
    isa: Isa,
    par: &dyn Parallel,
    (m, n, k): (usize, usize, usize),
    c_stride: usize,
    la: Layout,
    lb: Layout,
    e: &Epilogue<'_>,
) -> Vec<f32> {
    let (xa, xb) = (numbers(m * k, 1), numbers(k * n, 2));
    let (da, ars, acs) = lay_out(la, m, k, &xa);
    let (db, brs, bcs) = lay_out(lb, k, n, &xb);
    let ma = MatRef { data: &da, row_stride: ars, col_stride: acs };
    let mb = MatRef { data: &db, row_stride: brs, col_stride: bcs };
    let mut pa = std::vec![f32::NAN; packed_a_len(m, k)];
    let mut pb = std::vec![f32::NAN; packed_b_len(isa, k, n)];
    let a = if la == Layout::Packed {
        pack_a(isa, m, k, ma, &mut pa);
        Lhs::Packed(&pa)
    } else {
        Lhs::Strided(ma)
    };
    let b = if lb == Layout::Packed {
        pack_b(isa, k, n, mb, &mut pb);
        Rhs::Packed(&pb)
    } else {
        Rhs::Strided(mb)
    };
    let before = numbers(m * c_stride, 3);
    let mut c = before.clone();
    let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &a, &b)];
    gemm(isa, par, m, n, k, a, b, &mut c, c_stride, e, &mut scratch);
    for i in 0..m {
        for j in 0..c_stride {
            let at = i * c_stride + j;
            if j >= n {
                assert_eq!(c[at], before[at], "{isa:?} wrote behind the row");
                continue;
            }
            let mut y = f64::from(e.alpha)
                * (0..k).map(|p| f64::from(xa[i * k + p]) * f64::from(xb[p * n + j])).sum::<f64>();
            if e.accumulate {
                y += f64::from(before[at]);
            }
            y += e.bias_col.map_or(0.0, |b| f64::from(b[j]));
            y += e.bias_row.map_or(0.0, |b| f64::from(b[i]));
            y += e
                .residual
                .map_or(0.0, |r| f64::from(r.scale) * f64::from(r.data[i * r.row_stride + j]));
            let want = reference(e.activation, y);
            let got = f64::from(c[at]);
            assert!(
                (got - want).abs() <= 1e-5 * (1.0 + (k as f64).sqrt()),
                "{isa:?} {m}x{n}x{k} {la:?} {lb:?} ({i}, {j}): {got}, expected {want}; {e:?}"
            );
        }
    }
    c
}

fn reference(act: Activation, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let f = f64::from;
    match act {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Clip { lo, hi } => x.max(f(lo)).min(f(hi)),
        Activation::LeakyRelu { alpha } => {
            if x < 0.0 {
                x * f(alpha)
            } else {
                x
            }
        }
        Activation::Elu { alpha } => {
            if x < 0.0 {
                x.exp_m1() * f(alpha)
            } else {
                x
            }
        }
        Activation::Sigmoid => sigmoid(x),
        Activation::Tanh => x.tanh(),
        Activation::GeluErf => x * 0.5 * (1.0 + libm::erf(x / 2f64.sqrt())),
        Activation::GeluTanh => {
            x * 0.5
                * (1.0 + ((2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::Silu => x * sigmoid(x),
        Activation::Swish { alpha } => x * sigmoid(f(alpha) * x),
        Activation::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Activation::HardSigmoid { alpha, beta } => (f(alpha) * x + f(beta)).clamp(0.0, 1.0),
        Activation::Softplus => x.exp().ln_1p(),
        Activation::Mish => x * x.exp().ln_1p().tanh(),
    }
}

const SIZES: [(usize, usize, usize); 19] = [
    // Vector form: whole groups, a narrow last sliver, a ragged edge.
    (1, 256, 64),
    (1, 130, 33),
    (2, 47, 17),
    (3, 33, 5),
    (4, 100, 40),
    // Dot form.
    (1, 1, 70),
    (7, 3, 50),
    (9, 1, 129),
    (67, 1, 3),
    (200, 1, 130),
    // Tiles: every edge, one and many panels, several blocks of k.
    (5, 32, 16),
    (14, 64, 31),
    (15, 50, 8),
    (40, 96, 40),
    (29, 17, 400),
    (6, 33, 900),
    (300, 40, 20),
    // Degenerate.
    (3, 5, 0),
    (6, 40, 0),
];

#[test]
fn every_layout_and_size() {
    let plain = Epilogue::default();
    for isa in Isa::available() {
        for size in SIZES {
            for la in [Layout::Rows, Layout::Cols, Layout::Both, Layout::Packed] {
                for lb in [Layout::Rows, Layout::Cols, Layout::Both, Layout::Packed] {
                    check(isa, &Serial, size, la, lb, &plain);
                }
            }
        }
    }
}

#[test]
fn every_epilogue() {
    let data = numbers(50_000, 7);
    for isa in Isa::available() {
        for size in [(1, 70, 24), (3, 40, 12), (20, 70, 24), (20, 45, 800), (5, 2, 30), (70, 1, 24)]
        {
            let (m, n, _) = size;
            // A residual of one column lies as dense as its result may.
            let row_stride = if n == 1 { 1 } else { n + 1 };
            let full = Epilogue {
                alpha: 0.5,
                accumulate: true,
                bias_col: Some(&data[..n]),
                bias_row: Some(&data[100..100 + m]),
                residual: Some(Residual { data: &data[200..], row_stride, scale: -0.75 }),
                activation: Activation::None,
            };
            let cases = [
                Epilogue { bias_row: None, residual: None, ..full },
                Epilogue { accumulate: false, bias_col: None, ..full },
                Epilogue { activation: Activation::Relu, ..full },
                Epilogue { activation: Activation::Clip { lo: -0.5, hi: 0.25 }, ..full },
                Epilogue { activation: Activation::LeakyRelu { alpha: 0.1 }, ..full },
                Epilogue { activation: Activation::Elu { alpha: 1.5 }, ..full },
                Epilogue { activation: Activation::Sigmoid, ..full },
                Epilogue { activation: Activation::Tanh, ..full },
                Epilogue { activation: Activation::GeluErf, ..full },
                Epilogue { activation: Activation::GeluTanh, ..full },
                Epilogue { activation: Activation::Silu, ..full },
                Epilogue { activation: Activation::Swish { alpha: 1.702 }, ..full },
                Epilogue { activation: Activation::HardSwish, ..full },
                Epilogue { activation: Activation::HardSigmoid { alpha: 0.2, beta: 0.5 }, ..full },
                Epilogue { activation: Activation::Softplus, ..full },
                Epilogue { activation: Activation::Mish, ..full },
            ];
            for e in cases {
                check(isa, &Serial, size, Layout::Rows, Layout::Packed, &e);
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let bias = numbers(700, 5);
    let e = Epilogue { bias_col: Some(&bias), bias_row: Some(&bias), ..Epilogue::default() };
    for isa in Isa::available() {
        for size in [
            (1, 600, 700),
            (64, 300, 90),
            (500, 3, 400),
            (500, 20, 300),
            (3, 700, 600),
            (700, 1, 400),
        ] {
            for lb in [Layout::Rows, Layout::Cols, Layout::Packed] {
                let serial = check(isa, &Serial, size, Layout::Rows, lb, &e);
                let parallel: [&dyn Parallel; 2] = [&Backwards(3), &Threads];
                for par in parallel {
                    let parallel = check(isa, par, size, Layout::Rows, lb, &e);
                    assert!(serial == parallel, "{isa:?} {size:?} {lb:?}: not the same bits");
                }
            }
        }
    }
}

/// Scores of documents must not depend on how many share a run.
#[test]
fn a_row_by_one_column_has_the_same_bits_alone_and_among_others() {
    let bias = numbers(1, 5);
    let activation = Activation::Sigmoid;
    let e = Epilogue { bias_col: Some(&bias), activation, ..Epilogue::default() };
    for isa in Isa::available() {
        for (m, k) in [(2, 1), (5, 30), (7, 128), (200, 128), (9, 401)] {
            // A weight, packed as the layers of a model have it.
            let (xa, xb) = (numbers(m * k, 1), numbers(k, 2));
            let mut pb = std::vec![f32::NAN; packed_b_len(isa, k, 1)];
            pack_b(isa, k, 1, MatRef { data: &xb, row_stride: 1, col_stride: 1 }, &mut pb);
            let product = |rows: &[f32]| {
                let m = rows.len() / k;
                let a = Lhs::Strided(MatRef { data: rows, row_stride: k, col_stride: 1 });
                let b = Rhs::Packed(&pb);
                let mut c = std::vec![f32::NAN; m];
                let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, 1, k, &a, &b)];
                gemm(isa, &Serial, m, 1, k, a, b, &mut c, 1, &e, &mut scratch);
                c
            };
            let together = product(&xa);
            let alone: Vec<f32> = xa.chunks(k).flat_map(product).collect();
            assert_eq!(together, alone, "{isa:?} {m} rows of {k}");
        }
    }
}

#[test]
fn columns_beyond_a_block_of_unpacked_b() {
    // k such that only a few slivers fit BLOCK_B.
    for isa in Isa::available() {
        check(isa, &Serial, (5, 100, 9000), Layout::Rows, Layout::Cols, &Epilogue::default());
    }
}

#[test]
fn nothing_to_do_touches_nothing() {
    let e = Epilogue::default();
    let (a, b) = (Lhs::Packed(&[]), Rhs::Packed(&[]));
    gemm(Isa::detect(), &Serial, 0, 0, 5, a, b, &mut [], 0, &e, &mut []);
}

//! The f32 form against the plain loops in f64, on every instruction set.

extern crate std;
use super::*;
use crate::Serial;
use std::vec::Vec;

const OPS: [ReduceOp; 10] = [
    ReduceOp::Sum,
    ReduceOp::Mean,
    ReduceOp::Max,
    ReduceOp::Min,
    ReduceOp::Prod,
    ReduceOp::L1,
    ReduceOp::L2,
    ReduceOp::SumSquare,
    ReduceOp::LogSum,
    ReduceOp::LogSumExp,
];

#[test]
fn agrees_with_f64() {
    let shapes = [
        (3, 1, 1),
        (2, 5, 1),
        (2, 16, 1),
        (3, 77, 1),
        (1, 300, 1),
        (2, 5, 3),
        (1, 9, 70),
        (2, 4, 16),
        (2, 0, 3),
        (2, 0, 1),
    ];
    for isa in Isa::available() {
        for shape in shapes {
            let (outer, axis, inner) = shape;
            for op in OPS {
                let n = outer * axis * inner;
                let x: Vec<f32> = (0..n)
                    .map(|i| 1.0 + ((i * 7919) % 64) as f32 / 128.0 - 0.3 * (i % 2) as f32)
                    .collect();
                let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
                let mut got = std::vec![5.0; outer * inner];
                let mut want = std::vec![0.0; outer * inner];
                reduce_f32(isa, &Serial, op, shape, &x, &mut got);
                reduce(op, shape, &wide, &mut want);
                for (got, want) in got.iter().zip(want) {
                    let want32 = want as f32;
                    let close = (f64::from(*got) - want).abs() <= 1e-5 * want.abs() + 1e-6;
                    let same = *got == want32 || (got.is_nan() && want.is_nan());
                    assert!(same || close, "{isa:?} {op:?} {shape:?}: {got}, expected {want}");
                }
            }
        }
    }
}

#[test]
fn not_a_number_shows() {
    for isa in Isa::available() {
        for at in 0..40 {
            let mut x = [1.0f32; 40];
            x[at] = f32::NAN;
            for op in OPS {
                for shape in [(1, 40, 1), (1, 2, 20)] {
                    let mut y = [0.0; 20];
                    let y = &mut y[..shape.2];
                    reduce_f32(isa, &Serial, op, shape, &x, y);
                    assert!(y[at % shape.2].is_nan(), "{isa:?} {op:?} {shape:?} {at}");
                }
            }
        }
    }
}

#[test]
fn infinities() {
    let (inf, ninf) = (f32::INFINITY, f32::NEG_INFINITY);
    for isa in Isa::available() {
        for (x, want) in [([1.0, inf], inf), ([ninf, ninf], ninf), ([ninf, 3.0], 3.0)] {
            let mut y = [0.0];
            reduce_f32(isa, &Serial, ReduceOp::LogSumExp, (1, 2, 1), &x, &mut y);
            assert_eq!(y[0], want, "{isa:?} {x:?}");
        }
    }
}

#[test]
fn integers() {
    let x = [3i32, -4, 12, 0];
    for (op, want) in [
        (ReduceOp::Sum, 11),
        (ReduceOp::Mean, 2),
        (ReduceOp::Max, 12),
        (ReduceOp::Min, -4),
        (ReduceOp::Prod, 0),
        (ReduceOp::L1, 19),
        (ReduceOp::L2, 13),
        (ReduceOp::SumSquare, 169),
    ] {
        let mut y = [0];
        reduce(op, (1, 4, 1), &x, &mut y);
        assert_eq!(y[0], want, "{op:?}");
    }
}

#[test]
fn dot_product() {
    for isa in Isa::available() {
        for n in [0, 1, 15, 16, 100, 257] {
            let x: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
            let want: f32 = x.iter().map(|x| x * x).sum();
            assert_eq!(dot(isa, &x, &x), want, "{isa:?} {n}");
        }
    }
}

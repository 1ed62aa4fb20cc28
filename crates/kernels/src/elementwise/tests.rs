//! The same tables on every instruction set.

extern crate std;

use super::*;
use crate::broadcast::Broadcast;
use crate::{Isa, Serial};
use half::f16;
use std::vec::Vec;

/// Shapes `[3, 37]` with both operands whole, or one of them a row, a column or a scalar.
const SHAPES: [(&str, [&[isize]; 2]); 7] = [
    ("same", [&[37, 1], &[37, 1]]),
    ("row on the right", [&[37, 1], &[0, 1]]),
    ("row on the left", [&[0, 1], &[37, 1]]),
    ("column on the right", [&[37, 1], &[1, 0]]),
    ("column on the left", [&[1, 0], &[37, 1]]),
    ("scalar", [&[37, 1], &[0, 0]]),
    ("column and row", [&[1, 0], &[0, 1]]),
];

fn on_all(f: impl Fn(Run<'_>, &str, &[isize], &[isize])) {
    for isa in Isa::available() {
        for (label, strides) in SHAPES {
            let plan = Broadcast::new(&[3, 37], strides, [0, 0]);
            f(Run { isa, parallel: &Serial, plan: &plan }, label, strides[0], strides[1]);
        }
    }
}

#[test]
fn arithmetic_meets_the_right_elements() {
    let a: Vec<f32> = (0..111).map(|i| i as f32 - 50.0).collect();
    let b: Vec<f32> = (0..111).map(|i| (i % 7) as f32 - 3.0).collect();
    let halves = |x: &[f32]| x.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
    let (ah, bh) = (halves(&a), halves(&b));
    let ops: [(BinaryOp, fn(f32, f32) -> f32); 7] = [
        (BinaryOp::Add, |a, b| a + b),
        (BinaryOp::Sub, |a, b| a - b),
        (BinaryOp::Mul, |a, b| a * b),
        (BinaryOp::Div, |a, b| a / b),
        (BinaryOp::Min, f32::min),
        (BinaryOp::Max, f32::max),
        (BinaryOp::PRelu, |a, b| if a < 0.0 { a * b } else { a }),
    ];
    on_all(|run, label, sa, sb| {
        for (op, f) in ops {
            let (mut out, mut half) = ([0f32; 111], [f16::ZERO; 111]);
            Lane::binary(run, op, &a, &b, &mut out);
            Lane::binary(run, op, &ah, &bh, &mut half);
            for i in 0..111usize {
                let at = |s: &[isize]| (i / 37) * s[0] as usize + (i % 37) * s[1] as usize;
                let want = f(a[at(sa)], b[at(sb)]);
                let same = out[i] == want || (want.is_nan() && out[i].is_nan());
                assert!(same, "{label} {op:?} {i}: {want} expected, got {}", out[i]);
                let (got, want) = (half[i], f16::from_f32(want));
                assert!(got == want || (got.is_nan() && want.is_nan()), "{label} {op:?} {i} f16");
            }
        }
    });
}

/// `op` of one pair of numbers.
fn one<T: Lane + Default>(op: BinaryOp, a: T, b: T) -> T {
    let plan = Broadcast::new(&[], [&[], &[]], [0, 0]);
    let run = Run { isa: Isa::detect(), parallel: &Serial, plan: &plan };
    let mut out = [T::default()];
    Lane::binary(run, op, &[a], &[b], &mut out);
    out[0]
}

#[test]
fn integers_never_trap() {
    let cases: [(BinaryOp, i32, i32, i32); 13] = [
        (BinaryOp::Div, 7, 2, 3),
        (BinaryOp::Div, -7, 2, -3),
        (BinaryOp::Div, 7, 0, 0),
        (BinaryOp::Div, i32::MIN, -1, i32::MIN),
        (BinaryOp::Mod, -7, 3, 2),
        (BinaryOp::Mod, 7, -3, -2),
        (BinaryOp::Mod, 6, -3, 0),
        (BinaryOp::Mod, 7, 0, 0),
        (BinaryOp::Mod, i32::MIN, -1, 0),
        (BinaryOp::Fmod, -7, 3, -1),
        (BinaryOp::Fmod, 7, -3, 1),
        (BinaryOp::Add, i32::MAX, 1, i32::MIN),
        (BinaryOp::Mul, i32::MIN, -1, i32::MIN),
    ];
    for (op, a, b, want) in cases {
        assert_eq!(one(op, a, b), want, "{op:?} {a} {b}");
    }
}

#[test]
fn remainders_of_floats_keep_their_signs() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let cases = [
        (BinaryOp::Mod, -4.3, 2.1, 2.0),
        (BinaryOp::Mod, 4.3, -2.1, -2.0),
        (BinaryOp::Mod, 0.0, -2.0, -0.0),
        (BinaryOp::Mod, 3.0, inf, 3.0),
        (BinaryOp::Mod, -3.0, inf, inf),
        (BinaryOp::Mod, inf, 2.0, nan),
        (BinaryOp::Mod, 2.0, 0.0, nan),
        (BinaryOp::Fmod, -4.3, 2.1, -0.1),
        (BinaryOp::Fmod, 3.0, -inf, 3.0),
        (BinaryOp::Min, nan, 1.0, nan),
        (BinaryOp::Min, 1.0, nan, nan),
        (BinaryOp::Max, nan, 1.0, nan),
        (BinaryOp::Max, 1.0, nan, nan),
    ];
    for (op, a, b, want) in cases {
        let got = one(op, a, b);
        let near = got == want && got.is_sign_negative() == want.is_sign_negative()
            || (got - want).abs() < 1e-12 && want != 0.0
            || got.is_nan() && want.is_nan();
        assert!(near, "{op:?} {a} {b}: {want} expected, got {got}");
    }
}

#[test]
fn comparisons_with_nan_are_false() {
    let a = [1.0f32, 2.0, f32::NAN, 3.0];
    let b = [2.0f32, 2.0, 1.0, f32::NAN];
    let cases = [
        (CompareOp::Equal, [0, 1, 0, 0]),
        (CompareOp::Less, [1, 0, 0, 0]),
        (CompareOp::LessOrEqual, [1, 1, 0, 0]),
    ];
    let plan = Broadcast::new(&[4], [&[1], &[1]], [0, 0]);
    for isa in Isa::available() {
        for (op, want) in cases {
            let mut out = [9; 4];
            Lane::compare(Run { isa, parallel: &Serial, plan: &plan }, op, &a, &b, &mut out);
            assert_eq!(out, want, "{op:?} on {isa:?}");
        }
    }
}

#[test]
fn powers() {
    let run = |exponents: &[f32], x: &[f32]| {
        let plan = Broadcast::new(&[x.len()], [&[1], &[isize::from(exponents.len() > 1)]], [0, 0]);
        let mut out = std::vec![0.0; x.len()];
        let run = Run { isa: Isa::detect(), parallel: &Serial, plan: &plan };
        pow_float(run, x, exponents, &mut out);
        out
    };
    let x = [-2.0, -0.0, 3.0, f32::NEG_INFINITY, f32::INFINITY];
    for y in [2.0, 3.0, 0.5, -1.0, 0.0, 1.5] {
        let got = run(&[y], &x);
        for (got, x) in got.iter().zip(x) {
            let want = f64::from(x).powf(f64::from(y)) as f32;
            let near = *got == want || (got / want - 1.0).abs() < 2e-7;
            assert!(near || (got.is_nan() && want.is_nan()), "{x}^{y}: {want}, got {got}");
        }
    }
    let plan = Broadcast::new(&[6], [&[1], &[1]], [0, 0]);
    let run = Run { isa: Isa::detect(), parallel: &Serial, plan: &plan };
    let mut out = [0i32; 6];
    pow_int(run, &[2, -3, 2, -1, 1, 0], &[10, 3, -1, -3, -9, 0], &mut out);
    assert_eq!(out, [1024, -27, 0, -1, 1, 1]);
}

#[test]
fn shifts_beyond_the_width() {
    let plan = Broadcast::new(&[5], [&[1], &[1]], [0, 0]);
    let run = Run { isa: Isa::detect(), parallel: &Serial, plan: &plan };
    let mut out = [0i8; 5];
    Bits::bits(run, BitOp::ShiftLeft, &[1i8, 65, 1, -1, 3], &[1, 1, 8, -1, 7], &mut out);
    assert_eq!(out, [2, -126, 0, 0, -128]);
    Bits::bits(run, BitOp::ShiftRight, &[-8i8, 8, -8, 8, -1], &[1, 1, 9, -1, -1], &mut out);
    assert_eq!(out, [-4, 4, -1, 0, -1]);
}

#[test]
fn choices_by_condition() {
    let (x, y) = ([1u16, 2, 3, 4, 5, 6], [10u16, 20, 30, 40, 50, 60]);
    let bytes = |v: &[u16]| v.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<_>>();
    let cases: [(&str, [&[isize]; 3], [u16; 6]); 5] = [
        ("same", [&[3, 1], &[3, 1], &[3, 1]], [1, 20, 3, 40, 5, 60]),
        ("row condition", [&[0, 1], &[3, 1], &[3, 1]], [1, 20, 3, 4, 50, 6]),
        ("column condition", [&[1, 0], &[3, 1], &[3, 1]], [1, 2, 3, 40, 50, 60]),
        ("scalar x", [&[3, 1], &[0, 0], &[3, 1]], [1, 20, 1, 40, 1, 60]),
        ("scalar y", [&[3, 1], &[3, 1], &[0, 0]], [1, 10, 3, 10, 5, 10]),
    ];
    for (label, strides, want) in cases {
        let plan = Broadcast::new(&[2, 3], strides, [0; 3]);
        let mut out = [0u8; 12];
        select(2, &plan, &[1, 0, 7, 0, 1, 0], &bytes(&x), &bytes(&y), &mut out);
        assert_eq!(out.as_slice(), bytes(&want), "{label}");
    }
}

#[test]
fn limits() {
    for isa in Isa::available() {
        let x = [f32::NAN, -5.0, 0.5, 5.0];
        let mut out = [0.0; 4];
        clip(isa, &Serial, [Some(-1.0), None], &x, &mut out);
        assert!(out[0].is_nan() && out[1..] == [-1.0, 0.5, 5.0]);
        clip(isa, &Serial, [Some(2.0), Some(1.0)], &x, &mut out);
        assert_eq!(out[1..], [1.0, 1.0, 1.0]);
    }
}

#[test]
fn shaped_functions_agree_in_both_widths() {
    let ops = [
        Shaped::Selu { alpha: 1.67, gamma: 1.05 },
        Shaped::Celu { alpha: 2.0 },
        Shaped::Celu { alpha: -0.5 },
        Shaped::Thresholded { alpha: 0.7 },
        Shaped::Shrink { bias: 0.25, lambd: 1.5 },
    ];
    let x: Vec<f32> = (-40..40).map(|i| i as f32 / 9.0).collect();
    for op in ops {
        let wide: Vec<f64> = x.iter().map(|&v| v.into()).collect();
        let mut want = std::vec![0.0; x.len()];
        shaped_f64(op, &wide, &mut want);
        for isa in Isa::available() {
            let mut got = std::vec![0.0; x.len()];
            shaped_f32(isa, op, &x, &mut got);
            for ((x, got), want) in x.iter().zip(&got).zip(&want) {
                let near = (f64::from(*got) - want).abs() <= 1e-6 * want.abs().max(1e-3);
                assert!(near, "{op:?} {x}: {want} expected, got {got}");
            }
        }
    }
}

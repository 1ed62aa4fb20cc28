//! Every function against f64 on every instruction set, at all lengths that end inside a vector.

extern crate std;
use super::*;
use std::vec::Vec;

const OPS: [UnaryOp; 41] = [
    UnaryOp::Abs,
    UnaryOp::Neg,
    UnaryOp::Sign,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Round,
    UnaryOp::Sqrt,
    UnaryOp::Rsqrt,
    UnaryOp::Reciprocal,
    UnaryOp::Exp,
    UnaryOp::ExpM1,
    UnaryOp::Log,
    UnaryOp::Log1p,
    UnaryOp::Erf,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Tan,
    UnaryOp::Asin,
    UnaryOp::Acos,
    UnaryOp::Atan,
    UnaryOp::Sinh,
    UnaryOp::Cosh,
    UnaryOp::Asinh,
    UnaryOp::Acosh,
    UnaryOp::Atanh,
    UnaryOp::Softsign,
    UnaryOp::Activation(Activation::None),
    UnaryOp::Activation(Activation::Relu),
    UnaryOp::Activation(Activation::Clip { lo: -0.75, hi: 2.0 }),
    UnaryOp::Activation(Activation::LeakyRelu { alpha: 0.01 }),
    UnaryOp::Activation(Activation::Elu { alpha: 2.0 }),
    UnaryOp::Activation(Activation::Sigmoid),
    UnaryOp::Activation(Activation::Tanh),
    UnaryOp::Activation(Activation::GeluErf),
    UnaryOp::Activation(Activation::GeluTanh),
    UnaryOp::Activation(Activation::Silu),
    UnaryOp::Activation(Activation::Swish { alpha: 1.702 }),
    UnaryOp::Activation(Activation::HardSwish),
    UnaryOp::Activation(Activation::HardSigmoid { alpha: 0.2, beta: 0.5 }),
    UnaryOp::Activation(Activation::Softplus),
    UnaryOp::Activation(Activation::Mish),
];

/// The tolerance of the ONNX node tests, with the relative part sharpened a hundred times; GELU
/// loses digits where 1 + erf cancels.
fn close(op: UnaryOp, x: f32, got: f32, want: f64) -> bool {
    let want32 = want as f32;
    let cancelled = match op {
        UnaryOp::Activation(Activation::GeluErf | Activation::GeluTanh) => 3e-7 * x.abs(),
        _ => 0.0,
    };
    (got.is_nan() && want32.is_nan())
        || got == want32
        || (f64::from(got) - want).abs() <= 1e-7 + 1e-5 * want.abs() + f64::from(cancelled)
}

#[test]
fn agrees_with_f64() {
    let mut xs: Vec<f32> = (-60..60).map(|i| i as f32 * 0.13).collect();
    xs.extend([0.0, -0.0, 1e-5, -1e-5, 1e-39, 0.5, 2.5, -1.5, 1.0, -1.0]);
    xs.extend([1e4, -1e4, 5e5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    for isa in Isa::available() {
        for op in OPS {
            let mut got = std::vec![0.0; xs.len()];
            map_f32(isa, op, &xs, &mut got);
            for (&x, &got) in xs.iter().zip(&got) {
                let want = eval_f64(op, f64::from(x));
                assert!(close(op, x, got, want), "{isa:?} {op:?}({x}) = {got}, expected {want}");
            }
        }
    }
}

#[test]
fn lengths_and_in_place() {
    for isa in Isa::available() {
        for op in [UnaryOp::Exp, UnaryOp::Sin, UnaryOp::Tan] {
            for len in 0..40 {
                let xs: Vec<f32> = (0..len).map(|i| i as f32 * 0.1).collect();
                let mut got = std::vec![7.0; len];
                map_f32(isa, op, &xs, &mut got);
                for (&x, &got) in xs.iter().zip(&got) {
                    assert!(close(op, x, got, eval_f64(op, x.into())), "{isa:?} {op:?} {len}");
                }
                let mut again = xs;
                map_f32_in_place(isa, op, &mut again);
                assert_eq!(again, got, "{isa:?} {op:?} {len}");
            }
        }
    }
}

/// Several vectors, one and a part of one go through the same steps: a number's result has the same bits wherever it stands.
#[test]
fn results_do_not_depend_on_their_place() {
    let special = [0.0, -0.0, 1e-39, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 88.5];
    let number = |i: usize| special.get(i % 17).copied().unwrap_or(i as f32 * 0.37 - 30.0);
    let xs: Vec<f32> = (0..4 * 64 + 16 + 5).map(number).collect();
    for isa in Isa::available() {
        for op in OPS {
            let mut together = std::vec![0.0; xs.len()];
            map_f32(isa, op, &xs, &mut together);
            for (i, (x, y)) in xs.iter().zip(&together).enumerate() {
                let mut alone = [*x];
                map_f32_in_place(isa, op, &mut alone);
                let same = alone[0].to_bits() == y.to_bits() || alone[0].is_nan() && y.is_nan();
                assert!(same, "{isa:?} {op:?}({x}) at {i}: {y}, alone {}", alone[0]);
            }
        }
    }
}

#[test]
fn f64_slices() {
    let mut y = [0.0; 2];
    map_f64(UnaryOp::Log, &[1.0, core::f64::consts::E], &mut y);
    assert_eq!(y, [0.0, 1.0]);
}

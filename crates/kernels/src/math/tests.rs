//! Every function against f64 on every instruction set, over a grid of all magnitudes.

extern crate std;
use super::*;
use crate::simd::{SimdOp, dispatch};
use crate::{Isa, simd::Simd};
use std::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq)]
enum F {
    Exp,
    ExpShifted,
    ExpWeight,
    ExpM1,
    Sigmoid,
    Silu,
    Tanh,
    Erf,
    GeluErf,
    GeluTanh,
    Log,
    Log1p,
    Softplus,
    Sin,
    Cos,
}

struct Map<'a>(F, &'a [f32], &'a mut [f32]);

impl SimdOp for Map<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut at = 0;
        while at < self.1.len() {
            let v = s.load_part(&self.1[at..]);
            let v = match self.0 {
                F::Exp => exp(s, v),
                F::ExpShifted => exp_shifted(s, v),
                F::ExpWeight => exp_weight(s, v),
                F::ExpM1 => exp_m1(s, v),
                F::Sigmoid => sigmoid(s, v),
                F::Silu => silu(s, v),
                F::Tanh => tanh(s, v),
                F::Erf => erf(s, v),
                F::GeluErf => gelu_erf(s, v),
                F::GeluTanh => gelu_tanh(s, v),
                F::Log => log(s, v),
                F::Log1p => log1p(s, v),
                F::Softplus => softplus(s, v),
                F::Sin => sin(s, v),
                F::Cos => cos(s, v),
            };
            s.store_part(&mut self.2[at..], v);
            at += S::LANES;
        }
    }
}

fn reference(f: F, x: f64) -> f64 {
    let gelu = |t: f64| x * 0.5 * (1.0 + t);
    match f {
        F::Exp | F::ExpShifted | F::ExpWeight => x.exp(),
        F::ExpM1 => x.exp_m1(),
        F::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        F::Silu => x / (1.0 + (-x).exp()),
        F::Tanh => x.tanh(),
        F::Erf => libm::erf(x),
        F::GeluErf => gelu(libm::erf(x / 2f64.sqrt())),
        F::GeluTanh => {
            gelu(((2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        F::Log => x.ln(),
        F::Log1p => x.ln_1p(),
        F::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        F::Sin => x.sin(),
        F::Cos => x.cos(),
    }
}

/// Both signs of all magnitudes from 1e-40 to `top`, and a fine grid around 0.
fn grid(top: f32) -> Vec<f32> {
    let mut xs = Vec::new();
    let mut x = 1e-40f32;
    while x < top {
        xs.push(x);
        xs.push(-x);
        x *= 1.003;
    }
    xs.extend((-4000..4000).map(|i| i as f32 * 0.0037).filter(|x| x.abs() < top));
    xs
}

/// The distance to the f32 after `x`.
fn ulp(x: f64) -> f64 {
    let x = (x.abs() as f32).max(f32::MIN_POSITIVE);
    f64::from(f32::from_bits(x.to_bits() + 1)) - f64::from(x)
}

#[test]
fn weights_are_within_their_bound_and_hidden_ones_are_nothing() {
    for isa in Isa::available() {
        let mut xs: Vec<f32> = grid(3e38).into_iter().filter(|x| *x <= 0.0).collect();
        xs.extend([0.0, -0.0, f32::MIN, f32::NEG_INFINITY]);
        xs.extend((0..2000).map(|i| -86.0 - i as f32 * 0.0013));
        let mut ys = std::vec![f32::NAN; xs.len()];
        // Bound in ulp, and per |x| and value.
        for (f, ulps, per_x) in [(F::ExpWeight, 2.0, 2f64.powi(-23)), (F::ExpShifted, 1.5, 0.0)] {
            dispatch(isa, Map(f, &xs, &mut ys));
            for (&x, &y) in xs.iter().zip(&ys) {
                let want = reference(f, f64::from(x));
                let far = if want > 0.0 { want * f64::from(x.abs()) * per_x } else { 0.0 };
                let bound = ulps * ulp(want) + far + 1e-38;
                let error = (f64::from(y) - want).abs();
                assert!(
                    error <= bound,
                    "{f:?} {isa:?} {x}: {y}, expected {want} within {bound:.1e}"
                );
                assert!(x > -88.1 || y == 0.0, "{f:?} {isa:?} {x}: {y}, expected nothing");
            }
            // Whatever a NaN carries, it stays one.
            let nans = [0x7fc0_0000, 0x7fc0_0001, 0xffc0_01ff, 0x7fff_ffff].map(f32::from_bits);
            let mut ys = [0.0; 4];
            dispatch(isa, Map(f, &nans, &mut ys));
            assert!(ys.iter().all(|y| y.is_nan()), "{f:?} {isa:?} {ys:?}");
        }
    }
}

#[test]
fn ends_are_exact() {
    for isa in Isa::available() {
        for (f, low, high) in [(F::Tanh, -1.0, 1.0), (F::Sigmoid, 0.0, 1.0)] {
            let xs = [9.6, 11.0, 88.5, 1e4, f32::MAX, f32::INFINITY];
            let xs: Vec<f32> = xs.into_iter().filter(|x| f == F::Tanh || *x > 88.4).collect();
            for (sign, want) in [(1.0, high), (-1.0, low)] {
                let xs: Vec<f32> = xs.iter().map(|x| sign * x).collect();
                let mut ys = std::vec![f32::NAN; xs.len()];
                dispatch(isa, Map(f, &xs, &mut ys));
                assert!(ys.iter().all(|y| *y == want), "{f:?} {isa:?} {xs:?}: {ys:?}");
            }
        }
    }
}

#[test]
fn errors_stay_within_the_stated_bounds() {
    /// Bound in ulp, plus absolute, plus absolute per |x|.
    #[derive(Clone, Copy)]
    struct Case(F, f32, f64, f64, f64);
    let cases = [
        Case(F::Exp, 88.7, 1.5, 0.0, 0.0),
        Case(F::ExpM1, 88.0, 3.0, 0.0, 0.0),
        Case(F::Sigmoid, 1e30, 3.0, 1e-38, 0.0),
        Case(F::Silu, 1e30, 4.0, 1e-36, 0.0),
        Case(F::Tanh, 1e30, 5.0, 1e-42, 0.0),
        Case(F::Erf, 1e30, 8.0, 1e-42, 0.0),
        Case(F::GeluErf, 1e30, 2.0, 0.0, 3e-7),
        Case(F::GeluTanh, 1e30, 2.0, 0.0, 3e-7),
        Case(F::Log, 3e38, 1.5, 0.0, 0.0),
        Case(F::Log1p, 1e30, 3.0, 0.0, 0.0),
        Case(F::Softplus, 1e30, 4.0, 0.0, 0.0),
        Case(F::Sin, TRIG_MAX, 2.0, 1.5e-7, 0.0),
        Case(F::Cos, TRIG_MAX, 2.0, 1.5e-7, 0.0),
    ];
    let mut failed = Vec::new();
    for isa in Isa::available() {
        for Case(f, top, ulps, abs, per_x) in cases {
            let xs = grid(top);
            let mut got = std::vec![0.0; xs.len()];
            dispatch(isa, Map(f, &xs, &mut got));
            let mut worst = (0.0, 0.0);
            for (&x, &got) in xs.iter().zip(&got) {
                let want = reference(f, f64::from(x));
                if want.is_nan() || (want as f32).is_infinite() {
                    let same =
                        got.is_nan() == want.is_nan() && (want.is_nan() || got == want as f32);
                    assert!(same, "{isa:?} {f:?}({x}) = {got}, expected {want}");
                    continue;
                }
                // Without FMA each step rounds twice.
                let loose = if isa == Isa::Scalar { 2.0 } else { 1.0 };
                let bound = loose * (ulps * ulp(want) + abs + per_x * f64::from(x.abs()));
                let share = (f64::from(got) - want).abs() / bound;
                if share > worst.0 || share.is_nan() {
                    worst = (share, x);
                }
            }
            if worst.0 > 1.0 || worst.0.is_nan() {
                failed.push((isa, f, worst));
            }
        }
    }
    assert!(failed.is_empty(), "(share of the bound, argument): {failed:?}");
}

#[test]
fn special_values() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let cases = [
        (F::Exp, [(inf, inf), (-inf, 0.0), (nan, nan), (-104.5, 0.0), (88.8, inf)]),
        (F::ExpM1, [(inf, inf), (-inf, -1.0), (nan, nan), (0.0, 0.0), (100.0, inf)]),
        (F::Sigmoid, [(inf, 1.0), (-inf, 0.0), (nan, nan), (0.0, 0.5), (-200.0, 0.0)]),
        (F::Silu, [(inf, inf), (-inf, 0.0), (nan, nan), (0.0, 0.0), (-200.0, 0.0)]),
        (F::Tanh, [(inf, 1.0), (-inf, -1.0), (nan, nan), (0.0, 0.0), (20.0, 1.0)]),
        (F::Erf, [(inf, 1.0), (-inf, -1.0), (nan, nan), (0.0, 0.0), (6.0, 1.0)]),
        (F::GeluErf, [(inf, inf), (-inf, 0.0), (nan, nan), (0.0, 0.0), (100.0, 100.0)]),
        (F::GeluTanh, [(inf, inf), (-inf, 0.0), (nan, nan), (0.0, 0.0), (100.0, 100.0)]),
        (F::Log, [(inf, inf), (-inf, nan), (nan, nan), (0.0, -inf), (-1.0, nan)]),
        (F::Log1p, [(inf, inf), (-inf, nan), (nan, nan), (0.0, 0.0), (-1.0, -inf)]),
        (F::Softplus, [(inf, inf), (-inf, 0.0), (nan, nan), (200.0, 200.0), (-200.0, 0.0)]),
        (F::Sin, [(inf, nan), (-inf, nan), (nan, nan), (0.0, 0.0), (1e-30, 1e-30)]),
        (F::Cos, [(inf, nan), (-inf, nan), (nan, nan), (0.0, 1.0), (1e-30, 1.0)]),
    ];
    for isa in Isa::available() {
        for (f, table) in cases {
            for (x, want) in table {
                let mut got = [0.0];
                dispatch(isa, Map(f, &[x], &mut got));
                let same = got[0] == want || (got[0].is_nan() && want.is_nan());
                assert!(same, "{isa:?} {f:?}({x}) = {}, expected {want}", got[0]);
            }
        }
    }
}

extern crate std;
use super::*;
use crate::gemm::Activation;
use crate::{Isa, Parallel, Serial};
use std::vec;
use std::vec::Vec;

/// Three threads, one after the other.
pub(super) struct Three;

impl Parallel for Three {
    fn threads(&self) -> usize {
        3
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(f);
    }
}

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

/// The convolution by its definition, with whatever bias.
fn definition(shape: &ConvShape, x: &[f32], w: &[f32], bias: &[f32]) -> Vec<f32> {
    let channels = shape.groups * shape.out_channels;
    let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let (x, w, bias) = (wide(x), wide(w), wide(bias));
    let operands =
        direct::Operands { x: &x, x_zero: 0.0, w: &w, w_zero: &[0.0], bias: Some(&bias) };
    let mut y = vec![0.0; shape.batch * channels * shape.window.output_len()];
    direct::conv(Isa::Scalar, &Serial, shape, &operands, 0.0, &mut y);
    y.into_iter().map(|v: f64| v as f32).collect()
}

pub(super) fn shape(
    [batch, groups, in_channels, out_channels]: [usize; 4],
    input: [usize; 3],
    kernel: [usize; 3],
    strides: [usize; 3],
    dilations: [usize; 3],
    pads: [usize; 3],
) -> ConvShape {
    let output = core::array::from_fn(|a| {
        (input[a] + 2 * pads[a] - (kernel[a] - 1) * dilations[a] - 1) / strides[a] + 1
    });
    let window = Window { input, output, kernel, strides, dilations, pads };
    ConvShape { batch, groups, in_channels, out_channels, window }
}

pub(super) fn cases() -> Vec<(&'static str, ConvShape)> {
    let one = [1; 3];
    vec![
        ("3x3", shape([2, 1, 5, 7], [1, 9, 11], [1, 3, 3], one, one, [0, 1, 1])),
        ("3x3 strided", shape([1, 1, 3, 20], [1, 17, 40], [1, 3, 3], [1, 2, 2], one, [0, 1, 1])),
        ("pointwise", shape([2, 2, 6, 15], [1, 6, 7], one, one, one, [0; 3])),
        ("one output", shape([3, 1, 40, 33], [1, 1, 1], one, one, one, [0; 3])),
        ("few outputs", shape([1, 2, 9, 31], [1, 1, 9], [1, 1, 3], [1, 1, 2], one, [0, 0, 1])),
        ("five outputs", shape([1, 1, 9, 3], [1, 1, 5], [1, 1, 3], one, one, [0, 0, 1])),
        (
            "few of many images",
            shape([5, 2, 9, 31], [1, 1, 9], [1, 1, 3], [1, 1, 4], one, [0, 0, 1]),
        ),
        (
            "few without padding",
            shape([3, 1, 1, 34], [1, 1, 640], [1, 1, 256], [1, 1, 128], one, [0; 3]),
        ),
        ("few of a part", shape([3, 1, 3, 18], [2, 3, 7], [2, 2, 3], [1, 1, 3], one, [0; 3])),
        ("few in 3-D", shape([3, 2, 4, 5], [3, 2, 3], [2, 3, 3], [2, 2, 2], [2, 1, 1], [1, 1, 1])),
        (
            "few, wide apart",
            shape([2, 1, 3, 5], [1, 2, 2], [1, 3, 3], one, [1, 20, 20], [0, 20, 20]),
        ),
        ("1-D long", shape([1, 1, 1, 18], [1, 1, 700], [1, 1, 64], [1, 1, 16], one, [0; 3])),
        ("blocks", shape([1, 1, 300, 6], [1, 20, 21], [1, 3, 3], one, one, [0, 1, 1])),
        ("3-D dilated", shape([1, 2, 2, 3], [6, 7, 8], [2, 3, 2], [1, 2, 1], [2, 1, 3], [1, 1, 2])),
        ("depthwise 3x3", shape([2, 6, 1, 1], [1, 8, 150], [1, 3, 3], one, one, [0, 1, 1])),
        (
            "depthwise strided",
            shape([1, 4, 1, 2], [1, 9, 90], [1, 3, 3], [1, 2, 2], one, [0, 1, 1]),
        ),
        ("depthwise 5x5", shape([1, 5, 1, 1], [1, 20, 70], [1, 5, 5], one, one, [0, 2, 2])),
        ("depthwise narrow", shape([1, 5, 1, 1], [1, 2, 2], [1, 5, 5], one, one, [0, 2, 2])),
        ("depthwise 1-D", shape([1, 5, 1, 1], [1, 1, 99], [1, 1, 31], one, [1, 1, 2], [0, 0, 30])),
        ("depthwise 3", shape([1, 5, 1, 1], [3, 5, 40], [3, 3, 3], [1, 3, 3], one, [1, 0, 1])),
    ]
}

#[test]
fn every_form_agrees_with_the_definition() {
    for (label, shape) in cases() {
        let x = numbers(shape.input_len(), 1);
        let w = numbers(shape.weights_len(), 2);
        let bias = numbers(shape.groups * shape.out_channels, 3);
        let want = definition(&shape, &x, &w, &bias);
        for isa in Isa::available() {
            let mut packed_w = vec![0.0; w.len()];
            let (groups, m, c) = (shape.groups, shape.out_channels, shape.in_channels);
            pack_weights(isa, groups, m, c, shape.depth(), &w, &mut packed_w);
            for (packed, weights) in
                [(false, Weights::Rows(&w)), (true, Weights::Packed(&packed_w))]
            {
                for par in [&Serial as &dyn Parallel, &Three] {
                    let mut y = vec![9.0; shape.output_len()];
                    let mut scratch = vec![7.0; conv_scratch_len(isa, &shape, packed)];
                    let (bias, act) = (Some(&bias[..]), Activation::Relu);
                    conv(isa, par, &shape, &x, weights, bias, act, &mut y, &mut scratch);
                    for (i, (y, want)) in y.iter().zip(&want).enumerate() {
                        let want = want.max(0.0);
                        assert!(
                            (y - want).abs() <= 2e-5 * (1.0 + want.abs()) * 8.0,
                            "{label} {isa:?} packed {packed}: [{i}] {y} for {want}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_transpose_is_the_adjoint() {
    // <conv(u), v> = <u, conv^T(v)> for all u and v says everything about conv^T.
    for (label, shape) in cases() {
        let u = numbers(shape.input_len(), 4);
        let v = numbers(shape.output_len(), 5);
        let w = numbers(shape.weights_len(), 6);
        let none = vec![0.0; shape.groups * shape.out_channels];
        let forward = definition(&shape, &u, &w, &none);
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        for isa in Isa::available() {
            let mut packed_w = vec![0.0; w.len()];
            let (groups, channels) = (shape.groups, shape.out_channels);
            transpose::pack_weights(isa, groups, channels, shape.depth(), &w, &mut packed_w);
            for (packed, weights) in
                [(false, Weights::Rows(&w)), (true, Weights::Packed(&packed_w))]
            {
                let mut y = vec![9.0; shape.input_len()];
                let mut scratch = vec![7.0; transpose::conv_scratch_len(isa, &shape, packed)];
                let act = Activation::None;
                transpose::conv(isa, &Three, &shape, &v, weights, None, act, &mut y, &mut scratch);
                let (a, b) = (dot(&forward, &v), dot(&u, &y));
                assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()), "{label} {isa:?}: {a} for {b}");
            }
        }
    }
}

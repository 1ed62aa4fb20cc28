//! Compares convolutions of planes with those of blocks of channels, turn by turn, on layers of image nets.
//!
//! `cargo run --release -p stead-kernels --example conv_bench [ISA]`

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::hint::black_box;
use std::time::Instant;
use stead_kernels::blocked::{self, BLOCK, Source, blocks};
use stead_kernels::conv::{self, ConvShape, Weights};
use stead_kernels::gemm::Activation;
use stead_kernels::{Isa, Serial, Window};

/// Label, groups, channels in and out of all groups, side of the image, kernel, stride.
const LAYERS: &[(&str, usize, usize, usize, usize, usize, usize)] = &[
    ("resnet stem 7x7/2", 1, 3, 64, 224, 7, 2),
    ("resnet 1x1", 1, 64, 64, 56, 1, 1),
    ("resnet 3x3", 1, 64, 64, 56, 3, 1),
    ("resnet 1x1", 1, 64, 256, 56, 1, 1),
    ("resnet 1x1", 1, 256, 64, 56, 1, 1),
    ("resnet 3x3/2", 1, 128, 128, 56, 3, 2),
    ("resnet 1x1/2", 1, 256, 512, 56, 1, 2),
    ("resnet 3x3", 1, 128, 128, 28, 3, 1),
    ("resnet 1x1", 1, 128, 512, 28, 1, 1),
    ("resnet 1x1", 1, 512, 128, 28, 1, 1),
    ("resnet 3x3", 1, 256, 256, 14, 3, 1),
    ("resnet 1x1", 1, 256, 1024, 14, 1, 1),
    ("resnet 1x1", 1, 1024, 256, 14, 1, 1),
    ("resnet 3x3", 1, 512, 512, 7, 3, 1),
    ("resnet 1x1", 1, 512, 2048, 7, 1, 1),
    ("resnet 1x1", 1, 2048, 512, 7, 1, 1),
    ("mobilenet stem 3x3/2", 1, 3, 16, 224, 3, 2),
    ("mobilenet 1x1", 1, 16, 64, 112, 1, 1),
    ("mobilenet 1x1", 1, 64, 24, 56, 1, 1),
    ("mobilenet 1x1", 1, 24, 72, 56, 1, 1),
    ("mobilenet 1x1", 1, 72, 40, 28, 1, 1),
    ("mobilenet 1x1", 1, 40, 120, 28, 1, 1),
    ("mobilenet 1x1", 1, 80, 480, 14, 1, 1),
    ("mobilenet 1x1", 1, 672, 112, 14, 1, 1),
    ("mobilenet 1x1", 1, 160, 960, 7, 1, 1),
    ("mobilenet 1x1", 1, 960, 160, 7, 1, 1),
    ("depthwise 3x3", 16, 16, 16, 112, 3, 1),
    ("depthwise 3x3/2", 64, 64, 64, 112, 3, 2),
    ("depthwise 3x3", 72, 72, 72, 56, 3, 1),
    ("depthwise 5x5", 120, 120, 120, 28, 5, 1),
    ("depthwise 3x3", 480, 480, 480, 14, 3, 1),
    ("depthwise 5x5", 960, 960, 960, 7, 5, 1),
    ("densenet 3x3", 1, 128, 32, 28, 3, 1),
];

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1000) as f32 * 0.002 - 1.0).collect()
}

fn main() {
    let isa = match std::env::args().nth(1) {
        None => Isa::detect(),
        Some(name) => Isa::from_name(&name).unwrap_or_else(|| panic!("no instruction set {name}")),
    }
    .effective();
    println!("{isa:?}; microseconds per layer, GFLOP/s, both the best of 200 ms");
    for &layer in LAYERS {
        compare(isa, layer);
    }
}

fn compare(
    isa: Isa,
    (label, groups, from, to, side, kernel, stride): (
        &str,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
    ),
) {
    let out = (side + 2 * (kernel / 2) - kernel) / stride + 1;
    let window = Window {
        input: [1, side, side],
        output: [1, out, out],
        kernel: [1, kernel, kernel],
        strides: [1, stride, stride],
        dilations: [1; 3],
        pads: [0, kernel / 2, kernel / 2],
    };
    let (in_channels, out_channels) = (from / groups, to / groups);
    let shape = ConvShape { batch: 1, groups, in_channels, out_channels, window };
    let (x, w) = (numbers(shape.input_len()), numbers(shape.weights_len()));
    let mut packed = vec![0.0; w.len()];
    conv::pack_weights(isa, groups, out_channels, in_channels, shape.depth(), &w, &mut packed);
    let mut y = vec![0.0; shape.output_len()];
    let mut scratch = vec![0.0; conv::conv_scratch_len(isa, &shape, true)];
    let bias = numbers(blocks(to) * BLOCK);
    let act = Activation::Relu;
    let weights = Weights::Packed(&packed);
    let mut in_planes = || {
        let bias = Some(&bias[..to]);
        conv::conv(isa, &Serial, &shape, black_box(&x), weights, bias, act, &mut y, &mut scratch);
    };
    let mut x_blocked = vec![0.0; blocks(from) * BLOCK * window.input_len()];
    blocked::to_blocks(isa, &Serial, (1, from, window.input_len()), &x, &mut x_blocked);
    let mut y_blocked = vec![0.0; blocks(to) * BLOCK * window.output_len()];
    let source = if from < 8 { Source::Planes } else { Source::Blocks };
    let is_depthwise = groups > 1;
    let taps = window.taps();
    let mut w_blocked = vec![0.0; blocks(to) * BLOCK * in_channels * taps];
    let mut room =
        vec![0.0; if is_depthwise { 0 } else { blocked::conv_scratch_len(&shape, source, false) }];
    match is_depthwise {
        true => blocked::pack_depthwise(groups, taps, &w, &mut w_blocked),
        false => blocked::pack_weights(isa, source, (to, from, taps), &w, &mut w_blocked),
    }
    let mut in_blocks = || {
        let x = black_box(if source == Source::Planes { &x } else { &x_blocked });
        let y = &mut y_blocked;
        if is_depthwise {
            let operands =
                blocked::Depthwise { shape, x, weights: &w_blocked, bias: &bias, activation: act };
            return blocked::depthwise(isa, &Serial, &operands, y, None);
        }
        let operands = blocked::Conv {
            shape,
            source,
            x,
            weights: &w_blocked,
            bias: &bias,
            residual: None,
            gate: None,
            activation: act,
        };
        blocked::conv(isa, &Serial, &operands, y, &mut room);
    };
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e6
    };
    let (mut planes, mut blocked) = (f64::INFINITY, f64::INFINITY);
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.2 {
        planes = planes.min(time(&mut in_planes));
        blocked = blocked.min(time(&mut in_blocks));
    }
    let flops = 2.0 * (groups * out_channels * shape.depth() * window.output_len()) as f64;
    println!(
        "{label:22} {from:4} -> {to:4} at {side:3}: planes {planes:8.1} {:6.1}, blocks {blocked:8.1} {:6.1}, {:.2}x",
        flops / planes / 1e3,
        flops / blocked / 1e3,
        planes / blocked,
    );
}

extern crate std;
use super::*;
use crate::conv::{ConvShape, direct};
use crate::gemm::{Activation, activate_slice};
use crate::pool::{self, AverageCount};
use crate::{Isa, Parallel, Serial, Window};
use std::vec;
use std::vec::Vec;

/// Three threads, the last task first.
struct Three;

impl Parallel for Three {
    fn threads(&self) -> usize {
        3
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn to(&mut self, least: usize, most: usize) -> usize {
        least + (self.next() % (most - least + 1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.to(0, of.len() - 1)]
    }

    fn numbers(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }
}

/// Planes as blocks whose lanes behind the channels are NaN: nothing may come of them.
fn poisoned(sizes: (usize, usize, usize), x: &[f32]) -> Vec<f32> {
    let (batch, channels, pixels) = sizes;
    let mut y = vec![9.0; batch * blocks(channels) * pixels * BLOCK];
    to_blocks(Isa::detect(), &Three, sizes, x, &mut y);
    for (at, y) in y.iter_mut().enumerate() {
        let (block, lane) = (at / (pixels * BLOCK) % blocks(channels), at % BLOCK);
        if block * BLOCK + lane >= channels {
            assert_eq!(*y, 0.0, "padding of {sizes:?} at {at}");
            *y = f32::NAN;
        }
    }
    y
}

fn planes(sizes: (usize, usize, usize), x: &[f32]) -> Vec<f32> {
    let mut y = vec![9.0; sizes.0 * sizes.1 * sizes.2];
    from_blocks(Isa::detect(), &Three, sizes, x, &mut y);
    y
}

/// A window that fits, of random strides, dilations and paddings.
fn window(r: &mut Random, is_small: bool) -> Window {
    let most = if is_small { 9 } else { 33 };
    let mut win = Window {
        input: [1, r.to(1, most), r.to(1, most)],
        output: [1; 3],
        kernel: [1; 3],
        strides: [1; 3],
        dilations: [1; 3],
        pads: [0; 3],
    };
    let is_pointwise = r.to(0, 3) == 0;
    for a in 1..3 {
        let kernel = if is_pointwise { 1 } else { r.pick(&[1, 2, 3, 3, 5, 7]) };
        let dilation = r.pick(&[1, 1, 1, 2, 3]);
        win.strides[a] = r.pick(&[1, 1, 2, 2, 3]);
        let pads = if r.to(0, 2) == 0 { [0, 0] } else { [r.to(0, 3), r.to(0, 3)] };
        let room = win.input[a] + pads[0] + pads[1];
        let reach = (kernel - 1) * dilation + 1;
        (win.kernel[a], win.dilations[a]) = if reach > room { (1, 1) } else { (kernel, dilation) };
        let reach = (win.kernel[a] - 1) * win.dilations[a] + 1;
        win.pads[a] = pads[0];
        win.output[a] = (room - reach) / win.strides[a] + 1;
    }
    win
}

/// The convolution by its definition in double precision, with a bound for the sums of products.
fn definition(shape: &ConvShape, x: &[f32], w: &[f32], bias: &[f32]) -> Vec<(f64, f64)> {
    let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let (x, w, bias) = (wide(x), wide(w), wide(bias));
    let run = |x: &[f64], w: &[f64], bias: &[f64]| {
        let o = direct::Operands { x, x_zero: 0.0, w, w_zero: &[0.0], bias: Some(bias) };
        let mut y = vec![0.0; shape.output_len()];
        direct::conv(Isa::Scalar, &Serial, shape, &o, 0.0, &mut y);
        y
    };
    let y = run(&x, &w, &bias);
    let size = |v: &[f64]| v.iter().map(|v| v.abs()).collect::<Vec<_>>();
    y.into_iter().zip(run(&size(&x), &size(&w), &size(&bias))).collect()
}

/// `|y - want|` is at most the rounding of so many additions in single precision.
fn check(label: &str, terms: usize, y: &[f32], want: &[(f64, f64)]) {
    assert_eq!(y.len(), want.len(), "{label}");
    for (i, (&y, &(want, size))) in y.iter().zip(want).enumerate() {
        let bound = (terms + 4) as f64 * f64::from(f32::EPSILON) * (size + 1e-3);
        assert!((f64::from(y) - want).abs() <= bound, "{label}: [{i}] {y} for {want} +- {bound}");
    }
}

#[test]
fn convolutions_agree_with_the_definition() {
    let mut gates = 0;
    for seed in 0..120 {
        let mut r = Random(seed);
        let mut window = window(&mut r, seed % 2 == 0);
        if seed % 4 == 1 {
            // One pixel, which gates stand before.
            let input = window.input;
            let ones = [1; 3];
            window = Window {
                input,
                output: input,
                kernel: ones,
                strides: ones,
                dilations: ones,
                pads: [0; 3],
            };
        }
        let source = r.pick(&[Source::Blocks, Source::Blocks, Source::Planes]);
        let most = if source == Source::Planes { 5 } else { 40 };
        let shape = ConvShape {
            batch: r.to(1, 3),
            groups: 1,
            in_channels: r.to(1, most),
            out_channels: r.to(1, 70),
            window,
        };
        let (x, w) = (r.numbers(shape.input_len()), r.numbers(shape.weights_len()));
        let bias = r.numbers(shape.out_channels);
        let residual = r.numbers(shape.output_len());
        let has_residual = r.to(0, 1) == 1;
        let activation = r.pick(&[Activation::None, Activation::Relu, Activation::HardSwish]);
        let has_gate = window.is_pointwise() && source == Source::Blocks && r.to(0, 2) > 0;
        let each_image = r.to(0, 1) == 1;
        let gate = r.numbers(shape.in_channels * if each_image { shape.batch } else { 1 });
        let gated = x.iter().enumerate().map(|(at, x)| {
            let channel = at / window.input_len();
            let channel = if each_image { channel } else { channel % shape.in_channels };
            if has_gate { x * gate[channel] } else { *x }
        });
        let gated: Vec<f32> = gated.collect();
        gates += usize::from(has_gate);
        let mut want = definition(&shape, &gated, &w, &bias);
        for (want, residual) in want.iter_mut().zip(&residual) {
            if has_residual {
                want.0 += f64::from(*residual);
                want.1 += f64::from(residual.abs());
            }
            let (x, size) = *want;
            *want = match activation {
                Activation::Relu => (x.max(0.0), size),
                Activation::HardSwish => (x * (x / 6.0 + 0.5).clamp(0.0, 1.0), size * (1.0 + size)),
                _ => *want,
            };
        }
        let sizes_in = (shape.batch, shape.in_channels, window.input_len());
        let sizes_out = (shape.batch, shape.out_channels, window.output_len());
        let x = if source == Source::Blocks { poisoned(sizes_in, &x) } else { x };
        let residual = poisoned(sizes_out, &residual);
        let mut wide = vec![0.0; blocks(shape.out_channels) * BLOCK];
        wide[..bias.len()].copy_from_slice(&bias);
        for isa in Isa::available() {
            let sizes = (shape.out_channels, shape.in_channels, window.taps());
            let mut weights = vec![7.0; packed_len(sizes.0, sizes.1, sizes.2)];
            pack_weights(isa, source, sizes, &w, &mut weights);
            let operands = Conv {
                shape,
                source,
                x: &x,
                weights: &weights,
                bias: &wide,
                residual: has_residual.then_some(&residual),
                gate: has_gate.then_some(&gate),
                activation,
            };
            let run = |par: &dyn Parallel| {
                let mut y = vec![f32::NAN; residual.len()];
                let mut scratch = vec![f32::NAN; conv_scratch_len(&shape, source, has_gate)];
                conv(isa, par, &operands, &mut y, &mut scratch);
                planes(sizes_out, &y)
            };
            let (y, threads) = (run(&Serial), run(&Three));
            let label = std::format!("seed {seed} {isa:?} {shape:?} {source:?} {activation:?}");
            check(&label, shape.depth(), &y, &want);
            let bits = |y: &[f32]| y.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&y), bits(&threads), "{label}");
        }
    }
    assert!(gates >= 5, "{gates} convolutions have gates");
}

#[test]
fn depthwise_agrees_with_the_definition() {
    for seed in 0..120 {
        let mut r = Random(seed);
        let window = window(&mut r, seed % 2 == 0);
        check_depthwise(seed, &mut r, window);
    }
}

/// The windows that image nets have, which are computed in tiles, and those beside them: rows as narrow as a tile and
/// narrower, more padding than half a window, rows without any tap.
#[test]
fn depthwise_of_known_windows_agrees_with_the_definition() {
    for seed in 0..160 {
        let mut r = Random(1000 + seed);
        let (taps, stride) = (r.pick(&[3, 5]), r.pick(&[1, 2]));
        let mut win = Window {
            input: [1, r.to(1, 12), r.pick(&[5, 7, 8, 14, 15, 20, 28, 33]) * stride],
            output: [1; 3],
            kernel: [1, taps, taps],
            strides: [1, r.to(1, 3), stride],
            dilations: [1, r.pick(&[1, 1, 2]), 1],
            pads: [0; 3],
        };
        for a in 1..3 {
            let reach = (taps - 1) * win.dilations[a] + 1;
            let half = reach / 2;
            let pads =
                r.pick(&[[half, half], [half, half], [0, 0], [0, half], [half, 0], [reach, half]]);
            win.pads[a] = pads[0];
            // At least as much padding as makes one output.
            let room = (win.input[a] + pads[0] + pads[1]).max(reach);
            win.output[a] = (room - reach) / win.strides[a] + 1;
        }
        check_depthwise(1000 + seed, &mut r, win);
    }
}

fn check_depthwise(seed: u64, r: &mut Random, window: Window) {
    let (batch, groups) = (r.to(1, 3), r.to(1, 40));
    let shape = ConvShape { batch, groups, in_channels: 1, out_channels: 1, window };
    let (x, w) = (r.numbers(shape.input_len()), r.numbers(shape.weights_len()));
    let bias = r.numbers(groups);
    let want = definition(&shape, &x, &w, &bias);
    let clipped: Vec<_> = want.iter().map(|(y, size)| (y.clamp(-0.25, 0.5), *size)).collect();
    let x = poisoned((batch, groups, window.input_len()), &x);
    let mut weights = vec![7.0; blocks(groups) * window.taps() * BLOCK];
    pack_depthwise(groups, window.taps(), &w, &mut weights);
    let mut wide = vec![0.0; blocks(groups) * BLOCK];
    wide[..groups].copy_from_slice(&bias);
    for isa in Isa::available() {
        for par in [&Serial as &dyn Parallel, &Three] {
            let label = std::format!("seed {seed} {isa:?} {shape:?}");
            let run = |activation| {
                let mut y = vec![f32::NAN; batch * blocks(groups) * window.output_len() * BLOCK];
                let operands =
                    Depthwise { shape, x: &x, weights: &weights, bias: &wide, activation };
                depthwise(isa, par, &operands, &mut y, None);
                let (mut again, mut means) = (y.clone(), vec![f32::NAN; batch * groups]);
                depthwise(isa, par, &operands, &mut again, Some(&mut means));
                let y = planes((batch, groups, window.output_len()), &y);
                assert_eq!(planes((batch, groups, window.output_len()), &again), y, "{label}");
                check_means(&label, window.output_len(), &y, &means);
                y
            };
            let y = run(Activation::None);
            check(&label, window.taps(), &y, &want);
            let clip = Activation::Clip { lo: -0.25, hi: 0.5 };
            check(&std::format!("{label} {clip:?}"), window.taps(), &run(clip), &clipped);
            let mut swish = y;
            activate_slice(isa, Activation::HardSwish, &mut swish);
            assert_eq!(run(Activation::HardSwish), swish, "{label} hard swish");
        }
    }
}

/// `means` are those of planes of so many pixels.
fn check_means(label: &str, pixels: usize, planes: &[f32], means: &[f32]) {
    let of = |x: &[f32]| {
        let sum = |f: fn(f64) -> f64| x.iter().map(|&x| f(f64::from(x))).sum::<f64>();
        (sum(|x| x) / pixels as f64, sum(f64::abs) / pixels as f64)
    };
    let want: Vec<_> = planes.chunks_exact(pixels).map(of).collect();
    check(&std::format!("means, {label}"), pixels, means, &want);
}

#[test]
fn pools_agree_with_those_of_planes() {
    for seed in 0..60 {
        let mut r = Random(seed);
        let win = window(&mut r, true);
        let (batch, channels) = (r.to(1, 3), r.to(1, 40));
        let x = r.numbers(batch * channels * win.input_len());
        let count = r.pick(&[AverageCount::Inside, AverageCount::Padded([0, 1, 2])]);
        let (sizes, planes_of_x) = ((batch, channels, win.output_len()), batch * channels);
        let blocked = poisoned((batch, channels, win.input_len()), &x);
        let count_of_blocks = batch * blocks(channels);
        for isa in Isa::available() {
            let label = std::format!("seed {seed} {isa:?} {win:?}");
            let mut want = vec![0.0; batch * channels * win.output_len()];
            let mut y = vec![f32::NAN; count_of_blocks * win.output_len() * BLOCK];
            pool::max(isa, &Serial, &win, planes_of_x, &x, &mut want);
            max_pool(isa, &Three, &win, count_of_blocks, &blocked, &mut y);
            assert_eq!(planes(sizes, &y), want, "largest, {label}");
            pool::average(isa, &Serial, &win, count, planes_of_x, &x, &mut want);
            average_pool(isa, &Three, &win, count, count_of_blocks, &blocked, &mut y);
            let wide: Vec<_> = want.iter().map(|&w| (f64::from(w), 1.0)).collect();
            check(&std::format!("mean, {label}"), win.taps(), &planes(sizes, &y), &wide);
        }
    }
}

#[test]
fn the_largest_of_numbers_and_nan_is_a_number() {
    let ones = [1; 3];
    let win = Window {
        input: [1, 1, 3],
        output: [1, 1, 2],
        kernel: [1, 1, 2],
        strides: ones,
        dilations: ones,
        pads: [0; 3],
    };
    let x = poisoned((1, 1, 3), &[f32::NAN, -3.0, f32::NAN]);
    for isa in Isa::available() {
        let mut y = [0.0; 2 * BLOCK];
        max_pool(isa, &Serial, &win, 1, &x, &mut y);
        assert_eq!(planes((1, 1, 2), &y), [-3.0, -3.0], "{isa:?}");
    }
}

#[test]
fn means_and_factors() {
    for seed in 0..40 {
        let mut r = Random(seed);
        let sizes @ (batch, channels, pixels) = (r.to(1, 3), r.to(1, 50), r.to(1, 300));
        let x = r.numbers(batch * channels * pixels);
        let blocked = poisoned(sizes, &x);
        let each_image = r.to(0, 1) == 1;
        let scale = r.numbers(channels * if each_image { batch } else { 1 });
        let shift = r.numbers(channels);
        let (has_shift, activation) =
            (r.to(0, 1) == 1, r.pick(&[Activation::Relu, Activation::HardSwish, Activation::None]));
        for isa in Isa::available() {
            let label = std::format!("seed {seed} {isa:?} {sizes:?} {each_image} {activation:?}");
            let mut mean = vec![f32::NAN; batch * channels];
            global_average(isa, &Three, sizes, &blocked, &mut mean);
            let want: Vec<_> = x
                .chunks_exact(pixels)
                .map(|x| (x.iter().map(|&x| f64::from(x)).sum::<f64>() / pixels as f64, 1.0))
                .collect();
            check(&label, pixels, &mean, &want);
            let factors = Factors {
                scale: &scale,
                each_image,
                shift: has_shift.then_some(&shift),
                activation,
            };
            let mut y = vec![f32::NAN; blocked.len()];
            affine(isa, &Three, sizes, &blocked, &factors, &mut y);
            let of = |at: usize| {
                let channel = at / pixels % channels;
                let row = if each_image { at / pixels / channels * channels } else { 0 };
                let shift = if has_shift { f64::from(shift[channel]) } else { 0.0 };
                let v = f64::from(x[at]) * f64::from(scale[row + channel]) + shift;
                match activation {
                    Activation::Relu => (v.max(0.0), 2.0),
                    Activation::HardSwish => (v * (v / 6.0 + 0.5).clamp(0.0, 1.0), 4.0),
                    _ => (v, 2.0),
                }
            };
            let want: Vec<_> = (0..x.len()).map(of).collect();
            check(&label, 1, &planes(sizes, &y), &want);
        }
    }
}

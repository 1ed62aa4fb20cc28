//! Convolutions of bytes against their definition, on every instruction set.

extern crate std;
use super::*;
use crate::conv::direct;
use crate::conv::tests::{Three, cases};
use crate::gemm::Activation;
use crate::gemm::integer::Along;
use crate::{Parallel, Serial};
use std::vec;
use std::vec::Vec;

/// Bytes that look random.
fn bytes(n: usize, seed: u32) -> Vec<u8> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [0, 255, 127, 128, (x >> 24) as u8, (x >> 16) as u8][(x >> 8) as usize % 6]
        })
        .collect()
}

/// `[images, channels, places]` with channels last.
pub(super) fn last<T: Copy>(planes: &[T], channels: usize, places: usize) -> Vec<T> {
    let image = channels * places;
    let at = |i: usize| i / image * image + i % channels * places + i % image / channels;
    (0..planes.len()).map(|i| planes[at(i)]).collect()
}

pub(super) trait TestByte: Byte + direct::Term<i32> {
    fn of(bits: u8) -> Self;
}

impl TestByte for u8 {
    fn of(bits: u8) -> u8 {
        bits
    }
}

impl TestByte for i8 {
    fn of(bits: u8) -> i8 {
        bits as i8
    }
}

pub(super) struct Operands<X, W> {
    pub x: Vec<X>,
    pub x_zero: X,
    pub w: Vec<W>,
    pub w_zero: Vec<W>,
}

impl<X: TestByte, W: TestByte> Operands<X, W> {
    pub fn new(shape: &ConvShape, each: bool, seed: u32) -> Operands<X, W> {
        let zeros = if each { shape.groups * shape.out_channels } else { 1 };
        Operands {
            x: bytes(shape.input_len(), seed).into_iter().map(X::of).collect(),
            x_zero: X::of(bytes(9, seed + 1)[8]),
            w: bytes(shape.weights_len(), seed + 2).into_iter().map(W::of).collect(),
            w_zero: bytes(zeros, seed + 3).into_iter().map(W::of).collect(),
        }
    }

    pub fn definition(&self, shape: &ConvShape) -> Vec<i32> {
        let operands = direct::Operands {
            x: &self.x,
            x_zero: self.x_zero.widen(),
            w: &self.w,
            w_zero: &self.w_zero,
            bias: None,
        };
        let mut y = vec![0; shape.output_len()];
        direct::conv(Isa::Scalar, &Serial, shape, &operands, 0, &mut y);
        y
    }

    fn run(&self, isa: Isa, par: &dyn Parallel, shape: &ConvShape, target: Target<'_>) {
        let (rows, taps) = (shape.groups * shape.out_channels, shape.window.taps());
        let mut packed = vec![99; filters_len(rows, shape.in_channels, taps)];
        pack(rows, shape.in_channels, taps, &self.w, &mut packed);
        let zero: Vec<u8> = self.w_zero.iter().map(|w| unsigned(*w)).collect();
        let filters = Filters { packed: &packed, zero: &zero };
        let mut scratch = vec![-7; scratch_len(isa, shape)];
        conv(isa, par, shape, filters, &self.x, self.x_zero, target, &mut scratch);
    }
}

fn check<X: TestByte, W: TestByte>(label: &str, shape: &ConvShape, seed: u32) {
    for each in [false, true] {
        let operands = Operands::<X, W>::new(shape, each, seed);
        let want = operands.definition(shape);
        for isa in Isa::available() {
            for par in [&Serial as &dyn Parallel, &Three] {
                let mut y = vec![i32::MIN; want.len() + 3];
                operands.run(isa, par, shape, Target::Sums(&mut y));
                assert_eq!(y[..want.len()], want, "{label} {isa:?} {each} seed {seed}");
                assert_eq!(y[want.len()..], [i32::MIN; 3], "{label} {isa:?} wrote behind");
            }
        }
    }
}

#[test]
fn sums_are_those_of_the_definition() {
    let mut products = 0;
    for (i, (label, shape)) in cases().into_iter().enumerate() {
        if !is_product(shape.groups, shape.in_channels) {
            continue;
        }
        products += 1;
        check::<u8, i8>(label, &shape, i as u32);
        check::<u8, u8>(label, &shape, i as u32);
        check::<i8, i8>(label, &shape, i as u32);
        check::<i8, u8>(label, &shape, i as u32);
    }
    assert!(products > 6, "{products} products");
}

#[test]
fn bytes_and_floats_are_those_of_the_sums() {
    for (label, shape) in cases() {
        if !is_product(shape.groups, shape.in_channels) {
            continue;
        }
        let (channels, len) = (shape.groups * shape.out_channels, shape.window.output_len());
        let operands = Operands::<u8, i8>::new(&shape, false, 3);
        let sums = operands.definition(&shape);
        let channel = |i: usize| i / len % channels;
        let scales: Vec<f32> = (0..channels).map(|c| 2e-5 * (c % 5 + 1) as f32).collect();
        let whole: Vec<i32> = (0..channels).map(|c| c as i32 * 977 - 5000).collect();
        let bias: Vec<f32> = (0..channels).map(|c| c as f32 * 0.5 - 3.0).collect();
        let want: Vec<u8> = (0..sums.len())
            .map(|i| {
                let sum = sums[i].wrapping_add(whole[channel(i)]) as f32;
                let rounded = (sum * scales[channel(i)]).round_ties_even() + 7.0;
                rounded.clamp(7.0, 200.0) as u8
            })
            .collect();
        let floats: Vec<f32> = (0..sums.len())
            .map(|i| {
                let scaled = sums[i] as f32 * (0.5 * scales[channel(i)]);
                (scaled + bias[channel(i)] + (i % 9) as f32).max(0.0)
            })
            .collect();
        let residual: Vec<f32> = (0..sums.len()).map(|i| (i % 9) as f32).collect();
        for isa in Isa::available() {
            let rounded = Rounded {
                scale: &scales,
                bias: Some(&whole),
                along: Along::Rows,
                zero: 7,
                limits: (7, 200),
            };
            let mut y = vec![1u8; want.len()];
            operands.run(isa, &Serial, &shape, Target::Bytes(&mut y, rounded));
            assert_eq!(y, want, "{label} {isa:?}");
            let scaled = Scaled {
                a_scale: 0.5,
                b_scale: &scales,
                bias: Some(&bias),
                along: Along::Rows,
                residual: Some(Residual { data: &residual, row_stride: len, scale: 1.0 }),
                activation: Activation::Relu,
            };
            let mut y = vec![f32::NAN; want.len()];
            operands.run(isa, &Serial, &shape, Target::Floats(&mut y, scaled));
            assert_eq!(y, floats, "{label} {isa:?}");
        }
    }
}

#[test]
fn planes_that_would_be_huge_are_not_made() {
    let of = |pads, dilations| {
        crate::conv::tests::shape([1, 1, 5, 3], [1, 3, 4], [1, 2, 2], [1, 3, 2], dilations, pads)
    };
    for shape in [of([0, 600, 0], [1, 1200, 3]), of([0, 3, 900], [1, 1, 1801])] {
        assert!(Plane::new(&shape.window, 5).is_none(), "{shape:?}");
        check::<u8, i8>("far padding", &shape, 5);
    }
}

#[test]
fn many_columns_are_cut_for_the_cache() {
    let input = [1, 40, 50];
    let shape =
        crate::conv::tests::shape([1, 1, 130, 15], input, [1, 3, 3], [1; 3], [1; 3], [0, 1, 1]);
    assert!(chunk(&shape) < shape.window.output_len());
    check::<u8, i8>("large", &shape, 5);
}

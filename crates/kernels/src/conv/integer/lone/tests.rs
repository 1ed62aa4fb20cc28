//! Convolutions of lone channels that lie together against their definition, on every instruction set.

extern crate std;
use super::super::tests::{Operands, TestByte, last};
use super::*;
use crate::Serial;
use crate::conv::tests::{Three, shape};
use crate::gemm::integer::{Along, Rounded};
use std::vec;
use std::vec::Vec;

fn cases() -> Vec<ConvShape> {
    let one = [1; 3];
    let mut cases = vec![
        shape([1, 16, 1, 1], [1, 9, 9], [1, 5, 5], [1, 2, 2], one, [0, 2, 2]),
        shape([2, 72, 1, 1], [1, 5, 8], [1, 3, 3], one, [1, 2, 2], [0, 2, 2]),
        shape([1, 40, 1, 1], [1, 1, 3], [1, 1, 7], one, one, [0, 0, 6]),
        shape([1, 33, 1, 1], [3, 4, 5], [2, 3, 3], one, one, [1, 1, 1]),
        shape([2, 24, 1, 1], [1, 6, 6], one, one, one, [0; 3]),
    ];
    cases.extend((1..36).map(|channels| {
        shape([2, channels, 1, 1], [1, 3, 6], [1, 3, 3], [1, 1, 2], one, [0, 1, 1])
    }));
    cases
}

fn check<X: TestByte, W: TestByte>(shape: &ConvShape, each: bool, seed: u32) {
    let mut operands = Operands::<X, W>::new(shape, each, seed);
    let (channels, taps) = (shape.groups, shape.window.taps());
    let label = std::format!("{shape:?} {each} seed {seed}");
    // Zero points in the middle, and weights so near that differences are signed bytes.
    let middle = if W::SIGNED { 0x00 } else { 0x80 };
    operands.w_zero.iter_mut().for_each(|zero| *zero = W::of(middle));
    assert!(fits(taps, &operands.w, &operands.w_zero), "{label}");
    if let Some(zero) = operands.w_zero.last_mut() {
        *zero = W::of(middle ^ 3);
    }
    if each {
        // The last filter alone has another zero point.
        let near = W::of(middle ^ 0x55);
        operands.w[(channels - 1) * taps..].fill(near);
        assert!(fits(taps, &operands.w, &operands.w_zero), "{label}");
    } else {
        operands.w.iter_mut().for_each(|w| *w = W::of(middle ^ (w.bits() & 0x3f)));
    }
    let mut packed = vec![0x5a5a; packed_len(channels, taps)];
    pack(channels, taps, &operands.w, &operands.w_zero, &mut packed);
    let outputs = shape.window.output_len();
    let sums = last(&operands.definition(shape), channels, outputs);
    let scale: Vec<f32> = (0..channels).map(|c| 1e-3 * (c % 5 + 1) as f32).collect();
    let bias: Vec<i32> = (0..channels).map(|c| c as i32 * 977 - 5000).collect();
    let bytes: Vec<u8> = (0..sums.len())
        .map(|i| {
            let sum = sums[i].wrapping_add(bias[i % channels]) as f32;
            ((sum * scale[i % channels]).round_ties_even() + 9.0).clamp(0.0, 255.0) as u8
        })
        .collect();
    // No more than there is: what lies behind must not be read.
    let x = last(&operands.x, channels, shape.window.input_len()).into_boxed_slice();
    for isa in Isa::available() {
        for par in [&Serial as &dyn Parallel, &Three] {
            let mut scratch = vec![-7; scratch_len(shape)];
            let mut y = vec![i32::MIN; sums.len() + 3];
            let target = Target::Sums(&mut y);
            conv(isa, par, shape, &x, operands.x_zero, &packed, target, &mut scratch);
            assert_eq!(y[..sums.len()], sums, "{label} {isa:?}");
            assert_eq!(y[sums.len()..], [i32::MIN; 3], "{label} {isa:?} wrote behind");
            let mut y = vec![1u8; sums.len()];
            let (along, limits) = (Along::Columns, (0, 255));
            let rounded = Rounded { scale: &scale, bias: Some(&bias), along, zero: 9, limits };
            let target = Target::Bytes(&mut y, rounded);
            conv(isa, par, shape, &x, operands.x_zero, &packed, target, &mut scratch);
            assert_eq!(y, bytes, "{label} {isa:?}");
        }
    }
}

#[test]
fn sums_and_bytes_are_those_of_the_definition() {
    for (i, shape) in cases().into_iter().enumerate() {
        for each in [false, true] {
            check::<u8, i8>(&shape, each, i as u32);
            check::<u8, u8>(&shape, each, i as u32);
            check::<i8, i8>(&shape, each, i as u32);
        }
    }
}

#[test]
fn differences_that_are_no_signed_bytes_do_not_fit() {
    assert!(fits(2, &[255u8, 0, 127], &[128, 0]));
    assert!(!fits(1, &[255u8, 0], &[127]));
    assert!(!fits(1, &[-128i8], &[1]));
    assert!(fits(1, &[-128i8, 127], &[0]));
}

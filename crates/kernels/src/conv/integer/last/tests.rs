//! Convolutions of bytes whose channels lie together against their definition, on every instruction set.

extern crate std;
use super::super::tests::{Operands, TestByte, last};
use super::*;
use crate::Serial;
use crate::conv::tests::{Three, cases, shape};
use crate::gemm::integer::{Along, Rounded, pack, packed_len};
use std::vec;
use std::vec::Vec;

fn run<X: TestByte, W: TestByte>(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    operands: &Operands<X, W>,
    target: Target<'_>,
) {
    let (n, k, taps) = (shape.out_channels, shape.depth(), shape.window.taps());
    // From `[filters, channels, taps]` to columns of `[taps, channels]`.
    let w = last(&operands.w, shape.in_channels, taps);
    let mut packed = vec![0x5a5a; packed_len(k, n)];
    pack(k, n, MatRef::transposed(&w, k), &mut packed);
    let zero = match operands.w_zero[..] {
        [one] => ZeroPoint::One(one),
        ref each => ZeroPoint::Each(each),
    };
    let filters = Right { matrix: None, packed: Some(&packed), zero };
    let x = last(&operands.x, shape.in_channels, shape.window.input_len());
    let mut scratch = vec![-7; scratch_len::<X, W>(isa, shape)];
    conv(isa, par, shape, &x, operands.x_zero, filters, target, &mut scratch);
}

fn check<X: TestByte, W: TestByte>(label: &str, shape: &ConvShape, seed: u32) {
    for each in [false, true] {
        let operands = Operands::<X, W>::new(shape, each, seed);
        let outputs = shape.window.output_len();
        let want = last(&operands.definition(shape), shape.out_channels, outputs);
        for isa in Isa::available() {
            for par in [&Serial as &dyn Parallel, &Three] {
                let mut y = vec![i32::MIN; want.len() + 3];
                run(isa, par, shape, &operands, Target::Sums(&mut y));
                assert_eq!(y[..want.len()], want, "{label} {isa:?} {each} seed {seed}");
                assert_eq!(y[want.len()..], [i32::MIN; 3], "{label} {isa:?} wrote behind");
            }
        }
    }
}

#[test]
fn sums_are_those_of_the_definition() {
    let mut checked = 0;
    for (i, (label, shape)) in cases().into_iter().enumerate() {
        if shape.groups > 1 {
            continue;
        }
        checked += 1;
        check::<u8, i8>(label, &shape, i as u32);
        check::<u8, u8>(label, &shape, i as u32);
        check::<i8, i8>(label, &shape, i as u32);
        check::<i8, u8>(label, &shape, i as u32);
    }
    assert!(checked > 6, "{checked} convolutions");
}

#[test]
fn runs_of_every_length_are_copied() {
    for channels in (1..40).chain([63, 64, 65, 127, 130]) {
        let of = |dilation| {
            let dilations = [1, 1, dilation];
            shape([1, 1, channels, 3], [1, 3, 7], [1, 2, 3], [1, 1, 2], dilations, [0, 1, 3])
        };
        check::<u8, i8>("runs", &of(1), channels as u32);
        check::<i8, i8>("taps", &of(2), channels as u32);
    }
    let nothing = shape([1, 1, 0, 3], [1, 3, 7], [1, 2, 3], [1; 3], [1; 3], [0; 3]);
    check::<u8, i8>("no channels", &nothing, 1);
}

#[test]
fn many_rows_are_cut_for_the_cache() {
    let shape = shape([2, 1, 130, 5], [1, 20, 25], [1, 3, 3], [1; 3], [1; 3], [0, 1, 1]);
    assert!(rows(&shape) < shape.window.output_len());
    check::<u8, i8>("large", &shape, 5);
    let operands = Operands::<u8, i8>::new(&shape, true, 6);
    let sums = last(&operands.definition(&shape), 5, shape.window.output_len());
    let (scale, bias) = ([1e-4, 2e-4, 3e-4, 4e-4, 5e-4], [7, -900, 1000, -77, 0]);
    let want: Vec<u8> = (0..sums.len())
        .map(|i| {
            let sum = sums[i].wrapping_add(bias[i % 5]) as f32;
            ((sum * scale[i % 5]).round_ties_even() + 9.0).clamp(9.0, 200.0) as u8
        })
        .collect();
    for isa in Isa::available() {
        let mut y = vec![1u8; want.len()];
        let (along, limits) = (Along::Columns, (9, 200));
        let rounded = Rounded { scale: &scale, bias: Some(&bias), along, zero: 9, limits };
        run(isa, &Three, &shape, &operands, Target::Bytes(&mut y, rounded));
        assert_eq!(y, want, "{isa:?}");
    }
}

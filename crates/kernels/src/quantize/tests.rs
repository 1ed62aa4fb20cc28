//! Every form against its definition, on every instruction set.

use super::*;
use crate::{Isa, Serial};

#[test]
fn scales_by_tensor_axis_and_block() {
    let x = [0.0, 2.5, 3.5, -1.5, 6.0, 127.4];
    let cases: [(&str, Scales, &[f32], &[f32], [f32; 6]); 4] = [
        ("tensor", Scales::single(6), &[1.0], &[], [0.0, 2.0, 4.0, -2.0, 6.0, 127.0]),
        (
            "rows",
            Scales { outer: 1, axis: 2, inner: 3, block: 1, whole: false },
            &[0.5, 2.0],
            &[0.0, 10.0],
            [0.0, 5.0, 7.0, 9.0, 13.0, 74.0],
        ),
        (
            "columns",
            Scales { outer: 2, axis: 3, inner: 1, block: 1, whole: false },
            &[1.0, 0.5, 2.0],
            &[1.0, 2.0, 3.0],
            [1.0, 7.0, 5.0, -1.0, 14.0, 67.0],
        ),
        (
            "blocks of two columns",
            Scales { outer: 2, axis: 3, inner: 1, block: 2, whole: true },
            &[1.0, 2.0, 0.5, 4.0],
            &[],
            [0.0, 2.0, 2.0, -3.0, 12.0, 32.0],
        ),
    ];
    for isa in Isa::available() {
        for (label, scales, scale, zero, want) in cases {
            let mut got = [0.0; 6];
            quantize(isa, &scales, &x, scale, zero, false, &mut got);
            assert_eq!(got, want, "{label}");
        }
        let mut back = [0.0; 2];
        let scales = Scales { outer: 1, axis: 2, inner: 1, block: 1, whole: false };
        dequantize(isa, &scales, &[3.0, 4.0], &[2.0, 0.5], &[1.0, 0.0], &mut back);
        assert_eq!(back, [4.0, 2.0]);
        assert_eq!(dynamic_scale(isa, &[]), (1.0, 0));
        assert_eq!(dynamic_scale(isa, &[-1.0, 0.5, 254.0]), (1.0, 1));
    }
    let mut bytes = [0u8; 4];
    limit(&[-3.0, 300.0, f32::NAN, 7.0], &mut bytes);
    assert_eq!(bytes, [0, 255, 0, 7]);
}

#[test]
fn bytes_are_those_of_the_steps_one_by_one() {
    let x: [f32; 41] = core::array::from_fn(|i| match i {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => 1e30,
        _ => (i as f32 - 20.0) * 9.25,
    });
    for isa in Isa::available() {
        for len in [0, 1, 5, 16, 33, 41] {
            for (scale, zero) in [(0.5, 0), (0.5, 7), (1.5, 128), (3.0, 255), (1.0, 20)] {
                let x = &x[..len];
                let mut whole = [0.0; 41];
                let zeros = [f32::from(zero)];
                let all = Scales::single(len);
                quantize(isa, &all, x, &[scale], &zeros, false, &mut whole[..len]);
                let (mut want, mut got) = ([0u8; 41], [9u8; 41]);
                limit(&whole[..len], &mut want[..len]);
                quantize_bytes(isa, &Serial, x, scale, zero, &mut got[..len]);
                assert_eq!(got[..len], want[..len], "{isa:?} {len} {scale} {zero}");
                assert!(got[len..].iter().all(|&x| x == 9), "{isa:?} {len} wrote behind");
                let signed = [f32::from(zero as i8)];
                quantize(isa, &all, x, &[scale], &signed, false, &mut whole[..len]);
                let (mut want, mut got) = ([0i8; 41], [9i8; 41]);
                limit(&whole[..len], &mut want[..len]);
                quantize_bytes(isa, &Serial, x, scale, zero as i8, &mut got[..len]);
                assert_eq!(got[..len], want[..len], "{isa:?} {len} {scale} {zero} signed");
            }
        }
    }
}

#[test]
fn the_range_is_that_of_all_numbers() {
    for isa in Isa::available() {
        for at in [0, 17, 63, 64, 130, 136] {
            let mut x = [0.0; 137];
            x[at] = 510.0;
            assert_eq!(dynamic_scale(isa, &x), (2.0, 0), "{isa:?} {at}");
            x[at] = -255.0;
            assert_eq!(dynamic_scale(isa, &x), (1.0, 255), "{isa:?} {at}");
        }
    }
}

#[test]
fn numbers_of_bytes_and_their_sums_are_those_of_the_steps_one_by_one() {
    let (x, y): ([u8; 70], [u8; 70]) = (
        core::array::from_fn(|i| (i * 37 % 256) as u8),
        core::array::from_fn(|i| (255 - i * 91 % 256) as u8),
    );
    let (a, b) = ((0.5f32, 7u8), (0.013f32, 255u8));
    for isa in Isa::available() {
        for len in [0, 1, 15, 16, 33, 70] {
            let (mut p, mut q) = ([9.0f32; 70], [9.0f32; 70]);
            dequantize_bytes(isa, &Serial, &x[..len], a.0, a.1, &mut p[..len]);
            dequantize_bytes(isa, &Serial, &y[..len], b.0, b.1, &mut q[..len]);
            assert!(p[len..].iter().all(|&x| x == 9.0), "{isa:?} {len} wrote behind");
            for i in 0..len {
                let want = (f32::from(x[i]) - 7.0) * 0.5;
                assert!(p[i].to_bits() == want.to_bits(), "{isa:?} {i}");
            }
            for (scale, zero, limits) in [
                (0.25, 3u8, (0, 255)),
                (0.7, 128, (128, 255)),
                (1.0, 0, (0, 60)),
                (0.0, 9, (0, 255)),
            ] {
                let (mut want, mut got) = ([0u8; 70], [9u8; 70]);
                let sums: [f32; 70] = core::array::from_fn(|i| p[i] + q[i]);
                quantize_bytes(isa, &Serial, &sums[..len], scale, zero, &mut want[..len]);
                let of = |q, (scale, zero)| Addend { q, scale, zero };
                let both = [of(&x[..len], a), of(&y[..len], b)];
                add_bytes(isa, &Serial, both, (scale, zero), limits, &mut got[..len]);
                for i in 0..len {
                    let want = i32::from(want[i]).clamp(limits.0, limits.1);
                    assert_eq!(i32::from(got[i]), want, "{isa:?} {len} {i} {scale} {zero}");
                }
                assert!(got[len..].iter().all(|&x| x == 9), "{isa:?} {len} wrote behind");
            }
        }
    }
}

#[test]
fn bytes_are_looked_up() {
    let table: [u8; 256] = core::array::from_fn(|i| (i * 7919 + 13) as u8);
    for len in [0, 1, 63, 64, 65, 300] {
        let x: [u8; 300] = core::array::from_fn(|i| (i * 149 + len) as u8);
        for isa in Isa::available() {
            let mut y = [0; 300];
            look_up(isa, &Serial, &table, &x[..len], &mut y[..len]);
            for i in 0..len {
                assert_eq!(y[i], table[usize::from(x[i])], "{isa:?} {len}: [{i}]");
            }
            assert!(y[len..].iter().all(|y| *y == 0), "{isa:?} {len} wrote behind");
        }
    }
}

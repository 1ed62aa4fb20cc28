extern crate std;

use super::*;
use std::vec::Vec;

#[test]
fn floats_out_of_range_become_integers() {
    let x = [1.9f32, -1.9, 300.0, -1.0, f32::NAN, 1e20];
    let mut bytes = [0u8; 6];
    cast(&x, &mut bytes);
    assert_eq!(bytes[..5], [1, 255, 44, 255, 0]);
    let mut wide = [0i64; 6];
    cast(&x, &mut wide);
    assert_eq!(wide, [1, -1, 300, -1, 0, i64::MAX]);
    let mut unsigned = [0u32; 4];
    cast(&x[..4], &mut unsigned);
    assert_eq!(unsigned, [1, u32::MAX, 300, u32::MAX]);
    let mut truths = [9u8; 6];
    to_truth(&[0.0f32, -0.0, f32::NAN, 0.1, -3.0, 0.0], &mut truths);
    assert_eq!(truths, [0, 0, 1, 1, 1, 0]);
}

#[test]
fn integers_drop_upper_bits() {
    let mut bytes = [0i8; 3];
    cast(&[200i16, -129, 5], &mut bytes);
    assert_eq!(bytes, [-56, 127, 5]);
    let mut packed = [0u8; 2];
    to_small(Small::I4, Saturation::Limit, E8Rounding::Up, &[7i64, -8, (1 << 40) + 3], &mut packed);
    assert_eq!(packed, [0x87, 0x03]);
    let mut back = [0f32; 3];
    from_small(Small::I4, &packed, &mut back);
    assert_eq!(back, [7.0, -8.0, 3.0]);
}

#[test]
fn every_small_float_survives() {
    let types =
        [Small::F8E4M3FN, Small::F8E4M3FNUZ, Small::F8E5M2, Small::F8E5M2FNUZ, Small::F8E8M0];
    for small in types {
        let codes: Vec<u8> = (0..=255).collect();
        let (mut wide, mut back) = ([0f32; 256], [0u8; 256]);
        from_small(small, &codes, &mut wide);
        to_small(small, Saturation::Overflow, E8Rounding::Nearest, &wide, &mut back);
        for i in 0..256 {
            assert!(back[i] == codes[i] || wide[i].is_nan(), "{small:?} {i:#x}");
        }
    }
}

#[test]
fn rounding_and_limits() {
    let cases: [(Small, Saturation, f32, u8); 14] = [
        (Small::F8E4M3FN, Saturation::Limit, 1e6, 0x7e),
        (Small::F8E4M3FN, Saturation::Overflow, -1e6, 0xff),
        (Small::F8E4M3FN, Saturation::Limit, f32::INFINITY, 0x7e),
        (Small::F8E4M3FN, Saturation::Limit, 464.0, 0x7e),
        (Small::F8E4M3FN, Saturation::Limit, 1.0625, 0x38),
        (Small::F8E4M3FN, Saturation::Limit, 1.1875, 0x3a),
        (Small::F8E4M3FNUZ, Saturation::Limit, -0.0, 0),
        (Small::F8E4M3FNUZ, Saturation::Overflow, 1e6, 0x80),
        (Small::F8E5M2, Saturation::Overflow, f32::NEG_INFINITY, 0xfc),
        (Small::F8E5M2, Saturation::Limit, f32::NEG_INFINITY, 0xfb),
        (Small::F8E5M2, Saturation::Overflow, f32::MAX, 0x7c),
        (Small::F4E2M1, Saturation::Limit, -8.0, 0xf),
        (Small::F4E2M1, Saturation::Limit, 0.25, 0),
        (Small::F4E2M1, Saturation::Limit, 5.0, 0x6),
    ];
    for (small, saturation, x, want) in cases {
        let mut got = [0u8];
        to_small(small, saturation, E8Rounding::Up, &[x], &mut got);
        assert_eq!(got[0], want, "{small:?} {saturation:?} {x}");
    }
    let powers: [(E8Rounding, f32, u8); 6] = [
        (E8Rounding::Up, 1.1, 128),
        (E8Rounding::Down, 1.9, 127),
        (E8Rounding::Nearest, 1.5, 128),
        (E8Rounding::Nearest, 1.49, 127),
        (E8Rounding::Up, 0.0, 0),
        (E8Rounding::Up, f32::INFINITY, 254),
    ];
    for (rounding, x, want) in powers {
        let mut got = [0u8];
        to_small(Small::F8E8M0, Saturation::Limit, rounding, &[x], &mut got);
        assert_eq!(got[0], want, "{rounding:?} {x}");
    }
}

//! The inverse cosine transform of blocks of 8 x 8, as libjpeg's slow integer one computes it: that of Loeffler, Ligtenberg and
//! Moschytz with 12 multiplications, constants in 13 bits, two more bits between its passes. Results are the same, bit by bit.

use std::array;

/// Bits of constants behind the point.
const BITS: u32 = 13;

/// Bits that are kept between the passes.
const KEPT: u32 = 2;

const fn fixed(x: f64) -> i32 {
    (x * (1 << BITS) as f64 + 0.5) as i32
}

/// Eight numbers of a column or row, whose sums are rounded by a shift. Numbers of damaged files wrap.
#[inline(always)]
fn transform(x: [i32; 8], shift: u32) -> [i32; 8] {
    let mul = |a: i32, by: f64| match by < 0.0 {
        true => a.wrapping_mul(-fixed(-by)),
        false => a.wrapping_mul(fixed(by)),
    };
    let (add, sub) = (i32::wrapping_add, i32::wrapping_sub);
    let z = mul(add(x[2], x[6]), 0.541_196_100);
    let (low, high) = (add(z, mul(x[6], -1.847_759_065)), add(z, mul(x[2], 0.765_366_865)));
    let (sum, rest) = (add(x[0], x[4]) << BITS, sub(x[0], x[4]) << BITS);
    let even = [add(sum, high), add(rest, low), sub(rest, low), sub(sum, high)];

    let (a, b, c, d) = (x[7], x[5], x[3], x[1]);
    let (z1, z2, z3, z4) = (add(a, d), add(b, c), add(a, c), add(b, d));
    let z5 = mul(add(z3, z4), 1.175_875_602);
    let (z1, z2) = (mul(z1, -0.899_976_223), mul(z2, -2.562_915_447));
    let z3 = add(mul(z3, -1.961_570_560), z5);
    let z4 = add(mul(z4, -0.390_180_644), z5);
    let odd = [
        add(mul(d, 1.501_321_110), add(z1, z4)),
        add(mul(c, 3.072_711_026), add(z2, z3)),
        add(mul(b, 2.053_119_869), add(z2, z4)),
        add(mul(a, 0.298_631_336), add(z1, z3)),
    ];
    let mut out = [0; 8];
    for i in 0..4 {
        let half = 1 << (shift - 1);
        out[i] = add(add(even[i], odd[i]), half) >> shift;
        out[7 - i] = add(sub(even[i], odd[i]), half) >> shift;
    }
    out
}

/// The samples of a block of coefficients in their natural order, each times its step.
pub fn idct(coefficients: &[i16; 64], steps: &[u16; 64]) -> [[u8; 8]; 8] {
    let step = |at: usize| i32::from(coefficients[at]).wrapping_mul(i32::from(steps[at]));
    let columns: [[i32; 8]; 8] =
        array::from_fn(|x| transform(array::from_fn(|y| step(8 * y + x)), BITS - KEPT));
    array::from_fn(|y| {
        let row = transform(columns.map(|column| column[y]), BITS + KEPT + 3);
        // 128 stands in the middle.
        row.map(|sample| sample.saturating_add(128).clamp(0, 255) as u8)
    })
}

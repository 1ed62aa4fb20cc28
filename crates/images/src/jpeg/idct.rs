//! The inverse cosine transform of blocks of 8 x 8, as libjpeg's slow integer one computes it: that of Loeffler, Ligtenberg and
//! Moschytz with 12 multiplications, constants in 13 bits, two more bits between its passes. Results are the same, bit by bit.

/// Bits of constants behind the point.
const BITS: u32 = 13;

/// Bits that are kept between the passes.
const KEPT: u32 = 2;

const fn fixed(x: f64) -> i32 {
    (x * (1 << BITS) as f64 + 0.5) as i32
}

/// Eight numbers side by side, which the compiler keeps in vectors.
type Lanes = [i32; 8];

#[inline(always)]
fn each(a: Lanes, b: Lanes, f: impl Fn(i32, i32) -> i32) -> Lanes {
    let mut out = [0; 8];
    for i in 0..8 {
        out[i] = f(a[i], b[i]);
    }
    out
}

/// Eight columns, or rows, whose sums are rounded by a shift. Numbers of damaged files wrap.
#[inline(always)]
fn transform(x: [Lanes; 8], shift: u32) -> [Lanes; 8] {
    let mul = |a: Lanes, by: f64| {
        let by = if by < 0.0 { -fixed(-by) } else { fixed(by) };
        each(a, a, |a, _| a.wrapping_mul(by))
    };
    let add = |a, b| each(a, b, i32::wrapping_add);
    let sub = |a, b| each(a, b, i32::wrapping_sub);
    let wide = |a| each(a, a, |a, _| a << BITS);
    let z = mul(add(x[2], x[6]), 0.541_196_100);
    let (low, high) = (add(z, mul(x[6], -1.847_759_065)), add(z, mul(x[2], 0.765_366_865)));
    let (sum, rest) = (wide(add(x[0], x[4])), wide(sub(x[0], x[4])));
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
    let half = 1 << (shift - 1);
    let round = |a: Lanes| each(a, a, |a, _| a.wrapping_add(half) >> shift);
    let mut out = [[0; 8]; 8];
    for i in 0..4 {
        out[i] = round(add(even[i], odd[i]));
        out[7 - i] = round(sub(even[i], odd[i]));
    }
    out
}

#[inline(always)]
fn transposed(x: [Lanes; 8]) -> [Lanes; 8] {
    let mut out = [[0; 8]; 8];
    for (i, out) in out.iter_mut().enumerate() {
        for (j, out) in out.iter_mut().enumerate() {
            *out = x[j][i];
        }
    }
    out
}

/// 128 stands in the middle.
fn sample(x: i32) -> u8 {
    x.saturating_add(128).clamp(0, 255) as u8
}

/// The samples of a block of coefficients in their natural order, each times its step.
pub fn idct(coefficients: &[i16; 64], steps: &[u16; 64]) -> [[u8; 8]; 8] {
    let step = |at: usize| i32::from(coefficients[at]).wrapping_mul(i32::from(steps[at]));
    let mut rows = [[0; 8]; 8];
    for (at, cell) in rows.as_flattened_mut().iter_mut().enumerate() {
        *cell = step(at);
    }
    if coefficients[1..].iter().all(|c| *c == 0) {
        // Both passes multiply the one number by powers of two; the last shift rounds.
        let all = (step(0) << KEPT).wrapping_add(1 << (KEPT + 2)) >> (KEPT + 3);
        return [[sample(all); 8]; 8];
    }
    both_passes(rows)
}

#[inline(always)]
fn both_passes(rows: [Lanes; 8]) -> [[u8; 8]; 8] {
    let columns = transform(rows, BITS - KEPT);
    let rows = transform(transposed(columns), BITS + KEPT + 3);
    let mut samples = [[0; 8]; 8];
    for (y, row) in samples.iter_mut().enumerate() {
        for (x, cell) in row.iter_mut().enumerate() {
            *cell = sample(rows[x][y]);
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_one_number_is_as_by_both_passes() {
        // Products beyond 16 bits are of damaged files.
        for first in -2048..2048 {
            for step in [1, 3, 16] {
                let (mut block, mut rows) = ([0; 64], [[0; 8]; 8]);
                block[0] = first as i16;
                rows[0][0] = first * i32::from(step);
                assert_eq!(idct(&block, &[step; 64]), both_passes(rows), "{first} {step}");
            }
        }
    }
}

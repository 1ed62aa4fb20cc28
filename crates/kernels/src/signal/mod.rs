//! Discrete Fourier transforms of any length, in f64.
//!
//! A length of a power of two is halved again and again (Cooley and Tukey, 1965). Any other becomes a convolution of the
//! next such length (Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970).
//! The error grows with the logarithm of the length, far below the precision of f32; tables are made once for a length.
//!
//! ```
//! use stead_kernels::signal::{fill_tables, scratch_len, tables_len, transform};
//! let mut tables = vec![[0.0; 2]; tables_len(3)];
//! fill_tables(3, &mut tables);
//! let mut x = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]];
//! transform(&tables, false, &mut x, &mut vec![[0.0; 2]; scratch_len(3)]);
//! assert!((x[0][0] - 6.0).abs() < 1e-12 && (x[1][0] + 1.5).abs() < 1e-12);
//! ```

use crate::scalar_math::Float;

/// A complex number: real and imaginary part.
pub type Complex = [f64; 2];

#[inline(always)]
fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

#[inline(always)]
fn conjugate([a, b]: Complex) -> Complex {
    [a, -b]
}

/// `e^(-i turn)`
fn turned(turn: f64) -> Complex {
    [Float::cos(turn), -Float::sin(turn)]
}

/// The power of two that a convolution for this length has.
fn padded(n: usize) -> usize {
    (2 * n).saturating_sub(1).next_power_of_two()
}

/// Entries of the tables for transforms of length `n`: of half a power of two; or of half the padded length, of the chirp
/// and of its transform.
pub fn tables_len(n: usize) -> usize {
    if n.is_power_of_two() || n == 0 { n / 2 } else { padded(n) / 2 + n + padded(n) }
}

/// Entries of the room that [`transform`] works in.
pub fn scratch_len(n: usize) -> usize {
    if n.is_power_of_two() || n == 0 { 0 } else { padded(n) }
}

/// Makes the tables for transforms of length `n`.
///
/// # Panics
/// When there is no room for [`tables_len`] entries.
pub fn fill_tables(n: usize, tables: &mut [Complex]) {
    assert_eq!(tables.len(), tables_len(n), "length of the tables");
    if n == 0 {
        return;
    }
    let length = if n.is_power_of_two() { n } else { padded(n) };
    let (turns, chirps) = tables.split_at_mut(length / 2);
    for (k, turn) in turns.iter_mut().enumerate() {
        *turn = turned(core::f64::consts::TAU * k as f64 / length as f64);
    }
    if n.is_power_of_two() {
        return;
    }
    let (chirp, spectrum) = chirps.split_at_mut(n);
    for (k, c) in chirp.iter_mut().enumerate() {
        // k^2 modulo 2 n keeps the angle exact for long signals.
        let square = (k as u128 * k as u128 % (2 * n as u128)) as f64;
        *c = turned(core::f64::consts::PI * square / n as f64);
    }
    spectrum.fill([0.0; 2]);
    for (k, &c) in chirp.iter().enumerate() {
        spectrum[k] = conjugate(c);
        spectrum[(length - k) % length] = conjugate(c);
    }
    powers(turns, spectrum);
}

/// Transforms `x` where it lies: `sum x[j] e^(-2 pi i j k / n)`; the inverse has the other sign and is divided by `n`.
///
/// # Panics
/// When the tables are not those of this length, or the scratch is too short.
pub fn transform(tables: &[Complex], inverse: bool, x: &mut [Complex], scratch: &mut [Complex]) {
    let n = x.len();
    assert_eq!(tables.len(), tables_len(n), "length of the tables");
    if inverse {
        x.iter_mut().for_each(|c| *c = conjugate(*c));
    }
    if n.is_power_of_two() {
        powers(tables, x);
    } else if n > 0 {
        chirped(tables, x, &mut scratch[..padded(n)]);
    }
    if inverse {
        let scale = 1.0 / n as f64;
        x.iter_mut().for_each(|[re, im]| (*re, *im) = (*re * scale, -*im * scale));
    }
}

/// A length of a power of two, given its half turns.
fn powers(turns: &[Complex], x: &mut [Complex]) {
    let n = x.len();
    if n < 2 {
        return;
    }
    let shift = usize::BITS - n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> shift;
        if i < j {
            x.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        let step = n / (2 * half);
        for block in x.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let [re, im] = times(*b, turns[k * step]);
                *b = [a[0] - re, a[1] - im];
                *a = [a[0] + re, a[1] + im];
            }
        }
        half *= 2;
    }
}

/// Any other length: a product with the chirp, a convolution with its conjugate, and a product again.
fn chirped(tables: &[Complex], x: &mut [Complex], room: &mut [Complex]) {
    let (n, length) = (x.len(), room.len());
    let (turns, rest) = tables.split_at(length / 2);
    let (chirp, spectrum) = rest.split_at(n);
    room.fill([0.0; 2]);
    for ((slot, &x), &c) in room.iter_mut().zip(&*x).zip(chirp) {
        *slot = times(x, c);
    }
    powers(turns, room);
    // The inverse transform is that of the conjugate.
    for (a, &b) in room.iter_mut().zip(spectrum) {
        *a = conjugate(times(*a, b));
    }
    powers(turns, room);
    let scale = 1.0 / length as f64;
    for ((x, &sum), &c) in x.iter_mut().zip(&*room).zip(chirp) {
        let [re, im] = times(conjugate(sum), c);
        *x = [re * scale, im * scale];
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn agrees_with_the_sums() {
        for n in [0, 1, 2, 3, 4, 5, 7, 8, 12, 30, 31, 64, 97, 100, 257] {
            let x: Vec<Complex> = (0..n)
                .map(|i| {
                    [((i * 37) % 101) as f64 * 0.02 - 1.0, ((i * 53) % 97) as f64 * 0.02 - 1.0]
                })
                .collect();
            let mut tables = std::vec![[f64::NAN; 2]; tables_len(n)];
            fill_tables(n, &mut tables);
            let mut scratch = std::vec![[f64::NAN; 2]; scratch_len(n)];
            let mut got = x.clone();
            transform(&tables, false, &mut got, &mut scratch);
            for (k, got) in got.iter().enumerate() {
                let mut want = [0.0; 2];
                for (j, &x) in x.iter().enumerate() {
                    let turn = core::f64::consts::TAU * ((j * k) % n) as f64 / n as f64;
                    let [re, im] = times(x, turned(turn));
                    want = [want[0] + re, want[1] + im];
                }
                let off = (got[0] - want[0]).abs().max((got[1] - want[1]).abs());
                assert!(off < 1e-12 * (n as f64 + 1.0), "length {n}, {k}: {got:?}, {want:?}");
            }
            transform(&tables, true, &mut got, &mut scratch);
            for (got, x) in got.iter().zip(&x) {
                let off = (got[0] - x[0]).abs().max((got[1] - x[1]).abs());
                assert!(off < 1e-13 * (n as f64 + 1.0), "length {n}, back: {got:?}, {x:?}");
            }
        }
    }
}

//! Products of a few rows by weights that are widened in registers.

use super::Weights;
use crate::simd::{Simd, SimdOp};

/// The columns of one sliver for all rows.
#[derive(Clone, Copy)]
pub(super) struct Vector<'a> {
    pub weights: &'a Weights<'a>,
    pub bias: Option<&'a [f32]>,
    /// The first column, those of the sliver with padding, and those that exist.
    pub first: usize,
    pub width: usize,
    pub cols: usize,
    pub rows: usize,
    /// Blocks of the rows, filled up with zeros, and their sums.
    pub x: &'a [f32],
    pub sums: &'a [f32],
    /// The result, `rows` at this stride: columns of the sliver are this one's alone.
    pub c: *mut f32,
    pub stride: usize,
}

impl SimdOp for Vector<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        if self.weights.of.bits == 4 { self.by_rows::<S, 4>(s) } else { self.by_rows::<S, 8>(s) }
    }
}

impl Vector<'_> {
    /// Three rows are two and one: each number of rows is compiled for every instruction set.
    #[inline(always)]
    fn by_rows<S: Simd, const B: i32>(self, s: S) {
        match self.rows {
            1 => s.call(Rows::<B, 1, 2>(self)),
            2 => s.call(Rows::<B, 2, 1>(self)),
            3 => {
                s.call(Rows::<B, 2, 1>(self));
                s.call(Rows::<B, 1, 2>(self.behind(2)));
            }
            4 => s.call(Rows::<B, 4, 1>(self)),
            rows => debug_assert!(rows == 0),
        }
    }

    /// The rows from this one on.
    #[inline(always)]
    fn behind(self, row: usize) -> Self {
        let of = &self.weights.of;
        let blocks = of.blocks();
        Vector {
            rows: self.rows - row,
            x: &self.x[row * blocks * of.padded_block()..],
            sums: &self.sums[row * blocks..],
            c: self.c.wrapping_add(row * self.stride),
            ..self
        }
    }
}

/// Numbers of `B` bits by `M` rows, whose sums are kept `U` times apart so that enough of them are under way.
struct Rows<'a, const B: i32, const M: usize, const U: usize>(Vector<'a>);

impl<const B: i32, const M: usize, const U: usize> SimdOp for Rows<'_, B, M, U> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut at = 0;
        while at + 4 * S::LANES <= self.0.width {
            self.columns::<S, 4>(s, at);
            at += 4 * S::LANES;
        }
        while at < self.0.width {
            self.columns::<S, 1>(s, at);
            at += S::LANES;
        }
    }
}

impl<const B: i32, const M: usize, const U: usize> Rows<'_, B, M, U> {
    /// `NV` vectors of columns from `at` of the sliver on, which must have them.
    #[inline(always)]
    fn columns<S: Simd, const NV: usize>(&self, s: S, at: usize) {
        let v = &self.0;
        let of = &v.weights.of;
        let (blocks, words, padded) = (of.blocks(), of.words(), of.padded_block());
        debug_assert!(at + NV * S::LANES <= v.width && v.x.len() >= M * blocks * padded);
        debug_assert!(v.weights.words.len() >= (v.first + v.width) * blocks * words);
        let mask = s.splat_i32((1 << B) - 1);
        let middle = s.splat((1 << (B - 1)) as f32);
        let mut total = [[s.zero(); NV]; M];
        // SAFETY: the sliver has `blocks * words` rows of `width` lanes, and a scale and a zero point for each block of
        // them; each row of `x` has `blocks * padded` numbers, a sum for each block, and `c` and a bias `cols` from
        // `first` on.
        unsafe {
            let mut from = v.weights.words.as_ptr().add(v.first * blocks * words + at);
            let scales = v.weights.scales.as_ptr().add(v.first * blocks + at);
            let zeros = v.weights.zeros.map(|zeros| zeros.as_ptr().add(v.first * blocks + at));
            let x = v.x.as_ptr();
            for block in 0..blocks {
                let mut acc = [[[s.zero(); NV]; M]; U];
                for word in 0..words {
                    let mut bits = [s.splat_i32(0); NV];
                    for (i, bits) in bits.iter_mut().enumerate() {
                        *bits = s.load_i32_ptr(from.add(i * S::LANES));
                    }
                    from = from.add(v.width);
                    let x = x.add(block * padded + word * (32 / B as usize));
                    for j in 0..32 / B as usize {
                        let mut factors = [s.zero(); M];
                        for (row, factor) in factors.iter_mut().enumerate() {
                            *factor = s.splat(*x.add(row * blocks * padded + j));
                        }
                        for (i, bits) in bits.iter_mut().enumerate() {
                            let number = s.to_f32(s.and_i32(*bits, mask));
                            *bits = s.shr_i32::<B>(*bits);
                            for (row, factor) in factors.iter().enumerate() {
                                let sum = &mut acc[j % U][row][i];
                                *sum = s.fma(number, *factor, *sum);
                            }
                        }
                    }
                }
                for i in 0..NV {
                    let of_block = block * v.width + i * S::LANES;
                    let scale = s.load_ptr(scales.add(of_block));
                    let zero = match zeros {
                        Some(zeros) => s.load_ptr(zeros.add(of_block)),
                        None => middle,
                    };
                    for row in 0..M {
                        let mut sum = acc[0][row][i];
                        for acc in &acc[1..] {
                            sum = s.add(sum, acc[row][i]);
                        }
                        let of_x = s.splat(*v.sums.get_unchecked(row * blocks + block));
                        let sum = s.fnma(zero, of_x, sum);
                        total[row][i] = s.fma(scale, sum, total[row][i]);
                    }
                }
            }
            for i in 0..NV {
                let col = at + i * S::LANES;
                let n = v.cols.saturating_sub(col).min(S::LANES);
                if n == 0 {
                    break;
                }
                let bias = match v.bias {
                    Some(bias) => s.load_part_ptr(bias.as_ptr().add(v.first + col), n),
                    None => s.zero(),
                };
                for (row, total) in total.iter().enumerate() {
                    let to = v.c.add(row * v.stride + v.first + col);
                    s.store_part_ptr(to, s.add(total[i], bias), n);
                }
            }
        }
    }
}

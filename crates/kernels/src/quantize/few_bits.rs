//! Numbers of few bits, quantised in blocks along an axis, back to floats: parts of large tables.

/// How a tensor `(.., axis, inner)` is quantised: `scale * (q - zero)`, a scale for each block of numbers along the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewBits {
    /// Bits of a number, 2, 4 or 8, which lie from the lowest bits of a byte on.
    pub bits: usize,
    /// Whether numbers have a sign.
    pub signed: bool,
    /// Numbers along the axis, at least 1.
    pub axis: usize,
    /// Numbers behind each of them, at least 1.
    pub inner: usize,
    /// Numbers along the axis that share a scale, at least 1.
    pub block: usize,
    /// Zero points that begin at a whole byte together, at least 1.
    pub zero_row: usize,
}

impl FewBits {
    /// The number at a position of packed bytes.
    fn number(&self, bytes: &[u8], bit: usize) -> f32 {
        let (spare, byte) = (8 - self.bits, bytes[bit / 8] >> (bit % 8));
        let byte = byte << spare;
        if self.signed { f32::from(byte as i8 >> spare) } else { f32::from(byte >> spare) }
    }

    /// The zero point of a scale; without any the middle of bytes' range, and 0 with a sign.
    fn zero(&self, zeros: Option<&[u8]>, unset: f32, scale: usize) -> f32 {
        zeros.map_or(unset, |zeros| {
            let row = (self.zero_row * self.bits).next_multiple_of(8);
            self.number(zeros, scale / self.zero_row * row + scale % self.zero_row * self.bits)
        })
    }

    /// Scales of all numbers before position `at` of the axis.
    fn scale_at(&self, at: usize) -> usize {
        let blocks = self.axis.div_ceil(self.block);
        let (row, place) = (at / self.inner / self.axis, at / self.inner % self.axis);
        (row * blocks + place / self.block) * self.inner + at % self.inner
    }
}

/// The numbers from position `first` of the tensor on. `unset` is the zero point where `zeros` has none.
///
/// # Panics
/// If a slice ends before the last of them.
pub fn widen_few_bits(
    of: &FewBits,
    packed: &[u8],
    scales: &[f32],
    (zeros, unset): (Option<&[u8]>, f32),
    first: usize,
    out: &mut [f32],
) {
    let mut done = 0;
    while done < out.len() {
        let at = first + done;
        let scale = of.scale_at(at);
        // Numbers up to the end of a block have one scale, those behind a position one scale each.
        let (len, step) = if of.inner == 1 {
            let place = at % of.axis;
            (((place / of.block + 1) * of.block).min(of.axis) - place, 0)
        } else {
            (of.inner - at % of.inner, 1)
        };
        let len = len.min(out.len() - done);
        let (mut factor, mut zero) = (scales[scale], of.zero(zeros, unset, scale));
        for (i, out) in out[done..done + len].iter_mut().enumerate() {
            if step == 1 {
                (factor, zero) = (scales[scale + i], of.zero(zeros, unset, scale + i));
            }
            *out = (of.number(packed, (at + i) * of.bits) - zero) * factor;
        }
        done += len;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;
    use std::{format, vec};

    fn packed(bits: usize, numbers: &[u8]) -> Vec<u8> {
        let per = 8 / bits;
        let byte = |part: &[u8]| part.iter().rev().fold(0u16, |b, n| b << bits | u16::from(*n));
        let mask = (1u16 << bits) - 1;
        let masked: Vec<u8> = numbers.iter().map(|n| (u16::from(*n) & mask) as u8).collect();
        masked.chunks(per).map(|part| byte(part) as u8).collect()
    }

    #[test]
    fn numbers_are_scaled_by_their_blocks() {
        // (bits, signed, [outer, axis, inner], block, zero points or not)
        let cases = [
            (4, false, [2usize, 6, 1], 4, true),
            (4, true, [2, 6, 1], 4, true),
            (4, true, [2, 6, 1], 16, false),
            (4, false, [1, 5, 4], 2, true),
            (2, false, [3, 8, 1], 3, true),
            (8, false, [3, 5, 1], 2, true),
            (8, true, [2, 3, 3], 2, false),
        ];
        for (bits, signed, [outer, axis, inner], block, with_zeros) in cases {
            let label = format!("{bits} {signed} {outer}x{axis}x{inner} by {block}");
            let blocks = axis.div_ceil(block);
            let (count, each) = (outer * axis * inner, outer * blocks * inner);
            let of = FewBits { bits, signed, axis, inner, block, zero_row: blocks * inner };
            let low = if signed { -(1 << (bits - 1)) } else { 0 };
            let number = |i: usize| low + (i * 5 + i / 3) as i32 % (1 << bits);
            let numbers: Vec<u8> = (0..count).map(|i| number(i) as u8).collect();
            let scales: Vec<f32> = (0..each).map(|i| 0.5 + i as f32).collect();
            let zeros: Vec<i32> = (0..each).map(|i| number(i * 3 + 1)).collect();
            let rows = zeros
                .chunks(of.zero_row)
                .map(|row| packed(bits, &row.iter().map(|z| *z as u8).collect::<Vec<_>>()));
            let zero_bytes: Vec<u8> = rows.flatten().collect();
            let expected: Vec<f32> = (0..count)
                .map(|i| {
                    let (row, at) = (i / (axis * inner), i / inner % axis);
                    let scale = (row * blocks + at / block) * inner + i % inner;
                    let zero = if with_zeros { zeros[scale] } else { 3 };
                    (number(i) - zero) as f32 * scales[scale]
                })
                .collect();
            let given = with_zeros.then_some(zero_bytes.as_slice());
            let bytes = packed(bits, &numbers);
            for first in 0..count {
                for len in [0, 1, count - first] {
                    let mut out = vec![f32::NAN; len];
                    widen_few_bits(&of, &bytes, &scales, (given, 3.0), first, &mut out);
                    assert_eq!(out, expected[first..first + len], "{label} from {first}");
                }
            }
        }
    }
}

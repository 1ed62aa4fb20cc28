//! Weights of 4 or 8 bits with a scale for each block, as `MatMulNBits` takes them.

use stead_tensor::{Tensor, TensorError};

/// Bits of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// Two to a byte, the first in the lower half.
    Four,
    /// A byte each.
    Eight,
}

impl Bits {
    /// The number.
    pub const fn count(self) -> usize {
        match self {
            Bits::Four => 4,
            Bits::Eight => 8,
        }
    }

    /// The number that stands for 0.
    const fn middle(self) -> f32 {
        match self {
            Bits::Four => 8.0,
            Bits::Eight => 128.0,
        }
    }
}

/// Weights in blocks along K: `w = scale * (q - middle)`.
pub(crate) struct Blocks {
    /// `[N, blocks of K, bytes of a block]`.
    pub values: Tensor,
    /// `[N, blocks of K]`.
    pub scales: Tensor,
}

/// Cuts each column of a matrix `[K, N]` into blocks of `size`. The value of the largest magnitude in a block becomes the
/// lowest number, so that no step is wasted on the side where there is nothing as large.
pub(crate) fn blocks(weights: &Tensor, bits: Bits, size: usize) -> Result<Blocks, TensorError> {
    let &[k, n] = weights.shape().dims() else {
        return Err(TensorError::WrongElementCount { expected: 2, actual: weights.shape().rank() });
    };
    let values = weights.as_slice::<f32>()?;
    let (count, bytes) = (k.div_ceil(size), (size * bits.count()).div_ceil(8));
    let mut packed = vec![0u8; n * count * bytes];
    let mut scales = Vec::with_capacity(n * count);
    let (middle, most) = (bits.middle(), 2.0 * bits.middle() - 1.0);
    for (at, out) in packed.chunks_exact_mut(bytes.max(1)).enumerate() {
        let (column, first) = (at / count.max(1), at % count.max(1) * size);
        let rows = first..(first + size).min(k);
        let of = |row: usize| values.get(row * n + column).copied().unwrap_or(0.0);
        let largest =
            rows.clone().map(of).fold(0.0f32, |l, v| if v.abs() > l.abs() { v } else { l });
        let scale = -largest / middle;
        let scale = if scale.abs() < f32::MIN_POSITIVE { 0.0 } else { scale };
        scales.push(scale);
        let quantized = |row: usize| {
            let steps = if scale == 0.0 { 0.0 } else { of(row) / scale };
            (steps + middle).round_ties_even().clamp(0.0, most) as u8
        };
        for (place, row) in (first..first + size).enumerate() {
            let q = if rows.contains(&row) { quantized(row) } else { middle as u8 };
            let (byte, shift) = match bits {
                Bits::Four => (place / 2, 4 * (place % 2)),
                Bits::Eight => (place, 0),
            };
            if let Some(byte) = out.get_mut(byte) {
                *byte |= q << shift;
            }
        }
    }
    Ok(Blocks {
        values: Tensor::from_slice(&packed, &[n, count, bytes])?,
        scales: Tensor::from_slice(&scales, &[n, count])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the values of blocks are, row-major `[K, N]`.
    fn values_of(made: &Blocks, bits: Bits, size: usize, k: usize, n: usize) -> Vec<f32> {
        let bytes = made.values.as_slice::<u8>().unwrap();
        let scales = made.scales.as_slice::<f32>().unwrap();
        let count = k.div_ceil(size);
        let mut values = vec![0.0; k * n];
        for column in 0..n {
            for row in 0..k {
                let block = column * count + row / size;
                let q = match bits {
                    Bits::Eight => bytes[block * size + row % size],
                    Bits::Four => {
                        bytes[block * size.div_ceil(2) + row % size / 2] >> (4 * (row % size % 2))
                            & 15
                    }
                };
                values[row * n + column] = scales[block] * (f32::from(q) - bits.middle());
            }
        }
        values
    }

    #[test]
    fn no_weight_is_off_by_more_than_a_step() {
        for (bits, size, k, n) in [
            (Bits::Four, 16, 32, 3),
            (Bits::Four, 32, 40, 5),
            (Bits::Eight, 32, 7, 2),
            (Bits::Eight, 16, 48, 1),
        ] {
            let values: Vec<f32> =
                (0..k * n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 504.0 - 1.0).collect();
            let made = blocks(&Tensor::from_slice(&values, &[k, n]).unwrap(), bits, size).unwrap();
            let scales = made.scales.as_slice::<f32>().unwrap();
            let step = scales.iter().fold(0.0f32, |m, s| m.max(s.abs()));
            let got = values_of(&made, bits, size, k, n);
            for (at, (a, b)) in got.iter().zip(&values).enumerate() {
                // The opposite of the largest value has no number of its own.
                assert!((a - b).abs() <= 1.001 * step, "{bits:?} {size} {at}: {a} {b} step {step}");
            }
            let lost: f32 = got.iter().zip(&values).map(|(a, b)| (a - b).abs()).sum();
            assert!(lost / got.len() as f32 <= 0.3 * step, "{bits:?} {size}: {lost}");
        }
    }

    #[test]
    fn columns_of_zeros_stay_zeros() {
        let made = blocks(&Tensor::from_slice(&[0.0f32; 20], &[20, 1]).unwrap(), Bits::Four, 16);
        let made = made.unwrap();
        assert_eq!(made.scales.as_slice::<f32>().unwrap(), [0.0, 0.0]);
        assert_eq!(values_of(&made, Bits::Four, 16, 20, 1), [0.0; 20]);
        assert_eq!(made.values.as_slice::<u8>().unwrap(), [0x88; 16]);
    }
}

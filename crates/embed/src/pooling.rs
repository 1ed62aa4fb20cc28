//! Vectors of texts from the vectors of their tokens.

/// How a text has one vector (Vespa, `PoolingStrategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    /// The mean of its tokens.
    #[default]
    Mean,
    /// That of its first token.
    Cls,
    /// The model gives one already.
    None,
}

/// The mean of rows of `width` cells each: their sum divided by `count`, which is the number of tokens that the model attends to. Not a
/// number where that is 0.
#[must_use]
pub fn mean(rows: &[f32], width: usize, count: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; width];
    for row in rows.chunks_exact(width.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell);
    }
    let count = count as f32;
    sums.iter_mut().for_each(|sum| *sum /= count);
    sums
}

/// Makes the length of a vector 1. A vector of zeros has none: all of it becomes not a number, as in Vespa.
pub fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|cell| f64::from(*cell).powi(2)).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|cell| *cell = (f64::from(*cell) / length) as f32);
}

/// Eight cells of each byte: a bit is what is above 0, the first cell the highest bit. Cells behind the last whole byte are bits of one that
/// ends in zeros.
#[must_use]
pub fn pack_bits(cells: &[f32]) -> Vec<i8> {
    let byte = |eight: &[f32]| {
        let bit = |(at, cell): (usize, &f32)| u8::from(*cell > 0.0) << (7 - at);
        eight.iter().enumerate().map(bit).sum::<u8>() as i8
    };
    cells.chunks(8).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::{mean, normalize, pack_bits};

    #[test]
    fn tokens_have_a_mean() {
        for (label, rows, count, expected) in [
            ("all count", &[1.0, 2.0, 3.0, 6.0][..], 2, [2.0, 4.0]),
            ("one is not attended to", &[1.0, 2.0, 3.0, 6.0], 1, [4.0, 8.0]),
        ] {
            assert_eq!(mean(rows, 2, count), expected, "{label}");
        }
        assert!(mean(&[], 2, 0).iter().all(|cell| cell.is_nan()));
        assert!(mean(&[], 0, 1).is_empty());
    }

    #[test]
    fn vectors_have_length_1() {
        let mut vector = [3.0, 0.0, -4.0];
        normalize(&mut vector);
        assert_eq!(vector, [0.6, 0.0, -0.8]);
        let mut zeros = [0.0; 2];
        normalize(&mut zeros);
        assert!(zeros.iter().all(|cell| cell.is_nan()));
    }

    #[test]
    fn cells_are_bits() {
        for (label, cells, expected) in [
            ("a byte", &[1.0, -1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 2.0][..], &[-95][..]),
            ("zero is no bit, nor is NaN", &[0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[0]),
            ("a part of a byte", &[1.0; 10], &[-1, -64]),
            ("none", &[], &[]),
        ] {
            assert_eq!(pack_bits(cells), expected, "{label}");
        }
    }
}

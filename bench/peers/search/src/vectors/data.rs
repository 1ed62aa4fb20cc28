//! Vectors with a structure: 32 hidden numbers by chance, mixed, and noise; of length 1.

use crate::corpus::Random;

/// The hidden numbers of a vector: real ones too have fewer directions than numbers.
const HIDDEN: usize = 32;

/// So many vectors one behind the other.
pub fn vectors(count: usize, size: usize) -> Vec<f32> {
    let mut random = Random(1);
    // A sum of four is about normal, of variance 1.
    let mut normal = || ((0..4).map(|_| random.part() - 0.5).sum::<f64>() * 3_f64.sqrt()) as f32;
    let mix: Vec<f32> = (0..HIDDEN * size).map(|_| normal()).collect();
    let mut cells = vec![0.0; count * size];
    for row in cells.chunks_exact_mut(size) {
        let hidden: [f32; HIDDEN] = std::array::from_fn(|_| normal());
        for (part, hidden) in mix.chunks_exact(size).zip(hidden) {
            row.iter_mut().zip(part).for_each(|(cell, mix)| *cell += hidden * mix);
        }
        row.iter_mut().for_each(|cell| *cell += normal());
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter_mut().for_each(|cell| *cell /= length);
    }
    cells
}

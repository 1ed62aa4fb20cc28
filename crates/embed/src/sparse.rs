//! Weights of the words of a vocabulary: SPLADE.

/// The words of a text with their weights: of each word the greatest value that any token has for it, `ln(1 + value)` if that is above
/// `threshold`. `rows` has a row of `width` cells, one for each word, for each token (Vespa, `SpladeEmbedder`).
#[must_use]
pub fn term_weights(rows: &[f32], width: usize, threshold: f64) -> Vec<(u32, f32)> {
    let mut greatest = vec![0.0_f32; width];
    for row in rows.chunks_exact(width.max(1)) {
        // What is not a number is above nothing.
        greatest.iter_mut().zip(row).for_each(|(most, cell)| {
            if *cell > *most {
                *most = *cell;
            }
        });
    }
    let weight = |(word, most): (usize, f32)| {
        let weight = f64::from(most).ln_1p();
        (weight > threshold).then_some((word as u32, weight as f32))
    };
    greatest.into_iter().enumerate().filter_map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::term_weights;

    #[test]
    fn words_have_the_greatest_value_of_all_tokens() {
        let e = std::f32::consts::E;
        let rows = [0.0, e - 1.0, -3.0, 0.5, -1.0, 0.0, -2.0, f32::NAN];
        let found = term_weights(&rows, 4, 0.0);
        assert_eq!(found.iter().map(|(word, _)| *word).collect::<Vec<_>>(), [1, 3]);
        assert!((found[0].1 - 1.0).abs() < 1e-6 && (found[1].1 - 1.5_f32.ln()).abs() < 1e-6);
        assert_eq!(term_weights(&rows, 4, 0.5).len(), 1);
        assert_eq!(term_weights(&rows, 4, 1.5), []);
        assert_eq!(term_weights(&[], 0, 0.0), []);
    }
}

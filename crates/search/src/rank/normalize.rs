//! Values that depend on all hits of the global phase (Vespa, `container-search/src/main/java/com/yahoo/search/ranking`).

/// How the values of hits are scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Normalizer {
    /// To 0..1.
    Linear,
    /// To `1 / (k + rank)`, ranks from 1 for the greatest.
    ReciprocalRank {
        /// The greater, the less the first differ.
        k: f64,
    },
}

impl Normalizer {
    /// The usual `k`.
    pub(super) const K: f64 = 60.0;

    /// Scales the values of all hits, which stand in the order of their scores.
    pub(super) fn normalize(self, values: &[f64]) -> Vec<f64> {
        match self {
            Normalizer::Linear => linear(values),
            Normalizer::ReciprocalRank { k } => reciprocal(values, k),
        }
    }
}

/// `0.5 + (x - (min + max) / 2) / (max - min)` over what a float could hold; 0.5 where all are the same.
fn linear(values: &[f64]) -> Vec<f64> {
    let most = f64::from(f32::MAX);
    let usual = || values.iter().copied().filter(|x| -most < *x && *x < most);
    let (min, max) = (usual().fold(most, f64::min), usual().fold(-most, f64::max));
    let (scale, middle) =
        if max > min { (1.0 / (max - min), (min + max) * 0.5) } else { (0.0, 0.0) };
    values.iter().map(|x| 0.5 + scale * (x - middle)).collect()
}

/// Equal values have different ranks, in the order of the hits; NaN is the least.
fn reciprocal(values: &[f64], k: f64) -> Vec<f64> {
    let key = |x: f64| if x.is_nan() { f64::NEG_INFINITY } else { x };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| key(values[*b]).total_cmp(&key(values[*a])));
    let mut found = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        found[at] = 1.0 / (k + 1.0 + rank as f64);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Normalizer::{Linear, ReciprocalRank};

    #[test]
    fn values_are_scaled_over_all_hits() {
        let inf = f64::INFINITY;
        for (normalizer, values, expected) in [
            (Linear, vec![2.0, 4.0, 3.0], vec![0.0, 1.0, 0.5]),
            (Linear, vec![7.0, 7.0], vec![0.5, 0.5]),
            (Linear, vec![-inf, 1.0, 3.0], vec![-inf, 0.0, 1.0]),
            (Linear, vec![], vec![]),
            (
                ReciprocalRank { k: 60.0 },
                vec![1.0, 3.0, 2.0],
                vec![1.0 / 63.0, 1.0 / 61.0, 1.0 / 62.0],
            ),
            (ReciprocalRank { k: 0.0 }, vec![5.0, 5.0, f64::NAN], vec![1.0, 0.5, 1.0 / 3.0]),
        ] {
            assert_eq!(normalizer.normalize(&values), expected, "{normalizer:?} {values:?}");
        }
    }
}

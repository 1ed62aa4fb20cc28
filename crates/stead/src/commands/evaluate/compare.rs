//! Whether one ranking is better than another, or was lucky.

/// How often signs are drawn where there are too many ways.
const DRAWS: u32 = 20_000;

/// Of so many queries all ways are looked at.
const FEW: usize = 14;

/// What a difference of two rankings is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// The second less the first, on average over queries.
    pub(super) mean: f64,
    /// How many queries the second answers better, and how many worse.
    pub(super) better: usize,
    pub(super) worse: usize,
    /// How likely a difference as great is, in either direction, were both as good (a randomisation test of pairs: M. Smucker, J. Allan,
    /// B. Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval Evaluation", 2007).
    pub(super) p: f64,
}

/// Compares two rankings by a measure of each query.
pub(super) fn compare(first: &[f64], second: &[f64]) -> Difference {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
    let count = differences.len();
    let sum: f64 = differences.iter().sum();
    // Sums in other orders differ in their last bits.
    let least = sum.abs() * (1.0 - 1e-9);
    let is_as_great = |sum: f64| sum.abs() >= least;
    let p = if count <= FEW {
        let ways = 1_u32 << count;
        let flipped = |way: &u32| {
            let signed = differences.iter().enumerate();
            is_as_great(signed.map(|(at, d)| if way >> at & 1 == 1 { -d } else { *d }).sum())
        };
        f64::from((0..ways).filter(flipped).count() as u32) / f64::from(ways)
    } else {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = || {
            let signed = differences.iter().map(|d| {
                // xorshift (Marsaglia, 2003)
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if state >> 63 == 1 { -d } else { *d }
            });
            is_as_great(signed.sum())
        };
        let great = (0..DRAWS).filter(|_| draw()).count() as u32;
        f64::from(great + 1) / f64::from(DRAWS + 1)
    };
    Difference {
        mean: if count == 0 { 0.0 } else { sum / count as f64 },
        better: differences.iter().filter(|d| **d > 0.0).count(),
        worse: differences.iter().filter(|d| **d < 0.0).count(),
        p,
    }
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn differences_are_worth_what_chance_would_seldom_do() {
        let same = compare(&[0.5; 3], &[0.5; 3]);
        assert_eq!((same.mean, same.better, same.worse, same.p), (0.0, 0, 0, 1.0));
        // Of eight ways two have a sum as great.
        let few = compare(&[0.0; 3], &[0.1, 0.2, 0.3]);
        assert_eq!((few.better, few.worse, few.p), (3, 0, 0.25));
        let mixed = compare(&[0.0; 3], &[0.1, -0.2, 0.4]);
        assert_eq!((mixed.better, mixed.worse, mixed.p), (2, 1, 0.75));
        let clear = compare(&[0.0; 40], &[0.1; 40]);
        assert!(clear.p < 0.001 && (clear.mean - 0.1).abs() < 1e-12, "{clear:?}");
        let chance: Vec<f64> = (0..40).map(|at| if at % 2 == 0 { 0.1 } else { -0.1 }).collect();
        assert!(compare(&[0.0; 40], &chance).p > 0.9);
        assert_eq!(compare(&[], &[]).mean, 0.0);
    }
}

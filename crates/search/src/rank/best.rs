//! The hits of a first phase. There may be millions of them; only the best keep their scores.

use super::hits::{Hit, place, place_of_last};

/// Hits as they are scored. At most twice as many as shall be kept are in memory.
#[derive(Debug, Default)]
pub(super) struct Best {
    hits: Vec<Hit>,
    /// How many of the best shall be kept.
    most: usize,
    /// The place of the last of the best `most` hits so far, once others were let go: nothing behind it can be one of them.
    bar: Option<(u64, u32)>,
    /// How many were let go.
    passed: usize,
}

impl Best {
    /// No hits, of which the best `most` will be kept, in no order.
    pub(super) fn new(most: usize) -> Best {
        Best { most, ..Best::default() }
    }

    /// How many of the best will be kept.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Takes a hit.
    pub(super) fn push(&mut self, hit: Hit) {
        if self.bar.is_some_and(|bar| place(&hit) > bar) {
            self.passed += 1;
            return;
        }
        self.hits.push(hit);
        if self.hits.len() / 2 > self.most {
            self.let_go();
        }
    }

    /// Takes the hits of another one.
    pub(super) fn absorb(&mut self, other: Best) {
        self.passed += other.passed;
        other.hits.into_iter().for_each(|hit| self.push(hit));
    }

    /// The best `most` hits.
    pub(super) fn finish(mut self) -> Hits {
        self.let_go();
        Hits { kept: self.hits, passed: self.passed }
    }

    fn let_go(&mut self) {
        let Some(bar) = place_of_last(&self.hits, self.most) else { return };
        let before = self.hits.len();
        self.hits.retain(|hit| place(hit) <= bar);
        self.passed += before - self.hits.len();
        self.bar = Some(bar);
    }
}

/// The hits of a ranking between two phases.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// Those that may be in a result.
    pub(super) kept: Vec<Hit>,
    /// How many more there are, whose score is the least.
    pub(super) passed: usize,
}

impl Hits {
    /// Takes the scores from all but the best `count`: they become the least.
    pub(super) fn forget_scores(&mut self, count: usize) {
        let Some(bar) = place_of_last(&self.kept, count) else { return };
        let behind = self.kept.iter_mut().filter(|hit| place(hit) > bar);
        behind.for_each(|hit| hit.score = f64::NEG_INFINITY);
    }

    /// Leaves those whose score is above a limit.
    pub(super) fn retain_above(&mut self, limit: f64) {
        self.kept.retain(|hit| hit.score > limit);
        self.passed = 0;
    }

    /// How many there are.
    pub(super) fn total(&self) -> usize {
        self.kept.len() + self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(document: u32, score: f64) -> Hit {
        Hit { document, first: score, second: None, global: None, score }
    }

    /// Documents of the best, in their order.
    fn kept(hits: &Hits) -> Vec<u32> {
        let mut kept: Vec<u32> = hits.kept.iter().map(|hit| hit.document).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn the_best_are_those_of_sorting_all() {
        let minus = f64::NEG_INFINITY;
        let scores: Vec<(&str, Vec<f64>)> = vec![
            ("none", vec![]),
            ("ascending", (0..60).map(f64::from).collect()),
            ("descending", (0..60).map(|n| f64::from(-n)).collect()),
            ("ties", vec![1.0; 60]),
            ("mixed", (0..60).map(|n| f64::from(n * 7 % 11)).collect()),
            ("no numbers", (0..60).map(|n| if n % 3 == 0 { 2.0 } else { minus }).collect()),
        ];
        for (label, scores) in scores {
            let hits: Vec<Hit> = (0..).zip(&scores).map(|(at, score)| hit(at, *score)).collect();
            let mut sorted = hits.clone();
            super::super::hits::sort(&mut sorted);
            for most in [0, 1, 2, 7, 30, 59, 60, 61, usize::MAX] {
                let mut expected: Vec<u32> =
                    sorted.iter().take(most).map(|hit| hit.document).collect();
                expected.sort_unstable();
                // One that takes all, and one that takes parts of others.
                let mut one = Best::new(most);
                hits.iter().for_each(|hit| one.push(*hit));
                let mut parts = Best::new(most);
                for part in hits.chunks(17) {
                    let mut best = Best::new(most);
                    part.iter().for_each(|hit| best.push(*hit));
                    parts.absorb(best);
                }
                for best in [one, parts] {
                    assert!(best.hits.len() / 2 <= most, "{label} {most}");
                    let found = best.finish();
                    assert_eq!(kept(&found), expected, "{label} {most}");
                    assert_eq!(found.total(), hits.len(), "{label} {most}");
                }
            }
        }
    }

    #[test]
    fn those_behind_the_best_lose_their_scores() {
        let mut hits = Hits { kept: (0..5).map(|n| hit(n, f64::from(n))).collect(), passed: 3 };
        hits.forget_scores(9);
        assert_eq!(hits.kept.iter().filter(|hit| hit.score.is_finite()).count(), 5);
        hits.forget_scores(2);
        let left = hits.kept.iter().filter(|hit| hit.score.is_finite());
        assert_eq!(left.map(|hit| hit.document).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(hits.total(), 8);
        hits.retain_above(3.0);
        assert_eq!((kept(&hits), hits.total()), (vec![4], 1));
    }
}

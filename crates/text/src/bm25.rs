//! How well texts fit terms: Okapi BM25 as Vespa's feature `bm25` computes it (`bm25_feature.cpp`).

/// The parameters of a field (`rank-properties` `bm25(f).k1`, `.b`, `.averageFieldLength`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How soon more occurrences add little; 1.2 where nothing is said.
    pub k1: f64,
    /// How much the length of a text counts, from 0 to 1; 0.75 where nothing is said.
    pub b: f64,
    /// The average length of a text of the field, in words.
    pub average: f64,
}

impl Bm25 {
    /// What nobody changed, of a field with an average length.
    #[must_use]
    pub fn new(average: f64) -> Bm25 {
        Bm25 { k1: 1.2, b: 0.75, average }
    }

    /// How much a term says that `with` of `documents` have: `ln(1 + (documents - with + 0.5) / (with + 0.5))`.
    #[must_use]
    pub fn idf(documents: usize, with: usize) -> f64 {
        let (all, with) = (documents.max(with) as f64, with as f64);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// The most that a term of a significance adds to a score.
    #[must_use]
    pub fn weight(&self, idf: f64) -> f64 {
        idf * (self.k1 + 1.0)
    }

    /// What a term of a [weight](Bm25::weight) that a text of `length` words has `count` times adds to its score; 0 if it does not have it.
    ///
    /// Scores of a text are sums of it in the order of the query's terms.
    #[must_use]
    pub fn score(&self, weight: f64, count: u32, length: u32) -> f64 {
        let count = f64::from(count);
        count * weight / (count + self.length(length))
    }

    /// What the length of a text adds to the count below the line.
    pub(crate) fn length(&self, length: u32) -> f64 {
        let length = f64::from(length) / self.average;
        self.k1 * (1.0 - self.b) + self.k1 * self.b * length
    }

    /// What scores of `f32` have in common.
    pub(crate) fn rough(&self) -> Rough {
        let each = self.k1 * self.b / self.average;
        Rough { base: (self.k1 * (1.0 - self.b)) as f32, each: each as f32 }
    }
}

/// Scores but for some units of the last place of a `f32`, in a fraction of the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rough {
    base: f32,
    /// Of each word.
    each: f32,
}

impl Rough {
    /// As [`Bm25::score`].
    #[inline(always)]
    pub(crate) fn score(&self, weight: f32, count: u32, length: u32) -> f32 {
        // Signed ones are converted many at a time.
        let (count, length) = (count as i32 as f32, length as i32 as f32);
        count * weight / (count + (self.base + self.each * length))
    }
}

#[cfg(test)]
mod tests {
    use super::Bm25;

    /// The values of the examples in Vespa's own test of the feature (`bm25_test.cpp`): the formulas, written out.
    #[test]
    fn scores_are_those_of_the_formula() {
        for (label, documents, with, count, length, expected) in [
            ("one of many", 100, 1, 1, 10, (1.0 + 99.5 / 1.5_f64).ln() * 2.2 / (1.0 + 1.2)),
            ("twice", 100, 1, 2, 10, (1.0 + 99.5 / 1.5_f64).ln() * 2.0 * 2.2 / (2.0 + 1.2)),
            (
                "shorter",
                100,
                25,
                3,
                7,
                (1.0 + 75.5 / 25.5_f64).ln() * 3.0 * 2.2 / (3.0 + (0.3 + 0.9 * 0.7)),
            ),
            ("all have it", 10, 10, 1, 10, (1.0 + 0.5 / 10.5_f64).ln() * 2.2 / 2.2),
            ("none has it", 10, 0, 0, 10, 0.0),
        ] {
            let bm25 = Bm25::new(10.0);
            let score = bm25.score(bm25.weight(Bm25::idf(documents, with)), count, length);
            assert!((score - expected).abs() < 1e-12, "{label}: {score} {expected}");
        }
    }
}

//! What holds for the documents of a block.

use crate::bm25::Bm25;

/// The shortest documents of a block among those that have a term so often.
///
/// Scores rise with the count and fall with the length: no document of a class has a better one than its greatest count
/// with its least length would. One class alone, as if the shortest document had the most occurrences, would let hardly a block be passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    /// The least length of each class, in words, or as many as fit; [`NONE`] where no document is of it.
    lengths: [u16; CLASSES.len() + 1],
    /// The greatest count of all, or as many as fit.
    most: u16,
}

/// The greatest count of each class but the last.
const CLASSES: [u16; 3] = [1, 2, 4];

/// Classes up to that of this count have no other. Scores of several counts rise but for rounding.
const ALONE: u16 = 2;

/// So much more lest rounding loses a document.
pub(super) const SLACK: f64 = 1.0 + 1e-9;

/// The length of no document; that of very long ones is less.
const NONE: u16 = u16::MAX;

impl Default for Bound {
    /// That of no documents.
    fn default() -> Bound {
        Bound { lengths: [NONE; CLASSES.len() + 1], most: 0 }
    }
}

impl Bound {
    /// As many as [`Bound::bytes`] gives.
    pub(super) const BYTES: usize = 2 * (CLASSES.len() + 2);

    /// Adds a document of a length that has the term so often.
    pub(super) fn add(&mut self, count: u32, length: u32) {
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        let length = u16::try_from(length).unwrap_or(NONE).min(NONE - 1);
        let class = CLASSES.partition_point(|most| *most < count);
        self.lengths[class] = self.lengths[class].min(length);
        self.most = self.most.max(count);
    }

    /// What holds for the documents of both.
    pub(super) fn or(mut self, other: Bound) -> Bound {
        self.lengths.iter_mut().zip(other.lengths).for_each(|(own, its)| *own = its.min(*own));
        self.most = self.most.max(other.most);
        self
    }

    /// No document has a better score of a term of a weight.
    ///
    /// Where the best is one of a class of one count, it is the very score of the shortest: scores fall with the length after rounding too.
    pub(super) fn score(&self, weight: f64, bm25: &Bm25) -> f64 {
        let score = |(length, most): (&u16, u16)| match (*length, most) {
            (NONE, _) => 0.0,
            // More may not have fit; no count reaches the weight.
            (_, u16::MAX) => weight * SLACK,
            (length, most) => {
                let score = bm25.score(weight, most.into(), length.into());
                if most > ALONE { score * SLACK } else { score }
            }
        };
        let classes = CLASSES.into_iter().chain([self.most]);
        self.lengths.iter().zip(classes).map(score).fold(0.0, f64::max)
    }

    /// Whether a document may have a score: one is not longer than its class [may be](Bound::limits), or is of the last class.
    #[inline(always)]
    pub(super) fn may_reach(&self, limits: &[u16; CLASSES.len()]) -> bool {
        let [classes @ .., last] = &self.lengths;
        let is_within = classes.iter().zip(limits).fold(false, |any, (a, b)| any | (a <= b));
        is_within || *last != NONE
    }

    /// The most words with which documents of each class but the last reach a score of a term of a weight, or some more.
    pub(super) fn limits(score: f64, weight: f64, bm25: &Bm25) -> [u16; CLASSES.len()] {
        let (base, each) = (bm25.k1 * (1.0 - bm25.b), bm25.k1 * bm25.b / bm25.average);
        // Lest rounding makes a length that does not count decide.
        let score = score / SLACK;
        CLASSES.map(|count| {
            let count = f64::from(count);
            let most = (count * weight / score - count - base) / each;
            match most * SLACK + 1.0 {
                most if most < 0.0 => 0,
                // Where the length does not count it is no number, or beyond all.
                most if most < f64::from(NONE - 1) => most as u16,
                _ => NONE - 1,
            }
        })
    }

    pub(super) fn bytes(&self) -> [u8; Bound::BYTES] {
        let mut bytes = [0; Bound::BYTES];
        let numbers = self.lengths.iter().chain([&self.most]);
        for (into, number) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(numbers) {
            *into = number.to_le_bytes();
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Bound::BYTES]) -> Bound {
        let mut bound = Bound::default();
        let numbers = bound.lengths.iter_mut().chain([&mut bound.most]);
        for (number, from) in numbers.zip(bytes.as_chunks::<2>().0) {
            *number = u16::from_le_bytes(*from);
        }
        bound
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::proptest;

    use super::Bound;
    use crate::bm25::Bm25;

    proptest! {
        #[test]
        fn no_document_is_better(documents in vec((1_u32..12, 0_u32..400), 1..20), large in 0_usize..3) {
            let scale = [1, 1000, 100_000][large];
            let documents: Vec<_> = documents.iter().map(|(count, length)| (count * scale, length * scale)).collect();
            let mut bound = Bound::default();
            documents.iter().for_each(|(count, length)| bound.add(*count, *length));
            assert_eq!(Bound::from_bytes(&bound.bytes()), bound);
            for bm25 in [Bm25::new(100.0), Bm25 { k1: 0.0, b: 1.0, average: 3.0 }, Bm25 { k1: 5.0, b: 0.0, average: 1.0 }] {
                let best = documents.iter().map(|(count, length)| bm25.score(2.0, *count, *length)).fold(0.0, f64::max);
                assert!(bound.score(2.0, &bm25) >= best);
                assert!(bound.may_reach(&Bound::limits(best, 2.0, &bm25)));
                assert!(documents.iter().all(|(count, _)| *count <= 4) <= !Bound::default().may_reach(&Bound::limits(best, 2.0, &bm25)));
            }
        }
    }

    #[test]
    fn nothing_is_no_better_than_nothing() {
        assert_eq!(Bound::default().score(2.0, &Bm25::new(1.0)), 0.0);
    }
}

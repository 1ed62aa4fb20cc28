//! What holds for the documents of a block, or of several.

use crate::bm25::Bm25;

/// The shortest documents of a block among those that have a term so often.
///
/// Scores rise with the count and fall with the length: no document of a class has a better one than its greatest count
/// with its least length would. Most classes have one count, so that what holds is the score of a document: blocks are passed over that would not be
/// if the shortest document were taken for that with the most occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    /// The [code](code) of the least length of each class; [`NONE`] where no document is of it.
    lengths: [u8; COUNT],
    /// The greatest count of all, or as many as fit.
    most: u16,
}

/// The greatest count of each class but the last.
const CLASSES: [u16; 7] = [1, 2, 3, 4, 6, 8, 12];

/// The class of each count up to the greatest of [`CLASSES`].
const CLASS: [usize; 13] = [0, 0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6];

/// How many classes there are: as many lengths are compared at once.
const COUNT: usize = CLASSES.len() + 1;

/// Classes up to that of this count have no other. Scores of several counts rise but for rounding.
const ALONE: u16 = 4;

/// So much more lest rounding loses a document.
pub(super) const SLACK: f64 = 1.0 + 1e-9;

/// What a length by the formula is rounded by is far less, and lengths differ by far more.
const NEAR: f64 = 1e-3;

/// The length of no document; that of very long ones is less.
const NONE: u8 = u8::MAX;

/// Lengths below are their own codes. From there on a code stands for some: sixteen for each doubling.
const EXACT: u32 = 32;

/// A length as a byte.
fn code(length: u32) -> u8 {
    if length < EXACT {
        return length as u8;
    }
    let shift = length.ilog2() - 4;
    (16 * shift + (length >> shift)).min(u32::from(NONE) - 1) as u8
}

/// The least length of a code.
fn least(code: u8) -> u32 {
    let code = u32::from(code);
    if code < EXACT { code } else { (16 + code % 16) << (code / 16 - 1) }
}

/// What bounds of a term are compared with.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    bm25: Bm25,
    /// What a length adds to the count in the score, by the code of the length; [`NONE`]'s is beyond all, as that of each is until somebody
    /// [asks](Scale::prepared): queries of rare terms do not.
    lengths: [f64; NONE as usize + 1],
    /// The first code that nobody asked for.
    next: u8,
}

/// For each class a code: lengths of documents that may be good enough have lesser ones.
pub(super) type Limits = [u8; COUNT];

impl Scale {
    pub(super) fn new(bm25: &Bm25) -> Scale {
        let lengths = [f64::INFINITY; NONE as usize + 1];
        Scale { bm25: *bm25, lengths, next: 0 }
    }

    /// The same, ready for lists of several blocks of documents that are no longer than some length.
    pub(super) fn prepared(&mut self, longest: u32) -> &Scale {
        let codes = self.next..=code(longest).min(NONE - 1);
        if let Some(lengths) = self.lengths.get_mut(usize::from(self.next)..) {
            for (into, code) in lengths.iter_mut().zip(codes) {
                *into = self.bm25.length(least(code));
                self.next = code + 1;
            }
        }
        self
    }
}

impl Default for Bound {
    /// That of no documents.
    fn default() -> Bound {
        Bound { lengths: [NONE; COUNT], most: 0 }
    }
}

impl Bound {
    /// As many as [`Bound::bytes`] gives.
    pub(super) const BYTES: usize = COUNT + 2;

    /// Adds a document of a length that has the term so often.
    pub(super) fn add(&mut self, count: u32, length: u32) {
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        let class = CLASS.get(usize::from(count)).copied().unwrap_or(COUNT - 1);
        self.lengths[class] = self.lengths[class].min(code(length));
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
    /// Where the best is one of a class of one count, and its length is its code, it is the very score of the shortest: scores fall with the length after
    /// rounding too.
    pub(super) fn score(&self, weight: f64, scale: &Scale) -> f64 {
        // More may not have fit; no count reaches the weight.
        if self.most == u16::MAX {
            return weight * SLACK;
        }
        let mut counts = [0.0; COUNT];
        counts.iter_mut().zip(CLASSES).for_each(|(into, count)| *into = f64::from(count));
        counts[COUNT - 1] = f64::from(self.most);
        let lengths = self.lengths.map(|code| scale.lengths[usize::from(code)]);
        let mut best = [0.0_f64; COUNT];
        for (((into, count), length), class) in best.iter_mut().zip(counts).zip(lengths).zip(0..) {
            let slack = if class < ALONE { 1.0 } else { SLACK };
            *into = count * weight / (count + length) * slack;
        }
        best.into_iter().fold(0.0, |best, score| if score > best { score } else { best })
    }

    /// Whether a document may be good enough: one is not longer than its class [may be](Bound::limits), or is of the last class.
    #[inline(always)]
    pub(super) fn may_reach(&self, limits: &Limits) -> bool {
        let pairs = self.lengths.iter().zip(limits);
        pairs.fold(false, |any, (length, limit)| any | (length < limit))
    }

    /// For each class the code behind the greatest length with which one of its documents has a score of a term of a weight that is greater than
    /// another, or equal where that counts.
    pub(super) fn limits(weight: f64, scale: &Scale, score: f64, or_equal: bool) -> Limits {
        let Bm25 { k1, b, average } = scale.bm25;
        // The length of a score is a multiple of the count, less the same of each class.
        let (of_count, base) =
            ((weight / score - 1.0) / (k1 * b) * average, (1.0 - b) / b * average);
        let mut limits = [0; COUNT];
        for ((limit, count), class) in limits.iter_mut().zip(CLASSES).zip(0..) {
            let slack = if class < ALONE { 1.0 } else { SLACK };
            let count = f64::from(count);
            let is_enough = |length: f64| {
                let its = count * weight / (count + length) * slack;
                (its > score) | (or_equal & (its == score))
            };
            // It is near the code of that, mostly that one or the one before; otherwise all are asked.
            let near = code((count * of_count - base + NEAR) as u32).min(NONE - 2);
            let of = |code: u8| is_enough(scale.lengths[usize::from(code)]);
            let [before, here, behind] =
                [near == 0 || of(near.saturating_sub(1)), of(near), of(near + 1)];
            *limit = match before && !behind {
                true => near + u8::from(here),
                false => scale.lengths[..usize::from(NONE)]
                    .partition_point(|length| is_enough(*length)) as u8,
            };
        }
        limits[COUNT - 1] = NONE;
        limits
    }

    pub(super) fn bytes(&self) -> [u8; Bound::BYTES] {
        let mut bytes = [0; Bound::BYTES];
        let numbers = self.lengths.into_iter().chain(self.most.to_le_bytes());
        bytes.iter_mut().zip(numbers).for_each(|(into, byte)| *into = byte);
        bytes
    }

    #[inline(always)]
    pub(super) fn from_bytes(bytes: &[u8; Bound::BYTES]) -> Bound {
        let [lengths @ .., low, high] = *bytes;
        Bound { lengths, most: u16::from_le_bytes([low, high]) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::{Bound, NONE, Scale, code, least};
    use crate::bm25::Bm25;

    proptest! {
        #[test]
        fn no_document_is_better(documents in vec((1_u32..18, 0_u32..400), 1..20), large in 0_usize..3) {
            let scale = [1, 1000, 100_000][large];
            let documents: Vec<_> = documents.iter().map(|(count, length)| (count * scale, length * scale)).collect();
            let mut bound = Bound::default();
            documents.iter().for_each(|(count, length)| bound.add(*count, *length));
            assert_eq!(Bound::from_bytes(&bound.bytes()), bound);
            for bm25 in [Bm25::new(100.0), Bm25 { k1: 0.0, b: 1.0, average: 3.0 }, Bm25 { k1: 5.0, b: 0.0, average: 1.0 }] {
                let mut scale = Scale::new(&bm25);
                let scale = scale.prepared(u32::MAX);
                let best = documents.iter().map(|(count, length)| bm25.score(2.0, *count, *length)).fold(0.0, f64::max);
                assert!(bound.score(2.0, scale) >= best);
                assert!(bound.may_reach(&Bound::limits(2.0, scale, best, true)));
                if documents.iter().all(|(count, length)| *count <= 4 && *length < 32) {
                    assert_eq!(bound.score(2.0, scale), best);
                    assert!(!bound.may_reach(&Bound::limits(2.0, scale, best, false)));
                }
            }
        }

        #[test]
        fn codes_are_of_the_lengths_up_to_the_next(length in any::<u32>(), shift in 0_u32..32) {
            let length = length >> shift;
            let code = code(length);
            assert!(code < NONE && least(code) <= length);
            assert!(code == NONE - 1 || least(code + 1) > length);
        }
    }

    #[test]
    fn each_count_is_of_the_first_class_that_it_does_not_exceed() {
        for (count, class) in super::CLASS.into_iter().enumerate() {
            assert_eq!(class, super::CLASSES.partition_point(|most| usize::from(*most) < count));
        }
    }

    #[test]
    fn nothing_is_no_better_than_nothing() {
        let mut scale = Scale::new(&Bm25::new(1.0));
        let scale = scale.prepared(u32::MAX);
        assert_eq!(Bound::default().score(2.0, scale), 0.0);
        assert!(!Bound::default().may_reach(&Bound::limits(2.0, scale, 0.0, true)));
    }
}

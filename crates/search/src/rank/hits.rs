//! Hits in the order of their scores, and scores of those that a phase leaves out.

use std::cmp::Ordering;

use stead_expr::Value;

/// A document with its scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hit {
    pub(super) document: u32,
    pub(super) first: f64,
    pub(super) second: Option<f64>,
    pub(super) global: Option<f64>,
    /// The score by which it is ranked.
    pub(super) score: f64,
}

/// A document of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    /// The place of the document.
    pub document: u32,
    /// The score by which it is ranked: that of the last phase that it took part in, scaled where it was left out of a later one.
    pub relevance: f64,
    /// The score of the first phase.
    pub first_phase: f64,
    /// The score of the second phase, if it took part.
    pub second_phase: Option<f64>,
    /// The score of the global phase, if it took part.
    pub global_phase: Option<f64>,
    /// `match-features` in their order.
    pub match_features: Vec<Value>,
    /// `summary-features` in their order.
    pub summary_features: Vec<Value>,
    /// `rank-features` in their order, where the query asks for them.
    pub rank_features: Vec<Value>,
}

/// The greatest first; NaN behind all others. Documents of the same score stay in their order.
pub fn descending(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        // The two zeros are the same score.
        (false, false) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
    }
}

/// Sorts hits by their scores, and those of the same score by their documents.
pub(super) fn sort(hits: &mut [Hit]) {
    hits.sort_unstable_by_key(place);
}

/// Puts the first `count` hits in the order of [`sort`] before the others, which stay in their order.
pub(super) fn sort_first(hits: &mut [Hit], count: usize) {
    let Some(bar) = place_of_last(hits, count) else { return sort(hits) };
    let mut first: Vec<Hit> = hits.iter().filter(|hit| place(hit) <= bar).copied().collect();
    sort(&mut first);
    let mut behind = hits.len();
    for at in (0..hits.len()).rev() {
        if place(&hits[at]) > bar {
            behind -= 1;
            hits[behind] = hits[at];
        }
    }
    hits[..behind].copy_from_slice(&first);
}

/// No score has the key 0.
const BEFORE_ALL: (u64, u32) = (0, 0);

/// Where a hit stands: the order of [`sort`], as numbers that are compared at once.
pub(super) fn place(hit: &Hit) -> (u64, u32) {
    (key(hit.score), hit.document)
}

/// The place of the last of the best `count` hits, of 0 one before all hits; none where there are not more than `count`.
pub(super) fn place_of_last(hits: &[Hit], count: usize) -> Option<(u64, u32)> {
    if hits.len() <= count {
        return None;
    }
    let Some(last) = count.checked_sub(1) else { return Some(BEFORE_ALL) };
    let mut places: Vec<(u64, u32)> = hits.iter().map(place).collect();
    Some(*places.select_nth_unstable(last).1)
}

/// A number whose order is that of [`descending`].
fn key(score: f64) -> u64 {
    // The two zeros are the same score; all that is no number is the same too.
    let bits = if score == 0.0 { 0 } else { score.to_bits() };
    match score.is_nan() {
        true => u64::MAX,
        // The bits of positive numbers ascend with them, those of negative numbers descend.
        false if bits >> 63 == 0 => !(1 << 63) - bits,
        false => bits,
    }
}

/// The lowest and highest of some scores.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(scores: impl Iterator<Item = f64>) -> Option<Range> {
        scores.fold(None, |range, score| {
            let range = range.unwrap_or(Range { low: score, high: score });
            Some(Range { low: range.low.min(score), high: range.high.max(score) })
        })
    }

    /// The width, at least 1.
    fn width(self) -> f64 {
        let width = self.high - self.low;
        if width < 1.0 { 1.0 } else { width }
    }
}

/// Scales the scores of the hits that a phase left out, so that none of them stands above those that it ranked anew: linearly, from
/// the range of the scores before to that behind, and only if they could stand above
/// (Vespa, `searchlib/src/vespa/searchlib/queryeval/first_phase_rescorer.cpp`;
/// in the global phase `container-search/src/main/java/com/yahoo/search/ranking/RangeAdjuster.java`).
///
/// `ranked` has the scores before and behind of the hits that took part, `dropped` the best score before of those that diversity
/// passed over.
pub(super) fn rescale(ranked: &[(f64, f64)], dropped: Option<f64>, rest: &mut [Hit]) {
    let mut before = Range::of(ranked.iter().map(|(before, _)| *before));
    if let (Some(before), Some(dropped)) = (&mut before, dropped) {
        before.low = before.low.max(dropped);
    }
    let behind = Range::of(ranked.iter().map(|(_, behind)| *behind));
    let (Some(before), Some(behind)) = (before, behind) else { return };
    if before.low <= behind.low {
        return;
    }
    let scale = behind.width() / before.width();
    let shift = before.low * scale - behind.low;
    for hit in rest {
        hit.score = hit.score * scale - shift;
    }
}

#[cfg(test)]
mod tests {
    use super::{BEFORE_ALL, Hit, descending, key, rescale, sort, sort_first};

    fn hit(document: u32, score: f64) -> Hit {
        Hit { document, first: score, second: None, global: None, score }
    }

    #[test]
    fn hits_of_the_same_score_stay_in_the_order_of_documents() {
        let mut hits = [
            hit(3, 1.0),
            hit(1, f64::NAN),
            hit(2, 1.0),
            hit(0, -0.0),
            hit(4, 0.0),
            hit(5, f64::NEG_INFINITY),
        ];
        sort(&mut hits);
        assert_eq!(hits.map(|h| h.document), [2, 3, 0, 4, 5, 1]);
    }

    #[test]
    fn keys_have_the_order_of_scores() {
        let (least, most) = (f64::MIN_POSITIVE / 4.0, f64::MAX);
        let all = [0.0, -0.0, 1.0, -1.0, 1.5, least, -least, most, -most];
        let all = all.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN]);
        for a in all.clone() {
            for b in all.clone() {
                assert_eq!(key(a).cmp(&key(b)), descending(a, b), "{a} {b}");
                assert!(key(a) > BEFORE_ALL.0, "{a}");
            }
        }
    }

    #[test]
    fn the_first_hits_are_those_of_sorting_all() {
        let hits: Vec<Hit> = (0..50).map(|n| hit(n, f64::from(n * 7 % 11))).collect();
        let mut sorted = hits.clone();
        sort(&mut sorted);
        for count in [0, 1, 7, 49, 50, 60] {
            let mut first = hits.clone();
            sort_first(&mut first, count);
            let end = count.min(50);
            assert_eq!(first[..end], sorted[..end], "{count}");
            let rest = hits.iter().filter(|hit| !sorted[..end].contains(hit));
            assert!(first[end..].iter().eq(rest), "{count}");
        }
    }

    #[test]
    fn hits_that_are_left_out_stay_below() {
        // The examples are computed by hand from the formula of the documentation: scale = new range / old range, both at
        // least 1, and the lowest of the old scores goes to the lowest of the new ones.
        for (label, ranked, rest, expected) in [
            ("already below", vec![(200.0, 300.0), (190.0, 250.0)], 180.0, 180.0),
            ("ranges of 100 and 10", vec![(200.0, 20.0), (100.0, 10.0)], 50.0, 5.0),
            ("ranges below 1 count as 1", vec![(10.5, 3.0), (10.0, 2.5)], 9.0, 1.5),
            ("one hit", vec![(7.0, 1.0)], 6.0, 0.0),
            ("nothing was ranked", vec![], 6.0, 6.0),
        ] {
            let mut hits = [hit(0, rest)];
            rescale(&ranked, None, &mut hits);
            assert_eq!(hits[0].score, expected, "{label}");
        }
    }
}

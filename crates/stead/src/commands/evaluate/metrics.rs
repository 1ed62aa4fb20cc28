//! How good a ranking is, by what people have judged (C. Buckley, E. Voorhees, "Retrieval System Evaluation", in "TREC: Experiment and
//! Evaluation in Information Retrieval", 2005; the measures are those of `trec_eval`).

use super::judgements::Grades;

/// The hits that nDCG and the reciprocal rank look at.
pub(super) const CUT: usize = 10;

/// How good the ranking of a query is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Scores {
    /// Of the first [`CUT`]: the sum of `gain / log2(1 + rank)`, as a part of the greatest that there could be.
    pub(super) ndcg: f64,
    /// One over the rank of the first that is relevant, among the first [`CUT`].
    pub(super) reciprocal_rank: f64,
    /// The part of the relevant documents that is found.
    pub(super) recall: f64,
    /// The precision at the rank of each relevant document, on average over all that there are.
    pub(super) average_precision: f64,
}

/// The measures by the names that people know them by.
pub(super) const NAMES: [(&str, fn(&Scores) -> f64); 4] = [
    ("nDCG@10", |scores| scores.ndcg),
    ("MRR@10", |scores| scores.reciprocal_rank),
    ("recall", |scores| scores.recall),
    ("MAP", |scores| scores.average_precision),
];

/// The scores of a ranking, the best first; nothing if no document was judged relevant.
pub(super) fn scores(ranking: &[String], judged: &Grades) -> Option<Scores> {
    let gain = |id: &String| judged.get(id).copied().unwrap_or(0.0).max(0.0);
    let relevant = judged.values().filter(|grade| **grade > 0.0).count();
    if relevant == 0 {
        return None;
    }
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(CUT).zip(2..).map(|(gain, rank)| gain / f64::from(rank).log2()).sum()
    };
    let mut best: Vec<f64> = judged.values().map(|grade| grade.max(0.0)).collect();
    best.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut found, mut precision) = (0.0, 0.0);
    for (at, id) in ranking.iter().enumerate() {
        if gain(id) > 0.0 {
            found += 1.0;
            precision += found / (at as f64 + 1.0);
        }
    }
    let first = ranking.iter().take(CUT).position(|id| gain(id) > 0.0);
    Some(Scores {
        ndcg: discounted(&mut ranking.iter().map(gain)) / discounted(&mut best.into_iter()),
        reciprocal_rank: first.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)),
        recall: found / relevant as f64,
        average_precision: precision / relevant as f64,
    })
}

/// The average of each measure.
pub(super) fn average<'s>(all: impl Iterator<Item = &'s Scores> + Clone) -> Scores {
    let count = all.clone().count().max(1) as f64;
    let of = |measure: fn(&Scores) -> f64| all.clone().map(measure).sum::<f64>() / count;
    Scores {
        ndcg: of(|s| s.ndcg),
        reciprocal_rank: of(|s| s.reciprocal_rank),
        recall: of(|s| s.recall),
        average_precision: of(|s| s.average_precision),
    }
}

#[cfg(test)]
mod tests {
    use super::{Grades, Scores, scores};

    /// The expected values follow from the definitions by hand.
    #[test]
    fn rankings_are_as_good_as_what_was_judged_stands_first() {
        let log = |rank: f64| (rank + 1.0).log2();
        let best = 3.0 + 1.0 / log(2.0);
        for (label, ranking, judged, expected) in [
            ("nothing relevant", "a b", "a:0", None),
            ("best", "a b c", "a:3 b:1", Some([1.0, 1.0, 1.0, 1.0])),
            (
                "turned around",
                "b a c",
                "a:3 b:1",
                Some([(1.0 + 3.0 / log(2.0)) / best, 1.0, 1.0, 1.0]),
            ),
            ("one is missing", "c a d", "a:3 b:1", Some([3.0 / log(2.0) / best, 0.5, 0.5, 0.25])),
            ("nothing found", "c d", "a:1", Some([0.0; 4])),
            (
                "behind the first ten",
                "1 2 3 4 5 6 7 8 9 10 a",
                "a:1",
                Some([0.0, 0.0, 1.0, 1.0 / 11.0]),
            ),
            (
                "halves",
                "b a",
                "a:1 b:0.5",
                Some([(0.5 + 1.0 / log(2.0)) / (1.0 + 0.5 / log(2.0)), 1.0, 1.0, 1.0]),
            ),
            (
                "below zero is not relevant",
                "b a",
                "a:2 b:-1",
                Some([1.0 / log(2.0), 0.5, 1.0, 0.5]),
            ),
        ] {
            let ranking: Vec<String> = ranking.split(' ').map(str::to_owned).collect();
            let judged: Grades = judged
                .split(' ')
                .map(|pair| pair.split_once(':').unwrap())
                .map(|(id, grade)| (id.to_owned(), grade.parse().unwrap()))
                .collect();
            let found = scores(&ranking, &judged);
            let expected = expected.map(|[ndcg, reciprocal_rank, recall, average_precision]| {
                Scores { ndcg, reciprocal_rank, recall, average_precision }
            });
            assert_eq!(found, expected, "{label}");
        }
    }
}

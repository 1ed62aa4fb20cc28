//! Which texts a model is run on together.

/// What a run costs beside its ids, in ids: its weights are read once, and a plan is made for sizes that are new. MiniLM takes 2.6 ms for 16
/// ids, 4.0 for 32 and 7.0 for 64, and 1.6, 3.2 and 6.4 for as many of a long run; a plan takes 0.4 ms.
const RUN: usize = 16;

/// What a run may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most texts.
    pub texts: usize,
    /// The most ids, those of padding counted, unless one text has more.
    pub ids: usize,
    /// Lengths are a multiple of this where that is possible, so that there are few of them.
    pub multiple: usize,
    /// The longest text that the model takes.
    pub longest: usize,
    /// Whether texts can be made longer by ids that the model does not attend to.
    pub pads: bool,
}

/// Texts that are run together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Their places in the list of lengths.
    pub texts: Vec<usize>,
    /// The length that all of them have.
    pub length: usize,
}

/// The cheapest runs for texts of these lengths, the longest texts first: texts of similar lengths together, so that neither the padding nor the
/// number of runs costs much.
#[must_use]
pub fn batches(lengths: &[usize], limits: BatchLimits) -> Vec<Batch> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(lengths[*at]));
    // Those of a run are neighbours in this order. What the first texts cost at least, and where their last run begins.
    let mut cheapest: Vec<(usize, usize)> = vec![(0, 0)];
    for end in 1..=order.len() {
        let mut found = (usize::MAX, 0);
        for begin in (0..end).rev() {
            let (count, longest) = (end - begin, lengths[order[begin]]);
            let length = limits.length(longest);
            let ids = length.saturating_mul(count);
            let is_padded = longest != lengths[order[end - 1]];
            let is_too_large = count > limits.texts || ids > limits.ids;
            // Further texts make it larger still.
            if count > 1 && (is_too_large || is_padded && !limits.pads) {
                break;
            }
            let cost = cheapest[begin].0.saturating_add(ids).saturating_add(RUN);
            if cost < found.0 {
                found = (cost, begin);
            }
        }
        cheapest.push(found);
    }
    let (mut runs, mut end) = (Vec::new(), order.len());
    while end > 0 {
        let begin = cheapest[end].1;
        let length = limits.length(lengths[order[begin]]);
        runs.push(Batch { texts: order[begin..end].to_vec(), length });
        end = begin;
    }
    runs.reverse();
    runs
}

impl BatchLimits {
    /// The length of a run whose longest text has so many ids.
    fn length(&self, longest: usize) -> usize {
        match self.pads {
            true => longest.next_multiple_of(self.multiple.max(1)).min(self.longest).max(longest),
            false => longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, BatchLimits, RUN, batches};

    const LIMITS: BatchLimits =
        BatchLimits { texts: 4, ids: 400, multiple: 8, longest: 512, pads: true };

    #[test]
    fn texts_of_similar_lengths_are_together() {
        let batch = |texts: &[usize], length| Batch { texts: texts.to_vec(), length };
        for (label, lengths, limits, expected) in [
            ("none", &[][..], LIMITS, vec![]),
            ("one", &[5], LIMITS, vec![batch(&[0], 8)]),
            (
                "a few short ones are one run",
                &[11, 12, 7, 9],
                LIMITS,
                vec![batch(&[1, 0, 3, 2], 16)],
            ),
            (
                "padding that costs more than a run is not made",
                &[3, 20, 7],
                LIMITS,
                vec![batch(&[1], 24), batch(&[2, 0], 8)],
            ),
            (
                "lengths that are far apart are not together",
                &[10, 200, 192, 9],
                LIMITS,
                vec![batch(&[1, 2], 200), batch(&[0, 3], 16)],
            ),
            (
                "texts have a limit",
                &[8; 6],
                LIMITS,
                vec![batch(&[0, 1, 2, 3], 8), batch(&[4, 5], 8)],
            ),
            ("ids have one", &[200; 3], LIMITS, vec![batch(&[0, 1], 200), batch(&[2], 200)]),
            ("one text may be longer", &[500], LIMITS, vec![batch(&[0], 504)]),
            (
                "never longer than the model takes",
                &[509],
                BatchLimits { longest: 510, ..LIMITS },
                vec![batch(&[0], 510)],
            ),
            (
                "without padding only those of one length",
                &[5, 6, 5],
                BatchLimits { pads: false, ..LIMITS },
                vec![batch(&[1], 6), batch(&[0, 2], 5)],
            ),
        ] {
            assert_eq!(batches(lengths, limits), expected, "{label}");
        }
    }

    /// What runs cost in ids.
    fn cost(found: &[Batch]) -> usize {
        found.iter().map(|batch| batch.length * batch.texts.len() + RUN).sum()
    }

    /// The least that neighbours in order of length can cost, tried one after the other.
    fn least(lengths: &[usize], limits: BatchLimits) -> usize {
        let Some(longest) = lengths.first() else { return 0 };
        let length = limits.length(*longest);
        (1..=lengths.len())
            .filter(|count| {
                let fits = *count <= limits.texts && length * count <= limits.ids;
                let is_even = limits.pads || lengths[..*count].iter().all(|l| l == longest);
                *count == 1 || fits && is_even
            })
            .map(|count| length * count + RUN + least(&lengths[count..], limits))
            .min()
            .unwrap_or(0)
    }

    #[test]
    fn every_text_is_in_one_run_and_no_others_are_cheaper() {
        let mut state = 7_u64;
        for round in 0..300 {
            let mut next = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as usize % below
            };
            let spread = 1 + next(300);
            let mut lengths: Vec<usize> = (0..next(11)).map(|_| 1 + next(spread)).collect();
            let (texts, ids, pads) = (1 + next(16), 64 + next(2000), next(4) > 0);
            let limits = BatchLimits { texts, ids, pads, ..LIMITS };
            let found = batches(&lengths, limits);
            let label = format!("round {round}: {lengths:?} {limits:?}: {found:?}");
            let mut seen: Vec<usize> = found.iter().flat_map(|b| b.texts.clone()).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>(), "{label}");
            for batch in &found {
                let longest = batch.texts.iter().map(|at| lengths[*at]).max().unwrap_or(0);
                assert_eq!(batch.length, limits.length(longest), "{label}");
                let is_small =
                    batch.texts.len() <= texts && batch.length * batch.texts.len() <= ids;
                assert!(batch.texts.len() == 1 || is_small, "{label}");
            }
            lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
            assert_eq!(cost(&found), least(&lengths, limits), "{label}");
        }
    }
}

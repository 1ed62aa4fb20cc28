//! Which texts a model is run on together.

/// How many ids of padding there may always be.
const FREE: usize = 64;

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

/// Runs for texts of these lengths: texts of similar lengths together, so that at most a quarter of the ids of a run, or a few in all, are
/// padding to the longest.
#[must_use]
pub fn batches(lengths: &[usize], limits: BatchLimits) -> Vec<Batch> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(lengths[*at]));
    let mut found: Vec<(Batch, usize)> = Vec::new();
    for at in order {
        let length = lengths[at];
        let fits = |(batch, sum): &&mut (Batch, usize)| {
            let count = batch.texts.len() + 1;
            let longest = batch.texts.first().map_or(0, |first| lengths[*first]);
            let padding = longest * count - sum - length;
            let is_near =
                if limits.pads { padding <= FREE.max(longest * count / 4) } else { padding == 0 };
            is_near && count <= limits.texts && batch.length * count <= limits.ids
        };
        match found.last_mut().filter(|last| fits(last)) {
            Some((batch, sum)) => {
                batch.texts.push(at);
                *sum += length;
            }
            None => {
                let length_of_all = match limits.pads {
                    true => length
                        .next_multiple_of(limits.multiple.max(1))
                        .min(limits.longest)
                        .max(length),
                    false => length,
                };
                found.push((Batch { texts: vec![at], length: length_of_all }, length));
            }
        }
    }
    found.into_iter().map(|(batch, _)| batch).collect()
}

#[cfg(test)]
mod tests {
    use super::{Batch, BatchLimits, FREE, batches};

    const LIMITS: BatchLimits =
        BatchLimits { texts: 4, ids: 400, multiple: 8, longest: 512, pads: true };

    #[test]
    fn texts_of_similar_lengths_are_together() {
        let batch = |texts: &[usize], length| Batch { texts: texts.to_vec(), length };
        for (label, lengths, limits, expected) in [
            ("none", &[][..], LIMITS, vec![]),
            ("one", &[5], LIMITS, vec![batch(&[0], 8)]),
            ("a few short ones are one run", &[3, 12, 7], LIMITS, vec![batch(&[1, 2, 0], 16)]),
            (
                "lengths that are far apart are not",
                &[10, 200, 180, 9],
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

    #[test]
    fn every_text_is_in_one_run_and_padding_is_bounded() {
        let mut state = 7_u64;
        for round in 0..200 {
            let mut next = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as usize % below
            };
            let lengths: Vec<usize> = (0..next(60)).map(|_| 1 + next(300)).collect();
            let limits = BatchLimits { texts: 1 + next(16), ids: 64 + next(2000), ..LIMITS };
            let found = batches(&lengths, limits);
            let mut seen: Vec<usize> = found.iter().flat_map(|b| b.texts.clone()).collect();
            seen.sort_unstable();
            let all: Vec<usize> = (0..lengths.len()).collect();
            assert_eq!(seen, all, "round {round}: {lengths:?}");
            for batch in &found {
                let count = batch.texts.len();
                let longest = batch.texts.iter().map(|at| lengths[*at]).max().unwrap_or(0);
                let sum: usize = batch.texts.iter().map(|at| lengths[*at]).sum();
                let padding = longest * count - sum;
                assert!(batch.length >= longest && batch.length < longest + 8, "round {round}");
                assert!(padding <= FREE.max(longest * count / 4), "round {round}: {batch:?}");
                assert!(count == 1 || batch.length * count <= limits.ids, "round {round}");
            }
        }
    }
}

//! Which tokens go on: the best sequences of a step (greedy with one).

/// A sequence that is being written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Beam {
    pub(super) tokens: Vec<i64>,
    /// The sum of the logarithms of the probabilities of its tokens.
    pub(super) score: f64,
}

/// What goes on after a step: for each beam the row of the step before that it comes from.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Chosen {
    pub(super) rows: Vec<usize>,
    pub(super) beams: Vec<Beam>,
    /// Those that have ended, without the token that ends them.
    pub(super) ended: Vec<Beam>,
}

/// The logarithms of probabilities from logits, as sums of all of a row.
fn log_sum(logits: &[f32]) -> f64 {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - top).exp()).sum();
    f64::from(top) + sum.ln()
}

/// The best `count` continuations of beams, whose next tokens have these logits, a row for each beam. Of equal ones the first counts.
pub(super) fn choose(beams: &[Beam], logits: &[f32], count: usize, end: i64) -> Chosen {
    let width = logits.len() / beams.len().max(1);
    let mut all: Vec<(f64, usize, usize)> = Vec::new();
    for (row, (beam, logits)) in beams.iter().zip(logits.chunks_exact(width.max(1))).enumerate() {
        let sum = log_sum(logits);
        let mut best: Vec<(f64, usize, usize)> = logits
            .iter()
            .enumerate()
            .map(|(token, logit)| (beam.score + f64::from(*logit) - sum, row, token))
            .collect();
        // Some of them may be the end, which takes no place of one that goes on.
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(count + 1);
        all.extend(best);
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut chosen = Chosen::default();
    for (score, row, token) in all {
        if chosen.beams.len() == count {
            break;
        }
        let Some(beam) = beams.get(row) else { continue };
        let token = i64::try_from(token).unwrap_or(i64::MAX);
        if token == end {
            chosen.ended.push(Beam { score, ..beam.clone() });
            continue;
        }
        let mut tokens = beam.tokens.clone();
        tokens.push(token);
        chosen.rows.push(row);
        chosen.beams.push(Beam { tokens, score });
    }
    chosen
}

/// How good a sequence is that has ended, among others of other lengths: the token that ended it counted.
pub(super) fn rated(beam: &Beam, penalty: f64) -> f64 {
    beam.score / ((beam.tokens.len() + 1) as f64).powf(penalty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beam(tokens: &[i64], score: f64) -> Beam {
        Beam { tokens: tokens.to_vec(), score }
    }

    #[test]
    fn the_best_continuations_go_on() {
        let two = [beam(&[7], -0.1), beam(&[8], -2.0)];
        // Token 0 ends.
        let logits = [0.0, 3.0, 2.0, 0.0, 5.0, 0.0];
        let tokens = |chosen: &Chosen| -> Vec<Vec<i64>> {
            chosen.beams.iter().map(|beam| beam.tokens.clone()).collect()
        };
        let greedy = choose(&two[..1], &logits[..3], 1, 0);
        assert_eq!((tokens(&greedy), greedy.rows.clone()), (vec![vec![7, 1]], vec![0]));
        let both = choose(&two, &logits, 2, 0);
        assert_eq!((tokens(&both), both.rows), (vec![vec![7, 1], vec![7, 2]], vec![0, 0]));
        let sum: f64 = [0.0_f64, 3.0, 2.0].iter().map(|x| x.exp()).sum();
        assert!((greedy.beams[0].score - (-0.1 + 3.0 - sum.ln())).abs() < 1e-6);
        let ends = choose(&two[..1], &[9.0, 3.0, 2.0], 1, 0);
        assert_eq!((tokens(&ends), ends.ended[0].tokens.clone()), (vec![vec![7, 1]], vec![7]));
    }

    #[test]
    fn longer_sequences_are_not_worse_for_their_length() {
        let (short, long) = (beam(&[1], -2.0), beam(&[1, 2, 3], -3.0));
        assert!(rated(&long, 1.0) > rated(&short, 1.0));
        assert!(rated(&long, 0.0) < rated(&short, 0.0));
    }
}

//! What a table allows, and whose rules it follows where servers disagree.

use std::fmt;
use std::time::Duration;

/// Whose rules hold where OpenVINO Model Server and Triton disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rules {
    /// A START on a live id is refused, one without an id gets one, a step without a START is not found.
    #[default]
    Ovms,
    /// A START on a live id begins it anew, every request needs an id, a step without a START is a wrong
    /// request.
    Triton,
}

/// Limits of one table. They can change while sequences live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sequences at a time.
    pub max_sequences: usize,
    /// Answers that each sequence keeps of its last numbered steps.
    pub replay_depth: usize,
    /// How long the answer of a numbered END is kept.
    pub ended_ttl: Duration,
    /// The most bytes of such answers; the oldest go first.
    pub ended_bytes: u64,
    /// A sequence without a successful step for this long ends by itself.
    pub idle_timeout: Option<Duration>,
    /// Whose rules hold.
    pub rules: Rules,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // The default of OpenVINO Model Server.
            max_sequences: 500,
            replay_depth: 1,
            // A client that has not repeated its request for a minute has given up.
            ended_ttl: Duration::from_secs(60),
            ended_bytes: 64 << 20,
            idle_timeout: None,
            rules: Rules::Ovms,
        }
    }
}

/// Where the ids of sequences come from that begin without one.
pub enum Ids {
    /// 1, 2, 3, ... past those in use; after the largest number 1 again, as in OpenVINO Model Server.
    Counter,
    /// Numbers that cannot be guessed, from this source of random bits, which gives none when
    /// it is out of order. They have 53 bits, so that JSON clients
    /// that know only 64-bit floats read them exactly.
    Random(Box<dyn FnMut() -> Option<u64> + Send>),
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ids::Counter => "Counter",
            Ids::Random(_) => "Random",
        })
    }
}

/// The next id that `is_used` does not know, none without random bits; `counter` is the last one given by [`Ids::Counter`].
pub(super) fn fresh(
    ids: &mut Ids,
    counter: &mut u64,
    is_used: impl Fn(u64) -> bool,
) -> Option<u64> {
    loop {
        let id = match ids {
            Ids::Counter => {
                *counter = counter.checked_add(1).unwrap_or(1);
                *counter
            }
            Ids::Random(bits) => bits()? >> (64 - 53),
        };
        if id != 0 && !is_used(id) {
            return Some(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of OpenVINO Model Server's own tests.
    #[test]
    fn get_unique_sequence_id() {
        let cases: [(&str, u64, &[u64], &[u64]); 3] = [
            ("FirstOK", 0, &[], &[1, 2, 3]),
            ("FirstTaken", 0, &[1, 2, 3, 4], &[5]),
            ("ExceedRange", u64::MAX, &[], &[1]),
        ];
        for (label, last, used, expected) in cases {
            let mut counter = last;
            for id in expected {
                assert_eq!(
                    fresh(&mut Ids::Counter, &mut counter, |id| used.contains(&id)),
                    Some(*id),
                    "{label}"
                );
            }
        }
    }

    #[test]
    fn random_ids_fit_a_float_and_are_never_zero() {
        let mut draws = [0u64, 1, u64::MAX].into_iter().cycle();
        let mut ids = Ids::Random(Box::new(move || draws.next()));
        assert_eq!(fresh(&mut ids, &mut 0, |_| false), Some((1 << 53) - 1));
        assert_eq!(fresh(&mut Ids::Random(Box::new(|| None)), &mut 0, |_| false), None);
    }
}

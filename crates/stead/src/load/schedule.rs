//! When each step is due.

use std::time::Duration;

/// Sequences that each take a step every `interval`, their starts spread evenly over the first one.
///
/// The times are fixed before the first request: a server that answers late does not slow the load down, and what
/// it answers late is measured from the time at which the step was due (no coordinated omission).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Sequences at a time; at least 1.
    pub sequences: usize,
    /// Steps of each sequence.
    pub steps: usize,
    /// Time between two steps of a sequence; without one a step follows when the one before is answered (closed loop).
    pub interval: Option<Duration>,
}

impl Schedule {
    /// When a step is due, from the beginning of the load; at its very beginning when there is no interval.
    pub fn due(&self, sequence: usize, step: usize) -> Duration {
        let nanos = self.interval.unwrap_or_default().as_nanos();
        let offset = nanos * sequence as u128 / self.sequences.max(1) as u128;
        Duration::from_nanos(u64::try_from(nanos * step as u128 + offset).unwrap_or(u64::MAX))
    }

    /// The sequences and steps that the `share`-th of `shares` senders sends, in the order in which they are due.
    pub fn of_share(&self, share: usize, shares: usize) -> impl Iterator<Item = (usize, usize)> {
        let Schedule { sequences, steps, .. } = *self;
        let own = move |step| (share..sequences).step_by(shares.max(1)).map(move |s| (s, step));
        (0..steps).flat_map(own)
    }

    /// How long the load takes when every answer comes at once.
    pub fn length(&self) -> Duration {
        self.due(self.sequences.saturating_sub(1), self.steps.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn starts_are_spread_and_steps_keep_their_distance() {
        let schedule = Schedule { sequences: 4, steps: 3, interval: Some(32 * MS) };
        let cases = [((0, 0), 0), ((1, 0), 8), ((3, 0), 24), ((0, 1), 32), ((3, 2), 88)];
        for ((sequence, step), ms) in cases {
            assert_eq!(schedule.due(sequence, step), ms * MS, "{sequence} {step}");
        }
        assert_eq!(schedule.length(), 88 * MS);
    }

    #[test]
    fn shares_are_in_order_and_whole() {
        let schedule = Schedule { sequences: 5, steps: 4, interval: Some(32 * MS) };
        let mut all = Vec::new();
        for share in 0..3 {
            let own: Vec<_> = schedule.of_share(share, 3).collect();
            let due: Vec<_> = own.iter().map(|(s, k)| schedule.due(*s, *k)).collect();
            assert!(due.is_sorted(), "{due:?}");
            all.extend(own);
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 20);
    }
}

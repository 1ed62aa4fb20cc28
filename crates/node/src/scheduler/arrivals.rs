//! Whether a request that waits can expect others.

use std::time::{Duration, Instant};

/// How the last requests came.
#[derive(Default)]
pub(super) struct Arrivals {
    last: Option<(Option<u64>, Instant)>,
    /// The mean time between two of them. None at first, so that the first request ever waits.
    gap: Duration,
}

/// The share of the newest gap in the mean, as a divisor: a burst is taken for one after a few requests.
const MEMORY: u32 = 8;

/// The share of a request that follows one of its own source: a client is taken for alone at the third, and not at the
/// first. When one run has answered many clients, any of them may come twice before the others have come once.
const ALONE: u32 = 4;

/// So many mean gaps without a request end a burst.
const GAPS: u32 = 4;

/// A burst does not end sooner than after this part of the delay: timers are not finer than some ten microseconds.
const SHORTEST: u32 = 8;

impl Arrivals {
    /// A request came. One whose `source` sent the one before as well tells nothing of others: a client that sends
    /// the next step when it has the answer to the last would only be slowed down.
    pub(super) fn note(&mut self, source: Option<u64>, now: Instant, delay: Duration) {
        if let Some((before, last)) = self.last.replace((source, now)) {
            let longest = 2 * delay;
            if before.is_some() && before == source {
                self.gap = (self.gap * (ALONE - 1) + longest) / ALONE;
                return;
            }
            // A long pause says no more than that nothing came for some delays, and must be forgotten as soon.
            let gap = now.saturating_duration_since(last).min(longest);
            self.gap = (self.gap * (MEMORY - 1) + gap) / MEMORY;
        }
    }

    /// Whether another one can be expected within the delay.
    pub(super) fn are_close(&self, delay: Duration) -> bool {
        self.gap <= delay
    }

    /// When no more can be expected, if none comes until then: clients that wait for their answers send nothing.
    pub(super) fn pause_ends(&self, delay: Duration) -> Option<Instant> {
        let (_, last) = self.last?;
        Some(last + (self.gap * GAPS).clamp(delay / SHORTEST, delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_worth_it_when_others_come_within_the_delay() {
        let delay = Duration::from_millis(1);
        let mut arrivals = Arrivals::default();
        let mut now = Instant::now();
        let mut source = 0;
        // (label, microseconds between requests, how many, of how many clients in turn, whether others are expected)
        let cases = [
            ("the first ever", 0, 1, 2, true),
            ("one stream", 32_000, 10, 1, false),
            ("a burst begins", 10, 2, 9, false),
            ("and goes on", 10, 6, 9, true),
            ("one pause", 60_000_000, 1, 9, true),
            ("32 streams", 900, 40, 32, true),
            ("16 streams", 2_000, 20, 16, false),
            ("two that wait for answers", 50, 40, 2, true),
            ("one that waits for answers", 50, 10, 1, false),
        ];
        for (label, gap_us, count, clients, expected) in cases {
            for _ in 0..count {
                now += Duration::from_micros(gap_us);
                source = (source + 1) % clients;
                arrivals.note(Some(source), now, delay);
            }
            assert_eq!(arrivals.are_close(delay), expected, "{label}");
        }
    }

    #[test]
    fn a_client_is_alone_when_it_follows_itself_for_the_third_time() {
        let (delay, mut now) = (Duration::from_millis(1), Instant::now());
        let mut arrivals = Arrivals::default();
        let closeness = [1, 2, 3, 3, 3, 3].map(|source| {
            now += Duration::from_micros(10);
            arrivals.note(Some(source), now, delay);
            arrivals.are_close(delay)
        });
        assert_eq!(closeness, [true, true, true, true, true, false]);
    }

    #[test]
    fn a_burst_ends_after_some_gaps() {
        let (delay, begin) = (Duration::from_millis(8), Instant::now());
        // (microseconds between requests, how long after the last one the burst has ended)
        for (gap_us, expected) in [(10, 1000), (500, 2000), (7000, 8000)] {
            let mut arrivals = Arrivals::default();
            assert_eq!(arrivals.pause_ends(delay), None);
            let mut now = begin;
            for _ in 0..200 {
                now += Duration::from_micros(gap_us);
                arrivals.note(None, now, delay);
            }
            let end = arrivals.pause_ends(delay).unwrap() - now;
            assert!(end.as_micros().abs_diff(expected) <= 4, "{gap_us}: {end:?}");
        }
    }
}

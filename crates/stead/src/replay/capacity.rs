//! The highest rate that meets the objectives, and how many machines another rate needs.

use crate::load::search::{self, Verdict};

/// The highest rate that is looked for.
const MOST: usize = 1_000_000;

/// The highest whole number of requests a second that is fine, to a twentieth; 0 when none is. The search begins at `first`,
/// doubles and then bisects; a trial that fails narrowly is repeated.
///
/// # Errors
/// Those of `trial`.
pub fn highest<E>(
    first: f64,
    mut trial: impl FnMut(f64) -> Result<Verdict, E>,
) -> Result<usize, E> {
    let first = first.clamp(1.0, MOST as f64) as usize;
    search::largest(first, MOST, |rate| search::is_fine(|| trial(rate as f64)))
}

/// How many machines, each of which takes `highest` requests a second and of which `headroom` percent are left free,
/// take `target` requests a second; `None` when a machine takes none.
pub fn machines(target: f64, highest: usize, headroom: f64) -> Option<u64> {
    let each = highest as f64 * (1.0 - headroom / 100.0);
    (each > 0.0).then(|| (target / each).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::arrivals::Arrivals;
    use super::super::objective::Objective;
    use super::super::report::{Load, Report, Window};
    use super::super::sample::{Ending, Outcome, Sample};
    use super::*;

    /// A server with one thread that takes `service` for each request, under a load of `rate` for four seconds.
    fn simulated(rate: f64, service: Duration, seed: u64) -> Report {
        let window = Window { from: Duration::from_millis(500), to: Duration::from_secs(4) };
        let mut free = Duration::ZERO;
        let samples = Arrivals::new(rate, seed).before(window.to).into_iter().map(|due| {
            free = free.max(due) + service;
            Sample { due, sent: due, done: free, ending: Ending::good(Outcome::Http(200)) }
        });
        Report::new(Load::Rate(rate), window, samples.collect())
    }

    #[test]
    fn the_limit_of_a_simulated_server_is_found() {
        // With 10 ms of service for requests at random times, p95 is 50 ms at about 74 a second, and 20 ms at about 29
        // (waiting times of a queue M/D/1); the trials are short, which leaves some room around both.
        for (limit, expected) in [(50, 62.0..88.0), (20, 22.0..42.0)] {
            let objectives = [Objective { percent: 95.0, limit: Duration::from_millis(limit) }];
            for first in [1.0, 64.0, 700.0] {
                let mut seed = 0;
                let found = highest(first, |rate| {
                    seed += 1;
                    Ok::<_, ()>(
                        simulated(rate, Duration::from_millis(10), seed).verdict(&objectives),
                    )
                });
                let found = found.unwrap() as f64;
                assert!(expected.contains(&found), "{limit} ms from {first}: {found}");
            }
        }
        // Slower than the objective even when idle.
        let objectives = [Objective { percent: 95.0, limit: Duration::from_millis(4) }];
        let found = highest(8.0, |rate| {
            Ok::<_, ()>(simulated(rate, Duration::from_millis(10), 7).verdict(&objectives))
        });
        assert_eq!(found, Ok(0));
    }

    #[test]
    fn machines_are_whole_and_have_room() {
        for (target, highest, headroom, expected) in [
            (10_000.0, 1000, 0.0, Some(10)),
            (10_000.0, 1000, 20.0, Some(13)),
            (10_001.0, 1000, 0.0, Some(11)),
            (1.0, 1000, 20.0, Some(1)),
            (10.0, 0, 20.0, None),
        ] {
            assert_eq!(machines(target, highest, headroom), expected, "{target} {highest}");
        }
    }
}

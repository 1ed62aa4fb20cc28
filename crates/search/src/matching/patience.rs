//! How long searches of graphs may take.

use std::time::{Duration, Instant};

/// What a request says of it (Vespa, documentation, `reference/api/query.html#ranking.matching`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphTime {
    /// What each search may take before it is content with what it has (`anntimebudget`).
    pub budget: Option<Duration>,
    /// The part of the time for matching that all searches may take together, each as much as the others
    /// (`anntimeout.factor`); nothing if they may take all of it (`anntimeout.enable`).
    pub part: Option<f64>,
}

impl Default for GraphTime {
    /// Vespa's defaults.
    fn default() -> GraphTime {
        GraphTime { budget: None, part: Some(0.9) }
    }
}

/// The time that searches of the graphs of a query have, and whether it was enough.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// What each may take before it is content with what it has.
    pub budget: Option<Duration>,
    /// When the last of them must have ended.
    pub until: Option<Instant>,
}

/// Why a search of a graph has ended before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was to take no longer: that is what was asked for
    Content,
    /// The time for searches of graphs is over
    Timeout,
    /// The time for matching is over
    Late,
}

/// When a search of a graph ends, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct End(Option<(Instant, Ended)>);

impl Patience {
    /// For the next of so many searches, which begins now.
    pub(super) fn next_of(self, searches: usize) -> End {
        let now = Instant::now();
        let share = |until: Instant| {
            let left = until.saturating_duration_since(now);
            (now + left / u32::try_from(searches.max(1)).unwrap_or(u32::MAX), Ended::Timeout)
        };
        let budget =
            self.budget.and_then(|budget| Some((now.checked_add(budget)?, Ended::Content)));
        End(budget.into_iter().chain(self.until.map(share)).min_by_key(|(end, _)| *end))
    }

    /// Whether searches of graphs have time of their own, which may be more than what comparisons of all vectors have.
    pub(super) fn has_own(self) -> bool {
        self.until.is_some()
    }
}

impl End {
    /// Whether it is time.
    pub(super) fn is_over(self) -> bool {
        self.0.is_some_and(|(end, _)| Instant::now() >= end)
    }

    /// Why a search has ended that was not done.
    pub(super) fn why(self) -> Ended {
        self.0.filter(|_| self.is_over()).map_or(Ended::Late, |(_, why)| why)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Ended, Instant, Patience};

    #[test]
    fn searches_end_by_what_is_over_first() {
        let (short, long) = (Duration::ZERO, Duration::from_secs(3600));
        let now = Instant::now();
        for (label, budget, until, is_over, why) in [
            ("neither", None, None, false, Ended::Late),
            ("a budget", Some(short), None, true, Ended::Content),
            ("much of both", Some(long), Some(now + long), false, Ended::Late),
            ("the time of all", Some(long), Some(now), true, Ended::Timeout),
            ("a budget before it", Some(short), Some(now + long), true, Ended::Content),
            ("one that never ends", Some(Duration::MAX), None, false, Ended::Late),
        ] {
            let end = Patience { budget, until }.next_of(2);
            assert_eq!((end.is_over(), end.why()), (is_over, why), "{label}");
        }
    }

    #[test]
    fn searches_share_what_is_left() {
        let until = Instant::now() + Duration::from_secs(400);
        let of = |searches: usize| {
            let end = Patience { budget: None, until: Some(until) }.next_of(searches);
            until.duration_since(end.0.unwrap().0).as_secs_f64()
        };
        // A share that begins later ends later: by less than the test takes.
        for (searches, behind) in [(1, 0.0), (2, 200.0), (4, 300.0)] {
            assert!((of(searches) - behind).abs() < 60.0, "{searches}: {}", of(searches));
        }
    }
}

//! What searches and operations with documents come to, since the process began and lately.

mod summary;

pub use summary::Summary;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What is measured. Times are in milliseconds; of what is only counted the values are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The table of the server says what each is.
pub enum Meter {
    Queries,
    QueryLatency,
    FailedQueries,
    DegradedQueries,
    EmptyResults,
    HitsPerQuery,
    TotalHitsPerQuery,
    FeedOperations,
    FeedLatency,
    FeedRefused,
    ApiLatency,
    ApiOperations,
    ApiPuts,
    ApiUpdates,
    ApiRemoves,
    ApiSucceeded,
    ApiFailed,
    ApiParseError,
    ApiConditionNotMet,
    ApiNotFound,
    ApiTimeout,
    ApiNoRoom,
    Http1xx,
    Http2xx,
    Http3xx,
    Http4xx,
    Http5xx,
    /// The last.
    HttpLatency,
}

const METERS: usize = Meter::HttpLatency as usize + 1;

/// The shortest time that [`Lately`] tells of, once the process is as old.
const PERIOD: Duration = Duration::from_secs(60);

/// All meters. They are shared by all threads.
#[derive(Debug)]
pub struct Meters {
    begin: (Instant, SystemTime),
    state: Mutex<State>,
}

impl Default for Meters {
    fn default() -> Meters {
        Meters { begin: (Instant::now(), SystemTime::now()), state: Mutex::default() }
    }
}

/// A time from its begin on, counted from that of the process.
#[derive(Debug, Clone, Default)]
struct Period {
    begin: Duration,
    of: Vec<Summary>,
}

#[derive(Debug, Default)]
struct State {
    /// Before `older`.
    before: Period,
    older: Period,
    newer: Period,
}

/// What some time came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Lately {
    /// When it began.
    pub from: SystemTime,
    /// When it ended.
    pub to: SystemTime,
    of: Vec<Summary>,
}

impl Lately {
    /// What a meter came to.
    #[must_use]
    pub fn of(&self, meter: Meter) -> Summary {
        self.of.get(meter as usize).cloned().unwrap_or_default()
    }

    /// How long it was, in seconds; no shorter than a millisecond.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to.duration_since(self.from).unwrap_or_default().as_secs_f64().max(0.001)
    }
}

impl Period {
    fn add(&mut self, meter: Meter, value: f64) {
        if self.of.is_empty() {
            self.of = vec![Summary::default(); METERS];
        }
        if let Some(summary) = self.of.get_mut(meter as usize) {
            summary.add(value);
        }
    }

    /// This time and a later one together.
    fn with(&self, later: &Period) -> Period {
        let of = match (self.of.is_empty(), later.of.is_empty()) {
            (_, true) => self.of.clone(),
            (true, false) => later.of.clone(),
            (false, false) => self.of.iter().zip(&later.of).map(|(a, b)| a.with(b)).collect(),
        };
        Period { begin: self.begin, of }
    }
}

impl State {
    /// A period that is long enough ends.
    fn turn(&mut self, now: Duration) {
        if now.saturating_sub(self.newer.begin) < PERIOD {
            return;
        }
        let newer = std::mem::replace(&mut self.newer, Period { begin: now, of: Vec::new() });
        let older = std::mem::replace(&mut self.older, newer);
        self.before = self.before.with(&older);
    }

    fn record(&mut self, now: Duration, values: &[(Meter, f64)]) {
        self.turn(now);
        values.iter().for_each(|(meter, value)| self.newer.add(*meter, *value));
    }

    fn lately(&mut self, now: Duration) -> Period {
        self.turn(now);
        self.older.with(&self.newer)
    }

    fn all(&self) -> Period {
        self.before.with(&self.older).with(&self.newer)
    }
}

impl Meters {
    /// Adds values to meters.
    pub fn record(&self, values: &[(Meter, f64)]) {
        self.state().record(self.begin.0.elapsed(), values);
    }

    /// What the last minute or two came to: since the process began, if it is younger.
    #[must_use]
    pub fn lately(&self) -> Lately {
        let now = self.begin.0.elapsed();
        let period = self.state().lately(now);
        Lately { from: self.begin.1 + period.begin, to: self.begin.1 + now, of: period.of }
    }

    /// What all time since the process began came to.
    #[must_use]
    pub fn all(&self) -> Lately {
        let now = self.begin.0.elapsed();
        Lately { from: self.begin.1, to: self.begin.1 + now, of: self.state().all().of }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_leaves_what_is_told_of_lately() {
        let mut state = State::default();
        let at = Duration::from_secs;
        let count = |period: Period| period.of.first().map_or(0, |of| of.count);
        for (now, records, lately, from) in [
            (0, 2, 2, 0),
            (59, 1, 3, 0),
            // The first minute has ended.
            (60, 1, 4, 0),
            (100, 0, 4, 0),
            // So has the second: what the first had is no longer told.
            (125, 5, 6, 60),
            (1000, 0, 5, 125),
            (2000, 0, 0, 1000),
        ] {
            state.record(at(now), &vec![(Meter::Queries, 1.0); records]);
            let found = state.lately(at(now));
            assert_eq!((found.begin, count(found)), (at(from), lately), "at {now}");
        }
        assert_eq!(count(state.all()), 9);
    }

    #[test]
    fn meters_are_shared() {
        let meters = Meters::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..100 {
                        meters.record(&[(Meter::Queries, 1.0), (Meter::HttpLatency, f64::from(n))]);
                    }
                });
            }
        });
        let (lately, all) = (meters.lately(), meters.all());
        assert_eq!((lately.of(Meter::Queries).count, all.of(Meter::HttpLatency).count), (400, 400));
        assert_eq!(all.of(Meter::HttpLatency).max, 99.0);
        assert!(lately.seconds() > 0.0 && lately.of(Meter::FeedLatency) == Summary::default());
    }
}

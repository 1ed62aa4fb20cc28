//! Who is let in: a request whose deadline cannot be met is refused when it comes, and not answered late.
//!
//! Requests that share threads stand in one [`Line`], which measures how fast it moves. Those of one kind, such as a model
//! or a rank profile, have a [`Pace`]: how long one of them runs. What a request must expect is the line in front of it and a
//! run. Times are given by callers, so that nothing here depends on a clock.

mod mean;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};
use mean::Mean;

/// A kind that was not measured for so long gets one request through, so that what is expected of it can become better.
const PROBE: Duration = Duration::from_secs(1);

/// Or for so many of its runs, if these take longer.
const PROBE_RUNS: u32 = 4;

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It would be answered later than its deadline, by this much.
    Late(Duration),
    /// So many wait already.
    Full(usize),
}

impl Refused {
    /// The error of a request of `what`.
    pub(crate) fn error(self, what: &str) -> Error {
        let what = what.to_owned();
        match self {
            // A second is the least that a header can say.
            Refused::Late(by) => {
                let retry_after = by.as_secs().saturating_add(1);
                ErrorKind::CannotMeetDeadline { what, retry_after }.into()
            }
            Refused::Full(limit) => ErrorKind::TooManyWait { what, limit }.into(),
        }
    }
}

/// How long runs of one kind take.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    mean: Mean,
    /// When one was measured or let through in spite of all.
    seen: Option<Instant>,
}

impl Pace {
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ran(&self, now: Instant, time: Duration, gave_up: bool) {
        let mut runs = self.lock();
        runs.seen = Some(now);
        // A run that was given up would have taken longer.
        if !gave_up || runs.mean.get().is_none_or(|mean| time > mean) {
            runs.mean.note(time);
        }
    }
}

/// Requests that wait for the same threads.
#[derive(Debug)]
pub(crate) struct Line {
    /// How many run at a time, at most.
    lanes: u32,
    limit: usize,
    state: Mutex<State>,
    refused: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    /// The time from one answer to the next while others wait.
    gap: Mean,
    /// When the last answer was given, if others waited then: the gap begins there.
    last: Option<Instant>,
}

impl Line {
    /// A line of at most `limit` requests, `lanes` of which run at a time; `refused` counts those that are not let in.
    pub(crate) fn new(lanes: usize, limit: usize, refused: &Arc<AtomicU64>) -> Arc<Line> {
        let lanes = u32::try_from(lanes.max(1)).unwrap_or(u32::MAX);
        Arc::new(Line { lanes, limit, state: Mutex::default(), refused: Arc::clone(refused) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request in, which waits from now on. One without a deadline waits for as long as it takes, and nobody is
    /// late where nobody waits.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) fn enter(
        self: &Arc<Line>,
        pace: &Arc<Pace>,
        now: Instant,
        deadline: Option<Instant>,
    ) -> Result<Place, Refused> {
        let mut state = self.lock();
        let refused = self.refusal(&state, pace, now, deadline);
        if let Some(refused) = refused {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(refused);
        }
        state.waiting += 1;
        Ok(Place { line: Arc::clone(self), pace: Arc::clone(pace), waits: true })
    }

    fn refusal(
        &self,
        state: &State,
        pace: &Pace,
        now: Instant,
        deadline: Option<Instant>,
    ) -> Option<Refused> {
        if state.waiting >= self.limit {
            return Some(Refused::Full(self.limit));
        }
        let deadline = deadline.filter(|_| state.waiting > 0)?;
        let mut runs = pace.lock();
        let run = runs.mean.get()?;
        let gap = state.gap.get().unwrap_or(run / self.lanes);
        let in_front = u32::try_from(state.waiting).unwrap_or(u32::MAX);
        let expected = gap.saturating_mul(in_front).saturating_add(run);
        let left = deadline.saturating_duration_since(now);
        if expected <= left {
            return None;
        }
        let patience = PROBE.max(run.saturating_mul(PROBE_RUNS));
        if runs.seen.is_none_or(|seen| now.saturating_duration_since(seen) >= patience) {
            runs.seen = Some(now);
            return None;
        }
        Some(Refused::Late(expected - left))
    }

    /// Notes the end of a run that answered these requests, which began it at `began`.
    pub(crate) fn ran(places: &[Place], began: Instant, now: Instant, gave_up: bool) {
        let Some(first) = places.first() else { return };
        first.pace.ran(now, now.saturating_duration_since(began), gave_up);
        let mut state = first.line.lock();
        let answered = u32::try_from(places.len()).unwrap_or(u32::MAX);
        if let Some(last) = state.last {
            state.gap.note(now.saturating_duration_since(last) / answered);
        }
        state.last = (state.waiting > 0).then_some(now);
    }
}

/// The place of a request in a line, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    line: Arc<Line>,
    pace: Arc<Pace>,
    waits: bool,
}

impl Place {
    /// It waits no longer.
    pub(crate) fn begin(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.line.lock().waiting -= 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.begin();
    }
}

/// Paces by the names of their kinds.
#[derive(Debug, Default)]
pub(crate) struct Paces(Mutex<HashMap<String, Arc<Pace>>>);

impl Paces {
    /// The pace of a kind. Names come from clients, so that all are forgotten when there are very many.
    pub(crate) fn of(&self, name: &str) -> Arc<Pace> {
        const MOST: usize = 1024;
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pace) = paces.get(name) {
            return Arc::clone(pace);
        }
        if paces.len() >= MOST {
            paces.clear();
        }
        Arc::clone(paces.entry(name.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests;

//! What is measured of components, and of models that clients have evaluated. Numbers go on when an application is deployed anew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::failure::ComponentError;
use crate::histogram::Times;
use crate::{Code, Histogram};

/// What was measured of a component.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComponentMetrics {
    /// Its id.
    pub id: String,
    /// Its element in `services.xml`.
    pub kind: &'static str,
    /// Calls that ended well.
    pub succeeded: u64,
    /// Calls whose code raised or gave something wrong.
    pub failed: u64,
    /// Calls that missed their deadline, while they waited too.
    pub timed_out: u64,
    /// Calls that were refused because too many waited.
    pub refused: u64,
    /// How long calls waited for an interpreter, in microseconds.
    pub queue_time_us: Histogram,
    /// How long they ran, in microseconds.
    pub run_time_us: Histogram,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    TimedOut,
    Refused,
}

impl Outcome {
    /// That of a call with an error or none.
    pub(super) fn of(error: Option<&ComponentError>) -> Outcome {
        match error {
            None => Outcome::Succeeded,
            Some(error) if error.code == Code::DeadlineExceeded => Outcome::TimedOut,
            Some(_) => Outcome::Failed,
        }
    }
}

/// The meter of one component.
pub(crate) struct Meter {
    id: String,
    kind: &'static str,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    succeeded: u64,
    failed: u64,
    timed_out: u64,
    refused: u64,
    queue: Times,
    run: Times,
}

impl Meter {
    /// Counts a call: how long it waited, and how long it ran if it did.
    pub(crate) fn record(&self, outcome: Outcome, waited: Duration, ran: Option<Duration>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Succeeded => counts.succeeded += 1,
            Outcome::Failed => counts.failed += 1,
            Outcome::TimedOut => counts.timed_out += 1,
            Outcome::Refused => counts.refused += 1,
        }
        counts.queue.observe(waited);
        ran.into_iter().for_each(|time| counts.run.observe(time));
    }

    fn metrics(&self) -> ComponentMetrics {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        ComponentMetrics {
            id: self.id.clone(),
            kind: self.kind,
            succeeded: counts.succeeded,
            failed: counts.failed,
            timed_out: counts.timed_out,
            refused: counts.refused,
            queue_time_us: counts.queue.histogram(),
            run_time_us: counts.run.histogram(),
        }
    }
}

/// The meters of all components that there ever were.
#[derive(Default)]
pub(crate) struct ComponentMeters(Mutex<BTreeMap<(String, &'static str), Arc<Meter>>>);

impl ComponentMeters {
    /// The meter of a component.
    pub(crate) fn of(&self, id: &str, kind: &'static str) -> Arc<Meter> {
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Meter { id: id.to_owned(), kind, counts: Mutex::default() };
        Arc::clone(meters.entry((id.to_owned(), kind)).or_insert_with(|| Arc::new(new())))
    }

    /// What was measured.
    pub(crate) fn metrics(&self) -> Vec<ComponentMetrics> {
        let meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        meters.values().map(|meter| meter.metrics()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_come_back_are_counted_on() {
        let meters = ComponentMeters::default();
        let ms = Duration::from_millis;
        meters.of("b", "handler").record(Outcome::Failed, ms(1), Some(ms(2)));
        meters.of("a", "handler").record(Outcome::Refused, ms(3), None);
        meters.of("b", "handler").record(Outcome::Succeeded, ms(1), Some(ms(4)));
        let found = meters.metrics();
        let told: Vec<_> = found
            .iter()
            .map(|m| (m.id.as_str(), m.succeeded, m.failed, m.timed_out, m.refused))
            .collect();
        assert_eq!(told, [("a", 0, 0, 0, 1), ("b", 1, 1, 0, 0)]);
        assert_eq!(found[1].run_time_us.sum, 6000.0);
        assert_eq!(found[0].run_time_us.counts.iter().sum::<u64>(), 0);
    }
}

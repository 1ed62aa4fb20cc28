//! A request to a handler as it is measured: once, whoever sees its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use stead_python::Deadline;

use super::failure::ComponentError;
use super::meters::{Meter, Outcome};

/// A request that waits for its interpreter, or runs.
pub(super) struct Attempt {
    meter: Arc<Meter>,
    arrived: Instant,
    deadline: Deadline,
    begun: OnceLock<Instant>,
    is_over: AtomicBool,
}

/// The part of the call, which may never begin, and whose client may be gone when it ends.
pub(super) struct Begun(pub(super) Arc<Attempt>);

impl Attempt {
    pub(super) fn new(meter: Arc<Meter>, arrived: Instant, deadline: Deadline) -> Attempt {
        let (begun, is_over) = (OnceLock::new(), AtomicBool::new(false));
        Attempt { meter, arrived, deadline, begun, is_over }
    }

    /// It has an interpreter.
    pub(super) fn begin(&self) {
        self.begun.get_or_init(Instant::now);
    }

    /// How long it has run.
    pub(super) fn has_run(&self) -> Duration {
        self.begun.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// It has ended so, unless that is known.
    pub(super) fn end<T>(&self, answer: &Result<T, ComponentError>) {
        self.record(Outcome::of(answer.as_ref().err()));
    }

    fn record(&self, outcome: Outcome) {
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        let now = Instant::now();
        let begun = self.begun.get().copied();
        let waited = begun.unwrap_or(now).saturating_duration_since(self.arrived);
        self.meter.record(outcome, waited, begun.map(|begun| now.saturating_duration_since(begun)));
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let is_late = self.0.deadline.is_over();
        self.0.record(if is_late { Outcome::TimedOut } else { Outcome::Failed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use crate::components::meters::ComponentMeters;

    #[test]
    fn each_request_is_counted_once() {
        type Step = fn(Begun);
        let late = || Deadline::after(Duration::ZERO);
        let failed = |code| {
            let message = String::new();
            let error = ComponentError {
                code,
                component: "h".into(),
                kind: None,
                message,
                traceback: None,
            };
            Err::<(), _>(error)
        };
        let answered: Step = |begun| {
            begun.0.begin();
            begun.0.end(&Ok(()));
        };
        for (label, deadline, step, expected, has_run) in [
            ("answered", Deadline::NEVER, answered, [1, 0, 0], true),
            ("never begun", Deadline::NEVER, drop as Step, [0, 1, 0], false),
            ("too late", late(), drop as Step, [0, 0, 1], false),
        ] {
            let meters = ComponentMeters::default();
            let attempt = Attempt::new(meters.of("h", "handler"), Instant::now(), deadline);
            let attempt = Arc::new(attempt);
            step(Begun(Arc::clone(&attempt)));
            attempt.end(&failed(Code::Internal));
            let found = meters.metrics().remove(0);
            assert_eq!([found.succeeded, found.failed, found.timed_out], expected, "{label}");
            let ran = found.run_time_us.counts.iter().sum::<u64>();
            assert_eq!(ran, u64::from(has_run), "{label}");
        }
    }
}

//! Counting what happens to the requests of a model version.

mod counts;

use crate::scheduler::Times;
use crate::servable::Servable;
use crate::totals::{Past, Totals, join};
use crate::{CallKey, Method, ModelStatistics, Protocol, VersionMetrics};
pub(crate) use counts::Calls;
use counts::{Counts, Event};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Events that wait to be counted. A request has three of them.
const WAITING: usize = 96;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Success,
    /// A success, of a step of a sequence.
    Step,
    Failure,
    Late,
    Cancelled,
}

/// The call that inference by this protocol is.
pub(crate) const fn infer_method(protocol: Protocol) -> Method {
    match protocol {
        Protocol::KserveHttp | Protocol::KserveGrpc => Method::ModelInfer,
        Protocol::TfsHttp | Protocol::TfsGrpc => Method::Predict,
    }
}

/// The counters of one model version. They outlive a reload of the same version.
pub(crate) struct Recorder {
    tally: Mutex<Tally>,
    current: AtomicU64,
    /// A moment by both clocks: one reading tells both times of a request.
    epoch: (Instant, Duration),
    /// Whether the version has ever been loaded.
    loaded: AtomicBool,
    past: Mutex<Past>,
}

impl Recorder {
    pub(crate) fn new(name: &str, version: u64) -> Recorder {
        Recorder {
            tally: Mutex::new(Tally {
                waiting: Vec::with_capacity(WAITING),
                counts: Counts::new(name, version),
            }),
            current: AtomicU64::new(0),
            epoch: (
                Instant::now(),
                SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            ),
            loaded: AtomicBool::new(false),
            past: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been counted, everything that waited included.
    fn with_counts<T>(&self, look: impl FnOnce(&mut Counts) -> T) -> T {
        let mut tally = self.lock();
        tally.settle();
        look(&mut tally.counts)
    }

    /// An instance of the version is there.
    pub(crate) fn loaded(&self) {
        self.loaded.store(true, Ordering::Relaxed);
    }

    /// An instance of the version, or a part of one, is gone; it has counted this.
    pub(crate) fn gone(&self, totals: Totals) {
        self.past().add(totals);
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The metrics of the version: of its instances that live, the one first that takes new requests, and of those
    /// that are gone. None for a version that was never loaded.
    pub(crate) fn metrics_of<'a>(
        &self,
        living: impl Iterator<Item = &'a Arc<Servable>>,
    ) -> Option<VersionMetrics> {
        if !self.loaded.load(Ordering::Relaxed) {
            return None;
        }
        let gone = self.past().gone();
        let all = living.map(|instance| instance.metrics()).reduce(|a, b| join(a, &b));
        let mut metrics = all.unwrap_or_else(|| self.metrics());
        self.past().complete(gone, &mut metrics);
        Some(metrics)
    }

    /// A request arrived.
    pub(crate) fn began(&self) {
        self.current.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was answered, or given up.
    pub(crate) fn ended(&self, protocol: Protocol, arrived: Instant, end: End) {
        self.current.fetch_sub(1, Ordering::Relaxed);
        let ended = Instant::now();
        let took = ended.saturating_duration_since(arrived);
        let at = self.epoch.1 + ended.saturating_duration_since(self.epoch.0);
        self.lock().note(Event::Ended { protocol, end, took, at });
    }

    /// Requests came out of the queue.
    pub(crate) fn waited(&self, waits: impl IntoIterator<Item = Duration>) {
        let mut tally = self.lock();
        waits.into_iter().for_each(|wait| tally.note(Event::Waited(wait)));
    }

    /// A request was refused because the queue was full.
    pub(crate) fn rejected(&self) {
        self.with_counts(Counts::rejected);
    }

    /// The engine ran `requests` requests of together `rows` rows.
    pub(crate) fn ran(&self, rows: u64, requests: u64, times: Times) {
        self.lock().note(Event::Ran { rows, requests, times });
    }

    /// A call that is no inference.
    pub(crate) fn call(&self, key: CallKey, ok: bool) {
        self.with_counts(|counts| counts.call(key, ok));
    }

    /// Triton's statistics.
    pub(crate) fn statistics(&self) -> ModelStatistics {
        self.with_counts(|counts| counts.statistics())
    }

    /// The metrics, but for what only the scheduler and the engine know.
    pub(crate) fn metrics(&self) -> VersionMetrics {
        let current_requests = self.current.load(Ordering::Relaxed);
        VersionMetrics { current_requests, ..self.with_counts(|counts| counts.metrics()) }
    }
}

/// Counters, and what is still to be added to them. A model drives everything else out of the caches: an event that is
/// only written down costs a line of them, one that is counted about twenty. Those of many requests together are counted
/// in caches that the first has warmed.
struct Tally {
    waiting: Vec<Event>,
    counts: Counts,
}

impl Tally {
    fn note(&mut self, event: Event) {
        self.waiting.push(event);
        if self.waiting.len() >= WAITING {
            self.settle();
        }
    }

    #[cold]
    fn settle(&mut self) {
        self.waiting.drain(..).for_each(|event| self.counts.add(event));
    }
}

/// A request under way. Dropping it without [`Call::end`] counts a cancelled request.
pub(crate) struct Call {
    recorder: Arc<Recorder>,
    protocol: Protocol,
    arrived: Instant,
    ended: bool,
}

impl Call {
    pub(crate) fn begin(recorder: Arc<Recorder>, protocol: Protocol, arrived: Instant) -> Call {
        recorder.began();
        Call { recorder, protocol, arrived, ended: false }
    }

    pub(crate) fn end(mut self, end: End) {
        self.ended = true;
        self.recorder.ended(self.protocol, self.arrived, end);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            self.recorder.ended(self.protocol, self.arrived, End::Cancelled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_counted_once() {
        let r = Arc::new(Recorder::new("m", 3));
        let now = Instant::now();
        // More than wait to be counted.
        for (end, times) in [(End::Success, 200), (End::Failure, 1), (End::Late, 1)] {
            for _ in 0..times {
                Call::begin(Arc::clone(&r), Protocol::KserveGrpc, now).end(end);
            }
        }
        drop(Call::begin(Arc::clone(&r), Protocol::TfsHttp, now));
        r.ran(4, 2, Times::default());
        let s = r.statistics();
        assert_eq!((s.success.count, s.fail.count, s.inference_count), (200, 3, 4));
        assert_eq!((s.execution_count, s.compute_infer.count), (1, 2));
        assert_eq!(s.batch_stats[0].batch_size, 4);
        let m = r.metrics();
        assert_eq!((m.current_requests, m.deadline_exceeded, m.cancelled), (0, 1, 1));
        let grpc = CallKey { protocol: Protocol::KserveGrpc, method: Method::ModelInfer };
        assert!(m.calls.contains(&(grpc, 200, 2)));
    }
}

//! Counting what happens to the requests of a model version.

use crate::histogram::{Sizes, Times as TimeBuckets};
use crate::scheduler::Times;
use crate::servable::Servable;
use crate::totals::{Past, Totals, join};
use crate::{
    BatchStatistics, CallKey, Method, ModelStatistics, Protocol, RequestTimes, VersionMetrics,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Different batch sizes that are kept apart; a client that sends every size must not fill the memory.
const MAX_BATCH_SIZES: usize = 1024;

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

/// Counters of calls: successes and failures by method and protocol.
#[derive(Debug, Default)]
pub(crate) struct Calls([[(u64, u64); Method::ALL.len()]; Protocol::ALL.len()]);

impl Calls {
    pub(crate) fn count(&mut self, key: CallKey, ok: bool) {
        let CallKey { protocol, method } = key;
        let (success, fail) = &mut self.0[protocol as usize][method as usize];
        *(if ok { success } else { fail }) += 1;
    }

    /// The counters of every call that OpenVINO Model Server would show, zeros included.
    pub(crate) fn snapshot(&self, with_version: bool) -> Vec<(CallKey, u64, u64)> {
        let mut list = Vec::new();
        for protocol in Protocol::ALL {
            let kserve = matches!(protocol, Protocol::KserveHttp | Protocol::KserveGrpc);
            let shown = |m: &Method| m.is_kserve() == kserve && m.has_version() == with_version;
            for method in Method::ALL.into_iter().filter(shown) {
                let (success, fail) = self.0[protocol as usize][method as usize];
                list.push((CallKey { protocol, method }, success, fail));
            }
        }
        list
    }
}

/// The call that inference by this protocol is.
pub(crate) const fn infer_method(protocol: Protocol) -> Method {
    match protocol {
        Protocol::KserveHttp | Protocol::KserveGrpc => Method::ModelInfer,
        Protocol::TfsHttp | Protocol::TfsGrpc => Method::Predict,
    }
}

struct Counts {
    statistics: ModelStatistics,
    batches: BTreeMap<u64, BatchStatistics>,
    calls: Calls,
    rest_time: TimeBuckets,
    grpc_time: TimeBuckets,
    inference_time: TimeBuckets,
    wait_time: TimeBuckets,
    batch_size: Sizes,
    joined: Sizes,
    step_time: TimeBuckets,
    rejected: u64,
    late: u64,
    cancelled: u64,
}

/// The counters of one model version. They outlive a reload of the same version.
pub(crate) struct Recorder {
    counts: Mutex<Counts>,
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
            counts: Mutex::new(Counts {
                statistics: ModelStatistics {
                    name: name.to_owned(),
                    version,
                    ..ModelStatistics::default()
                },
                batches: BTreeMap::new(),
                calls: Calls::default(),
                rest_time: TimeBuckets::default(),
                grpc_time: TimeBuckets::default(),
                inference_time: TimeBuckets::default(),
                wait_time: TimeBuckets::default(),
                batch_size: Sizes::default(),
                joined: Sizes::default(),
                step_time: TimeBuckets::default(),
                rejected: 0,
                late: 0,
                cancelled: 0,
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

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
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
        let now = self.epoch.1 + ended.saturating_duration_since(self.epoch.0);
        let mut counts = self.lock();
        let ok = matches!(end, End::Success | End::Step);
        counts.calls.count(CallKey { protocol, method: infer_method(protocol) }, ok);
        let statistics = &mut counts.statistics;
        statistics.last_inference_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        if ok { &mut statistics.success } else { &mut statistics.fail }.add(1, took);
        let time = match protocol {
            Protocol::KserveHttp | Protocol::TfsHttp => &mut counts.rest_time,
            Protocol::KserveGrpc | Protocol::TfsGrpc => &mut counts.grpc_time,
        };
        time.observe(took);
        match end {
            End::Late => counts.late += 1,
            End::Cancelled => counts.cancelled += 1,
            End::Step => counts.step_time.observe(took),
            End::Success | End::Failure => {}
        }
    }

    /// Requests came out of the queue.
    pub(crate) fn waited(&self, waits: impl IntoIterator<Item = Duration>) {
        let mut counts = self.lock();
        for wait in waits {
            counts.statistics.queue.add(1, wait);
            counts.wait_time.observe(wait);
        }
    }

    /// A request was refused because the queue was full.
    pub(crate) fn rejected(&self) {
        self.lock().rejected += 1;
    }

    /// The engine ran `requests` requests of together `rows` rows.
    pub(crate) fn ran(&self, rows: u64, requests: u64, times: Times) {
        let mut counts = self.lock();
        let s = &mut counts.statistics;
        s.inference_count += rows;
        s.execution_count += 1;
        // As in Triton: every request of a batch is charged the whole time of the batch.
        s.compute_input.add(requests, times.gather);
        s.compute_infer.add(requests, times.infer);
        s.compute_output.add(requests, times.scatter);
        if counts.batches.len() < MAX_BATCH_SIZES || counts.batches.contains_key(&rows) {
            let batch = counts.batches.entry(rows).or_default();
            batch.batch_size = rows;
            batch.compute_input.add(1, times.gather);
            batch.compute_infer.add(1, times.infer);
            batch.compute_output.add(1, times.scatter);
        }
        counts.inference_time.observe(times.infer);
        counts.batch_size.observe(rows);
        counts.joined.observe(requests);
    }

    /// A call that is no inference.
    pub(crate) fn call(&self, key: CallKey, ok: bool) {
        self.lock().calls.count(key, ok);
    }

    /// Triton's statistics.
    pub(crate) fn statistics(&self) -> ModelStatistics {
        let counts = self.lock();
        ModelStatistics {
            batch_stats: counts.batches.values().cloned().collect(),
            ..counts.statistics.clone()
        }
    }

    /// The metrics, but for what only the scheduler and the engine know.
    pub(crate) fn metrics(&self) -> VersionMetrics {
        let counts = self.lock();
        VersionMetrics {
            version: counts.statistics.version,
            calls: counts.calls.snapshot(true),
            request_time_us: vec![
                RequestTimes { interface: "REST", time_us: counts.rest_time.histogram() },
                RequestTimes { interface: "gRPC", time_us: counts.grpc_time.histogram() },
            ],
            inference_time_us: counts.inference_time.histogram(),
            wait_time_us: counts.wait_time.histogram(),
            current_requests: self.current.load(Ordering::Relaxed),
            queue_rejected: counts.rejected,
            deadline_exceeded: counts.late,
            cancelled: counts.cancelled,
            batch_size: counts.batch_size.histogram(),
            joined: counts.joined.histogram(),
            step_time_us: counts.step_time.histogram(),
            ..VersionMetrics::default()
        }
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
        for (end, times) in [(End::Success, 2), (End::Failure, 1), (End::Late, 1)] {
            for _ in 0..times {
                Call::begin(Arc::clone(&r), Protocol::KserveGrpc, now).end(end);
            }
        }
        drop(Call::begin(Arc::clone(&r), Protocol::TfsHttp, now));
        r.ran(4, 2, Times::default());
        let s = r.statistics();
        assert_eq!((s.success.count, s.fail.count, s.inference_count), (2, 3, 4));
        assert_eq!((s.execution_count, s.compute_infer.count), (1, 2));
        assert_eq!(s.batch_stats[0].batch_size, 4);
        let m = r.metrics();
        assert_eq!((m.current_requests, m.deadline_exceeded, m.cancelled), (0, 1, 1));
        let grpc = CallKey { protocol: Protocol::KserveGrpc, method: Method::ModelInfer };
        assert!(m.calls.contains(&(grpc, 2, 2)));
    }
}

//! The counters of a model version, and what is added to them.

use super::{End, infer_method};
use crate::histogram::{Sizes, Times as TimeBuckets};
use crate::scheduler::Times;
use crate::{
    BatchStatistics, CallKey, Method, ModelStatistics, Protocol, RequestTimes, VersionMetrics,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Different batch sizes that are kept apart; a client that sends every size must not fill the memory.
const MAX_BATCH_SIZES: usize = 1024;

/// What happens to every request.
pub(super) enum Event {
    /// It was answered or given up `took` after it arrived, and `at` after 1970.
    Ended { protocol: Protocol, end: End, took: Duration, at: Duration },
    /// It came out of the queue.
    Waited(Duration),
    /// The engine ran `requests` requests of together `rows` rows.
    Ran { rows: u64, requests: u64, times: Times },
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

/// All counters.
pub(super) struct Counts {
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

impl Counts {
    pub(super) fn new(name: &str, version: u64) -> Counts {
        let name = name.to_owned();
        Counts {
            statistics: ModelStatistics { name, version, ..ModelStatistics::default() },
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
        }
    }

    pub(super) fn add(&mut self, event: Event) {
        match event {
            Event::Ended { protocol, end, took, at } => self.ended(protocol, end, took, at),
            Event::Waited(wait) => {
                self.statistics.queue.add(1, wait);
                self.wait_time.observe(wait);
            }
            Event::Ran { rows, requests, times } => self.ran(rows, requests, times),
        }
    }

    fn ended(&mut self, protocol: Protocol, end: End, took: Duration, at: Duration) {
        let ok = matches!(end, End::Success | End::Step);
        self.calls.count(CallKey { protocol, method: infer_method(protocol) }, ok);
        let statistics = &mut self.statistics;
        statistics.last_inference_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        if ok { &mut statistics.success } else { &mut statistics.fail }.add(1, took);
        let time = match protocol {
            Protocol::KserveHttp | Protocol::TfsHttp => &mut self.rest_time,
            Protocol::KserveGrpc | Protocol::TfsGrpc => &mut self.grpc_time,
        };
        time.observe(took);
        match end {
            End::Late => self.late += 1,
            End::Cancelled => self.cancelled += 1,
            End::Step => self.step_time.observe(took),
            End::Success | End::Failure => {}
        }
    }

    fn ran(&mut self, rows: u64, requests: u64, times: Times) {
        let s = &mut self.statistics;
        s.inference_count += rows;
        s.execution_count += 1;
        // As in Triton: every request of a batch is charged the whole time of the batch.
        s.compute_input.add(requests, times.gather);
        s.compute_infer.add(requests, times.infer);
        s.compute_output.add(requests, times.scatter);
        if self.batches.len() < MAX_BATCH_SIZES || self.batches.contains_key(&rows) {
            let batch = self.batches.entry(rows).or_default();
            batch.batch_size = rows;
            batch.compute_input.add(1, times.gather);
            batch.compute_infer.add(1, times.infer);
            batch.compute_output.add(1, times.scatter);
        }
        self.inference_time.observe(times.infer);
        self.batch_size.observe(rows);
        self.joined.observe(requests);
    }

    pub(super) fn rejected(&mut self) {
        self.rejected += 1;
    }

    pub(super) fn call(&mut self, key: CallKey, ok: bool) {
        self.calls.count(key, ok);
    }

    pub(super) fn statistics(&self) -> ModelStatistics {
        let batch_stats = self.batches.values().cloned().collect();
        ModelStatistics { batch_stats, ..self.statistics.clone() }
    }

    pub(super) fn metrics(&self) -> VersionMetrics {
        VersionMetrics {
            version: self.statistics.version,
            calls: self.calls.snapshot(true),
            request_time_us: vec![
                RequestTimes { interface: "REST", time_us: self.rest_time.histogram() },
                RequestTimes { interface: "gRPC", time_us: self.grpc_time.histogram() },
            ],
            inference_time_us: self.inference_time.histogram(),
            wait_time_us: self.wait_time.histogram(),
            queue_rejected: self.rejected,
            deadline_exceeded: self.late,
            cancelled: self.cancelled,
            batch_size: self.batch_size.histogram(),
            joined: self.joined.histogram(),
            step_time_us: self.step_time.histogram(),
            ..VersionMetrics::default()
        }
    }
}

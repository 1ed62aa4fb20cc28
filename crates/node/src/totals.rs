//! Counters of instances, added up over all instances of a version: a counter never goes back when a version is loaded
//! anew or retired.

use crate::{SequenceCounters, SequenceMetrics, VersionMetrics};

/// What an instance counts for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) plan_hits: u64,
    pub(crate) plan_misses: u64,
    pub(crate) plan_evictions: u64,
    /// Of a stateful one.
    pub(crate) sequences: Option<SequenceCounters>,
}

impl Totals {
    fn of(metrics: &VersionMetrics) -> Totals {
        Totals {
            plan_hits: metrics.plan_hits,
            plan_misses: metrics.plan_misses,
            plan_evictions: metrics.plan_evictions,
            sequences: metrics.sequences.map(|s| s.counters),
        }
    }

    fn with(self, other: Totals, join: fn(u64, u64) -> u64) -> Totals {
        let sequences = |a: SequenceCounters, b: SequenceCounters| SequenceCounters {
            started: join(a.started, b.started),
            ended: join(a.ended, b.ended),
            expired: join(a.expired, b.expired),
            removed: join(a.removed, b.removed),
            steps: join(a.steps, b.steps),
            failed: join(a.failed, b.failed),
            refused: join(a.refused, b.refused),
            replayed: join(a.replayed, b.replayed),
        };
        Totals {
            plan_hits: join(self.plan_hits, other.plan_hits),
            plan_misses: join(self.plan_misses, other.plan_misses),
            plan_evictions: join(self.plan_evictions, other.plan_evictions),
            sequences: match (self.sequences, other.sequences) {
                (Some(a), Some(b)) => Some(sequences(a, b)),
                (a, b) => a.or(b),
            },
        }
    }

    fn show(self, metrics: &mut VersionMetrics) {
        metrics.plan_hits = self.plan_hits;
        metrics.plan_misses = self.plan_misses;
        metrics.plan_evictions = self.plan_evictions;
        if let Some(counters) = self.sequences {
            metrics.sequences =
                Some(SequenceMetrics { counters, ..metrics.sequences.unwrap_or_default() });
        }
    }
}

/// The totals of the instances that are gone.
#[derive(Debug, Default)]
pub(crate) struct Past {
    gone: Totals,
    shown: Totals,
}

impl Past {
    /// An instance, or a part of one, is gone.
    pub(crate) fn add(&mut self, totals: Totals) {
        self.gone = self.gone.with(totals, u64::saturating_add);
    }

    /// What of the past is to be added to the living. To be asked before them: an instance that goes in between is
    /// missing then, but never counted twice.
    pub(crate) fn gone(&self) -> Totals {
        self.gone
    }

    /// Adds the past to the metrics of the living. What has been shown once is not taken back, should an instance
    /// just be going.
    pub(crate) fn complete(&mut self, gone: Totals, metrics: &mut VersionMetrics) {
        let now = Totals::of(metrics).with(gone, u64::saturating_add);
        self.shown = self.shown.with(now, u64::max);
        self.shown.show(metrics);
    }
}

/// The metrics of several instances of one version, the one that takes new requests first. Both know the counters of
/// the version's recorder.
pub(crate) fn join(mut first: VersionMetrics, other: &VersionMetrics) -> VersionMetrics {
    first.infer_req_active += other.infer_req_active;
    first.queue_depth += other.queue_depth;
    first.plans += other.plans;
    if let Some(s) = other.sequences {
        let own = first.sequences.get_or_insert_default();
        own.active += s.active;
        own.bytes += s.bytes;
        own.spilled += s.spilled;
        own.waiting += s.waiting;
    }
    let counted = Totals::of(&first).with(Totals::of(other), u64::saturating_add);
    counted.show(&mut first);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(active: u64, steps: u64) -> VersionMetrics {
        let counters = SequenceCounters { steps, ..SequenceCounters::default() };
        let sequences = SequenceMetrics { active, counters, ..SequenceMetrics::default() };
        VersionMetrics { sequences: Some(sequences), plan_hits: steps, ..VersionMetrics::default() }
    }

    #[test]
    fn counters_never_go_back() {
        let mut past = Past::default();
        let show = |past: &mut Past, live: Option<VersionMetrics>| {
            let gone = past.gone();
            let mut metrics = live.unwrap_or_default();
            past.complete(gone, &mut metrics);
            let s = metrics.sequences.unwrap_or_default();
            (s.active, s.counters.steps, metrics.plan_hits)
        };
        assert_eq!(show(&mut past, Some(join(metrics(2, 5), &metrics(1, 7)))), (3, 12, 12));
        assert_eq!(show(&mut past, Some(metrics(2, 5))), (2, 12, 12), "one is just going");
        past.add(Totals::of(&metrics(1, 8)));
        assert_eq!(show(&mut past, Some(metrics(2, 5))), (2, 13, 13), "it is gone");
        past.add(Totals::of(&metrics(2, 6)));
        assert_eq!(show(&mut past, None), (0, 14, 14), "nobody is left");
        assert_eq!(show(&mut past, Some(metrics(1, 1))), (1, 15, 15), "loaded anew");
    }
}

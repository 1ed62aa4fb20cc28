//! What is measured of embedders. Numbers go on when an application is deployed anew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Histogram;
use crate::histogram::Times;

/// What was measured of an embedder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EmbedderMetrics {
    /// Its id.
    pub id: String,
    /// Texts that it was asked for, those that it keeps too.
    pub texts: u64,
    /// Texts that it did not embed.
    pub failed: u64,
    /// Texts of queries whose embedding was kept.
    pub cache_hits: u64,
    /// Runs of its model, or calls of its code.
    pub runs: u64,
    /// Tokens of what its model embedded; code does not tell.
    pub tokens: u64,
    /// How long texts waited for it, in microseconds.
    pub queue_time_us: Histogram,
    /// How long it took for texts that it embedded together, in microseconds.
    pub run_time_us: Histogram,
}

/// The meter of one embedder.
pub(crate) struct Meter {
    id: String,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    texts: u64,
    failed: u64,
    cache_hits: u64,
    runs: u64,
    tokens: u64,
    queue: Times,
    run: Times,
}

/// What became of texts that were taken together.
pub(super) struct Turn {
    pub(super) runs: usize,
    pub(super) tokens: usize,
    pub(super) failed: usize,
    pub(super) took: Duration,
}

impl Meter {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A text was asked for whose embedding was kept.
    pub(super) fn found(&self) {
        let mut counts = self.counts();
        counts.texts += 1;
        counts.cache_hits += 1;
    }

    /// A text was taken from those that wait.
    pub(super) fn taken(&self, waited: Duration) {
        let mut counts = self.counts();
        counts.texts += 1;
        counts.queue.observe(waited);
    }

    /// Nobody waited for a text any more when it was taken.
    pub(super) fn late(&self) {
        self.counts().failed += 1;
    }

    /// Texts were embedded together.
    pub(super) fn ended(&self, turn: &Turn) {
        let mut counts = self.counts();
        counts.runs += turn.runs as u64;
        counts.tokens += turn.tokens as u64;
        counts.failed += turn.failed as u64;
        counts.run.observe(turn.took);
    }

    fn metrics(&self) -> EmbedderMetrics {
        let counts = self.counts();
        EmbedderMetrics {
            id: self.id.clone(),
            texts: counts.texts,
            failed: counts.failed,
            cache_hits: counts.cache_hits,
            runs: counts.runs,
            tokens: counts.tokens,
            queue_time_us: counts.queue.histogram(),
            run_time_us: counts.run.histogram(),
        }
    }
}

/// The meters of all embedders that there ever were, by their ids.
#[derive(Default)]
pub(crate) struct EmbedderMeters(Mutex<BTreeMap<String, Arc<Meter>>>);

impl EmbedderMeters {
    /// The meter of an embedder.
    pub(crate) fn of(&self, id: &str) -> Arc<Meter> {
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Meter { id: id.to_owned(), counts: Mutex::default() };
        Arc::clone(meters.entry(id.to_owned()).or_insert_with(|| Arc::new(new())))
    }

    /// What was measured.
    pub(crate) fn metrics(&self) -> Vec<EmbedderMetrics> {
        let meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        meters.values().map(|meter| meter.metrics()).collect()
    }
}

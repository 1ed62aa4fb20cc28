//! What is measured of documents and searches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_search::models::KeptStats;
use stead_search::result::SearchResult;
use stead_store::{Outcome, PageStats, SnapshotStats};

use super::{Deployments, ExpiryStats};
use crate::Error;
use crate::meters::{Lately, Meter, Meters};

/// The documents of the application that is served.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DocumentMetrics {
    /// By type.
    pub kinds: Vec<KindMetrics>,
    /// What there is to tell of snapshots; nothing of documents in memory.
    pub snapshots: SnapshotStats,
    /// What there is to tell of the columns of `paged` attributes that lie on disk; nothing of documents in memory.
    pub pages: PageStats,
    /// Operations that are not yet done.
    pub pending: u64,
    /// What models have kept of documents since the application was deployed.
    pub kept: KeptStats,
    /// What requests came to since the process began.
    pub all: Option<Lately>,
}

/// The documents of a type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KindMetrics {
    /// The type.
    pub name: String,
    /// The content cluster that has them.
    pub cluster: String,
    /// How many there are.
    pub documents: u64,
    /// Bytes of them in memory, without what was read of columns that lie on disk.
    pub bytes: u64,
    /// Those that are gone because nothing selected them any more.
    pub expiry: ExpiryStats,
}

impl Deployments {
    /// What searches and operations are counted with.
    #[must_use]
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// The documents now, and what came to them. While an application is being activated nothing is told of files.
    #[must_use]
    pub fn metrics(&self) -> DocumentMetrics {
        let active = self.active();
        let kinds = active.iter().flat_map(|deployed| {
            deployed.kinds().filter_map(|(name, cluster)| {
                let view = deployed.view(name)?;
                Some(KindMetrics {
                    name: name.to_owned(),
                    cluster: cluster.to_owned(),
                    documents: view.len() as u64,
                    bytes: view.memory() as u64,
                    expiry: self.expiry.stats(name),
                })
            })
        });
        let kinds = kinds.collect();
        let (snapshots, pages, pending) = self.documents.stats();
        let kept = active.map(|deployed| deployed.kept.stats()).unwrap_or_default();
        let (pending, all) = (pending as u64, Some(self.meters.all()));
        DocumentMetrics { kinds, snapshots, pages, pending, kept, all }
    }

    /// Counts a search.
    pub(crate) fn count_search(&self, result: &SearchResult, took: Duration) {
        let mut values = vec![(Meter::Queries, 1.0), (Meter::QueryLatency, milliseconds(took))];
        match result.errors.is_empty() {
            true => {
                values.push((Meter::HitsPerQuery, result.hits.len() as f64));
                values.push((Meter::TotalHitsPerQuery, result.total as f64));
                values.extend((result.total == 0).then_some((Meter::EmptyResults, 1.0)));
            }
            false => values.push((Meter::FailedQueries, 1.0)),
        }
        let is_degraded = result.coverage.is_some_and(|coverage| !coverage.is_full());
        values.extend(is_degraded.then_some((Meter::DegradedQueries, 1.0)));
        self.meters.record(&values);
    }

    /// Counts an operation when it is done.
    pub(super) fn counted(
        &self,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> impl FnOnce(Result<Outcome, Error>) + Send + 'static {
        let (meters, begin) = (Arc::clone(&self.meters), Instant::now());
        move |outcome| {
            if outcome.is_ok() {
                let took = milliseconds(begin.elapsed());
                meters.record(&[(Meter::FeedOperations, 1.0), (Meter::FeedLatency, took)]);
            }
            done(outcome);
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

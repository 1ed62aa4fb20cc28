//! When the documents of which type are looked at. It knows no thread and no clock.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use stead_app::application::Application;

/// When documents are looked at for the first time, if the interval is longer: a node that is started again and again comes to it too.
pub(super) const FIRST: Duration = Duration::from_secs(60);

/// What is to be done, and when.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    types: Vec<Cycle>,
    /// By type, those of applications before too.
    stats: BTreeMap<String, ExpiryStats>,
    /// Applications are being switched.
    is_held: bool,
    pub(super) stopped: bool,
    /// Another one whenever batches that have begun are not to go on.
    pub(super) turn: u64,
}

/// What there is to tell of documents of a type that were removed because nothing selected them any more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExpiryStats {
    /// How many were removed since the process began.
    pub removed: u64,
    /// When all documents had been looked at for the last time.
    pub last_run: Option<SystemTime>,
    /// How many were removed that time.
    pub last_removed: u64,
}

/// What the schedule says now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Batch(Batch),
    Wait(Duration),
    /// There is nothing to do before the schedule changes.
    Rest,
}

/// Documents of a type, from a number on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) kind: String,
    pub(super) from: u32,
    pub(super) turn: u64,
}

/// The cycles of a type of documents. Moments are those of the clock's `now`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cycle {
    kind: String,
    interval: Duration,
    /// When the next one begins, or the one that is under way has begun.
    begin: Duration,
    /// The number of the document with which it goes on.
    next: u32,
    /// Documents that it has removed.
    removed: u64,
}

/// How often documents of each type are looked at, by type.
pub(super) type Intervals = BTreeMap<String, Duration>;

/// The types of an application whose documents are removed when they are not kept any more.
pub(super) fn intervals(application: &Application) -> Intervals {
    let mut intervals = Intervals::new();
    for cluster in &application.services.contents {
        let Some(seconds) = cluster.garbage_collection else { continue };
        for document in &cluster.documents {
            if cluster.selection.is_some() || document.selection.is_some() {
                let interval = Duration::from_secs(seconds.into());
                intervals.insert(document.kind.value.clone(), interval);
            }
        }
    }
    intervals
}

impl Schedule {
    /// Ends what is under way, and begins nothing before the next plan.
    pub(super) fn hold(&mut self) {
        self.is_held = true;
        self.turn += 1;
    }

    /// Goes over to other types; those whose interval stays go on, from their first document as numbers may be others.
    pub(super) fn plan(&mut self, intervals: Intervals, now: Duration) {
        let cycle = |(kind, interval): (String, Duration)| {
            let same = self.types.iter().find(|c| c.kind == kind && c.interval == interval);
            match same {
                Some(same) => Cycle { next: 0, ..same.clone() },
                None => {
                    let begin = now.saturating_add(interval.min(FIRST));
                    Cycle { kind, interval, begin, next: 0, removed: 0 }
                }
            }
        };
        self.types = intervals.into_iter().map(cycle).collect();
        self.is_held = false;
        self.turn += 1;
    }

    /// What is due longest, or after how long something is.
    pub(super) fn next(&self, now: Duration) -> Next {
        let due = self.types.iter().min_by_key(|cycle| cycle.begin);
        let Some(cycle) = due.filter(|_| !self.is_held) else { return Next::Rest };
        match cycle.begin.checked_sub(now).filter(|wait| !wait.is_zero()) {
            Some(wait) => Next::Wait(wait),
            None => {
                let (kind, from) = (cycle.kind.clone(), cycle.next);
                Next::Batch(Batch { kind, from, turn: self.turn })
            }
        }
    }

    /// What was removed of a type.
    pub(super) fn stats(&self, kind: &str) -> ExpiryStats {
        self.stats.get(kind).cloned().unwrap_or_default()
    }

    /// A batch has removed so many documents; its cycle goes on with the next, or ends.
    pub(super) fn done(
        &mut self,
        batch: &Batch,
        removed: u64,
        next: Option<u32>,
        (now, date): (Duration, SystemTime),
    ) {
        let stats = self.stats.entry(batch.kind.clone()).or_default();
        stats.removed += removed;
        let is_of = |cycle: &&mut Cycle| cycle.kind == batch.kind && self.turn == batch.turn;
        let Some(cycle) = self.types.iter_mut().find(is_of) else { return };
        cycle.removed += removed;
        if let Some(next) = next {
            cycle.next = next;
            return;
        }
        (stats.last_run, stats.last_removed) = (Some(date), cycle.removed);
        if cycle.removed > 0 {
            let (kind, documents) = (cycle.kind.as_str(), cycle.removed);
            tracing::info!(kind, documents, "removed what is not selected");
        }
        // A cycle that took longer than the interval is followed by the next at once.
        cycle.begin = cycle.begin.saturating_add(cycle.interval).max(now);
        (cycle.next, cycle.removed) = (0, 0);
    }
}

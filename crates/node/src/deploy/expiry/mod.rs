//! Removing documents that are not kept any more, in the background: `garbage-collection` of content clusters.
//!
//! Every interval all documents of a type are looked at, a batch after the other, with a pause between two, so that feeding goes on.
//! The thread that follows the [schedule] starts with the first application that wants it.

mod schedule;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use stead_app::application::Application;

pub use schedule::ExpiryStats;

use super::documents::Documents;
use schedule::{Batch, Next, Schedule, intervals};

/// The name of the thread that looks at them.
const THREAD: &str = "stead-expiry";

/// Time between two batches.
const PAUSE: Duration = Duration::from_millis(10);

/// Follows a schedule until it is dropped.
#[derive(Default)]
pub(super) struct Expiry {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    schedule: Mutex<Schedule>,
    changed: Condvar,
}

impl Shared {
    /// Held for moments only, so that no activation waits for a batch. No code under the lock panics.
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, documents: &Documents) {
        let mut schedule = self.lock();
        while !schedule.stopped {
            let wait = match schedule.next(documents.clock().now()) {
                Next::Batch(batch) => {
                    drop(schedule);
                    self.look(documents, &batch);
                    schedule = self.lock();
                    PAUSE
                }
                Next::Wait(wait) => wait.max(PAUSE),
                Next::Rest => {
                    schedule = self.changed.wait(schedule).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            let waited = self.changed.wait_timeout(schedule, wait);
            schedule = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Removes what is not kept of a batch. What the schedule does not want any more is left: the batch may have been found by the
    /// selection of an application before, or another one may keep all.
    fn look(&self, documents: &Documents, batch: &Batch) {
        let is_wanted = || self.lock().turn == batch.turn;
        let (kind, mut next) = (batch.kind.as_str(), None);
        let removed = documents.expired(kind, batch.from).and_then(|found| {
            if let Some(error) = found.error {
                let unread = found.unread;
                tracing::warn!(kind, unread, "documents that cannot be read are kept: {error}");
            }
            let removed = documents.expire(kind, &found.ids, is_wanted)?;
            next = found.next;
            Ok(removed)
        });
        let removed = removed.unwrap_or_else(|error| {
            if is_wanted() {
                tracing::warn!(kind, "documents that are not selected stay: {error}");
            }
            0
        });
        let clock = documents.clock();
        self.lock().done(batch, removed as u64, next, (clock.now(), clock.wall()));
    }
}

impl Expiry {
    /// What was removed of a type.
    pub(super) fn stats(&self, kind: &str) -> ExpiryStats {
        self.shared.lock().stats(kind)
    }

    /// Removes nothing before the next [`Expiry::plan`], whatever application that is for. Who switches the documents to another one
    /// calls it first.
    pub(super) fn hold(&self) {
        self.shared.lock().hold();
    }

    /// Removes the documents of an application from now on, or none.
    pub(super) fn plan(&self, documents: &Arc<Documents>, application: Option<&Application>) {
        let intervals = application.map(intervals).unwrap_or_default();
        let is_needed = !intervals.is_empty();
        self.shared.lock().plan(intervals, documents.clock().now());
        self.shared.changed.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if is_needed && thread.is_none() {
            let (shared, documents) = (Arc::clone(&self.shared), Arc::clone(documents));
            let named = std::thread::Builder::new().name(THREAD.to_owned());
            let started = named.spawn(move || shared.run(&documents));
            *thread = started
                .inspect_err(|error| tracing::error!("no thread for garbage-collection: {error}"))
                .ok();
        }
    }
}

impl Drop for Expiry {
    /// Waits for the thread, which holds the documents; a batch that is under way ends early.
    fn drop(&mut self) {
        let mut schedule = self.shared.lock();
        schedule.stopped = true;
        schedule.hold();
        drop(schedule);
        self.shared.changed.notify_all();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;

//! Removing documents that are not kept any more, in the background: `garbage-collection` of content clusters.
//!
//! Every interval all documents of a type are looked at, a batch after the other, with a pause between two, so that feeding goes on.
//! The schedule knows no thread and no clock; the thread that follows it starts with the first application that wants it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use stead_app::application::Application;

use super::documents::Documents;

/// When documents are looked at for the first time, if the interval is longer: a node that is started again and again comes to it too.
const FIRST: Duration = Duration::from_secs(60);

/// Time between two batches.
const PAUSE: Duration = Duration::from_millis(10);

/// What is to be done, and when.
#[derive(Debug, Default)]
struct Schedule {
    types: Vec<Cycle>,
    stopped: bool,
}

/// The cycles of a type of documents. Moments are those of the clock's `now`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cycle {
    kind: String,
    interval: Duration,
    /// When the next one begins, or the one that is under way has begun.
    begin: Duration,
    /// The number of the document with which it goes on.
    next: u32,
    /// Documents that it has removed.
    removed: usize,
}

/// How often documents of each type are looked at, by type.
type Intervals = BTreeMap<String, Duration>;

/// The types of an application whose documents are removed when they are not kept any more.
fn intervals(application: &Application) -> Intervals {
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
    /// Goes over to other types; those whose interval stays go on where they are.
    fn plan(&mut self, intervals: Intervals, now: Duration) {
        let cycle = |(kind, interval): (String, Duration)| {
            let same = self.types.iter().find(|c| c.kind == kind && c.interval == interval);
            same.cloned().unwrap_or_else(|| {
                let begin = now.saturating_add(interval.min(FIRST));
                Cycle { kind, interval, begin, next: 0, removed: 0 }
            })
        };
        self.types = intervals.into_iter().map(cycle).collect();
    }

    /// Does a batch of what is due longest. Returns after how long there is something to do; nothing if there never is.
    fn step(&mut self, documents: &Documents, now: Duration) -> Option<Duration> {
        let cycle = self.types.iter_mut().min_by_key(|cycle| cycle.begin)?;
        if let Some(wait) = cycle.begin.checked_sub(now).filter(|wait| !wait.is_zero()) {
            return Some(wait);
        }
        let kind = cycle.kind.as_str();
        match documents.expire(kind, cycle.next) {
            Ok(batch) => {
                cycle.removed += batch.removed;
                if let Some(error) = batch.error {
                    let unread = batch.unread;
                    tracing::warn!(kind, unread, "documents that cannot be read are kept: {error}");
                }
                if let Some(next) = batch.next {
                    cycle.next = next;
                    return Some(Duration::ZERO);
                }
                if cycle.removed > 0 {
                    tracing::info!(kind, documents = cycle.removed, "removed what is not selected");
                }
            }
            Err(error) => tracing::warn!(kind, "documents that are not selected stay: {error}"),
        }
        // A cycle that took longer than the interval is followed by the next at once.
        cycle.begin = cycle.begin.saturating_add(cycle.interval).max(now);
        (cycle.next, cycle.removed) = (0, 0);
        Some(Duration::ZERO)
    }
}

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
    /// Held over a batch: an activation waits for one at most, and finds none of an application before it under way. No code under
    /// the lock panics.
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, documents: &Documents) {
        let mut schedule = self.lock();
        while !schedule.stopped {
            let wait = schedule.step(documents, documents.clock().now());
            schedule = match wait {
                Some(wait) => {
                    let waited = self.changed.wait_timeout(schedule, wait.max(PAUSE));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(schedule).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Expiry {
    /// Removes the documents of an application from now on, or none.
    pub(super) fn plan(&self, documents: &Arc<Documents>, application: Option<&Application>) {
        let intervals = application.map(intervals).unwrap_or_default();
        let is_needed = !intervals.is_empty();
        self.shared.lock().plan(intervals, documents.clock().now());
        self.shared.changed.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if is_needed && thread.is_none() {
            let (shared, documents) = (Arc::clone(&self.shared), Arc::clone(documents));
            let named = std::thread::Builder::new().name("stead-expiry".to_owned());
            let started = named.spawn(move || shared.run(&documents));
            *thread = started
                .inspect_err(|error| tracing::error!("no thread for garbage-collection: {error}"))
                .ok();
        }
    }
}

impl Drop for Expiry {
    /// Waits for the batch that is under way: the thread holds the documents.
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};

    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;
    use stead_log::VirtualClock;
    use stead_store::{Action, FieldValue, Operation, Outcome};

    use super::super::documents::{DocumentOptions, WhenBusy};
    use super::*;
    use crate::Error;

    const SCHEMA: &str =
        "schema d { document d { field until type long { indexing: attribute } } }";

    /// An application whose documents are kept up to their `until`.
    fn application(documents: &str) -> Application {
        let services = format!(
            "<content version='1.0' id='c'><documents {documents}>\
             <document type='d' mode='index' selection='d.until &gt; now()'/></documents></content>"
        );
        let files = [("services.xml", services.as_str()), ("schemas/d.sd", SCHEMA)];
        let files = PackageFiles::from_texts(files).unwrap();
        let (application, report) = Application::read(&files, ServicesOptions::default());
        assert!(!report.has_errors(), "{report:?}");
        application
    }

    struct Fixture {
        clock: Arc<VirtualClock>,
        documents: Documents,
        schedule: Schedule,
    }

    impl Fixture {
        /// Below a folder or in memory; nothing is done but by [`Fixture::run`].
        fn new(
            folder: Option<&Path>,
            clock: &Arc<VirtualClock>,
            application: &Application,
        ) -> Fixture {
            let options = DocumentOptions { clock: clock.clone(), ..DocumentOptions::default() };
            let documents = match folder {
                Some(folder) => Documents::new(folder, options),
                None => Documents::in_memory(options),
            };
            documents.change(None, application).unwrap();
            let mut schedule = Schedule::default();
            schedule.plan(intervals(application), documents.clock().now());
            Fixture { clock: clock.clone(), documents, schedule }
        }

        fn change(&mut self, before: &Application, application: &Application) {
            self.documents.change(Some(before), application).unwrap();
            self.schedule.plan(intervals(application), self.clock_now());
        }

        fn clock_now(&self) -> Duration {
            self.documents.clock().now()
        }

        fn put(&self, number: u64, until: i64) -> Outcome {
            self.submit(number, until).recv().unwrap().unwrap()
        }

        fn submit(&self, number: u64, until: i64) -> Receiver<Result<Outcome, Error>> {
            let (document, condition) = (format!("id:n:d::{number}"), None);
            let fields = vec![(0, FieldValue::Integer(until))];
            let action = Action::Put { fields, create: false };
            let (sender, outcome) = channel();
            let operation = Operation { operation: 0, document, condition, action };
            let done = move |outcome| drop(sender.send(outcome));
            self.documents.submit("d", operation, WhenBusy::Wait, done).unwrap();
            outcome
        }

        /// Lets time pass and does all that is due then; after how long there is more to do.
        fn run(&mut self, seconds: u64) -> Option<u64> {
            self.clock.advance(Duration::from_secs(seconds));
            loop {
                match self.schedule.step(&self.documents, self.clock_now()) {
                    Some(Duration::ZERO) => {}
                    wait => return wait.map(|wait| wait.as_secs()),
                }
            }
        }

        fn count(&self) -> usize {
            let readers = self.documents.readers().unwrap();
            readers.values().map(|reader| reader.view().len()).sum()
        }
    }

    #[test]
    fn documents_are_looked_at_every_interval() {
        let application =
            application("garbage-collection='true' garbage-collection-interval='600'");
        let folder = tempfile::tempdir().unwrap();
        for folder in [None, Some(folder.path())] {
            let clock = Arc::new(VirtualClock::default());
            let mut node = Fixture::new(folder, &clock, &application);
            // More than a batch, so that a cycle takes several.
            let many = super::super::documents::BATCH as u64 * 2 + 5;
            let put: Vec<_> = (0..many).map(|n| node.submit(n, 50 + n as i64 % 2 * 500)).collect();
            put.iter().for_each(|one| assert_eq!(one.recv().unwrap(), Ok(Outcome::Applied)));
            assert_eq!(node.put(many, 0), Outcome::Ignored);
            let half = node.count() / 2;
            assert_eq!(node.run(59), Some(1), "a minute after the start");
            assert_eq!(node.count(), 2 * half + 1);
            assert_eq!(node.run(1), Some(600));
            assert_eq!(node.count(), half);
            assert_eq!((node.run(599), node.count()), (Some(1), half), "an interval behind that");
            assert_eq!((node.run(1), node.count()), (Some(600), 0));
        }
    }

    #[test]
    fn what_is_over_while_nobody_runs_goes_after_the_start() {
        let application = application("garbage-collection='true'");
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(VirtualClock::default());
        let node = Fixture::new(Some(folder.path()), &clock, &application);
        assert_eq!((node.put(1, 100), node.put(2, 9000)), (Outcome::Applied, Outcome::Applied));
        drop(node);
        clock.advance(Duration::from_secs(1000));
        let mut node = Fixture::new(Some(folder.path()), &clock, &application);
        assert_eq!(node.count(), 2);
        assert_eq!((node.run(60), node.count()), (Some(3600), 1));
        drop(node);
        let mut node = Fixture::new(Some(folder.path()), &clock, &application);
        assert_eq!(node.count(), 1, "a removal is durable");
        assert_eq!((node.run(60), node.count()), (Some(3600), 1));
    }

    #[test]
    fn another_application_keeps_other_documents_and_cycles_that_stay_go_on() {
        let [hour, never, minute] = [
            "garbage-collection='true'",
            "",
            "garbage-collection='true' garbage-collection-interval='30'",
        ]
        .map(application);
        let clock = Arc::new(VirtualClock::default());
        let mut node = Fixture::new(None, &clock, &hour);
        assert_eq!(node.put(1, 10), Outcome::Applied);
        assert_eq!(node.run(40), Some(20));
        node.change(&hour, &hour);
        assert_eq!(node.run(1), Some(19), "an interval that stays goes on");
        node.change(&hour, &never);
        assert_eq!((node.run(10_000), node.count()), (None, 1), "nothing is removed");
        assert_eq!(node.put(2, 10), Outcome::Ignored, "what is put is selected nevertheless");
        node.change(&never, &minute);
        assert_eq!((node.run(29), node.count()), (Some(1), 1));
        assert_eq!((node.run(1), node.count()), (Some(30), 0));
        // The clock of the wall decides what is over, the other one when that is looked at.
        assert_eq!(node.put(3, 20_000), Outcome::Applied);
        clock.set_wall(std::time::UNIX_EPOCH + Duration::from_secs(30_000));
        assert_eq!((node.run(0), node.count()), (Some(30), 1));
        assert_eq!((node.run(30), node.count()), (Some(30), 0));
    }

    #[test]
    fn the_thread_ends_with_the_documents_that_it_looks_at() {
        let application = application("garbage-collection='true'");
        let documents = Arc::new(Documents::in_memory(DocumentOptions::default()));
        documents.change(None, &application).unwrap();
        let expiry = Expiry::default();
        expiry.plan(&documents, Some(&application));
        assert!(Arc::strong_count(&documents) > 1);
        drop(expiry);
        assert_eq!(Arc::strong_count(&documents), 1);
    }
}

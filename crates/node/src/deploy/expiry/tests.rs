//! Expiry by applications in memory and below a folder, as the schedule says.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::SystemTime;

use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_log::{Clock, VirtualClock};
use stead_store::{Action, FieldValue, Operation, Outcome};

use super::schedule::FIRST;
use super::*;
use crate::Error;
use crate::deploy::documents::{DocumentOptions, WhenBusy};

const SCHEMA: &str = "schema d { document d { field until type long { indexing: attribute } } }";

/// An application whose documents are kept up to their `until`.
fn application(documents: &str) -> Application {
    read(&format!(
        "<content version='1.0' id='c'><documents {documents}>\
         <document type='d' mode='index' selection='d.until &gt; now()'/></documents></content>"
    ))
}

fn read(services: &str) -> Application {
    let files = [("services.xml", services), ("schemas/d.sd", SCHEMA)];
    let files = PackageFiles::from_texts(files).unwrap();
    let (application, report) = Application::read(&files, ServicesOptions::default());
    assert!(!report.has_errors(), "{report:?}");
    application
}

fn put(number: u64, until: i64) -> Operation {
    let (document, condition) = (format!("id:n:d::{number}"), None);
    let fields = vec![(0, FieldValue::Integer(until))];
    Operation { operation: 0, document, condition, action: Action::Put { fields, create: false } }
}

struct Fixture {
    clock: Arc<VirtualClock>,
    documents: Arc<Documents>,
    shared: Shared,
}

impl Fixture {
    /// Below a folder or in memory; nothing is done but by [`Fixture::run`].
    fn new(folder: Option<&Path>, clock: &Arc<VirtualClock>, application: &Application) -> Fixture {
        let options = DocumentOptions { clock: clock.clone(), ..DocumentOptions::default() };
        let documents = Arc::new(match folder {
            Some(folder) => Documents::new(folder, options),
            None => Documents::in_memory(options),
        });
        documents.change(None, application, &Arc::default()).unwrap();
        let shared = Shared::default();
        shared.lock().plan(intervals(application), documents.clock().now());
        Fixture { clock: clock.clone(), documents, shared }
    }

    fn change(&self, before: &Application, application: &Application) {
        self.shared.lock().hold();
        self.documents.change(Some(before), application, &Arc::default()).unwrap();
        self.shared.lock().plan(intervals(application), self.clock_now());
    }

    fn clock_now(&self) -> Duration {
        self.documents.clock().now()
    }

    fn put(&self, number: u64, until: i64) -> Outcome {
        self.submit(number, until).recv().unwrap().unwrap()
    }

    fn submit(&self, number: u64, until: i64) -> Receiver<Result<Outcome, Error>> {
        let (sender, outcome) = channel();
        let done = move |outcome| drop(sender.send(outcome));
        self.documents.submit("d", put(number, until), WhenBusy::Wait, done).unwrap();
        outcome
    }

    /// Lets time pass and does all that is due then; after how long there is more to do.
    fn run(&self, seconds: u64) -> Option<u64> {
        self.clock.advance(Duration::from_secs(seconds));
        loop {
            match self.next() {
                Next::Batch(batch) => self.shared.look(&self.documents, &batch),
                Next::Wait(wait) => return Some(wait.as_secs()),
                Next::Rest => return None,
            }
        }
    }

    fn next(&self) -> Next {
        self.shared.lock().next(self.clock_now())
    }

    fn count(&self) -> usize {
        let readers = self.documents.readers().unwrap();
        readers.values().map(|reader| reader.view().len()).sum()
    }
}

#[test]
fn documents_are_looked_at_every_interval() {
    let application = application("garbage-collection='true' garbage-collection-interval='600'");
    let folder = tempfile::tempdir().unwrap();
    for folder in [None, Some(folder.path())] {
        let clock = Arc::new(VirtualClock::default());
        let node = Fixture::new(folder, &clock, &application);
        // More than a batch, so that a cycle takes several.
        let many = crate::deploy::documents::BATCH as u64 * 2 + 5;
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
    let node = Fixture::new(Some(folder.path()), &clock, &application);
    assert_eq!(node.count(), 2);
    assert_eq!((node.run(60), node.count()), (Some(3600), 1));
    drop(node);
    let node = Fixture::new(Some(folder.path()), &clock, &application);
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
    let node = Fixture::new(None, &clock, &hour);
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
fn a_batch_of_an_application_before_removes_nothing() {
    let [hour, minute, never] = [
        "garbage-collection='true'",
        "garbage-collection='true' garbage-collection-interval='30'",
        "",
    ]
    .map(application);
    for (label, to) in [("another interval", &minute), ("none", &never), ("same", &hour)] {
        let clock = Arc::new(VirtualClock::default());
        let node = Fixture::new(None, &clock, &hour);
        assert_eq!((node.put(1, 10), node.put(2, 9000)), (Outcome::Applied, Outcome::Applied));
        clock.advance(FIRST);
        let Next::Batch(batch) = node.next() else { panic!("nothing is due") };
        let found = node.documents.expired("d", 0).unwrap().ids;
        assert_eq!(found, ["id:n:d::1"], "{label}");
        node.shared.lock().hold();
        assert_eq!(node.next(), Next::Rest, "{label}");
        node.shared.look(&node.documents, &batch);
        node.change(&hour, to);
        node.shared.look(&node.documents, &batch);
        assert_eq!(node.count(), 2, "{label}");
        // Nor has it moved the cycles on.
        let is_due = matches!(node.next(), Next::Batch(Batch { from: 0, .. }));
        assert_eq!(is_due, label == "same", "{label}: {:?}", node.next());
    }
}

#[test]
fn what_another_selection_keeps_stays_whoever_found_it() {
    let application = application("garbage-collection='true'");
    let text = "<content version='1.0' id='c'><documents garbage-collection='true'>\
                <document type='d' mode='index' selection='d.until == 10'/></documents></content>";
    let other = read(text);
    let clock = Arc::new(VirtualClock::default());
    let node = Fixture::new(None, &clock, &application);
    let all = [10, 20].map(|until| node.put(until, until as i64));
    assert_eq!(all, [Outcome::Applied, Outcome::Applied]);
    clock.advance(FIRST);
    let found = node.documents.expired("d", 0).unwrap().ids;
    assert_eq!(found.len(), 2);
    node.change(&application, &other);
    assert_eq!(node.documents.expire("d", &found, || true), Ok(1));
    let kept = node.documents.expired("d", 0).unwrap();
    assert_eq!((node.count(), kept.ids.len()), (1, 0));
}

/// A clock at which the thread of expiry stops when it asks what time it is, until it is let go.
struct Gate {
    clock: VirtualClock,
    came: Sender<()>,
    go: Mutex<Receiver<()>>,
}

impl Clock for Gate {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn wall(&self) -> SystemTime {
        if std::thread::current().name() == Some(THREAD) {
            let _ = self.came.send(());
            let _ = self.go.lock().unwrap().recv();
        }
        self.clock.wall()
    }
}

#[test]
fn a_plan_does_not_wait_for_a_batch() {
    let application = application("garbage-collection='true'");
    let ((came, has_come), (let_go, go)) = (channel(), channel());
    let gate = Arc::new(Gate { clock: VirtualClock::default(), came, go: Mutex::new(go) });
    let options = DocumentOptions { clock: gate.clone(), ..DocumentOptions::default() };
    let documents = Arc::new(Documents::in_memory(options));
    documents.change(None, &application, &Arc::default()).unwrap();
    let (sender, outcome) = channel();
    let done = move |outcome| drop(sender.send(outcome));
    documents.submit("d", put(1, 10), WhenBusy::Wait, done).unwrap();
    assert_eq!(outcome.recv().unwrap(), Ok(Outcome::Applied));
    gate.clock.advance(FIRST);
    let expiry = Expiry::default();
    expiry.plan(&documents, Some(&application));
    gate.clock.advance(FIRST);
    expiry.plan(&documents, Some(&application));
    // The batch is under way, and stays there.
    has_come.recv().unwrap();
    expiry.plan(&documents, None);
    drop(let_go);
    drop(expiry);
    assert_eq!(documents.readers().unwrap()["d"].view().len(), 1, "it is wanted no more");
}

#[test]
fn the_thread_ends_with_the_documents_that_it_looks_at() {
    let application = application("garbage-collection='true'");
    let documents = Arc::new(Documents::in_memory(DocumentOptions::default()));
    documents.change(None, &application, &Arc::default()).unwrap();
    let expiry = Expiry::default();
    expiry.plan(&documents, Some(&application));
    assert!(Arc::strong_count(&documents) > 1);
    drop(expiry);
    assert_eq!(Arc::strong_count(&documents), 1);
}

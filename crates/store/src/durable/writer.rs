//! What is not yet durable, and the thread that applies what is.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stead_log::{Io, LogError, Recovery};

use super::ids::Ids;
use super::known::Known;
use super::record::{Record, Write};
use super::snapshot::{Cut, Job, Shared, Stored};
use super::store::{Done, Outcome, lock};
use super::{SnapshotOptions, StoreOptions};
use crate::error::StoreError;
use crate::live::{Collection, TextMerge, TextMerged};

/// The most operations that are published together, so that the first of them does not wait for a queue of any length.
const GROUP: usize = 4096;

/// Operations that were submitted and not yet applied.
pub(super) struct Pending {
    /// By type: what is known of the documents that operations leave behind, with the last of these. Nothing was removed.
    documents: Vec<HashMap<String, (u64, Option<Known>)>>,
    sender: Option<Sender<Message>>,
    pub(super) ids: Ids,
}

/// What the applier is told.
pub(super) enum Message {
    /// By the log.
    Durable(Durable),
    /// Somebody wants a snapshot.
    Snapshot(Told),
    /// Somebody wants the newest snapshot in another folder.
    Backup(Arc<dyn Io>, Told),
    /// A snapshot was written, or not, and who wants to know.
    Stored(Result<Stored, StoreError>, Vec<Told>),
    /// Segments of the index of texts of a type, by its number, were joined.
    Merged(usize, TextMerged),
    /// There will be no more snapshots.
    NoSnapshots,
    /// Everything was submitted, and all before is durable.
    End,
}

/// Told what has become of a snapshot.
pub(super) type Told = Sender<Result<(), StoreError>>;

/// A record that the log has made durable, or not.
pub(super) struct Durable {
    /// The number of the type.
    pub(super) number: usize,
    pub(super) record: Record,
    pub(super) durable: Result<u64, LogError>,
    /// The bytes of the record.
    pub(super) bytes: usize,
    pub(super) done: Done,
}

impl Pending {
    pub(super) fn new(types: usize, sender: Sender<Message>, ids: Ids) -> Pending {
        let documents = (0..types).map(|_| HashMap::new()).collect();
        Pending { documents, sender: Some(sender), ids }
    }

    /// A document as the operations that wait leave it behind; nothing where none of them concerns it.
    pub(super) fn document(&self, number: usize, id: &str) -> Option<&Option<Known>> {
        self.documents.get(number)?.get(id).map(|(_, known)| known)
    }

    pub(super) fn add(
        &mut self,
        number: usize,
        id: String,
        lsn: u64,
        known: Option<Known>,
        operation: u128,
    ) {
        if let Some(documents) = self.documents.get_mut(number) {
            documents.insert(id, (lsn, known));
        }
        self.ids.waits(operation);
    }

    fn remove(&mut self, number: usize, id: &str, lsn: u64) {
        let Some(documents) = self.documents.get_mut(number) else { return };
        // A later operation may concern the same document.
        if documents.get(id).is_some_and(|(last, _)| *last <= lsn) {
            documents.remove(id);
        }
    }

    pub(super) fn sender(&self) -> Option<Sender<Message>> {
        self.sender.clone()
    }

    /// Nothing is submitted any more.
    pub(super) fn close(&mut self) {
        self.sender = None;
    }
}

/// Applies what is durable.
pub(super) struct Writer {
    pub(super) collections: Vec<Collection>,
    pub(super) pending: Arc<Mutex<Pending>>,
    pub(super) snapshots: Snapshots,
    /// Who joins segments of indexes of texts, of a type by its number.
    pub(super) merges: Sender<(usize, TextMerge)>,
    /// [`StoreOptions::rest_after`].
    pub(super) rest_after: Option<Duration>,
    /// Indexes may have segments that are better joined while nothing changes.
    pub(super) is_changed: bool,
}

/// When snapshots are taken.
pub(super) struct Snapshots {
    pub(super) options: SnapshotOptions,
    /// Where they are written; none when the store is being closed.
    pub(super) jobs: Option<Sender<Job>>,
    pub(super) shared: Arc<Shared>,
    /// One is being written.
    pub(super) is_busy: bool,
    /// Who wants the next one.
    pub(super) waiting: Vec<Told>,
    /// The last record that was applied.
    pub(super) lsn: u64,
    /// Operations and their bytes since the last one was begun.
    pub(super) operations: u64,
    pub(super) bytes: u64,
}

impl Snapshots {
    pub(super) fn new(
        options: &StoreOptions,
        jobs: Option<Sender<Job>>,
        shared: Arc<Shared>,
        recovery: Recovery,
    ) -> Snapshots {
        Snapshots {
            options: options.snapshots.clone(),
            jobs,
            shared,
            is_busy: false,
            waiting: Vec::new(),
            lsn: recovery.next_lsn - 1,
            // What was replayed should not be replayed again and again.
            operations: recovery.records,
            bytes: 0,
        }
    }

    /// Whether replaying the log would take longer than it should.
    fn is_due(&self) -> bool {
        // Of many documents that change everywhere, each snapshot writes most: it should be worth it.
        let bytes = self.options.log_bytes.max(self.shared.stats().disk_bytes / 4);
        self.bytes >= bytes || self.operations >= self.options.operations
    }
}

impl Writer {
    /// Until nobody submits any more.
    pub(super) fn run(&mut self, receiver: &Receiver<Message>) {
        let mut next = receiver.recv().ok();
        while let Some(message) = next.take() {
            let mut group = Vec::new();
            match message {
                Message::Durable(first) => group.push(first),
                Message::Snapshot(told) => self.snapshots.waiting.push(told),
                Message::Backup(to, told) => {
                    let jobs = self.snapshots.jobs.as_ref();
                    if let Some(Err(refused)) = jobs.map(|jobs| jobs.send(Job::Backup(to, told)))
                        && let Job::Backup(_, told) = refused.0
                    {
                        let _ = told.send(Err(StoreError::Closed));
                    }
                }
                Message::Stored(result, told) => self.stored(result, &told),
                Message::Merged(number, merged) => self.merged(number, merged),
                Message::NoSnapshots => self.snapshots.jobs = None,
                Message::End => return,
            }
            if !group.is_empty() {
                while group.len() < GROUP && next.is_none() {
                    match receiver.try_recv() {
                        Ok(Message::Durable(one)) => group.push(one),
                        Ok(other) => next = Some(other),
                        Err(_) => break,
                    }
                }
                self.apply(group);
            }
            self.snapshot();
            if next.is_none() {
                next = self.next(receiver);
            }
        }
    }

    /// Waits for a message. Where none comes for long, segments are joined that are better joined while nothing changes.
    fn next(&mut self, receiver: &Receiver<Message>) -> Option<Message> {
        if let Some(rest_after) = self.rest_after.filter(|_| self.is_changed) {
            match receiver.recv_timeout(rest_after) {
                Err(RecvTimeoutError::Timeout) => {}
                other => return other.ok(),
            }
            self.is_changed = false;
            for (number, collection) in self.collections.iter_mut().enumerate() {
                for merge in collection.rests() {
                    // Who joins them ends after this.
                    let _ = self.merges.send((number, merge));
                }
            }
        }
        receiver.recv().ok()
    }

    /// Begins a snapshot if it is time.
    fn snapshot(&mut self) {
        let is_wanted = !self.snapshots.waiting.is_empty();
        if self.snapshots.is_busy || !(is_wanted || self.snapshots.is_due()) {
            return;
        }
        let told = std::mem::take(&mut self.snapshots.waiting);
        if self.snapshots.operations == 0 {
            // The last one has everything.
            told.iter().for_each(|told| drop(told.send(Ok(()))));
            return;
        }
        let Some(jobs) = &self.snapshots.jobs else {
            told.iter().for_each(|told| drop(told.send(Err(StoreError::Closed))));
            return;
        };
        let cut = Cut {
            lsn: self.snapshots.lsn,
            views: self.collections.iter().map(Collection::view).collect(),
            operations: lock(&self.pending).ids.remembered(),
        };
        self.snapshots.is_busy = jobs.send(Job::Snapshot(cut, told)).is_ok();
        (self.snapshots.operations, self.snapshots.bytes) = (0, 0);
    }

    /// What a snapshot has on disk need not be in memory any more.
    fn stored(&mut self, result: Result<Stored, StoreError>, told: &[Told]) {
        self.snapshots.is_busy = false;
        let outcome = result.map(|stored| {
            for (collection, replaced) in self.collections.iter_mut().zip(&stored.replaced) {
                collection.replace(replaced);
                collection.publish();
            }
        });
        if outcome.is_err() {
            // What it would have had waits for the next one, which somebody may ask for at once.
            self.snapshots.operations += 1;
        }
        told.iter().for_each(|told| drop(told.send(outcome.clone())));
    }

    /// Has segments of indexes of texts joined that are better joined, beside what is written meanwhile.
    fn merge(&mut self, number: usize) {
        let Some(collection) = self.collections.get_mut(number) else { return };
        for merge in collection.merges() {
            // Who joins them ends after this.
            let _ = self.merges.send((number, merge));
        }
    }

    fn merged(&mut self, number: usize, merged: TextMerged) {
        if let Some(collection) = self.collections.get_mut(number) {
            collection.install(merged);
            collection.publish();
        }
        self.is_changed = true;
        self.merge(number);
    }

    fn apply(&mut self, group: Vec<Durable>) {
        let mut outcomes = Vec::with_capacity(group.len());
        let mut changed = vec![false; self.collections.len()];
        for one in &group {
            if let Ok(lsn) = one.durable {
                self.snapshots.lsn = lsn;
                self.snapshots.operations += 1;
                self.snapshots.bytes += one.bytes as u64;
            }
            outcomes.push(match (&one.durable, self.collections.get_mut(one.number)) {
                (Ok(_), Some(collection)) => {
                    changed[one.number] = true;
                    apply_record(collection, &one.record)
                }
                (Err(error), _) => Err(StoreError::Log(error.clone())),
                (_, None) => Err(StoreError::Closed),
            });
        }
        for (number, _) in changed.into_iter().enumerate().filter(|(_, changed)| *changed) {
            if let Some(collection) = self.collections.get_mut(number) {
                collection.publish();
            }
            self.is_changed = true;
            self.merge(number);
        }
        // Who asks for a document from now on finds it in a view.
        let mut told = Vec::with_capacity(group.len());
        {
            let mut pending = lock(&self.pending);
            for (one, outcome) in group.into_iter().zip(outcomes) {
                let lsn = one.durable.unwrap_or(u64::MAX);
                pending.remove(one.number, &one.record.id, lsn);
                let others = match &outcome {
                    Ok(outcome) => pending.ids.applied(one.record.operation, outcome.clone()),
                    Err(_) => pending.ids.failed(one.record.operation),
                };
                told.extend(others.into_iter().map(|done| (done, outcome.clone())));
                told.push((one.done, outcome));
            }
        }
        told.into_iter().for_each(|(done, outcome)| done(outcome));
    }
}

/// Does what a record says. It fails where there is no room, and does so each time that the same log is read.
pub(super) fn apply_record(
    collection: &mut Collection,
    record: &Record,
) -> Result<Outcome, StoreError> {
    match &record.write {
        Write::Put(fields) => collection.put(&record.id, fields).map(|_| Outcome::Applied),
        Write::Update(fields) => match collection.update(&record.id, fields)? {
            true => Ok(Outcome::Applied),
            false => Ok(Outcome::Absent),
        },
        Write::Remove => match collection.remove(&record.id) {
            true => Ok(Outcome::Applied),
            false => Ok(Outcome::Absent),
        },
    }
}

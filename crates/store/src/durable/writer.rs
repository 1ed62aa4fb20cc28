//! What is not yet durable, and the thread that applies what is.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use stead_log::LogError;

use super::record::{Fields, Record, Write};
use super::store::{Done, Outcome, lock};
use crate::error::StoreError;
use crate::live::Collection;

/// The operations whose ids are remembered.
const REMEMBERED: usize = 1 << 16;

/// The most operations that are published together, so that the first of them does not wait for a queue of any length.
const GROUP: usize = 4096;

/// Operations that were submitted and not yet applied.
pub(super) struct Pending {
    /// By type: the documents that operations leave behind, with the last of these. Nothing was removed.
    documents: Vec<HashMap<String, (u64, Option<Arc<Fields>>)>>,
    sender: Option<Sender<Durable>>,
    pub(super) ids: Ids,
}

/// A record that the log has made durable, or not.
pub(super) struct Durable {
    /// The number of the type.
    pub(super) number: usize,
    pub(super) record: Record,
    pub(super) durable: Result<u64, LogError>,
    pub(super) done: Done,
}

impl Pending {
    pub(super) fn new(types: usize, sender: Sender<Durable>, ids: Ids) -> Pending {
        let documents = (0..types).map(|_| HashMap::new()).collect();
        Pending { documents, sender: Some(sender), ids }
    }

    /// A document as the operations that wait leave it behind; nothing where none of them concerns it.
    pub(super) fn document(&self, number: usize, id: &str) -> Option<&Option<Arc<Fields>>> {
        self.documents.get(number)?.get(id).map(|(_, fields)| fields)
    }

    pub(super) fn add(
        &mut self,
        number: usize,
        id: String,
        lsn: u64,
        fields: Option<Arc<Fields>>,
        operation: u128,
    ) {
        if let Some(documents) = self.documents.get_mut(number) {
            documents.insert(id, (lsn, fields));
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

    pub(super) fn sender(&self) -> Option<Sender<Durable>> {
        self.sender.clone()
    }

    /// The applier ends when it has applied what there is.
    pub(super) fn close(&mut self) {
        self.sender = None;
    }
}

/// The ids of the last operations.
#[derive(Default)]
pub(super) struct Ids {
    known: HashMap<u128, State>,
    order: VecDeque<u128>,
}

enum State {
    /// It is not yet done; these want to know.
    Waits(Vec<Done>),
    Done(Outcome),
}

/// Whether an operation was submitted before.
pub(super) enum Seen {
    New(Done),
    /// Who asks will be told together with the first.
    Waits,
    Done(Done, Outcome),
}

impl Ids {
    pub(super) fn seen(&mut self, operation: u128, done: Done) -> Seen {
        match self.known.get_mut(&operation) {
            None => Seen::New(done),
            Some(State::Waits(others)) => {
                others.push(done);
                Seen::Waits
            }
            Some(State::Done(outcome)) => Seen::Done(done, outcome.clone()),
        }
    }

    fn waits(&mut self, operation: u128) {
        if operation != 0 {
            self.known.insert(operation, State::Waits(Vec::new()));
        }
    }

    /// An operation is done; who else wants to know.
    pub(super) fn applied(&mut self, operation: u128, outcome: Outcome) -> Vec<Done> {
        if operation == 0 {
            return Vec::new();
        }
        let before = self.known.insert(operation, State::Done(outcome));
        self.order.push_back(operation);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        match before {
            Some(State::Waits(others)) => others,
            _ => Vec::new(),
        }
    }

    /// An operation has failed, and may be tried again.
    fn failed(&mut self, operation: u128) -> Vec<Done> {
        match self.known.remove(&operation) {
            Some(State::Waits(others)) => others,
            _ => Vec::new(),
        }
    }
}

/// Applies what is durable.
pub(super) struct Writer {
    pub(super) collections: Vec<Collection>,
    pub(super) pending: Arc<Mutex<Pending>>,
}

impl Writer {
    /// Until nobody submits any more.
    pub(super) fn run(&mut self, receiver: &Receiver<Durable>) {
        while let Ok(first) = receiver.recv() {
            let mut group = vec![first];
            group.extend(receiver.try_iter().take(GROUP));
            self.apply(group);
        }
    }

    fn apply(&mut self, group: Vec<Durable>) {
        let mut outcomes = Vec::with_capacity(group.len());
        let mut changed = vec![false; self.collections.len()];
        for one in &group {
            outcomes.push(match (&one.durable, self.collections.get_mut(one.number)) {
                (Ok(_), Some(collection)) => {
                    changed[one.number] = true;
                    apply_record(collection, &one.record)
                }
                (Err(error), _) => Err(StoreError::Log(error.clone())),
                (_, None) => Err(StoreError::Closed),
            });
        }
        let collections = self.collections.iter_mut().zip(changed);
        collections
            .filter(|(_, changed)| *changed)
            .for_each(|(collection, _)| collection.publish());
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

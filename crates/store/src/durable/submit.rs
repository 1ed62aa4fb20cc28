//! Operations on their way to the log.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use super::ids::Seen;
use super::record::{Record, encode};
use super::resolve::{Known, Need, Refusal, Resolver};
use super::room::Permit;
use super::store::{Done, Outcome, Store, Stored, lock};
use super::writer::{Durable, Message, Pending};
use crate::error::StoreError;
use crate::indexing::{NoEmbedder, ScriptContext};
use crate::live::Fetched;
use crate::operation::Operation;

/// How often a body is read ahead anew because it has got another place on disk meanwhile. Each time a snapshot was finished between two
/// steps, so that more often is a disk that is slower than snapshots follow each other.
const AHEAD: usize = 4;

/// Who submits an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Client,
    /// The removal of documents that are not kept.
    Expiry,
}

impl Store {
    /// Does an operation with a document of a type. `done` is called once with what became of it: when it is durable and every view that
    /// is taken from then on has it, or at once where nothing is to be done. Operations of one caller are done in their order. `done` must be quick, since all
    /// others wait for it.
    ///
    /// An operation with an id that was done before, among the last so many, is not done again; its outcome is the one
    /// that it had.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where [`StoreOptions::room`] is taken, [`StoreError::Type`], [`StoreError::Input`], and what the log
    /// answers; `done` is not called then.
    pub fn submit(
        &self,
        name: &str,
        operation: Operation,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.enter(name, operation, By::Client, self.room.try_enter()?, done)
    }

    /// [`Store::submit`] that waits while there is no room. Not for `done` of another operation, which all others wait for.
    ///
    /// # Errors
    /// As [`Store::submit`], but for [`StoreError::Busy`].
    pub fn feed(
        &self,
        name: &str,
        operation: Operation,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.enter(name, operation, By::Client, self.room.enter(), done)
    }

    pub(super) fn enter(
        &self,
        name: &str,
        mut operation: Operation,
        by: By,
        mut permit: Permit,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let (stored, mut done): (_, Done) = (self.stored(name)?, Box::new(done));
        let journal = self.journal.as_ref().ok_or(StoreError::Closed)?;
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        let cx = ScriptContext { now, seed, embedder: &NoEmbedder };
        let resolver = Resolver { kind: &stored.kind, scripts: stored.scripts.as_ref(), cx };
        // By what was sent, before scripts have filled it (Vespa, `DocumentRouteSelectorPolicy`).
        let is_ignored = by == By::Client && stored.ignores(&operation, now);
        if !is_ignored {
            resolver.prepare(&mut operation)?;
        }
        let need = if is_ignored { Need::Nothing } else { Need::of(&operation) };
        let (mut pending, fetched) = self.lock_with(stored, &operation.document, need);
        match pending.ids.seen(operation.operation, done) {
            Seen::New(given) => done = given,
            Seen::Waits => return Ok(()),
            Seen::Done(done, outcome) => {
                drop(pending);
                done(Ok(outcome));
                return Ok(());
            }
        }
        let (id, number_of_operation) = (operation.document.clone(), operation.operation);
        let known = || known(&pending, stored, &id, need, fetched.as_ref());
        let resolved = match is_ignored {
            true => Err(Refusal::Ends(Outcome::Ignored)),
            false => resolver.resolve(operation, known),
        };
        let (write, fields) = match resolved {
            Ok(resolved) => resolved,
            Err(Refusal::Fails(error)) => return Err(error),
            Err(Refusal::Ends(outcome)) => {
                drop(pending);
                done(Ok(outcome));
                return Ok(());
            }
        };
        let record = Record { operation: number_of_operation, id: id.clone(), write };
        let payload = encode(&stored.kind, &record);
        let bytes = payload.len();
        let (number, sender) = (stored.number, pending.sender().ok_or(StoreError::Closed)?);
        permit.add(payload.len());
        // Whoever is told finds room for what follows.
        let done: Done = Box::new(move |outcome| {
            drop(permit);
            done(outcome);
        });
        let lsn = journal.append(payload, move |durable| {
            // The applier lives as long as the log has callbacks to call.
            let _ = sender.send(Message::Durable(Durable { number, record, durable, bytes, done }));
        })?;
        pending.add(number, id, lsn, fields, number_of_operation);
        Ok(())
    }

    /// What is pending, with what lies on disk of a document if it is needed: it was read before the lock was taken, since all
    /// operations wait for whoever has that.
    fn lock_with(
        &self,
        stored: &Stored,
        id: &str,
        need: Need,
    ) -> (MutexGuard<'_, Pending>, Option<Fetched>) {
        let mut fetched = None;
        for _ in 0..AHEAD {
            let pending = lock(&self.pending);
            if need != Need::Fields || pending.document(stored.number, id).is_some() {
                return (pending, None);
            }
            let view = stored.reader.view();
            let Some(lid) = view.find(id) else { return (pending, None) };
            if view.is_at_hand(lid, fetched.as_ref(), |_| true) {
                return (pending, fetched);
            }
            drop(pending);
            // What cannot be read now is read again under the lock, where the error is that of the operation.
            fetched = view.fetch(lid, |_| true).ok();
        }
        (lock(&self.pending), fetched)
    }

    /// [`Store::submit`] that waits.
    ///
    /// # Errors
    /// As [`Store::submit`], and what `done` would have got.
    pub fn submit_wait(&self, name: &str, operation: Operation) -> Result<Outcome, StoreError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.feed(name, operation, move |outcome| {
            let _ = sender.send(outcome);
        })?;
        receiver.recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// What operations that are submitted now find: a view that is taken behind what waits has what no longer waits.
fn known(
    pending: &Pending,
    stored: &Stored,
    id: &str,
    need: Need,
    fetched: Option<&Fetched>,
) -> Result<Known, StoreError> {
    if let Some(waiting) = pending.document(stored.number, id) {
        return Ok(waiting.clone());
    }
    let view = stored.reader.view();
    let Some(lid) = view.find(id) else { return Ok(None) };
    match need {
        Need::Fields => Ok(view.read_fetched(lid, fetched, |_| true)?.map(Arc::new)),
        Need::Presence | Need::Nothing => Ok(Some(Arc::default())),
    }
}

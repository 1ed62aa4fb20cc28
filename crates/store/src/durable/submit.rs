//! Operations on their way to the log.

use std::collections::BTreeSet;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::ids::Seen;
use super::known::{Known, Need};
use super::record::{Record, encode};
use super::resolve::{Refusal, Resolver};
use super::room::Permit;
use super::store::{Done, Outcome, Store, Stored, lock};
use super::writer::{Durable, Message, Pending};
use crate::error::StoreError;
use crate::indexing::{Answers, Embedder, NoEmbedder, ScriptContext, Scripts};
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
        self.enter(name, operation, By::Client, (self.room.try_enter()?, &NoEmbedder), done)
    }

    /// [`Store::submit`], or [`Store::feed`] where it `waits`, of operations whose scripts ask for tensors of texts.
    ///
    /// # Errors
    /// As there, and [`StoreError::Texts`] with those that are not among the answers.
    pub fn submit_with(
        &self,
        name: &str,
        operation: Operation,
        waits: bool,
        answers: &Answers,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let permit = if waits { self.room.enter() } else { self.room.try_enter()? };
        self.enter(name, operation, By::Client, (permit, answers), done)
    }

    /// Whether the scripts of any type ask for tensors of texts.
    #[must_use]
    pub fn embeds(&self) -> bool {
        self.types.values().any(|stored| stored.scripts.as_ref().is_some_and(Scripts::embeds))
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
        self.enter(name, operation, By::Client, (self.room.enter(), &NoEmbedder), done)
    }

    pub(super) fn enter(
        &self,
        name: &str,
        mut operation: Operation,
        by: By,
        (mut permit, embedder): (Permit, &dyn Embedder),
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let (stored, mut done): (_, Done) = (self.stored(name)?, Box::new(done));
        let journal = self.journal.as_ref().ok_or(StoreError::Closed)?;
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        let cx = ScriptContext { now, seed, embedder };
        let resolver = Resolver { kind: &stored.kind, scripts: stored.scripts.as_ref(), cx };
        // By what was sent, before scripts have filled it (Vespa, `DocumentRouteSelectorPolicy`).
        let is_ignored = by == By::Client && stored.ignores(&operation, now);
        if !is_ignored {
            let prepared = resolver.prepare(&mut operation);
            known_texts(embedder)?;
            prepared?;
        }
        let need = match is_ignored {
            true => Need::Nothing,
            false => Need::of(&operation, &stored.kind, stored.scripts.as_ref()),
        };
        let (mut pending, fetched) = self.lock_with(stored, &operation.document, &need);
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
        let known = || match &need {
            Need::Nothing => Ok(None),
            Need::Fields(needed) => known(&pending, stored, &id, needed, fetched.as_ref()),
        };
        let resolved = match is_ignored {
            true => Err(Refusal::Ends(Outcome::Ignored)),
            false => resolver.resolve(operation, &need, known),
        };
        known_texts(embedder)?;
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

    /// What is pending, with what lies on disk of a document as far as it is needed: it was read before the lock was taken, since all
    /// operations wait for whoever has that.
    fn lock_with(
        &self,
        stored: &Stored,
        id: &str,
        need: &Need,
    ) -> (MutexGuard<'_, Pending>, Option<Fetched>) {
        let mut fetched = None;
        let Need::Fields(needed) = need else { return (lock(&self.pending), None) };
        for _ in 0..AHEAD {
            let pending = lock(&self.pending);
            let missing = match pending.document(stored.number, id) {
                Some(None) => return (pending, None),
                waiting => missing(waiting.and_then(Option::as_ref), needed),
            };
            let view = stored.reader.view();
            let Some(lid) = view.find(id) else { return (pending, None) };
            let is_missing = |field: usize| missing.contains(&field);
            if missing.is_empty() || view.is_at_hand(lid, fetched.as_ref(), is_missing) {
                return (pending, fetched);
            }
            drop(pending);
            // What cannot be read now is read again under the lock, where the error is that of the operation.
            fetched = view.fetch(lid, fetched, is_missing).ok();
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

/// Whether scripts were told all that they asked.
fn known_texts(embedder: &dyn Embedder) -> Result<(), StoreError> {
    let missing = embedder.missing();
    if missing.is_empty() { Ok(()) } else { Err(StoreError::Texts(missing)) }
}

/// The fields of which something must be read.
fn missing(waiting: Option<&Known>, needed: &BTreeSet<usize>) -> BTreeSet<usize> {
    let is_known = |field: usize| waiting.is_some_and(|known| known.has(field));
    needed.iter().copied().filter(|field| !is_known(*field)).collect()
}

/// What operations that are submitted now find: a view that is taken behind what waits has what no longer waits, and of fields that nothing
/// that waits concerns what they are.
fn known(
    pending: &Pending,
    stored: &Stored,
    id: &str,
    needed: &BTreeSet<usize>,
    fetched: Option<&Fetched>,
) -> Result<Option<Known>, StoreError> {
    let waiting = match pending.document(stored.number, id) {
        Some(None) => return Ok(None),
        waiting => waiting.and_then(Option::as_ref),
    };
    let missing = missing(waiting, needed);
    if let (Some(known), true) = (waiting, missing.is_empty()) {
        return Ok(Some(known.clone()));
    }
    let view = stored.reader.view();
    let Some(lid) = view.find(id) else { return Ok(None) };
    let fields = match missing.is_empty() {
        true => Some(Vec::new()),
        false => view.read_fetched(lid, fetched, |field| missing.contains(&field))?,
    };
    Ok(fields.map(|fields| match waiting {
        Some(known) => known.and(fields, &missing),
        None => Known::part(fields, missing),
    }))
}

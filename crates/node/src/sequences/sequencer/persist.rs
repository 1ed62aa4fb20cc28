//! Sequences that outlive the process: steps wait for the log, snapshots, and the way back.

use super::{Due, Handover, NextStep, Ran, Sequencer, Steps, Work, others};
use crate::sequences::durable::{self, Durable};
use crate::sequences::family::Other;
use crate::sequences::state::{Kept, State, Stored};
use std::sync::Arc;
use std::time::Duration;
use stead_log::LogError;
use stead_sequence::durable::{Found, Was};
use stead_sequence::{Ended, Image, Next, SequenceId};

/// How often a full queue of the log, or a sequence in which a step runs, is tried again.
const AGAIN: Duration = Duration::from_millis(2);

impl Sequencer {
    /// Writes a step into the log; it is concluded when its record is durable.
    pub(super) fn write(self: &Arc<Self>, log: &Durable, ran: Ran, due: &mut Due) {
        let id = &ran.ticket.id;
        let is_whole = log.whole().contains(id);
        let (all, keep) = {
            let table = self.lock();
            let all = is_whole.then(|| table.image(id).map(|i| i.answers).unwrap_or_default());
            (all, table.limits().replay_depth)
        };
        let now = self.now();
        let event = match ran.end {
            true => durable::ending(ran.answer.step, &ran.origin, &ran.kept, keep > 0),
            false => {
                durable::alive(ran.answer.step, &ran.origin, now, &ran.state, &ran.kept, all, keep)
            }
        };
        let bytes = log.record(id, now, event);
        let (handover, promise) = Handover::new(self);
        let others = ran.is_start().then(|| self.others());
        let (table, mut others) = self.lock_for(&ran, &others);
        // Under the lock, so that a record of an end by somebody else cannot come before this one.
        if !table.runs(&ran.ticket) {
            drop((table, others));
            drop(promise);
            return self.conclude(ran, Ok(()), due);
        }
        let appended = log.append(bytes, move |word| promise.keep(word));
        if appended.is_ok() && is_whole {
            log.whole().remove(id);
        }
        // With the lock of theirs, so that no record of theirs comes behind this one.
        let ceded: &mut [Other<'_>] = if appended.is_ok() { &mut others } else { &mut [] };
        let elsewhere = others::cede(ceded, id);
        drop((table, others));
        elsewhere.go_on();
        match appended {
            Ok(()) => handover.step(ran),
            Err(error) => self.conclude(ran, Err(error), due),
        }
    }

    /// Records what came to an end by itself. With the table's lock held, so that a record of a new sequence of the
    /// same id cannot come before.
    pub(super) fn note(&self, due: &[NextStep]) {
        let Some(log) = &self.durable else { return };
        for next in due {
            if let Next::Expired(id) = next {
                log.gone(id, self.now());
            }
        }
    }

    /// Records a sequence that came from elsewhere. With the table's lock held.
    ///
    /// # Errors
    /// [`LogError`].
    pub(super) fn note_new(&self, table: &Steps, id: &SequenceId) -> Result<(), LogError> {
        let Some(log) = self.durable.as_ref().filter(|log| log.every_step()) else { return Ok(()) };
        let Some(image) = table.image(id) else { return Ok(()) };
        // A fork may be one of a state on disk; it is read with the lock held, which a fork may cost.
        let Ok(state) = image.state.load() else { return Err(LogError::Closed) };
        let event = durable::whole(image, state, table.limits().replay_depth);
        log.append(log.record(id, self.now(), event), |_| {})
    }

    /// Brings back the sequences that the log tells of.
    pub(crate) fn restore(&self) {
        let Some(log) = &self.durable else { return };
        let (fit, other) = log.claim();
        let now = self.now();
        let values = match &self.work {
            Work::Model { layout, .. } => layout.names().count(),
            Work::Pipeline(joint) => joint.names().len(),
        };
        let mut table = self.lock();
        let (mut restored, mut lost) = (0, 0);
        for (id, Found { at, was, .. }) in fit {
            match was {
                Was::Alive(alive) if alive.state.len() == values => {
                    let image = Image {
                        step: alive.step,
                        state: Stored::Here(State(alive.state)),
                        answers: alive.answers.into_iter().map(|(n, a)| (n, Kept(a))).collect(),
                        request: alive.request,
                        auto: alive.auto,
                        began: Duration::from_millis(alive.began),
                        // Nobody could go on while the server was down: its idle time begins anew.
                        touched: now,
                    };
                    table.restore(id, image, now);
                    restored += 1;
                }
                Was::Alive(_) => {
                    log.gone(&id, now);
                    lost += 1;
                }
                Was::Ended(ending) => {
                    let ended = Ended {
                        step: ending.step,
                        request: ending.request,
                        start: ending.start,
                        answer: Kept(ending.answer),
                    };
                    table.restore_ended(id, ended, Duration::from_millis(at), now);
                }
            }
        }
        drop(table);
        if restored > 0 {
            tracing::info!(model = self.model, sequences = restored, "sequences are back");
        }
        lost += other.iter().filter(|(_, found)| matches!(found.was, Was::Alive(_))).count();
        if lost > 0 {
            tracing::warn!(
                model = self.model,
                sequences = lost,
                "sequences of another model file or of other states were dropped"
            );
        }
    }

    /// Records what has changed since the last snapshot, if this model lives by snapshots.
    ///
    /// # Errors
    /// [`LogError`].
    pub(crate) fn snapshot(&self) -> Result<(), LogError> {
        let Some(log) = self.durable.as_ref().filter(|log| !log.every_step()) else {
            return Ok(());
        };
        let began = self.now();
        let since = {
            let mut taken = self.snapshot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::replace(&mut *taken, began)
        };
        let changed: Vec<SequenceId> = self.lock().touched(since).cloned().collect();
        changed.iter().try_for_each(|id| self.write_whole(log, id).map(drop))
    }

    /// Records everything once more. Gives the bytes.
    ///
    /// # Errors
    /// [`LogError`].
    pub(crate) fn rewrite(&self) -> Result<u64, LogError> {
        let Some(log) = &self.durable else { return Ok(0) };
        let mut written = 0;
        let mut left: Vec<SequenceId> = self.lock().ids().cloned().collect();
        if log.every_step() {
            log.whole().extend(left.iter().cloned());
        }
        let outcome = loop {
            let mut running = Vec::new();
            let mut step = || {
                for id in left.drain(..) {
                    match self.write_whole(log, &id)? {
                        Some(bytes) => written += bytes,
                        None => running.push(id),
                    }
                }
                Ok(())
            };
            if let Err(error) = step() {
                break Err(error);
            }
            if running.is_empty() {
                break Ok(written);
            }
            left = running;
            std::thread::sleep(AGAIN);
        };
        log.whole().clear();
        // Now that whatever was ending has ended.
        let endings: Vec<_> =
            self.lock().endings().map(|(id, until, e)| (id.clone(), until, e)).collect();
        let mut written = outcome?;
        for (id, until, ended) in endings {
            written += self.write_ended(log, &id, until, ended)?;
        }
        Ok(written)
    }

    /// Records a live sequence as a whole. Gives the bytes, 0 when there is nothing to record any more, and nothing
    /// when a step runs whose own record may be on its way.
    fn write_whole(&self, log: &Durable, id: &SequenceId) -> Result<Option<u64>, LogError> {
        loop {
            let (image, keep) = {
                let table = self.lock();
                if log.every_step() && !log.whole().contains(id) {
                    return Ok(Some(0));
                }
                if !table.contains(id) {
                    return Ok(Some(0));
                }
                if log.every_step() && table.at_rest(id).is_none() {
                    return Ok(None);
                }
                // A START that runs has left nothing yet.
                let Some(image) = table.image(id) else { return Ok(Some(0)) };
                (image, table.limits().replay_depth)
            };
            let as_seen = (image.step, image.began);
            let Ok(state) = image.state.load() else {
                // Its next step will say so.
                tracing::error!(model = self.model, %id, "a state on disk cannot be read");
                log.whole().remove(id);
                return Ok(Some(0));
            };
            let bytes = log.record(id, image.touched, durable::whole(image, state, keep));
            let len = bytes.len() as u64;
            let table = self.lock();
            let seen = table.image(id).map(|i| (i.step, i.began));
            let rests = !log.every_step() || table.at_rest(id).is_some();
            if !rests || seen != Some(as_seen) {
                continue;
            }
            match log.append(bytes, |_| {}) {
                Ok(()) => {
                    log.whole().remove(id);
                    return Ok(Some(len));
                }
                Err(LogError::QueueFull) => {
                    drop(table);
                    std::thread::sleep(AGAIN);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Records the kept answer of a sequence that has ended, unless another one of its id lives.
    fn write_ended(
        &self,
        log: &Durable,
        id: &SequenceId,
        until: Duration,
        ended: Ended<Kept>,
    ) -> Result<u64, LogError> {
        loop {
            let table = self.lock();
            if table.contains(id) {
                return Ok(0);
            }
            let at = until.saturating_sub(table.limits().ended_ttl);
            let bytes = log.record(id, at, durable::ended(ended.clone()));
            let len = bytes.len() as u64;
            match log.append(bytes, |_| {}) {
                Err(LogError::QueueFull) => {
                    drop(table);
                    std::thread::sleep(AGAIN);
                }
                done => return done.map(|()| len),
            }
        }
    }

    /// Records that all sequences are gone, when the model is.
    pub(crate) fn forget(&self) {
        let Some(log) = &self.durable else { return };
        let table = self.lock();
        table.ids().for_each(|id| log.gone(id, self.now()));
    }
}

//! Sequences that begin while other instances of the model have sequences too.

use super::{Arrived, Call, Due, Ran, Sequencer, Step, Steps};
use crate::sequences::family::{Other, Others, is_taken, refusal};
use crate::sync::MutexGuard;
use std::sync::Arc;
use stead_sequence::SequenceId;

/// What is due in other instances, to be done when no lock is held.
pub(super) struct Elsewhere(Vec<(Arc<Sequencer>, Due)>);

impl Elsewhere {
    pub(super) fn go_on(self) {
        self.0.into_iter().for_each(|(other, mut due)| other.go_on(&mut due));
    }
}

impl Sequencer {
    /// The other instances of the model.
    pub(super) fn others(&self) -> Others {
        self.family.others(self)
    }

    /// [`Sequencer::arrive`] for a START beside other instances.
    pub(super) fn arrive_beside(
        self: &Arc<Self>,
        others: &Others,
        call: Call,
        step: Box<Step>,
    ) -> Arrived {
        let mut due = Due::default();
        let (own, elsewhere) = {
            let (mut table, mut others) = others.lock(self);
            let elsewhere = expire(&mut others);
            let own = if table.waiting() >= self.queue {
                due.arrived = Some(Arrived::Done(Err(self.too_many())));
                None
            } else if let Some(error) = refusal(&table, &others, &call.order) {
                Some(table.refuse(step, error))
            } else {
                others.iter().for_each(|other| table.count_on(&other.table));
                let is_taken = |number| is_taken(&others, number);
                let (now, Due { next, arrived }) = (self.now(), &mut due);
                let waits = |step: &mut Box<Step>| step.client.leave(arrived);
                table.take(call.order, step, now, next, is_taken, waits)
            };
            self.note(&due.next);
            (own, elsewhere)
        };
        elsewhere.go_on();
        self.arrived(own, due)
    }

    /// Ids that are counted go on behind those of the other instances.
    pub(crate) fn count_on(&self) {
        let others = self.others();
        let (mut table, others) = others.lock(self);
        others.iter().for_each(|other| table.count_on(&other.table));
    }

    /// Locks the tables that a step concerns when it is committed: a START takes the place of every other sequence of
    /// its id.
    pub(super) fn lock_for<'a>(
        &'a self,
        ran: &Ran,
        others: &'a Option<Others>,
    ) -> (MutexGuard<'a, Steps>, Vec<Other<'a>>) {
        match others.as_ref().filter(|_| ran.is_start()) {
            Some(others) => others.lock(self),
            None => (self.lock(), Vec::new()),
        }
    }
}

/// Ends what is beyond its time in other instances.
pub(super) fn expire(others: &mut [Other<'_>]) -> Elsewhere {
    each(others, |other, due| {
        let now = other.sequencer.now();
        other.table.expire(now, &mut due.next);
        other.sequencer.note(&due.next);
    })
}

/// A sequence of this id has begun: others of it are gone, without a record of their own.
pub(super) fn cede(others: &mut [Other<'_>], id: &SequenceId) -> Elsewhere {
    each(others, |other, due| {
        if other.shared {
            let now = other.sequencer.now();
            other.table.cede(id, now, &mut due.next);
        }
    })
}

fn each(others: &mut [Other<'_>], act: impl Fn(&mut Other<'_>, &mut Due)) -> Elsewhere {
    let one = |other: &mut Other<'_>| {
        let mut due = Due::default();
        act(other, &mut due);
        (Arc::clone(other.sequencer), due)
    };
    Elsewhere(others.iter_mut().map(one).collect())
}

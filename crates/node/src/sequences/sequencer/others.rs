//! Sequences that begin while other instances of the model have sequences too.

use super::{Call, Due, Ran, Sequencer, Step, Steps};
use crate::sequences::family::{Other, Others, is_taken, refusal};
use crate::sync::MutexGuard;
use std::sync::Arc;
use stead_sequence::SequenceId;

/// What is due in other instances, to be done when no lock is held.
pub(super) struct Elsewhere(Vec<(Arc<Sequencer>, Due)>);

impl Elsewhere {
    pub(super) fn go_on(self) {
        self.0.into_iter().for_each(|(other, due)| other.go_on(due, false));
    }
}

impl Sequencer {
    /// The other instances of the model.
    pub(super) fn others(&self) -> Others {
        self.family.others(self)
    }

    /// [`Sequencer::arrive`] for a START beside other instances.
    pub(super) fn arrive_beside(self: &Arc<Self>, others: &Others, call: Call, step: Step) {
        let mut due = Due::new();
        let elsewhere = {
            let (mut table, mut others) = others.lock(self);
            let elsewhere = expire(&mut others);
            if table.waiting() >= self.queue {
                self.turn_away(step);
            } else if let Some(error) = refusal(&table, &others, &call.order) {
                table.refuse(step, error, &mut due);
            } else {
                others.iter().for_each(|other| table.count_on(&other.table));
                let is_taken = |number| is_taken(&others, number);
                table.arrive_beside(call.order, step, self.now(), &mut due, is_taken);
            }
            self.note(&due);
            elsewhere
        };
        elsewhere.go_on();
        self.go_on(due, true);
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
        other.table.expire(now, due);
        other.sequencer.note(due);
    })
}

/// A sequence of this id has begun: others of it are gone, without a record of their own.
pub(super) fn cede(others: &mut [Other<'_>], id: &SequenceId) -> Elsewhere {
    each(others, |other, due| {
        if other.shared {
            let now = other.sequencer.now();
            other.table.cede(id, now, due);
        }
    })
}

fn each(others: &mut [Other<'_>], act: impl Fn(&mut Other<'_>, &mut Due)) -> Elsewhere {
    let one = |other: &mut Other<'_>| {
        let mut due = Due::new();
        act(other, &mut due);
        (Arc::clone(other.sequencer), due)
    };
    Elsewhere(others.iter_mut().map(one).collect())
}

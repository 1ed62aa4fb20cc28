//! The tables of one model: those of its versions, and of instances that were replaced and finish their sequences.
//!
//! To clients an id is one sequence, whichever instance it lives in, and in the log of states all instances of a
//! version write records of the same sequences. So a sequence that begins looks at the other tables, with the locks of
//! all of them held. Whoever holds several takes that of the newest first.

use super::sequencer::{Sequencer, Steps};
use crate::sync::MutexGuard;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use stead_sequence::{Order, Rules, SequenceError, SequenceId};

/// The families of all models, by name.
#[derive(Default)]
pub(crate) struct Families(Mutex<HashMap<String, Weak<Family>>>);

impl Families {
    /// The family of a model.
    pub(super) fn of(&self, model: &str) -> Arc<Family> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, family| family.strong_count() > 0);
        let known = all.get(model).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let family = Arc::default();
            all.insert(model.to_owned(), Arc::downgrade(&family));
            family
        })
    }
}

/// The tables of one model, the newest first.
#[derive(Default)]
pub(super) struct Family(Mutex<Vec<Weak<Sequencer>>>);

impl Family {
    /// Takes in the newest.
    pub(super) fn join(&self, newest: &Arc<Sequencer>) {
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|m| m.strong_count() > 0);
        members.insert(0, Arc::downgrade(newest));
    }

    /// All but this one, and how many of them are newer.
    pub(super) fn others(&self, me: &Sequencer) -> Others {
        let members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_me = |m: &Weak<Sequencer>| std::ptr::eq(m.as_ptr(), me);
        let newer = members.iter().take_while(|m| !is_me(m)).filter_map(Weak::upgrade);
        let newer: Vec<_> = newer.collect();
        let older = members.iter().skip_while(|m| !is_me(m)).skip(1).filter_map(Weak::upgrade);
        Others { newer, older: older.collect() }
    }
}

/// The other tables of a model.
pub(super) struct Others {
    newer: Vec<Arc<Sequencer>>,
    older: Vec<Arc<Sequencer>>,
}

/// One of them, locked.
pub(super) struct Other<'a> {
    pub(super) sequencer: &'a Arc<Sequencer>,
    pub(super) table: MutexGuard<'a, Steps>,
    /// Whether the same id is the same sequence there. Versions that are served beside each other have sequences of
    /// their own, as in OpenVINO Model Server.
    pub(super) shared: bool,
}

impl Others {
    pub(super) fn is_empty(&self) -> bool {
        self.newer.is_empty() && self.older.is_empty()
    }

    /// Locks a table and all others.
    pub(super) fn lock<'a>(&'a self, me: &'a Sequencer) -> (MutexGuard<'a, Steps>, Vec<Other<'a>>) {
        let other = |sequencer: &'a Arc<Sequencer>| Other {
            sequencer,
            table: sequencer.lock(),
            shared: sequencer.version == me.version
                || me.only_finishes()
                || sequencer.only_finishes(),
        };
        let mut all: Vec<Other<'a>> = self.newer.iter().map(other).collect();
        let own = me.lock();
        all.extend(self.older.iter().map(other));
        (own, all)
    }
}

/// Whether a number is the id of a sequence in any of these: no number is given twice.
pub(super) fn is_taken(others: &[Other<'_>], number: u64) -> bool {
    others.iter().any(|o| o.table.contains(&SequenceId::Number(number)))
}

/// Why a sequence may not begin: one of its id lives elsewhere. By Triton's rules it takes that one's place.
pub(super) fn refusal(own: &Steps, others: &[Other<'_>], order: &Order) -> Option<SequenceError> {
    let id = order.id.as_ref().filter(|_| own.limits().rules == Rules::Ovms)?;
    let mut shared = others.iter().filter(|o| o.shared);
    let error = shared.find_map(|o| o.table.refusal_of_start(id))?;
    // In this order, as in OpenVINO Model Server.
    Some(if own.is_full() { SequenceError::TooMany } else { error })
}

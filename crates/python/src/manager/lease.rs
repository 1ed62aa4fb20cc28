//! What is known of work that runs.

use std::sync::Arc;
use std::time::Instant;

use super::pending::{Refuse, TaskError};
use super::state::State;
use crate::interpreter::OwnThread;
use crate::{CallError, Deadline, Mode};

/// The number of work that runs.
pub(super) type LeaseNumber = u64;

/// An interpreter in the hands of work that nobody but the interpreter's thread could give back.
pub(super) struct Lease {
    pub(super) number: LeaseNumber,
    pub(super) deadline: Deadline,
    /// When it was given the interpreter.
    pub(super) begun: Instant,
    /// The thread that may have to be interrupted; a worker process is ended by the call that waits for it.
    pub(super) thread: Option<&'static dyn OwnThread>,
    /// Where the interpreter runs, and whether for want of room.
    pub(super) kind: (Mode, bool),
    pub(super) refusal: Arc<dyn Refuse>,
    /// Whether its deadline has passed, so that another interpreter may take its place.
    pub(super) is_aside: bool,
}

/// Who has to be told what, once the lock is given back.
pub(super) type Refusals = Vec<(Arc<dyn Refuse>, TaskError)>;

impl State {
    /// Ends what is over: work whose deadline has passed, and work whose interpreter died.
    pub(super) fn end_leases(&mut self, refusals: &mut Refusals) {
        let State { leases, counts, interpreters, .. } = self;
        leases.retain_mut(|lease| {
            let Some(thread) = lease.thread.filter(|_| !lease.is_aside) else { return true };
            if let Some(why) = thread.died() {
                counts.died += 1;
                counts.lose(lease.kind);
                *interpreters -= 1;
                refusals.push((Arc::clone(&lease.refusal), CallError::Died(why).into()));
                return false;
            }
            if lease.deadline.is_over() {
                // Under the manager's lock: the interpreter cannot be given to others meanwhile.
                thread.give_up();
                lease.is_aside = true;
                counts.busy += 1;
                *interpreters -= 1;
                refusals.push((Arc::clone(&lease.refusal), CallError::TimedOut.into()));
            }
            true
        });
    }

    /// Takes out the lease of work that has ended; none where its interpreter was counted as dead.
    pub(super) fn take_lease(&mut self, number: LeaseNumber) -> Option<Lease> {
        let at = self.leases.iter().position(|lease| lease.number == number)?;
        Some(self.leases.swap_remove(at))
    }

    /// When the next deadline of work passes, or answers have waited for long.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let waiting = self.queue.tasks().map(|task| task.deadline);
        let running = self.leases.iter().filter(|lease| lease.thread.is_some() && !lease.is_aside);
        let deadlines = waiting.chain(running.map(|lease| lease.deadline));
        deadlines.filter_map(Deadline::end).chain(self.outbox.end()).min()
    }
}

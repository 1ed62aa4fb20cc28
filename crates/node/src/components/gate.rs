//! Leave to have several interpreters of one manager at a time: calls that each have one and wait for another could all wait for ever.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use stead_python::Deadline;

use super::pools::Pool;

/// How many interpreters calls may have beside their first: one fewer than there are, so that one of these calls always has all that
/// it waits for.
#[derive(Default)]
pub(super) struct Gate {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// Leave for some more interpreters, until it is dropped.
pub(super) struct Leave {
    pool: Arc<Pool>,
    count: usize,
}

impl Leave {
    /// Waits for leave to have `count` interpreters more than one; nothing if the deadline passes before.
    pub(super) fn take(pool: &Arc<Pool>, count: usize, deadline: Deadline) -> Option<Leave> {
        let most = pool.manager.most().saturating_sub(1);
        let mut taken = pool.gate.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken + count > most {
            taken = match deadline.left() {
                Some(left) if left.is_zero() => return None,
                Some(left) => {
                    let waited = pool.gate.freed.wait_timeout(taken, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => pool.gate.freed.wait(taken).unwrap_or_else(PoisonError::into_inner),
            };
        }
        *taken += count;
        drop(taken);
        Some(Leave { pool: Arc::clone(pool), count })
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut taken = self.pool.gate.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.count);
        drop(taken);
        self.pool.gate.freed.notify_all();
    }
}

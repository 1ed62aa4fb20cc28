//! The threads that help runs beside the queues of models.

use std::sync::{Arc, OnceLock};

use stead_engine::{Parallel, Serial};
use stead_pool::{Pool, Team};

use crate::evaluate::Lent;
use crate::memory::{Budget, Held, available};

/// The most evaluations that clients wait for: as many requests as wait for a model of a repository.
const MAX_WAITING: u64 = 1024;

/// The part of the memory that what they sent may take.
const WAITING_SHARE: u64 = 8;

/// The pool, once there is one: applications are prepared before the node starts, and evaluate their models on one thread then.
pub(crate) struct Compute {
    pool: OnceLock<Arc<Pool>>,
    waiting: Arc<Budget>,
    bytes: Arc<Budget>,
}

impl Default for Compute {
    fn default() -> Compute {
        Compute {
            pool: OnceLock::new(),
            waiting: Budget::new(MAX_WAITING),
            bytes: Budget::new(available() / WAITING_SHARE),
        }
    }
}

/// The place of an evaluation among those that wait, until it is dropped.
pub(crate) struct Turn {
    _place: Held,
    _bytes: Held,
}

impl Compute {
    /// From now on the pool helps.
    pub(crate) fn help(&self, pool: &Arc<Pool>) {
        // A second node of the same deployments goes on with the first one's pool.
        let _ = self.pool.set(Arc::clone(pool));
    }

    /// A place for an evaluation that was sent with so many bytes; nothing where too many wait.
    pub(crate) fn turn(&self, bytes: usize) -> Option<Turn> {
        let place = self.waiting.take(1)?;
        Some(Turn { _place: place, _bytes: self.bytes.take(bytes as u64)? })
    }

    /// The pool.
    pub(crate) fn pool(&self) -> Option<&Arc<Pool>> {
        self.pool.get()
    }

    /// The threads of a run: as many as there are, or as `intraop-threads` says.
    pub(crate) fn team(&self, threads: Option<i32>) -> Option<Team<'_>> {
        let pool = self.pool.get()?;
        let cores = pool.threads();
        Some(pool.team(match threads {
            Some(n @ 1..) => n.unsigned_abs() as usize,
            Some(n @ ..=-1) => cores.div_ceil(n.unsigned_abs() as usize),
            _ => cores,
        }))
    }

    /// The same in the terms of kernels.
    pub(super) fn with_cores<R>(
        &self,
        threads: Option<i32>,
        run: impl FnOnce(&dyn Parallel) -> R,
    ) -> R {
        match self.team(threads) {
            Some(team) => run(&Lent(team)),
            None => run(&Serial),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_in_number_and_in_memory() {
        let compute = Compute::default();
        let mut turns: Vec<Turn> = (0..MAX_WAITING).filter_map(|_| compute.turn(1)).collect();
        assert_eq!(turns.len() as u64, MAX_WAITING);
        assert!(compute.turn(1).is_none() && compute.turn(0).is_none(), "one more");
        turns.pop();
        let last = compute.turn(1);
        assert!(last.is_some() && compute.turn(1).is_none(), "who is done makes room for one");
        drop((turns, last));
        let all = usize::try_from(compute.bytes.limit()).unwrap();
        let half = compute.turn(all / 2 + 1);
        assert!(half.is_some() && compute.turn(all / 2 + 1).is_none(), "more than the memory");
        // Whoever was refused for its bytes has left its place too.
        let small: Vec<Turn> = (1..MAX_WAITING).filter_map(|_| compute.turn(1)).collect();
        assert_eq!(small.len() as u64, MAX_WAITING - 1);
        drop((half, small));
        assert!(compute.turn(2 * all).is_some(), "one alone is let in whatever it brings");
    }
}

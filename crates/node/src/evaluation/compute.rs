//! The threads that help runs beside the queues of models.

use std::sync::{Arc, OnceLock};

use stead_engine::{Parallel, Serial};
use stead_pool::{Pool, Team};

use crate::evaluate::Lent;

/// The pool, once there is one: applications are prepared before the node starts, and evaluate their models on one thread then.
#[derive(Default)]
pub(crate) struct Compute(OnceLock<Arc<Pool>>);

impl Compute {
    /// From now on the pool helps.
    pub(crate) fn help(&self, pool: &Arc<Pool>) {
        // A second node of the same deployments goes on with the first one's pool.
        let _ = self.0.set(Arc::clone(pool));
    }

    /// The threads of a run: as many as there are, or as `intraop-threads` says.
    pub(super) fn team(&self, threads: Option<i32>) -> Option<Team<'_>> {
        let pool = self.0.get()?;
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

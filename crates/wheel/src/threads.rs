//! The threads that runs of all sessions share.

use std::sync::{Arc, Mutex, PoisonError};

use stead_engine::Parallel;
use stead_pool::{Pool, PoolOptions, Team};

/// One pool for the process, and the process: a child that was forked has none of its parent's threads.
static POOL: Mutex<Option<(u32, Arc<Pool>)>> = Mutex::new(None);

/// The pool of this process, made when it is wanted first. `None` where the system gives no threads: then runs have the one
/// that calls.
pub(crate) fn pool() -> Option<Arc<Pool>> {
    let process = std::process::id();
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match known.take() {
        Some((of, pool)) if of == process => *known = Some((of, pool)),
        // Dropping it would wait for threads that are not there.
        Some((_, of_parent)) => std::mem::forget(of_parent),
        None => {}
    }
    if known.is_none() {
        *known = Pool::new(&PoolOptions::default()).ok().map(|pool| (process, pool));
    }
    known.as_ref().map(|(_, pool)| pool.clone())
}

/// Threads of the pool in the kernels' terms.
pub(crate) struct Lent<'a>(pub(crate) Team<'a>);

impl Parallel for Lent<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        self.0.for_each(n, f);
    }
}

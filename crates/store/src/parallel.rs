//! Work on all cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::StoreError;

/// What each of some things leads to, in their order, found on all cores.
pub(crate) fn in_parallel<A: Sync, B: Send>(
    list: &[A],
    one: impl Fn(&A) -> Result<B, StoreError> + Sync,
) -> Result<Vec<B>, StoreError> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let found: Mutex<Vec<(usize, Result<B, StoreError>)>> = Mutex::new(Vec::new());
    let work = || {
        let mut mine = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = list.get(at) else { break };
            let result = one(thing);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            mine.push((at, result));
        }
        found.lock().unwrap_or_else(PoisonError::into_inner).extend(mine);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(list.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

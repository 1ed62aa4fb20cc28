//! How a kernel asks its caller for threads.

/// A set of threads lent by the caller. The crate starts none of its own.
///
/// ```
/// use stead_kernels::{Parallel, Serial};
/// use core::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// Serial.for_each(4, &|i| {
///     sum.fetch_add(i, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 6);
/// ```
pub trait Parallel: Sync {
    /// How many threads may work at once, at least 1. Kernels split their work by it.
    fn threads(&self) -> usize;

    /// Calls `f(0)` to `f(n - 1)`, each once, in any order and possibly at the same time, and
    /// returns when all have finished.
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync));
}

/// The calling thread alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Serial;

impl Parallel for Serial {
    fn threads(&self) -> usize {
        1
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(f);
    }
}

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

/// As many threads as said, whose tasks run one by one, the last first: what a kernel computes must not depend on that.
#[cfg(test)]
pub(crate) struct Backwards(pub(crate) usize);

#[cfg(test)]
impl Parallel for Backwards {
    fn threads(&self) -> usize {
        self.0
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

/// Numbers that one task should at least touch: below, waking a thread costs more than it saves.
const NUMBERS_PER_TASK: usize = 1 << 14;

/// Cuts `0..n` into ranges worth a thread each, given the numbers that one item touches, and
/// calls `f(from, to)` for every range.
pub(crate) fn for_ranges(
    par: &dyn Parallel,
    n: usize,
    numbers: usize,
    f: &(dyn Fn(usize, usize) + Sync),
) {
    let threads = par.threads();
    let tasks = if threads <= 1 {
        1
    } else {
        (n.saturating_mul(numbers) / NUMBERS_PER_TASK).min(2 * threads).min(n)
    };
    if tasks <= 1 {
        f(0, n);
    } else {
        let at = |i: usize| i * (n / tasks) + i.min(n % tasks);
        par.for_each(tasks, &|i| f(at(i), at(i + 1)));
    }
}

/// An output that tasks write disjoint parts of.
pub(crate) struct Output<T>(*mut T, usize);

// SAFETY: tasks only reach the memory by `part`, whose contract is that parts are disjoint.
unsafe impl<T: Send> Sync for Output<T> {}

impl<T> Output<T> {
    /// Takes the whole output.
    pub fn new(out: &mut [T]) -> Output<T> {
        Output(out.as_mut_ptr(), out.len())
    }

    /// The first element, for parts that are not one behind the other.
    pub fn start(&self) -> *mut T {
        self.0
    }

    /// `len` elements from `start` on.
    ///
    /// # Safety
    /// No two living parts overlap, and the slice that the output was made of is not used.
    ///
    /// # Panics
    /// If the part reaches behind the end.
    #[expect(clippy::mut_from_ref, reason = "parts are disjoint")]
    pub unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.1 && len <= self.1 - start, "a part behind the end");
        // SAFETY: inside the slice, checked above, and disjoint by the contract.
        unsafe { core::slice::from_raw_parts_mut(self.0.add(start), len) }
    }
}

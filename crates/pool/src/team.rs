//! Loops over several threads.

#![allow(unsafe_code)]

use crate::shared::Shared;

/// The right to run loops on the calling thread and up to `threads - 1` idle workers.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) threads: usize,
}

impl Team<'_> {
    /// How many threads would work on a loop that starts now, the caller counted; at least 1.
    pub fn threads(&self) -> usize {
        self.threads.min(1 + self.shared.available(self.shared.class()))
    }

    /// To be called by a long task wherever it may rest, such as between two operators: tasks and loops that are more
    /// urgent run on the calling worker before this returns, if they wait and no other worker has been woken for them.
    /// The caller keeps at least an eighth of its time whatever waits, and must hold no lock that such tasks take.
    /// On a thread that is no worker of the pool, and when nothing is more urgent, it does nothing.
    ///
    /// What runs is always of a more urgent class than what it interrupts; its panics end there.
    pub fn give_way(&self) {
        self.shared.give_way();
    }

    /// Calls `body(0)` to `body(n - 1)`, each once, in any order, and returns when all have finished. The
    /// caller alone can finish it, so a loop inside a loop cannot lock up. Allocates nothing.
    ///
    /// # Panics
    /// When a round panics, with that panic; rounds that had not begun are left out.
    pub fn for_each(&self, n: usize, body: &(dyn Fn(usize) + Sync)) {
        self.shared.run_loop(n, self.threads - 1, body);
    }

    /// Cuts `data` into chunks of `chunk` elements (the last may be shorter) and calls `body` for each with
    /// its number.
    ///
    /// # Panics
    /// When `chunk` is 0 or a round panics.
    pub fn par_chunks_mut<T: Send>(
        &self,
        data: &mut [T],
        chunk: usize,
        body: &(dyn Fn(usize, &mut [T]) + Sync),
    ) {
        assert!(chunk > 0, "chunks must have at least one element");
        let len = data.len();
        let base = Base(data.as_mut_ptr());
        self.for_each(len.div_ceil(chunk), &|i| {
            let start = i * chunk;
            let count = chunk.min(len - start);
            debug_assert!(start + count <= len);
            // SAFETY: `start + count <= len`, rounds `i` differ so the ranges do not overlap, every round runs
            // once, and `data` is borrowed mutably until `for_each` has returned.
            let part = unsafe { std::slice::from_raw_parts_mut(base.get().add(start), count) };
            body(i, part);
        });
    }
}

impl std::fmt::Debug for Team<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Team").field("threads", &self.threads).finish_non_exhaustive()
    }
}

struct Base<T>(*mut T);

// SAFETY: the pointer is only used to make slices that do not overlap, and `T: Send` lets another thread have
// them.
unsafe impl<T: Send> Sync for Base<T> {}

impl<T> Base<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

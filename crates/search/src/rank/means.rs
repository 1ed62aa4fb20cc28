//! What ranking may spend: time and cores.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use stead_kernels::Parallel;

/// What ranking may spend. Scores do not depend on it, but which documents get any does.
#[derive(Clone, Copy)]
pub struct Means<'m> {
    /// Whether it is late: what is not begun by then is left out.
    pub is_late: &'m (dyn Fn() -> bool + Sync),
    /// The cores that may take part in the first phase, and in runs of models in every phase.
    pub cores: &'m dyn Parallel,
}

impl fmt::Debug for Means<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Means").field("threads", &self.cores.threads()).finish_non_exhaustive()
    }
}

impl Means<'_> {
    /// One core and all the time there is.
    pub const UNBOUNDED: Means<'static> =
        Means { is_late: &|| false, cores: &stead_kernels::Serial };

    /// Shares the numbers below `count` among at most so many threads: each calls `work`, which takes ranges of at most `size` of them until
    /// none is left.
    pub(crate) fn share(
        &self,
        threads: usize,
        (count, size): (usize, usize),
        work: &(dyn Fn(Ranges<'_>) + Sync),
    ) {
        let (next, size) = (AtomicUsize::new(0), size.max(1));
        let work = |_: usize| work(Ranges { next: &next, count, size });
        match threads {
            0 | 1 => work(0),
            threads => self.cores.for_each(threads, &work),
        }
    }
}

/// What is left of numbers that threads share.
pub(crate) struct Ranges<'r> {
    next: &'r AtomicUsize,
    count: usize,
    size: usize,
}

impl Iterator for Ranges<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let from = self.next.fetch_add(self.size, Ordering::Relaxed);
        (from < self.count).then(|| from..self.count.min(from + self.size))
    }
}

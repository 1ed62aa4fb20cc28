//! The threads of a network: how many work on a run, and how many runs there are at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use stead_app::BackendKind;
use stead_app::application::OnnxModel;
use stead_kernels::Parallel;

/// What `onnx-model` says of threads. Results do not depend on it: which documents share a run does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Threads {
    /// `intraop-threads`: those that work on one run. Without it, or for 0, all that are idle.
    pub(super) of_a_run: usize,
    /// Runs at a time: `interop-threads` with `execution-mode: parallel`, else one, and of another back end as many as there are threads.
    pub(super) runs: usize,
}

impl Threads {
    pub(super) fn new(model: &OnnxModel) -> Threads {
        // A negative number says nothing, as for Vespa; 0 stands for all there are.
        let count = |keyword: &str| match model.setting(keyword) {
            Some(count) if count > 0 => usize::try_from(count).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        if model.backend != BackendKind::Stead {
            // Other runtimes compute a run on the thread that asks: all threads work where there are several runs at a time.
            let runs = if model.is_parallel { count("interop-threads") } else { usize::MAX };
            return Threads { of_a_run: 1, runs };
        }
        let runs = if model.is_parallel { count("interop-threads") } else { 1 };
        Threads { of_a_run: count("intraop-threads"), runs }
    }

    /// For people, where it is not all that are idle for one run after the other.
    pub(super) fn explain(self) -> Option<String> {
        let counted = |count: usize, what: &str| match count {
            usize::MAX => format!("as many {what}s as there are idle threads"),
            1 => format!("1 {what}"),
            count => format!("up to {count} {what}s"),
        };
        let threads =
            (self.of_a_run < usize::MAX).then(|| counted(self.of_a_run, "thread") + " a run");
        let runs = (self.runs > 1).then(|| counted(self.runs, "run") + " at a time");
        let parts: Vec<String> = threads.into_iter().chain(runs).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The most documents of a run, of those that could share one: there are more runs where several are to run at a time.
    pub(super) fn documents(self, most: usize) -> usize {
        /// Enough for products of matrices to be worth their packing.
        const OF_MANY: usize = 32;
        if self.runs > 1 { most.min(OF_MANY) } else { most }
    }
}

/// At most so many of the threads that are lent.
pub(super) struct AtMost<'p> {
    pub(super) threads: usize,
    pub(super) of: &'p dyn Parallel,
}

impl Parallel for AtMost<'_> {
    fn threads(&self) -> usize {
        self.of.threads().min(self.threads).max(1)
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        if self.threads <= 1 {
            return (0..n).for_each(f);
        }
        if n <= self.threads {
            return self.of.for_each(n, f);
        }
        let next = AtomicUsize::new(0);
        self.of.for_each(self.threads, &|_| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= n {
                    return;
                }
                f(at);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Counts the loops that run at a time: it has a thread for each round.
    struct Many;

    impl Parallel for Many {
        fn threads(&self) -> usize {
            16
        }

        fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
            std::thread::scope(|scope| (0..n).for_each(|i| _ = scope.spawn(move || f(i))));
        }
    }

    #[test]
    fn every_round_runs_once_on_no_more_threads_than_are_allowed() {
        for (threads, n) in [(1, 9), (3, 2), (3, 3), (3, 50), (usize::MAX, 20)] {
            let cores = AtMost { threads, of: &Many };
            assert_eq!(cores.threads(), threads.min(16));
            let seen = Mutex::new(Vec::new());
            let workers = Mutex::new(std::collections::HashSet::new());
            cores.for_each(n, &|i| {
                seen.lock().unwrap().push(i);
                workers.lock().unwrap().insert(std::thread::current().id());
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{threads} threads, {n} rounds");
            assert!(
                workers.into_inner().unwrap().len() <= threads,
                "{threads} threads, {n} rounds"
            );
        }
    }
}

//! The pool and its workers.

use crate::cores::pin;
use crate::queue::Task;
use crate::shared::Shared;
use crate::ticket::panic_text;
use crate::{Class, PoolOptions, TaskError, Team, Ticket};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

/// What a running task sees of its worker.
#[derive(Debug)]
pub struct Worker {
    pub(crate) index: usize,
    pub(crate) late: bool,
}

impl Worker {
    /// The number of the worker, below [`Pool::threads`].
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether the task's deadline had passed when a worker came to it. Such a task runs nevertheless, so
    /// that it can tell whoever waits; it should do no more than that.
    pub fn is_late(&self) -> bool {
        self.late
    }
}

/// A look at a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStats {
    /// Worker threads.
    pub threads: usize,
    /// Workers without a task now, lent ones counted.
    pub idle: usize,
    /// Tasks that wait now.
    pub queued: usize,
    /// Tasks run since the start.
    pub tasks: u64,
    /// Tasks that panicked.
    pub panics: u64,
    /// Times that a worker joined a loop.
    pub lent: u64,
    /// Tasks that ran in the place of a less urgent one that gave way.
    pub nested: u64,
}

/// The pool. Share it in an `Arc`; dropping it runs what is queued and joins the threads.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// Starts the workers.
    ///
    /// # Errors
    /// The operating system's, when it gives no thread, or not the CPUs that one should run on.
    pub fn new(options: &PoolOptions) -> io::Result<Arc<Pool>> {
        let count = options.threads.max(1);
        let shared = Arc::new(Shared::new(count, options));
        let pool = Arc::new(Pool { shared, threads: Mutex::new(Vec::with_capacity(count)) });
        for index in 0..count {
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new()
                .name(format!("stead-pool-{index}"))
                .stack_size(options.stack_size)
                .spawn(move || shared.work(index))?;
            let pinned = options.places.get(index).map_or(Ok(()), |place| pin(&thread, place));
            pool.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            // What began ends with the pool.
            pinned?;
        }
        Ok(pool)
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Queues a task. A panic in it is counted in [`PoolStats::panics`] and goes no further.
    ///
    /// # Errors
    /// [`TaskError::Closed`] after [`Pool::shutdown`]; the task is dropped.
    pub fn spawn(
        &self,
        class: Class,
        deadline: Option<Instant>,
        run: impl FnOnce(&Worker) + Send + 'static,
    ) -> Result<(), TaskError> {
        let task = Task { class, deadline, run: Box::new(run) };
        let wake = {
            let mut state = self.shared.lock();
            if state.closed {
                return Err(TaskError::Closed);
            }
            state.queues.push(task);
            self.shared.publish(&state);
            state.sleepers > 0
        };
        if wake {
            self.shared.work.notify_one();
        }
        Ok(())
    }

    /// Queues a task whose answer, or panic, the ticket gives.
    pub fn submit<R: Send + 'static>(
        &self,
        class: Class,
        deadline: Option<Instant>,
        run: impl FnOnce(&Worker) -> R + Send + 'static,
    ) -> Ticket<R> {
        let (sender, answer) = mpsc::sync_channel(1);
        // When the pool is closed the task is dropped, and with it the sender: the ticket says so.
        let _ = self.spawn(class, deadline, move |worker| {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(worker)));
            let _ = sender.send(outcome.map_err(|p| TaskError::Panicked(panic_text(&*p))));
        });
        Ticket { answer }
    }

    /// Whether a task waits that is at least as urgent as `class`.
    pub fn waits(&self, class: Class) -> bool {
        self.shared.waits(class)
    }

    /// At most `threads` threads for loops: the caller and workers that have nothing as urgent to do. The loops are of
    /// the class of the task that runs them, and [`Class::Query`] where a thread of somebody else does.
    pub fn team(&self, threads: usize) -> Team<'_> {
        Team { shared: &self.shared, threads: threads.clamp(1, self.shared.threads) }
    }

    /// A look at the pool.
    pub fn stats(&self) -> PoolStats {
        let shared = &self.shared;
        PoolStats {
            threads: shared.threads,
            idle: shared.available(Class::Background),
            queued: shared.queued(),
            tasks: shared.tasks.load(Ordering::Relaxed),
            panics: shared.panics.load(Ordering::Relaxed),
            lent: shared.lent.load(Ordering::Relaxed),
            nested: shared.nested.load(Ordering::Relaxed),
        }
    }

    /// Takes no more tasks, runs those that are queued and joins the threads. Loops still run, on their
    /// callers alone.
    pub fn shutdown(&self) {
        {
            let mut state = self.shared.lock();
            state.closed = true;
            self.shared.closing.store(true, Ordering::Release);
        }
        self.shared.work.notify_all();
        let threads: Vec<_> = {
            let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            threads.drain(..).collect()
        };
        let me = std::thread::current().id();
        for thread in threads {
            // The last owner of the pool may be a task: a thread cannot join itself.
            if thread.thread().id() != me {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pool").field(&self.stats()).finish()
    }
}

//! The pool and its workers.

use crate::lend::{Joined, Loop, LoopPointer};
use crate::queue::{Queues, Task};
use crate::ticket::panic_text;
use crate::{PoolOptions, Priority, TaskError, Team, Ticket};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a running task sees of its worker.
#[derive(Debug)]
pub struct Worker {
    index: usize,
    late: bool,
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
}

struct State {
    queues: Queues,
    loops: Vec<LoopPointer>,
    sleepers: usize,
    closed: bool,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// Signalled when there is something for a sleeping worker.
    work: Condvar,
    /// Signalled when the last helper leaves a loop.
    left: Condvar,
    /// Copies of what the lock guards, so that a look costs no lock. They are written under the lock.
    queued: AtomicUsize,
    listed: AtomicUsize,
    closing: AtomicBool,
    busy: AtomicUsize,
    threads: usize,
    spin: Duration,
    tasks: AtomicU64,
    panics: AtomicU64,
    lent: AtomicU64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Workers that have no task.
    pub(crate) fn idle(&self) -> usize {
        self.threads.saturating_sub(self.busy.load(Ordering::Relaxed))
    }

    /// Looks for `done` for a few microseconds.
    fn spin_until(&self, done: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                if done() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() >= self.spin {
                return false;
            }
        }
    }

    /// Runs a loop on this thread and on workers that have nothing better to do.
    pub(crate) fn run_loop(
        &self,
        rounds: usize,
        max_helpers: usize,
        body: &(dyn Fn(usize) + Sync),
    ) {
        let helpers = max_helpers.min(rounds.saturating_sub(1)).min(self.idle());
        if helpers == 0 {
            (0..rounds).for_each(body);
            return;
        }
        let work = Loop::new(rounds, helpers, body);
        let pointer = work.pointer();
        let sleepers = {
            let mut state = self.lock();
            state.loops.push(pointer);
            self.listed.store(state.loops.len(), Ordering::Release);
            state.sleepers
        };
        for _ in 0..helpers.min(sleepers) {
            self.work.notify_one();
        }
        // A panic of `body` is caught inside, so this thread always comes to the lines below.
        work.work(|| false);
        {
            let mut state = self.lock();
            state.loops.retain(|&l| l != pointer);
            self.listed.store(state.loops.len(), Ordering::Release);
        }
        if !self.spin_until(|| work.is_left()) {
            let mut state = self.lock();
            while !work.is_left() {
                state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
        if let Some(payload) = work.take_panic() {
            std::panic::resume_unwind(payload);
        }
    }

    fn help(&self, joined: Joined) {
        self.lent.fetch_add(1, Ordering::Relaxed);
        joined.work(|| self.queued.load(Ordering::Relaxed) > 0);
        // Under the lock, so that an owner between its last look and its sleep is not missed.
        let _state = self.lock();
        if joined.leave() {
            self.left.notify_all();
        }
    }

    fn run_task(&self, task: Task, index: usize) {
        let late = task.deadline.is_some_and(|d| d <= Instant::now());
        let worker = Worker { index, late };
        let run = task.run;
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&worker)));
        self.tasks.fetch_add(1, Ordering::Relaxed);
        if outcome.is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The life of a worker.
    fn work(&self, index: usize) {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.queues.pop() {
                self.queued.store(state.queues.len(), Ordering::Release);
                self.busy.fetch_add(1, Ordering::Relaxed);
                drop(state);
                self.run_task(task, index);
                self.busy.fetch_sub(1, Ordering::Relaxed);
                state = self.lock();
            } else if let Some(pointer) = state.loops.iter().copied().find(|l| l.has_room()) {
                let joined = pointer.join();
                drop(state);
                self.help(joined);
                state = self.lock();
            } else if state.closed {
                return;
            } else {
                drop(state);
                let listed = self.listed.load(Ordering::Acquire);
                let found = self.spin_until(|| {
                    self.queued.load(Ordering::Acquire) > 0
                        || self.listed.load(Ordering::Acquire) > listed
                        || self.closing.load(Ordering::Acquire)
                });
                state = self.lock();
                let nothing = state.queues.len() == 0
                    && !state.loops.iter().any(|l| l.has_room())
                    && !state.closed;
                if !found && nothing {
                    state.sleepers += 1;
                    state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.sleepers -= 1;
                }
            }
        }
    }
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
    /// The operating system's, when it gives no thread.
    pub fn new(options: &PoolOptions) -> io::Result<Arc<Pool>> {
        let count = options.threads.max(1);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                queues: Queues::default(),
                // Room for a loop of every worker and as many other threads, so that listing allocates
                // nothing in the steady state.
                loops: Vec::with_capacity(2 * count + 16),
                sleepers: 0,
                closed: false,
            }),
            work: Condvar::new(),
            left: Condvar::new(),
            queued: AtomicUsize::new(0),
            listed: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
            threads: count,
            spin: options.spin,
            tasks: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            lent: AtomicU64::new(0),
        });
        let pool = Arc::new(Pool { shared, threads: Mutex::new(Vec::with_capacity(count)) });
        for index in 0..count {
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new()
                .name(format!("stead-pool-{index}"))
                .stack_size(options.stack_size)
                .spawn(move || shared.work(index))?;
            pool.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
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
        priority: Priority,
        deadline: Option<Instant>,
        run: impl FnOnce(&Worker) + Send + 'static,
    ) -> Result<(), TaskError> {
        let task = Task { deadline, run: Box::new(run) };
        let wake = {
            let mut state = self.shared.lock();
            if state.closed {
                return Err(TaskError::Closed);
            }
            state.queues.push(priority, task);
            self.shared.queued.store(state.queues.len(), Ordering::Release);
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
        priority: Priority,
        deadline: Option<Instant>,
        run: impl FnOnce(&Worker) -> R + Send + 'static,
    ) -> Ticket<R> {
        let (sender, answer) = mpsc::sync_channel(1);
        // When the pool is closed the task is dropped, and with it the sender: the ticket says so.
        let _ = self.spawn(priority, deadline, move |worker| {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(worker)));
            let _ = sender.send(outcome.map_err(|p| TaskError::Panicked(panic_text(&*p))));
        });
        Ticket { answer }
    }

    /// At most `threads` threads for loops: the caller and workers that are idle.
    pub fn team(&self, threads: usize) -> Team<'_> {
        Team { shared: &self.shared, threads: threads.clamp(1, self.shared.threads) }
    }

    /// A look at the pool.
    pub fn stats(&self) -> PoolStats {
        let shared = &self.shared;
        PoolStats {
            threads: shared.threads,
            idle: shared.idle(),
            queued: shared.queued.load(Ordering::Relaxed),
            tasks: shared.tasks.load(Ordering::Relaxed),
            panics: shared.panics.load(Ordering::Relaxed),
            lent: shared.lent.load(Ordering::Relaxed),
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

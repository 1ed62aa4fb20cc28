//! How a pool is made.

use crate::Cores;
use std::time::Duration;

/// How a pool is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// Worker threads, at least 1.
    pub threads: usize,
    /// The CPUs on which each worker runs, from the first on; empty for wherever the system puts them, see
    /// [`Pinning::places`](crate::Pinning::places).
    pub places: Vec<Vec<usize>>,
    /// How long a thread with nothing to do looks for work before it sleeps. Steps of a plan follow each
    /// other within a microsecond or two while waking a sleeping thread costs five and more, so a short look
    /// pays; a long one would steal a core from somebody who has work.
    pub spin: Duration,
    /// How long, after that, a thread goes on looking that waits for the last helper of its loop or for the next loop to
    /// help with, giving its CPU to whatever else could run there (`sched_yield`). A thread that sleeps is woken after
    /// tens of microseconds where CPUs are virtual and idle ones halt, and after some milliseconds where Linux puts it
    /// behind another one; and while one of two wakes up the other one falls asleep.
    pub patience: Duration,
    /// How long more urgent work may run in the place of a task that gives way, before the task's right to a part of its
    /// worker's time is looked at: so much it gives at its beginning too.
    pub grace: Duration,
    /// How long a task that gives way, and has helped with a loop of something more urgent, stays for the next loop of it.
    pub linger: Duration,
    /// The stack of each worker in bytes.
    pub stack_size: usize,
}

/// Long enough to bridge the gap between two steps of a plan, short enough not to be seen in a profile.
const SPIN: Duration = Duration::from_micros(3);

/// The parts of a loop differ by less, and so long are most steps of a plan that run on one thread.
const PATIENCE: Duration = Duration::from_micros(100);

/// A few queries.
const GRACE: Duration = Duration::from_millis(20);

/// Between two loops of one run there are steps that run on one thread, of some tens of microseconds; the operator of a feed that is begun
/// instead may take milliseconds, in which the run has one thread less.
const LINGER: Duration = Duration::from_micros(200);

/// Recursion is never driven by input, so the stack need not be large; its pages are touched only when used. A task of
/// each class may lie on one of those that it interrupted.
const STACK_SIZE: usize = 4 << 20;

impl Default for PoolOptions {
    /// One thread for each physical core that this process may use, and no more than its quota lets run.
    fn default() -> Self {
        let (threads, places) = (Cores::of_this_process().workers(), Vec::new());
        PoolOptions {
            threads,
            places,
            spin: SPIN,
            patience: PATIENCE,
            grace: GRACE,
            linger: LINGER,
            stack_size: STACK_SIZE,
        }
    }
}

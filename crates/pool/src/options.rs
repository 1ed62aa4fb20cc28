//! How a pool is made.

use std::time::Duration;

/// How a pool is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    /// Worker threads, at least 1.
    pub threads: usize,
    /// How long a thread with nothing to do looks for work before it sleeps. Steps of a plan follow each
    /// other within a microsecond or two while waking a sleeping thread costs five and more, so a short look
    /// pays; a long one would steal a core from somebody who has work.
    pub spin: Duration,
    /// The stack of each worker in bytes.
    pub stack_size: usize,
}

/// Long enough to bridge the gap between two steps of a plan, short enough not to be seen in a profile.
const SPIN: Duration = Duration::from_micros(3);

/// Recursion is never driven by input, so the stack need not be large; its pages are touched only when used.
const STACK_SIZE: usize = 2 << 20;

impl Default for PoolOptions {
    /// One thread for each core that this process may use.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        PoolOptions { threads, spin: SPIN, stack_size: STACK_SIZE }
    }
}

//! How a manager keeps its interpreters.

use crate::{StartOptions, WorkerLimits};

/// Where interpreters are wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Inside this process, where the Python and the room allow it.
    #[default]
    InProcess,
    /// In worker processes.
    Process,
}

/// How a manager keeps its interpreters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerOptions {
    /// The most interpreters that are used at a time, at least 1.
    pub interpreters: usize,
    /// Where they run.
    pub isolation: Isolation,
    /// How each is started.
    pub start: StartOptions,
    /// The largest messages to workers.
    pub worker_limits: WorkerLimits,
}

impl Default for ManagerOptions {
    /// One for each core.
    fn default() -> ManagerOptions {
        ManagerOptions {
            interpreters: std::thread::available_parallelism().map_or(1, usize::from),
            isolation: Isolation::default(),
            start: StartOptions::default(),
            worker_limits: WorkerLimits::default(),
        }
    }
}

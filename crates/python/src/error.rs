//! What can go wrong between stead and Python.

use std::fmt;

use crate::NotInProcess;

/// An exception that Python code raised and did not catch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The qualified name of its class: `ValueError`, `json.decoder.JSONDecodeError`.
    pub kind: String,
    /// `str()` of it.
    pub message: String,
    /// The text that Python prints of it, with the exceptions that it came from.
    pub traceback: String,
    /// The component whose code raised it, where the glue knows one of several.
    pub component: Option<String>,
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(&self.kind),
            message => write!(f, "{}: {message}", self.kind),
        }
    }
}

/// Why an interpreter could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// This Python cannot run inside the process; a worker process can have it.
    #[error("this Python cannot run inside the process: {0}")]
    NotInProcess(#[from] NotInProcess),
    /// All namespaces of the loader that this process may use are taken.
    #[error("{open} interpreters run inside this process and no more than {limit} can")]
    Namespaces {
        /// Interpreters that have been started; none of them is ever given back.
        open: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// Too few of the process's 1024 thread-specific keys are left: running out of them ends the process.
    #[error("{free} thread-specific keys are left and an interpreter may need {needed}")]
    Keys {
        /// Keys that are free.
        free: usize,
        /// Keys that have to be free before an interpreter is started.
        needed: usize,
    },
    /// The dynamic loader refused the library.
    #[error("libpython cannot be loaded: {0}")]
    Load(String),
    /// The library lacks a function.
    #[error("libpython has no function {0}")]
    Symbol(&'static str),
    /// Python's initialisation failed.
    #[error("Python does not initialise: {0}")]
    Initialize(String),
    /// stead's own code inside the interpreter failed.
    #[error("the interpreter does not start: {0}")]
    Bootstrap(String),
    /// The operating system refused a thread, a process, a socket or memory.
    #[error("{what}: {error}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        error: String,
    },
}

impl StartError {
    pub(crate) fn system(what: &'static str) -> impl Fn(std::io::Error) -> StartError {
        move |error| StartError::System { what, error: error.to_string() }
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The code raised.
    #[error("{0}")]
    Raised(Box<Exception>),
    /// The deadline passed while the code ran. Nothing that it returns later is seen by anybody.
    #[error("the deadline passed while the code ran")]
    TimedOut,
    /// The deadline passed while the interpreter was still busy with a call that timed out before, or was being
    /// started anew.
    #[error("the deadline passed before the interpreter was free")]
    Busy,
    /// The interpreter is no more: its code ended it or crashed. A worker process is started anew by the next call.
    #[error("the interpreter died: {0}")]
    Died(String),
    /// An argument has no form in Python.
    #[error("argument {0}")]
    Argument(String),
    /// The code returned what cannot leave the interpreter.
    #[error("{0}")]
    Returned(String),
    /// An object was used in another session than its own.
    #[error("the object belongs to another session, which may have another interpreter")]
    Foreign,
    /// An object was of a worker process that was replaced.
    #[error("the object is gone: the process that had it was replaced")]
    Gone,
    /// A message to or from a worker process is larger than the limit.
    #[error("a message of {bytes} bytes is above the limit of {limit}")]
    TooLarge {
        /// The size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The interpreter had to be started for the call and did not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

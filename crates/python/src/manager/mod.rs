//! Interpreters for many callers: each caller gets one to itself, for several threads in one interpreter are slower
//! than one.

mod driver;
mod inner;
mod lease;
mod movable;
mod object;
mod options;
mod outbox;
mod package;
mod pending;
mod queue;
mod session;
mod state;
mod task;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

pub use movable::{MovableObject, ObjectError};
pub use object::{Argument, InterpreterSession, Object};
pub use options::{Isolation, ManagerOptions};
pub use package::Package;
pub use pending::{Pending, TaskError};
pub use session::Session;

use inner::Inner;
use session::Held;

use crate::{CallError, Choice, Deadline, Installation, ModuleSource, StartError};

/// Hands out interpreters of one Python, each to one caller at a time.
///
/// Interpreters are started when they are first needed. Where this process has no room for more, the others are worker
/// processes behind the same calls. A caller waits in the queue of its package, and the packages take turns. An
/// interpreter whose call missed its deadline is set aside until it is back; another one takes its place.
#[derive(Clone)]
pub struct InterpreterManager {
    inner: Arc<Inner>,
}

/// What interpreters load for a package.
struct Registered {
    name: Arc<str>,
    version: u64,
    source: PackageSource,
}

/// Where the code of a package is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageSource {
    /// Modules that calls name without a package.
    Modules(Vec<ModuleSource>),
    /// A package of `stead_package` in a file or a folder, which calls name by the name that it is registered under.
    File(PathBuf),
}

/// How many interpreters there are, and what has become of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Inside this process.
    pub in_process: usize,
    /// Worker processes.
    pub workers: usize,
    /// Those among the workers that would have been inside if there had been room.
    pub filled: usize,
    /// Set aside until the code of a call that missed its deadline has ended.
    pub busy: usize,
    /// Died and were replaced.
    pub died: usize,
}

/// Why there is no interpreter for a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// No package has this name.
    #[error("no package {0} is registered")]
    NoPackage(String),
    /// All interpreters were in use until the deadline.
    #[error("the deadline passed before an interpreter was free")]
    TimedOut,
    /// A new interpreter did not start, neither inside this process nor as a worker.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The package does not load.
    #[error("package {package} does not load: {error}")]
    Load {
        /// The package.
        package: String,
        /// What is wrong.
        error: CallError,
    },
}

/// What a caller in the queue is given.
enum Grant {
    Free(Held),
    /// Leave to start one.
    Start,
}

impl InterpreterManager {
    /// A manager of interpreters of `python`, of which none is started yet. `choice` says where they run.
    pub fn new(
        python: Installation,
        choice: Choice,
        options: ManagerOptions,
    ) -> InterpreterManager {
        InterpreterManager { inner: Arc::new(Inner::new(python, choice, options)) }
    }

    /// Registers a package, in place of one of this name before: sessions that run keep the old one, and
    /// each interpreter loads the new one when it is next used for it.
    pub fn register(&self, name: &str, source: PackageSource) {
        self.inner.lock().register(name.into(), source);
    }

    /// Takes a package back: nobody is given an interpreter for it any more, sessions that run keep it, and each interpreter
    /// drops what it has of it when nobody waits for it.
    pub fn unregister(&self, name: &str) {
        let mut state = self.inner.lock();
        if let Some(gone) = state.packages.remove(name) {
            self.inner.idle(state, |held| held.has(name, gone.version));
        }
    }

    /// An interpreter that has loaded `package`, for the caller alone.
    ///
    /// # Errors
    /// [`AcquireError`].
    pub fn acquire(&self, package: &str, deadline: Deadline) -> Result<Session, AcquireError> {
        self.acquire_with(package, &[], deadline)
    }

    /// An interpreter that has loaded other packages too, for code of one that goes on with code of another: who has a
    /// session and waits for a second one could wait for ever.
    ///
    /// # Errors
    /// [`AcquireError`].
    pub fn acquire_with(
        &self,
        package: &str,
        others: &[&str],
        deadline: Deadline,
    ) -> Result<Session, AcquireError> {
        let state = self.inner.lock();
        let first = state.package(package)?;
        let found = state.find(others)?;
        drop(state);
        let mut session = self.inner.acquire(&first, deadline)?;
        for registered in &found {
            session.loaded(registered, deadline)?;
        }
        Ok(session)
    }

    /// Whether another hands out the same interpreters.
    pub fn is_same(&self, other: &InterpreterManager) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The most interpreters that it hands out at a time.
    pub fn most(&self) -> usize {
        self.inner.options.interpreters
    }

    /// Has `work` be done with an interpreter that has loaded `packages`, in the order of the queue of the first: no
    /// thread waits meanwhile. Inside this process it runs on the interpreter's own thread, so it should do little but
    /// call; its calls end at this deadline at the latest. It goes on where nobody awaits it.
    ///
    /// What is awaited comes at the deadline at the latest; code that runs then is interrupted, and its interpreter
    /// set aside until it has ended. Where `work` cannot begin, it is dropped.
    pub fn submit<T: Send + 'static>(
        &self,
        packages: &[&str],
        deadline: Deadline,
        work: impl FnOnce(&mut Session) -> T + Send + 'static,
    ) -> Pending<T> {
        self.inner.submit(packages, deadline, work)
    }

    /// What there is now.
    pub fn counts(&self) -> Counts {
        self.inner.lock().counts
    }

    /// Where interpreters run, and why.
    pub fn choice(&self) -> &Choice {
        &self.inner.choice
    }
}

//! Interpreters for many callers: each caller gets one to itself, for several threads in one interpreter are slower
//! than one.

mod movable;
mod object;
mod options;
mod package;
mod queue;
mod session;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub use movable::{MovableObject, ObjectError};
pub use object::{Argument, InterpreterSession, Object};
pub use options::{Isolation, ManagerOptions};
pub use package::Package;
pub use session::Session;

use queue::Queue;
use session::Held;

use crate::interpreter::Number;
use crate::{
    CallError, Choice, Deadline, InProcess, Installation, Interpreter, Mode, ModuleSource,
    StartError, Worker,
};

/// Hands out interpreters of one Python, each to one caller at a time.
///
/// Interpreters are started when they are first needed. Where this process has no room for more, the others are worker
/// processes behind the same calls. A caller waits in the queue of its package, and the packages take turns. An
/// interpreter whose call missed its deadline is set aside until it is back; another one takes its place.
#[derive(Clone)]
pub struct InterpreterManager {
    inner: Arc<Inner>,
}

struct Inner {
    python: Installation,
    options: ManagerOptions,
    choice: Choice,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    packages: HashMap<String, Arc<Registered>>,
    /// Counts versions of packages.
    versions: u64,
    /// Movable objects that somebody has.
    movables: HashSet<Number>,
    free: Vec<Held>,
    /// Free, handed out, or being started; those set aside are not among them.
    interpreters: usize,
    queue: Queue,
    counts: Counts,
}

/// What interpreters load for a package.
struct Registered {
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
        let state = Mutex::default();
        InterpreterManager { inner: Arc::new(Inner { python, options, choice, state }) }
    }

    /// Registers a package, in place of one of this name before: sessions that run keep the old one, and
    /// each interpreter loads the new one when it is next used for it.
    pub fn register(&self, name: &str, source: PackageSource) {
        self.inner.lock().register(name, source);
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
        let find = |name: &str| {
            let found = state.packages.get(name).cloned();
            found.ok_or_else(|| AcquireError::NoPackage(name.to_owned()))
        };
        let first = find(package)?;
        let found = others.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
        drop(state);
        let mut session = self.inner.acquire(package, &first, deadline)?;
        for (name, registered) in others.iter().zip(&found) {
            session.loaded(name, registered, deadline)?;
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

    /// What there is now.
    pub fn counts(&self) -> Counts {
        self.inner.lock().counts
    }

    /// Where interpreters run, and why.
    pub fn choice(&self) -> &Choice {
        &self.inner.choice
    }
}

impl State {
    fn register(&mut self, name: &str, source: PackageSource) -> Arc<Registered> {
        self.versions += 1;
        let registered = Arc::new(Registered { version: self.versions, source });
        self.packages.insert(name.to_owned(), registered.clone());
        registered
    }

    /// Gives free interpreters, and leave to start others while there are fewer than `most`, to those who wait.
    fn hand_out(&mut self, most: usize) {
        while !self.free.is_empty() || self.interpreters < most {
            let Some((ticket, package)) = self.queue.next() else { return };
            let version = self.packages.get(&package).map(|package| package.version);
            let has = |held: &Held| version.is_some_and(|version| held.has(&package, version));
            // One that has the package, else the one used last, whose memory is the warmest; a new one only when none
            // is free.
            let best = self.free.iter().rposition(has).or(self.free.len().checked_sub(1));
            let grant = match best {
                Some(at) => Grant::Free(self.free.remove(at)),
                None => {
                    self.interpreters += 1;
                    Grant::Start
                }
            };
            self.queue.grant(ticket, grant);
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn acquire(
        self: &Arc<Inner>,
        package: &str,
        registered: &Registered,
        deadline: Deadline,
    ) -> Result<Session, AcquireError> {
        let held = match self.wait(package, deadline)? {
            Grant::Free(held) => held,
            Grant::Start => self.start()?,
        };
        let mut session = Session::new(self.clone(), held);
        session.loaded(package, registered, deadline)?;
        Ok(session)
    }

    fn wait(&self, package: &str, deadline: Deadline) -> Result<Grant, AcquireError> {
        let mut state = self.lock();
        let ticket = state.queue.join(package);
        state.hand_out(self.options.interpreters);
        loop {
            if let Some(grant) = state.queue.take(ticket) {
                return Ok(grant);
            }
            let left = deadline.left();
            if left == Some(Duration::ZERO) {
                state.queue.leave(package, ticket);
                return Err(AcquireError::TimedOut);
            }
            drop(state);
            // Who is given something is woken; others may wake it too.
            left.map_or_else(thread::park, thread::park_timeout);
            state = self.lock();
        }
    }

    /// Starts an interpreter that was counted already.
    fn start(&self) -> Result<Held, StartError> {
        let started = self.start_one();
        let mut state = self.lock();
        match &started {
            Ok((interpreter, filled)) => {
                match interpreter.mode() {
                    Mode::InProcess => state.counts.in_process += 1,
                    Mode::Worker => state.counts.workers += 1,
                }
                state.counts.filled += usize::from(*filled);
            }
            Err(_) => {
                state.interpreters -= 1;
                state.hand_out(self.options.interpreters);
            }
        }
        drop(state);
        started.map(|(interpreter, filled)| Held::new(interpreter, filled))
    }

    /// An interpreter, and whether it is a worker for want of room.
    fn start_one(&self) -> Result<(Box<dyn Interpreter>, bool), StartError> {
        let inside =
            self.choice.mode == Mode::InProcess && self.options.isolation == Isolation::InProcess;
        let mut filled = false;
        if inside {
            match InProcess::start(&self.python, &self.options.start) {
                Ok(interpreter) => return Ok((Box::new(interpreter), false)),
                Err(StartError::Namespaces { .. } | StartError::Keys { .. }) => filled = true,
                Err(error) => return Err(error),
            }
        }
        let worker = Worker::start(&self.python, &self.options.start, self.options.worker_limits)?;
        Ok((Box::new(worker), filled))
    }

    /// Has the free interpreters that something is said of let go of what nobody has any more.
    fn idle(&self, mut state: MutexGuard<'_, State>, concerns: impl Fn(&Held) -> bool) {
        let concerned: Vec<Held> = state.free.extract_if(.., |held| concerns(held)).collect();
        drop(state);
        concerned.into_iter().for_each(|held| drop(self.set_free(self.lock(), held)));
    }

    /// Puts an interpreter among the free ones. If nobody waits for it, it lets go of what nobody has any more before; telling it
    /// may take a while, so that nobody else waits for the lock meanwhile.
    fn set_free<'i>(
        &'i self,
        mut state: MutexGuard<'i, State>,
        mut held: Held,
    ) -> MutexGuard<'i, State> {
        while state.queue.is_empty() {
            let old = held.outdated(&state);
            drop(state);
            let is_told = held.let_go(&old);
            state = self.lock();
            if !is_told || !held.is_outdated(&state) {
                break;
            }
        }
        state.free.push(held);
        state.hand_out(self.options.interpreters);
        state
    }

    /// Takes an interpreter back from a session.
    fn give_back(self: &Arc<Inner>, held: Held) {
        let mut state = self.lock();
        if held.interpreter.died().is_some() {
            state.counts.died += 1;
            state.counts.lose((held.interpreter.mode(), held.filled));
            state.interpreters -= 1;
        } else if held.interpreter.is_free() {
            drop(self.set_free(state, held));
            return;
        } else {
            state.interpreters -= 1;
            self.set_aside(held, &mut state);
        }
        state.hand_out(self.options.interpreters);
    }

    /// Waits for a busy interpreter on a thread of its own, which ends when it is back. That is rare: a thread each.
    fn set_aside(self: &Arc<Inner>, held: Held, state: &mut State) {
        let inner = self.clone();
        let kind = (held.interpreter.mode(), held.filled);
        let wait = move || {
            held.interpreter.wait_free();
            let mut state = inner.lock();
            state.counts.busy -= 1;
            // Its place was free for another, which may have taken it.
            if held.interpreter.died().is_none() && state.interpreters < inner.options.interpreters
            {
                state.interpreters += 1;
                drop(inner.set_free(state, held));
            } else {
                state.counts.lose(kind);
            }
        };
        let thread = thread::Builder::new().name("python-set-aside".to_owned());
        match thread.spawn(wait) {
            Ok(_) => state.counts.busy += 1,
            // It is dropped, and waits among those that can be used again.
            Err(_) => state.counts.lose(kind),
        }
    }
}

impl Counts {
    fn lose(&mut self, (mode, filled): (Mode, bool)) {
        match mode {
            Mode::InProcess => self.in_process -= 1,
            Mode::Worker => self.workers -= 1,
        }
        self.filled -= usize::from(filled);
    }
}

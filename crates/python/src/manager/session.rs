//! One caller's hold of an interpreter.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::Waker;

use super::driver::Driver;
use super::lease::LeaseNumber;
use super::state::State;
use super::{AcquireError, Inner, PackageSource, Registered};
use crate::interpreter::{Number, OwnThread};
use crate::{Call, CallError, Deadline, Host, Interpreter, Mode, PackageFile, Value};

/// The class of the exception about an object that is not there.
const GONE: &str = "_stead_runtime.Gone";

/// An interpreter and what it has loaded.
pub(super) struct Held {
    pub(super) interpreter: Box<dyn Interpreter>,
    /// The thread that it has inside this process.
    pub(super) thread: Option<&'static dyn OwnThread>,
    /// The thread that does work for it where it has none, once there was work.
    pub(super) driver: Option<Driver>,
    /// Whether it is a worker because there was no room inside.
    pub(super) filled: bool,
    /// The versions of packages.
    loaded: HashMap<Arc<str>, u64>,
    /// Movable objects that were loaded; a process that was replaced has them no more.
    pub(super) movables: HashSet<Number>,
    /// Objects that nobody holds and that the interpreter does not know of yet.
    pub(super) dropped: Vec<Number>,
}

impl Held {
    pub(super) fn new(
        interpreter: Box<dyn Interpreter>,
        thread: Option<&'static dyn OwnThread>,
        filled: bool,
    ) -> Held {
        let (loaded, movables, dropped) = (HashMap::new(), HashSet::new(), Vec::new());
        Held { interpreter, thread, driver: None, filled, loaded, movables, dropped }
    }

    /// Where it runs, and whether for want of room.
    pub(super) fn kind(&self) -> (Mode, bool) {
        (self.interpreter.mode(), self.filled)
    }

    /// Whether it has something that nobody has any more.
    pub(super) fn is_outdated(&self, state: &State) -> bool {
        self.movables.iter().any(|number| !state.movables.contains(number))
            || self.loaded.iter().any(|loaded| is_old(loaded, state))
    }

    /// Notes the objects that nobody has any more, and gives the packages that are no more.
    pub(super) fn outdated(&mut self, state: &State) -> Vec<String> {
        let gone = self.movables.extract_if(|number| !state.movables.contains(number));
        self.dropped.extend(gone);
        let old = self.loaded.iter().filter(|loaded| is_old(*loaded, state));
        old.map(|(name, _)| name.to_string()).collect()
    }

    /// Has the interpreter let go of these packages, of what was noted and of garbage; false if it cannot be told now. A worker is
    /// told by a message, which may have to wait.
    pub(super) fn let_go(&mut self, old: &[String]) -> bool {
        let is_told = self.interpreter.idle(&self.dropped, old);
        if is_told {
            self.dropped.clear();
            self.loaded.retain(|name, _| !old.iter().any(|old| **old == **name));
        }
        is_told
    }

    pub(super) fn has(&self, package: &str, version: u64) -> bool {
        self.loaded.get(package) == Some(&version)
    }
}

/// Whether another version of a loaded package, or none, is registered.
fn is_old((name, version): (&Arc<str>, &u64), state: &State) -> bool {
    state.packages.get(name).is_none_or(|package| package.version != *version)
}

/// An interpreter for one caller, who gives it back by dropping this. It stays on the thread that acquired it or moves
/// with it; two threads cannot have it.
pub struct Session {
    inner: Arc<Inner>,
    held: Option<Held>,
    /// That of work, which may be given up.
    lease: Option<LeaseNumber>,
    /// When no call may go on.
    end: Deadline,
    /// Who waits for what the work gave.
    reader: Option<Waker>,
}

impl Session {
    pub(super) fn new(inner: Arc<Inner>, held: Held) -> Session {
        Session { inner, held: Some(held), lease: None, end: Deadline::NEVER, reader: None }
    }

    /// That of work, whose calls end at its deadline at the latest.
    pub(super) fn leased(
        inner: Arc<Inner>,
        held: Held,
        lease: LeaseNumber,
        end: Deadline,
    ) -> Session {
        Session { inner, held: Some(held), lease: Some(lease), end, reader: None }
    }

    /// Gives the interpreter back and wakes who waits for what its work gave, which may be a moment later.
    pub(super) fn end(mut self, reader: Option<Waker>) {
        self.reader = reader;
    }

    /// Loads a package that the interpreter does not have.
    pub(super) fn loaded(
        &mut self,
        package: &Registered,
        deadline: Deadline,
    ) -> Result<(), AcquireError> {
        self.load(package, deadline).map_err(|error| match error {
            CallError::Busy | CallError::TimedOut => AcquireError::TimedOut,
            error => AcquireError::Load { package: package.name.to_string(), error },
        })
    }

    /// As [`loaded`](Session::loaded), with the error of the interpreter.
    fn load(&mut self, package: &Registered, deadline: Deadline) -> Result<(), CallError> {
        let deadline = self.end.or_sooner(deadline);
        let held = self.held()?;
        if held.has(&package.name, package.version) {
            return Ok(());
        }
        match &package.source {
            PackageSource::Modules(modules) => {
                modules.iter().try_for_each(|module| held.interpreter.load(module, deadline))?;
            }
            PackageSource::File(path) => {
                let file = PackageFile { name: package.name.to_string(), path: path.clone() };
                held.interpreter.open(&file, deadline)?;
            }
        }
        held.loaded.insert(Arc::clone(&package.name), package.version);
        Ok(())
    }

    /// Calls a global of a module.
    ///
    /// # Errors
    /// As [`Interpreter::call`].
    pub fn call(&mut self, call: Call, deadline: Deadline) -> Result<Value, CallError> {
        let deadline = self.end.or_sooner(deadline);
        self.held()?.interpreter.call(call, deadline)
    }

    /// As [`call`](Session::call); the code may ask the host, which must not acquire a session of the same manager: all
    /// interpreters could wait for each other.
    ///
    /// # Errors
    /// As [`Interpreter::call`].
    pub fn call_hosted(
        &mut self,
        call: Call,
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        self.call_with(&Arc::new(call), host, deadline)
    }

    /// As [`call_hosted`](Session::call_hosted), of a call that may be made again.
    ///
    /// # Errors
    /// As [`Interpreter::call`].
    pub(crate) fn call_with(
        &mut self,
        call: &Arc<Call>,
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let deadline = self.end.or_sooner(deadline);
        self.held()?.interpreter.call_with(call, Some(host), deadline)
    }

    /// Does something with objects (`objects.py`). `package` is the one whose session it is.
    ///
    /// # Errors
    /// All of [`CallError`].
    pub(super) fn operate(
        &mut self,
        package: &str,
        operation: &str,
        arguments: impl IntoIterator<Item = Value>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let deadline = self.end.or_sooner(deadline);
        let held = self.held()?;
        let dropped = std::mem::take(&mut held.dropped);
        let numbers = dropped.iter().map(|&number| number.into()).collect();
        let mut all = vec![package.into(), Value::List(numbers), operation.into()];
        all.extend(arguments);
        let answer = held.interpreter.call(Call::new("_stead_runtime", "operate", all), deadline);
        match answer {
            Err(CallError::Raised(error)) if error.kind == GONE => Err(CallError::Gone),
            Ok(_) | Err(CallError::Raised(_) | CallError::Returned(_)) => answer,
            _ => {
                // It may not have come so far. Who drops twice drops once.
                held.dropped.extend(dropped);
                answer
            }
        }
    }

    /// The movable objects that the interpreter has loaded.
    pub(super) fn movables(&mut self) -> Result<&mut HashSet<Number>, CallError> {
        self.held().map(|held| &mut held.movables)
    }

    /// Notes that nobody holds an object any more.
    pub(super) fn drop_object(&mut self, number: Number) {
        if let Some(held) = &mut self.held {
            held.dropped.push(number);
        }
    }

    /// Where the interpreter runs.
    pub fn mode(&self) -> Option<Mode> {
        self.held.as_ref().map(|held| held.interpreter.mode())
    }

    fn held(&mut self) -> Result<&mut Held, CallError> {
        self.held.as_mut().ok_or(CallError::Busy)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.inner.give_back(held, self.lease, self.reader.take());
        }
    }
}

//! One caller's hold of an interpreter.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Inner, Package, PackageSource};
use crate::{Call, CallError, Deadline, Host, Interpreter, Mode, PackageFile, Value};

/// An interpreter and what it has loaded.
pub(super) struct Held {
    pub(super) interpreter: Box<dyn Interpreter>,
    /// Whether it is a worker because there was no room inside.
    pub(super) filled: bool,
    /// The versions of packages.
    loaded: HashMap<String, u64>,
}

impl Held {
    pub(super) fn new(interpreter: Box<dyn Interpreter>, filled: bool) -> Held {
        Held { interpreter, filled, loaded: HashMap::new() }
    }

    pub(super) fn has(&self, package: &str, version: u64) -> bool {
        self.loaded.get(package) == Some(&version)
    }
}

/// An interpreter for one caller, who gives it back by dropping this. It stays on the thread that acquired it or moves
/// with it; two threads cannot have it.
pub struct Session {
    inner: Arc<Inner>,
    held: Option<Held>,
}

impl Session {
    pub(super) fn new(inner: Arc<Inner>, held: Held) -> Session {
        Session { inner, held: Some(held) }
    }

    /// Loads the modules of a package that the interpreter does not have.
    pub(super) fn load(
        &mut self,
        name: &str,
        package: &Package,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let held = self.held()?;
        if held.has(name, package.version) {
            return Ok(());
        }
        match &package.source {
            PackageSource::Modules(modules) => {
                modules.iter().try_for_each(|module| held.interpreter.load(module, deadline))?;
            }
            PackageSource::File(path) => {
                let file = PackageFile { name: name.to_owned(), path: path.clone() };
                held.interpreter.open(&file, deadline)?;
            }
        }
        held.loaded.insert(name.to_owned(), package.version);
        Ok(())
    }

    /// Calls a global of a module.
    ///
    /// # Errors
    /// As [`Interpreter::call`].
    pub fn call(&mut self, call: Call, deadline: Deadline) -> Result<Value, CallError> {
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
        self.held()?.interpreter.call_hosted(call, host, deadline)
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
            self.inner.give_back(held);
        }
    }
}

//! Objects that every interpreter can have.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use stead_tensor::Tensor;

use super::object::{InterpreterSession, This};
use super::{AcquireError, Package, Session};
use crate::interpreter::Number;
use crate::{CallError, Deadline, Mode, Value};

/// The class of the exception about a movable object that is not there.
const UNLOADED: &str = "_stead_runtime.Unloaded";

/// An object of a package that any interpreter of the manager loads when it is first used there. It can be called from
/// any thread: each call takes an interpreter for itself. The last of its clones takes it out of all interpreters.
///
/// What the object keeps, each interpreter keeps for itself: after a call that changes the object, others have it as it
/// was. The memory of its arrays is there once, and read-only.
#[derive(Clone)]
pub struct MovableObject {
    movable: Arc<Movable>,
}

struct Movable {
    package: Package,
    number: Number,
    recipe: Recipe,
}

/// How an interpreter gets it.
pub(super) enum Recipe {
    /// A pickle of the package.
    Resource { package: String, resource: String },
    /// What `stead_package.movable` made of an object.
    Pickled { pickle: Vec<u8>, table: String, records: Vec<Tensor> },
}

/// Why an object could not be loaded or called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// There was no interpreter for it.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// Its code failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A number that nothing else has.
pub(super) fn number() -> Number {
    static LAST: AtomicI64 = AtomicI64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl MovableObject {
    pub(super) fn new(package: Package, recipe: Recipe) -> MovableObject {
        let number = number();
        package.manager().lock().movables.insert(number);
        MovableObject { movable: Arc::new(Movable { package, number, recipe }) }
    }

    /// Calls the object on whichever interpreter is free.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn call(
        &self,
        arguments: impl IntoIterator<Item = Value>,
        deadline: Deadline,
    ) -> Result<Value, ObjectError> {
        self.call_with(arguments, std::iter::empty(), deadline)
    }

    /// As [`call`](Self::call), with keyword arguments.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn call_with(
        &self,
        arguments: impl IntoIterator<Item = Value>,
        keywords: impl IntoIterator<Item = (String, Value)>,
        deadline: Deadline,
    ) -> Result<Value, ObjectError> {
        let arguments = Value::List(arguments.into_iter().collect());
        let arguments = vec![arguments, Value::Dict(keywords.into_iter().collect())];
        let mut session = self.movable.package.session(deadline)?;
        self.load(&mut session, deadline)?;
        Ok(self.operate(
            &mut session,
            "call movable",
            &[self.movable.number.into()],
            arguments,
            deadline,
        )?)
    }

    /// An interpreter that has loaded the object, for this caller alone. Everything that is done with it has to be done
    /// by the deadline.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn acquire_session(&self, deadline: Deadline) -> Result<InterpreterSession, ObjectError> {
        let session = self.acquire(deadline)?;
        let this = This::Movable(self.clone());
        Ok(InterpreterSession::new(session, self.movable.package.clone(), this, deadline))
    }

    pub(super) fn acquire(&self, deadline: Deadline) -> Result<Session, ObjectError> {
        let mut session = self.movable.package.session(deadline)?;
        self.load(&mut session, deadline)?;
        Ok(session)
    }

    /// Makes `into` the number of the object in the interpreter of a session.
    pub(super) fn hold(
        &self,
        session: &mut Session,
        into: Number,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let numbers = [into.into(), self.movable.number.into()];
        self.operate(session, "hold", &numbers, Vec::new(), deadline).map(drop)
    }

    /// Does something with the object, which is loaded again where the process was replaced.
    fn operate(
        &self,
        session: &mut Session,
        operation: &str,
        numbers: &[Value],
        arguments: Vec<Value>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let name = self.movable.package.name();
        let numbered = |arguments: Vec<Value>| numbers.iter().cloned().chain(arguments);
        // Only processes are replaced.
        let again = (session.mode() == Some(Mode::Worker)).then(|| arguments.clone());
        let answer = session.operate(name, operation, numbered(arguments), deadline);
        match (answer, again) {
            (Err(CallError::Raised(error)), Some(again)) if error.kind == UNLOADED => {
                session.movables()?.remove(&self.movable.number);
                self.load(session, deadline)?;
                session.operate(name, operation, numbered(again), deadline)
            }
            (answer, _) => answer,
        }
    }

    /// Loads the object where it is not yet. That happens once, for an interpreter has one caller at a time.
    fn load(&self, session: &mut Session, deadline: Deadline) -> Result<(), CallError> {
        let movable = &*self.movable;
        if session.movables()?.contains(&movable.number) {
            return Ok(());
        }
        let (operation, what) = match &movable.recipe {
            Recipe::Resource { package, resource } => {
                ("load resource", vec![package.as_str().into(), resource.as_str().into()])
            }
            Recipe::Pickled { pickle, table, records } => {
                let records = records.iter().cloned().map(Value::Tensor).collect();
                let pickle = Value::Bytes(pickle.clone());
                ("load", vec![pickle, table.as_str().into(), Value::List(records)])
            }
        };
        let arguments = std::iter::once(movable.number.into()).chain(what);
        session.operate(movable.package.name(), operation, arguments, deadline)?;
        session.movables()?.insert(movable.number);
        Ok(())
    }
}

impl Drop for Movable {
    fn drop(&mut self) {
        let manager = self.package.manager();
        let mut state = manager.lock();
        state.movables.remove(&self.number);
        manager.idle(state, |held| held.movables.contains(&self.number));
    }
}

//! Objects of one interpreter, in the hands of the caller who has it.

use std::cell::RefCell;

use stead_tensor::{DType, Shape, Tensor};

use super::movable::{MovableObject, Recipe, number};
use super::{Package, Session};
use crate::interpreter::Number;
use crate::{CallError, Deadline, Mode, Value, worker};

/// An interpreter for one caller, and objects in it. Given back when it is dropped; no [`Object`] outlives it:
///
/// ```compile_fail,E0597
/// # use stead_python::{Deadline, Package};
/// # fn f(package: &Package) -> Result<(), Box<dyn std::error::Error>> {
/// let model = {
///     let session = package.acquire_session(Deadline::NEVER)?;
///     session.global("net", "model")?
/// };
/// model.call([])?;
/// # Ok(()) }
/// ```
///
/// What outlives it is a value or a movable object:
///
/// ```no_run
/// # use stead_python::{Deadline, Package};
/// # fn f(package: &Package) -> Result<(), Box<dyn std::error::Error>> {
/// let model = {
///     let session = package.acquire_session(Deadline::NEVER)?;
///     session.create_movable(&session.global("net", "model")?)?
/// };
/// model.call([], Deadline::NEVER)?;
/// # Ok(()) }
/// ```
///
/// It can be sent to another thread, and so cannot its objects:
///
/// ```compile_fail,E0277
/// # use stead_python::{Deadline, Package};
/// # fn f(package: &Package) -> Result<(), Box<dyn std::error::Error>> {
/// let session = package.acquire_session(Deadline::NEVER)?;
/// let model = session.global("net", "model")?;
/// std::thread::scope(|scope| scope.spawn(|| model.call([]).map(drop)).join().is_ok());
/// # Ok(()) }
/// ```
pub struct InterpreterSession {
    session: RefCell<Session>,
    package: Package,
    this: This,
    deadline: Deadline,
}

/// What a session was acquired from.
pub(super) enum This {
    /// The package.
    Importer,
    /// An object of it.
    Movable(MovableObject),
}

/// An object in the interpreter of a session.
pub struct Object<'s> {
    session: &'s InterpreterSession,
    number: Number,
}

/// An argument of a call.
pub enum Argument<'a> {
    /// A value, which is made an object.
    Value(Value),
    /// An object of the same session.
    Object(&'a Object<'a>),
}

macro_rules! from {
    ($($rust:ty),*) => {
        $(impl From<$rust> for Argument<'_> {
            fn from(value: $rust) -> Self { Argument::Value(value.into()) }
        })*
    };
}

from! { Value, bool, i64, i32, f64, &str, String, &[u8], Vec<Value>, Tensor }

impl<'a> From<&'a Object<'_>> for Argument<'a> {
    fn from(object: &'a Object<'_>) -> Argument<'a> {
        Argument::Object(object)
    }
}

impl InterpreterSession {
    pub(super) fn new(session: Session, package: Package, this: This, deadline: Deadline) -> Self {
        InterpreterSession { session: RefCell::new(session), package, this, deadline }
    }

    /// What the session was acquired from: the package's importer (`stead_package.PackageImporter`), or the movable
    /// object. `self` in `torch::deploy`.
    ///
    /// # Errors
    /// All of [`CallError`].
    pub fn this(&self) -> Result<Object<'_>, CallError> {
        match &self.this {
            This::Importer => self.make("importer", []),
            This::Movable(object) => {
                let made = Object { session: self, number: number() };
                object.hold(&mut self.session.borrow_mut(), made.number, self.deadline)?;
                Ok(made)
            }
        }
    }

    /// A global of a module of the package, or of one of its externs.
    ///
    /// # Errors
    /// All of [`CallError`].
    pub fn global(&self, module: &str, name: &str) -> Result<Object<'_>, CallError> {
        self.make("global", [module.into(), name.into()])
    }

    /// Pickles an object, so that every interpreter can have it. Names are looked up in the package first. Arrays that
    /// lie in the package stay there; of the memory of all others there is one copy, which all interpreters read.
    ///
    /// # Errors
    /// All of [`CallError`]: what cannot be pickled, or came from another package, raises `PicklingError`.
    pub fn create_movable(&self, object: &Object<'_>) -> Result<MovableObject, CallError> {
        self.own(object)?;
        let Value::List(parts) = self.operate("dump", [object.number.into()])? else {
            return Err(unexpected());
        };
        let Ok([Value::Bytes(pickle), Value::Str(table), Value::List(records)]) =
            <[Value; 3]>::try_from(parts)
        else {
            return Err(unexpected());
        };
        let records = records.into_iter().map(Value::into_tensor).collect::<Result<Vec<_>, _>>()?;
        let recipe = Recipe::Pickled { pickle, table, records: shared(&records)? };
        Ok(MovableObject::new(self.package.clone(), recipe))
    }

    /// Where the interpreter runs.
    pub fn mode(&self) -> Option<Mode> {
        self.session.borrow().mode()
    }

    fn make<const N: usize>(
        &self,
        operation: &str,
        arguments: [Value; N],
    ) -> Result<Object<'_>, CallError> {
        // Dropped when the operation fails, as one that may have been made.
        let made = Object { session: self, number: number() };
        self.operate(operation, std::iter::once(made.number.into()).chain(arguments))?;
        Ok(made)
    }

    fn operate(
        &self,
        operation: &str,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Result<Value, CallError> {
        let mut session = self.session.borrow_mut();
        session.operate(self.package.name(), operation, arguments, self.deadline)
    }

    fn own(&self, object: &Object<'_>) -> Result<(), CallError> {
        if std::ptr::eq(object.session, self) { Ok(()) } else { Err(CallError::Foreign) }
    }

    /// As `objects.py` wants it: whether it is an object, and its number or the value.
    fn argument(&self, argument: Argument<'_>) -> Result<Value, CallError> {
        Ok(match argument {
            Argument::Value(value) => vec![false.into(), value].into(),
            Argument::Object(object) => {
                self.own(object)?;
                vec![true.into(), object.number.into()].into()
            }
        })
    }
}

impl<'s> Object<'s> {
    /// An attribute.
    ///
    /// # Errors
    /// All of [`CallError`].
    pub fn attr(&self, name: &str) -> Result<Object<'s>, CallError> {
        self.session.make("attribute", [self.number.into(), name.into()])
    }

    /// Calls it. A coroutine is run to its end.
    ///
    /// # Errors
    /// All of [`CallError`]; [`CallError::Foreign`] of an argument that is an object of another session.
    pub fn call<'a>(
        &self,
        arguments: impl IntoIterator<Item = Argument<'a>>,
    ) -> Result<Object<'s>, CallError> {
        self.call_with(arguments, [])
    }

    /// As [`call`](Self::call), with keyword arguments.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_with<'a>(
        &self,
        arguments: impl IntoIterator<Item = Argument<'a>>,
        keywords: impl IntoIterator<Item = (&'a str, Argument<'a>)>,
    ) -> Result<Object<'s>, CallError> {
        let session = self.session;
        let arguments = arguments.into_iter().map(|argument| session.argument(argument));
        let arguments = Value::List(arguments.collect::<Result<_, _>>()?);
        let keyword =
            |(name, argument): (&str, _)| Ok((name.to_owned(), session.argument(argument)?));
        let keywords = keywords.into_iter().map(keyword).collect::<Result<_, CallError>>()?;
        session.make("call", [self.number.into(), arguments, Value::Dict(keywords)])
    }

    /// The object as a value.
    ///
    /// # Errors
    /// All of [`CallError`]; [`CallError::Returned`] of what cannot leave an interpreter.
    pub fn value(&self) -> Result<Value, CallError> {
        self.session.operate("value", [self.number.into()])
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        // The interpreter is told with what is done next. Nothing that borrows the session drops objects.
        if let Ok(mut session) = self.session.session.try_borrow_mut() {
            session.drop_object(self.number);
        }
    }
}

/// The same tensors in memory that workers can read too.
fn shared(records: &[Tensor]) -> Result<Vec<Tensor>, CallError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<&[u8]> = records.iter().map(Tensor::bytes).collect();
    let failed = |error: &dyn std::fmt::Display| {
        CallError::Argument(format!("an object has no room in shared memory: {error}"))
    };
    let parts = worker::share(&parts).map_err(|e| failed(&e))?;
    let tensor = |bytes: stead_tensor::SharedBytes| {
        let shape = Shape::new(&[bytes.len()]).map_err(|e| failed(&e))?;
        Tensor::from_shared(DType::U8, shape, bytes).map_err(|e| failed(&e))
    };
    parts.into_iter().map(tensor).collect()
}

fn unexpected() -> CallError {
    CallError::Died("stead's own code in it gave something else than a pickle".to_owned())
}

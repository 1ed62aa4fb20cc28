//! The object by which code of an interpreter asks stead.
#![allow(unsafe_code)] // a type whose objects are called

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::api::{PyHead, PyObject, PyTypeSlot, PyTypeSpec, TP_CALL, TYPE_FLAGS};
use super::convert;
use super::object::{self, Object};
use super::python::{Attached, Python};
use crate::host::{Running, nothing_runs};
use crate::{CallError, Exception, HostCode, HostError, Value};

/// The call that runs now, if one does.
#[derive(Default)]
pub(super) struct Calls(Mutex<Option<Running>>);

impl Calls {
    /// Says which call runs, until what this gives is dropped.
    pub(super) fn begin(&'static self, running: Running) -> impl Drop {
        struct End(&'static Calls);
        impl Drop for End {
            fn drop(&mut self) {
                self.0.set(None);
            }
        }
        self.set(Some(running));
        End(self)
    }

    fn set(&self, running: Option<Running>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    fn running(&self) -> Option<Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An object that asks stead when it is called.
#[repr(C)]
struct HostObject {
    head: PyHead,
    python: *const Python,
}

/// Makes the object, which takes a name and a tuple of arguments and gives a tuple that `bootstrap.py` knows.
pub(super) fn make(at: &Attached) -> Result<Object<'_>, Exception> {
    // Both outlive the type, which outlives all.
    let slots = Box::leak(Box::new([
        PyTypeSlot { slot: TP_CALL, function: called as *mut c_void },
        PyTypeSlot { slot: 0, function: std::ptr::null_mut() },
    ]));
    let spec = Box::leak(Box::new(PyTypeSpec {
        name: c"stead.Host".as_ptr(),
        basicsize: size_of::<HostObject>() as c_int,
        itemsize: 0,
        flags: TYPE_FLAGS,
        slots: slots.as_mut_ptr(),
    }));
    // SAFETY: a specification whose slots end with 0 and whose function has the signature of its slot. An object of the
    // type has room for a `HostObject`, zeroed behind its head, whose field is set before anybody else sees it.
    unsafe {
        let kind = Object::owned(at, (at.api().PyType_FromSpec)(spec))?;
        let made = Object::owned(at, (at.api().PyType_GenericAlloc)(kind.raw(), 0))?;
        (*made.raw().cast::<HostObject>()).python = at.python;
        Ok(made)
    }
}

/// # Safety
/// Called by Python, under the lock, for an object of the type above with a tuple.
unsafe extern "C" fn called(object: PyObject, arguments: PyObject, _: PyObject) -> PyObject {
    // SAFETY: an object of this type, whose field was set to a Python that is never freed.
    let python: &'static Python = unsafe { &*(*object.cast::<HostObject>()).python };
    // SAFETY: the caller holds the lock of this Python on this thread, until this function has returned.
    let at = unsafe { Attached::called_back(python) };
    // SAFETY: a tuple that the caller keeps.
    let arguments = unsafe { Object::borrowed(&at, arguments) };
    let answer = catch_unwind(AssertUnwindSafe(|| answer(&at, &arguments)));
    // Without an answer `None`, which is none that `bootstrap.py` knows.
    answer.ok().and_then(Result::ok).unwrap_or_else(|| object::none(&at)).into_raw()
}

/// What the code is told: a tuple of what it is and the parts of it.
fn answer<'a>(at: &'a Attached, arguments: &Object<'a>) -> Result<Object<'a>, Exception> {
    let tell = |parts: &[&str]| {
        let parts = parts.iter().map(|part| object::text(at, part)).collect::<Result<_, _>>()?;
        object::tuple(at, parts)
    };
    let failed = |error: HostError| tell(&["failed", error.code.name(), &error.message]);
    let (name, values) = match asked(arguments) {
        Ok(asked) => asked,
        Err(CallError::Raised(exception)) => return tell(&["type", &exception.to_string()]),
        Err(error) => return tell(&["type", &error.to_string()]),
    };
    let Some(running) = at.python.calls.running() else { return failed(nothing_runs(&name)) };
    if running.deadline.is_over() {
        return tell(&["late"]);
    }
    let found = at.detached(|| running.answer(name.clone(), values));
    if running.deadline.is_over() {
        return tell(&["late"]);
    }
    let place = format!("of {name}: its answer");
    match found.map(|value| convert::to_python(at, &value, &place, 0)) {
        Ok(Ok(value)) => object::tuple(at, vec![object::text(at, "value")?, value]),
        Ok(Err(error)) => failed(HostError::new(HostCode::Internal, error.to_string())),
        Err(error) => failed(error),
    }
}

/// The name and the arguments.
fn asked(arguments: &Object<'_>) -> Result<(String, Vec<Value>), CallError> {
    let raised = |e: Exception| CallError::Raised(Box::new(e));
    let parts = arguments.items().map_err(raised)?;
    let [name, arguments] = parts.as_slice() else {
        return Err(CallError::Returned("stead is asked with a name and a tuple".to_owned()));
    };
    let name = name.text().map_err(raised)?;
    let place = format!("the arguments of {name}");
    match convert::from_python(arguments, &place)? {
        Value::List(values) => Ok((name, values)),
        _ => Err(CallError::Returned(format!("{place} are no tuple"))),
    }
}

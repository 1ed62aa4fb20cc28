//! Exceptions of Python as values.
//!
//! Never by `PyErr_Print` or `PyRun_Simple*`, which end the process on `SystemExit`.
#![allow(unsafe_code)] // the error functions of C

use super::api::PyObject;
use super::object::Object;
use super::python::Attached;
use crate::Exception;

/// Takes the exception that is set on this thread.
pub(super) fn take(at: &Attached) -> Exception {
    let api = at.api();
    let null: PyObject = std::ptr::null_mut();
    let (mut kind, mut value, mut trace) = (null, null, null);
    // SAFETY: the lock is held. `Fetch` gives references that are ours or null, `Normalize` may replace them.
    let (kind, value) = unsafe {
        (api.PyErr_Fetch)(&raw mut kind, &raw mut value, &raw mut trace);
        if kind.is_null() {
            return bare("SystemError", "a function of Python failed without an exception");
        }
        (api.PyErr_NormalizeException)(&raw mut kind, &raw mut value, &raw mut trace);
        if !trace.is_null() {
            if !value.is_null() {
                (api.PyException_SetTraceback)(value, trace);
            }
            (api.Py_DecRef)(trace);
        }
        let held = |object: PyObject| (!object.is_null()).then(|| Object::owned(at, object).ok());
        (held(kind).flatten(), held(value).flatten())
    };
    let described = value.as_ref().and_then(|value| describe(at, value));
    described.unwrap_or_else(|| {
        // What describes exceptions may itself end in one, after a RecursionError or a deadline.
        let shown = |object: Option<&Object<'_>>| object.and_then(|o| shown(at, o));
        let kind = shown(kind.as_ref()).unwrap_or_else(|| "an exception".to_owned());
        bare(&kind, &shown(value.as_ref()).unwrap_or_default())
    })
}

fn bare(kind: &str, message: &str) -> Exception {
    let traceback = format!("{kind}: {message}");
    Exception { kind: kind.to_owned(), message: message.to_owned(), traceback, component: None }
}

/// By the function of the bootstrap.
fn describe<'a>(at: &'a Attached, value: &Object<'a>) -> Option<Exception> {
    let describe = at.python.runtime()?.describe.get(at);
    let parts = quiet(at, describe.call_raw(value))?;
    let part = |i: isize| {
        // SAFETY: a tuple; gives null (with an exception) or a reference that the tuple keeps.
        unsafe {
            let item = (at.api().PyTuple_GetItem)(parts.raw(), i);
            if item.is_null() {
                (at.api().PyErr_Clear)();
                return None;
            }
            utf8(at, &Object::borrowed(at, item))
        }
    };
    let component = part(3).filter(|component| !component.is_empty());
    Some(Exception { kind: part(0)?, message: part(1)?, traceback: part(2)?, component })
}

impl<'a> Object<'a> {
    /// Calls with one argument; null with an exception set where it fails.
    fn call_raw(&self, argument: &Object<'a>) -> PyObject {
        let api = self.at.api();
        // SAFETY: a new tuple of one takes over the argument; null and dict are not looked at.
        unsafe {
            let arguments = (api.PyTuple_New)(1);
            if arguments.is_null() {
                return arguments;
            }
            (api.PyTuple_SetItem)(arguments, 0, argument.again().into_raw());
            let result = (api.PyObject_Call)(self.raw(), arguments, std::ptr::null_mut());
            (api.Py_DecRef)(arguments);
            result
        }
    }
}

/// A new reference; where there is none, the exception is dropped.
fn quiet(at: &Attached, new: PyObject) -> Option<Object<'_>> {
    if new.is_null() {
        // SAFETY: the lock is held.
        unsafe { (at.api().PyErr_Clear)() };
        return None;
    }
    // SAFETY: a reference that the caller of this function owned.
    unsafe { Object::owned(at, new).ok() }
}

fn shown(at: &Attached, object: &Object<'_>) -> Option<String> {
    // SAFETY: a live object; gives a new reference or null.
    let text = quiet(at, unsafe { (at.api().PyObject_Str)(object.raw()) })?;
    utf8(at, &text)
}

/// As [`Object::text`], which would come here where it fails.
fn utf8(at: &Attached, text: &Object<'_>) -> Option<String> {
    let mut len = 0isize;
    // SAFETY: gives null with an exception, or UTF-8 of that length that lives as long as the object.
    unsafe {
        let start = (at.api().PyUnicode_AsUTF8AndSize)(text.raw(), &raw mut len);
        if start.is_null() {
            (at.api().PyErr_Clear)();
            return None;
        }
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), len as usize);
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

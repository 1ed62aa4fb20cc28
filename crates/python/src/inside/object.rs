//! References to objects of Python that count themselves.
#![allow(unsafe_code)] // the object functions of C

use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use super::api::{FILE_INPUT, PyHead, PyObject};
use super::python::Attached;
use super::traceback;
use crate::Exception;

/// A counted reference, for as long as the lock is held.
pub(super) struct Object<'a> {
    pub(super) at: &'a Attached,
    pointer: NonNull<std::ffi::c_void>,
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        // SAFETY: the lock is held and the reference is ours.
        unsafe { (self.at.api().Py_DecRef)(self.raw()) };
    }
}

/// A reference that is kept for the life of the interpreter.
pub(super) struct Kept(NonNull<std::ffi::c_void>);

// SAFETY: only an address; it is used under the interpreter's lock.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

impl Kept {
    pub(super) fn get<'a>(&self, at: &'a Attached) -> Object<'a> {
        // SAFETY: the lock is held, and the reference that is kept keeps the object.
        unsafe { Object::borrowed(at, self.0.as_ptr()) }
    }
}

impl<'a> Object<'a> {
    /// Takes over a new reference, or the exception where there is none.
    ///
    /// # Safety
    /// Null with an exception set, or a reference that the caller owns.
    pub(super) unsafe fn owned(at: &'a Attached, new: PyObject) -> Result<Object<'a>, Exception> {
        match NonNull::new(new) {
            Some(pointer) => Ok(Object { at, pointer }),
            None => Err(traceback::take(at)),
        }
    }

    /// Another reference to an object that somebody else keeps.
    ///
    /// # Safety
    /// An object that is alive, not null.
    pub(super) unsafe fn borrowed(at: &'a Attached, object: PyObject) -> Object<'a> {
        debug_assert!(!object.is_null());
        // SAFETY: by the contract.
        unsafe {
            (at.api().Py_IncRef)(object);
            Object { at, pointer: NonNull::new_unchecked(object) }
        }
    }

    /// Another reference to the same object.
    pub(super) fn again(&self) -> Object<'a> {
        // SAFETY: the object is alive.
        unsafe { Object::borrowed(self.at, self.raw()) }
    }

    pub(super) fn raw(&self) -> PyObject {
        self.pointer.as_ptr()
    }

    /// Gives the reference to somebody who counts it.
    pub(super) fn into_raw(self) -> PyObject {
        let raw = self.raw();
        std::mem::forget(self);
        raw
    }

    /// Keeps the object for ever.
    pub(super) fn keep(self) -> Kept {
        let pointer = self.pointer;
        std::mem::forget(self);
        Kept(pointer)
    }

    /// How many references there are, this one counted.
    pub(super) fn references(&self) -> u32 {
        // SAFETY: every object begins with its head, which only changes under the lock.
        unsafe { (*self.raw().cast::<PyHead>()).references }
    }

    /// Whether the object is one of `kind` or of a subclass.
    pub(super) fn is_a(&self, kind: NonNull<std::ffi::c_void>) -> bool {
        // SAFETY: `kind` is a type of this interpreter, and the head of an object names its type, which it keeps.
        unsafe {
            let own = (*self.raw().cast::<PyHead>()).kind;
            own == kind.as_ptr() || (self.at.api().PyType_IsSubtype)(own, kind.as_ptr()) != 0
        }
    }

    pub(super) fn is(&self, other: NonNull<std::ffi::c_void>) -> bool {
        self.pointer == other
    }

    pub(super) fn attribute(&self, name: &CStr) -> Result<Object<'a>, Exception> {
        // SAFETY: a live object and a name that ends with a zero; gives a new reference.
        unsafe {
            let found = (self.at.api().PyObject_GetAttrString)(self.raw(), name.as_ptr());
            Object::owned(self.at, found)
        }
    }

    /// The items of a tuple.
    pub(super) fn items(&self) -> Result<Vec<Object<'a>>, Exception> {
        let api = self.at.api();
        // SAFETY: a live object; what is no tuple has the size -1 and an exception. A tuple keeps its items.
        unsafe {
            let size = (api.PyTuple_Size)(self.raw());
            if size < 0 {
                return Err(traceback::take(self.at));
            }
            let item = |i| Object::borrowed(self.at, (api.PyTuple_GetItem)(self.raw(), i));
            Ok((0..size).map(item).collect())
        }
    }

    /// Calls it. `keywords` is a dict.
    pub(super) fn call(
        &self,
        arguments: Vec<Object<'a>>,
        keywords: Option<&Object<'a>>,
    ) -> Result<Object<'a>, Exception> {
        let arguments = tuple(self.at, arguments)?;
        let keywords = keywords.map_or(std::ptr::null_mut(), Object::raw);
        // SAFETY: a live object, a tuple, null or a dict; gives a new reference.
        unsafe {
            let result = (self.at.api().PyObject_Call)(self.raw(), arguments.raw(), keywords);
            Object::owned(self.at, result)
        }
    }

    pub(super) fn is_true(&self) -> Result<bool, Exception> {
        // SAFETY: a live object.
        match unsafe { (self.at.api().PyObject_IsTrue)(self.raw()) } {
            -1 => Err(traceback::take(self.at)),
            truth => Ok(truth != 0),
        }
    }

    /// The text of a `str`.
    pub(super) fn text(&self) -> Result<String, Exception> {
        let mut len = 0isize;
        // SAFETY: gives null with an exception, or UTF-8 of that length that lives as long as the object.
        unsafe {
            let text = (self.at.api().PyUnicode_AsUTF8AndSize)(self.raw(), &raw mut len);
            if text.is_null() {
                return Err(traceback::take(self.at));
            }
            debug_assert!(len >= 0);
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), len as usize);
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

pub(super) fn none(at: &Attached) -> Object<'_> {
    // SAFETY: `None` is never freed.
    unsafe { Object::borrowed(at, at.api()._Py_NoneStruct.as_ptr()) }
}

pub(super) fn boolean(at: &Attached, value: bool) -> Object<'_> {
    let object = if value { at.api()._Py_TrueStruct } else { at.api()._Py_FalseStruct };
    // SAFETY: `True` and `False` are never freed.
    unsafe { Object::borrowed(at, object.as_ptr()) }
}

pub(super) fn int(at: &Attached, value: i64) -> Result<Object<'_>, Exception> {
    // SAFETY: gives a new reference.
    unsafe { Object::owned(at, (at.api().PyLong_FromLongLong)(value)) }
}

pub(super) fn float(at: &Attached, value: f64) -> Result<Object<'_>, Exception> {
    // SAFETY: gives a new reference.
    unsafe { Object::owned(at, (at.api().PyFloat_FromDouble)(value)) }
}

pub(super) fn text<'a>(at: &'a Attached, value: &str) -> Result<Object<'a>, Exception> {
    // SAFETY: bytes of this length, which are copied; gives a new reference.
    unsafe {
        let (start, len) = (value.as_ptr().cast(), value.len() as isize);
        Object::owned(at, (at.api().PyUnicode_FromStringAndSize)(start, len))
    }
}

pub(super) fn bytes<'a>(at: &'a Attached, value: &[u8]) -> Result<Object<'a>, Exception> {
    // SAFETY: bytes of this length, which are copied; gives a new reference.
    unsafe {
        let (start, len) = (value.as_ptr().cast(), value.len() as isize);
        Object::owned(at, (at.api().PyBytes_FromStringAndSize)(start, len))
    }
}

pub(super) fn tuple<'a>(at: &'a Attached, items: Vec<Object<'a>>) -> Result<Object<'a>, Exception> {
    // SAFETY: a new tuple, filled at each index once by references that it takes over.
    unsafe {
        let tuple = Object::owned(at, (at.api().PyTuple_New)(items.len() as isize))?;
        for (i, item) in items.into_iter().enumerate() {
            (at.api().PyTuple_SetItem)(tuple.raw(), i as isize, item.into_raw());
        }
        Ok(tuple)
    }
}

pub(super) fn list<'a>(at: &'a Attached, items: Vec<Object<'a>>) -> Result<Object<'a>, Exception> {
    // SAFETY: a new list, filled at each index once by references that it takes over.
    unsafe {
        let list = Object::owned(at, (at.api().PyList_New)(items.len() as isize))?;
        for (i, item) in items.into_iter().enumerate() {
            (at.api().PyList_SetItem)(list.raw(), i as isize, item.into_raw());
        }
        Ok(list)
    }
}

pub(super) fn dict<'a>(
    at: &'a Attached,
    items: Vec<(Object<'a>, Object<'a>)>,
) -> Result<Object<'a>, Exception> {
    // SAFETY: a new dict; it counts the references that it takes.
    unsafe {
        let dict = Object::owned(at, (at.api().PyDict_New)())?;
        for (key, value) in items {
            if (at.api().PyDict_SetItem)(dict.raw(), key.raw(), value.raw()) != 0 {
                return Err(traceback::take(at));
            }
        }
        Ok(dict)
    }
}

/// Executes `source` as a module named `name`, whose tracebacks name `file`, and gives its globals.
pub(super) fn execute<'a>(
    at: &'a Attached,
    name: &CStr,
    file: &CStr,
    source: &str,
) -> Result<Object<'a>, Exception> {
    let source = CString::new(source).map_err(|_| Exception {
        kind: "ValueError".into(),
        message: "the source holds a zero".into(),
        traceback: String::new(),
        component: None,
    })?;
    // SAFETY: texts that end with a zero. The module and its dict are borrowed from the table of modules, which keeps
    // them; the others are new references.
    unsafe {
        let api = at.api();
        let code = (api.Py_CompileString)(source.as_ptr(), file.as_ptr(), FILE_INPUT);
        let code = Object::owned(at, code)?;
        let module = (api.PyImport_AddModule)(name.as_ptr());
        if module.is_null() {
            return Err(traceback::take(at));
        }
        let globals = Object::borrowed(at, (api.PyModule_GetDict)(module));
        Object::owned(at, (api.PyEval_EvalCode)(code.raw(), globals.raw(), globals.raw()))?;
        Ok(globals)
    }
}

/// An entry of a dict.
pub(super) fn entry<'a>(dict: &Object<'a>, key: &CStr) -> Option<Object<'a>> {
    // SAFETY: a dict and a key that ends with a zero; gives null or a reference that the dict keeps.
    unsafe {
        let found = (dict.at.api().PyDict_GetItemString)(dict.raw(), key.as_ptr());
        (!found.is_null()).then(|| Object::borrowed(dict.at, found))
    }
}

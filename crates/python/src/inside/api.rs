//! The functions and objects of one copy of libpython, found by name.
//!
//! Only what every version from 3.10 to 3.14 has, but for the two ways to configure a start. Layouts that are relied on:
//! the head of an object (count of references, then type), `Py_buffer` (part of the stable interface since 3.11, the
//! same in 3.10), `PyStatus`, `PyType_Slot` and `PyType_Spec`.
#![allow(unsafe_code)] // addresses become functions
#![allow(non_snake_case)] // the names of C

use std::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void};
use std::ptr::NonNull;

use super::namespace::Namespace;
use crate::StartError;

/// A pointer to an object of Python.
pub(super) type PyObject = *mut c_void;
pub(super) type PyThreadState = *mut c_void;
pub(super) type PyInterpreterState = *mut c_void;
pub(super) type PyInitConfig = *mut c_void;

/// The head of every object.
#[repr(C)]
pub(super) struct PyHead {
    /// The count of references; from 3.12 on its lower half only.
    pub references: u32,
    pub rest: u32,
    pub kind: PyObject,
}

/// The outcome of a step of the start.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PyStatus {
    /// 0 is success.
    pub kind: c_int,
    pub function: *const c_char,
    pub message: *const c_char,
    pub exit_code: c_int,
}

/// Memory that an object shows.
#[repr(C)]
pub(super) struct PyBuffer {
    pub buf: *mut c_void,
    pub obj: PyObject,
    pub len: isize,
    pub itemsize: isize,
    pub readonly: c_int,
    pub ndim: c_int,
    pub format: *mut c_char,
    pub shape: *mut isize,
    pub strides: *mut isize,
    pub suboffsets: *mut isize,
    pub internal: *mut c_void,
}

impl PyBuffer {
    pub(super) const fn empty() -> PyBuffer {
        let null = std::ptr::null_mut();
        PyBuffer {
            buf: null,
            obj: null,
            len: 0,
            itemsize: 0,
            readonly: 0,
            ndim: 0,
            format: std::ptr::null_mut(),
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            suboffsets: std::ptr::null_mut(),
            internal: null,
        }
    }
}

/// One function of a type.
#[repr(C)]
pub(super) struct PyTypeSlot {
    pub slot: c_int,
    pub function: *mut c_void,
}

/// What a type is made of.
#[repr(C)]
pub(super) struct PyTypeSpec {
    pub name: *const c_char,
    pub basicsize: c_int,
    pub itemsize: c_int,
    pub flags: c_uint,
    pub slots: *mut PyTypeSlot,
}

macro_rules! api {
    (functions { $($name:ident: fn($($arg:ty),*) $(-> $result:ty)?;)* }
     optional { $($optional:ident: fn($($oarg:ty),*) $(-> $oresult:ty)?;)* }
     objects { $($object:ident;)* }) => {
        /// The table of one copy.
        pub(super) struct Api {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
            $(pub $optional: Option<unsafe extern "C" fn($($oarg),*) $(-> $oresult)?>,)*
            $(pub $object: NonNull<c_void>,)*
        }

        impl Api {
            /// Finds everything in the library of a namespace.
            ///
            /// # Errors
            /// [`StartError::Symbol`].
            pub(super) fn of(library: &Namespace) -> Result<Api, StartError> {
                Ok(Api {
                    $($name: {
                        let address = library.symbol(name(concat!(stringify!($name), "\0")))?;
                        // SAFETY: the address of the function of this name, whose signature is that of the headers of
                        // every version from 3.10 to 3.14.
                        unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($arg),*) $(-> $result)?>(address) }
                    },)*
                    $($optional: {
                        let address = library.symbol(name(concat!(stringify!($optional), "\0"))).ok();
                        // SAFETY: as above, of the versions that have it.
                        address.map(|address| unsafe {
                            std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($oarg),*) $(-> $oresult)?>(address)
                        })
                    },)*
                    $($object: library.symbol(name(concat!(stringify!($object), "\0")))?,)*
                })
            }
        }
    };
}

const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

api! {
    functions {
        Py_GetVersion: fn() -> *const c_char;
        PyInterpreterState_Get: fn() -> PyInterpreterState;
        PyEval_SaveThread: fn() -> PyThreadState;
        PyEval_RestoreThread: fn(PyThreadState);
        PyThreadState_New: fn(PyInterpreterState) -> PyThreadState;
        PyThreadState_Clear: fn(PyThreadState);
        PyThreadState_DeleteCurrent: fn();
        PyThreadState_SetAsyncExc: fn(c_ulong, PyObject) -> c_int;
        PyGILState_Ensure: fn() -> c_int;
        PyGILState_Release: fn(c_int);
        PyGILState_Check: fn() -> c_int;
        PyGILState_GetThisThreadState: fn() -> PyThreadState;
        Py_IncRef: fn(PyObject);
        Py_DecRef: fn(PyObject);
        PyImport_AddModule: fn(*const c_char) -> PyObject;
        PyModule_GetDict: fn(PyObject) -> PyObject;
        Py_CompileString: fn(*const c_char, *const c_char, c_int) -> PyObject;
        PyEval_EvalCode: fn(PyObject, PyObject, PyObject) -> PyObject;
        PyObject_Call: fn(PyObject, PyObject, PyObject) -> PyObject;
        PyObject_Str: fn(PyObject) -> PyObject;
        PyObject_Type: fn(PyObject) -> PyObject;
        PyObject_IsTrue: fn(PyObject) -> c_int;
        PyObject_Free: fn(*mut c_void);
        PyObject_GetAttrString: fn(PyObject, *const c_char) -> PyObject;
        PyObject_CheckBuffer: fn(PyObject) -> c_int;
        PyObject_GetBuffer: fn(PyObject, *mut PyBuffer, c_int) -> c_int;
        PyBuffer_Release: fn(*mut PyBuffer);
        PyBuffer_FillInfo: fn(*mut PyBuffer, PyObject, *mut c_void, isize, c_int, c_int) -> c_int;
        PyBuffer_IsContiguous: fn(*const PyBuffer, c_char) -> c_int;
        PyBuffer_ToContiguous: fn(*mut c_void, *const PyBuffer, isize, c_char) -> c_int;
        PyType_FromSpec: fn(*mut PyTypeSpec) -> PyObject;
        PyType_GenericAlloc: fn(PyObject, isize) -> PyObject;
        PyType_IsSubtype: fn(PyObject, PyObject) -> c_int;
        PyTuple_New: fn(isize) -> PyObject;
        PyTuple_SetItem: fn(PyObject, isize, PyObject) -> c_int;
        PyTuple_GetItem: fn(PyObject, isize) -> PyObject;
        PyTuple_Size: fn(PyObject) -> isize;
        PyList_New: fn(isize) -> PyObject;
        PyList_SetItem: fn(PyObject, isize, PyObject) -> c_int;
        PyList_GetItem: fn(PyObject, isize) -> PyObject;
        PyList_Size: fn(PyObject) -> isize;
        PyDict_New: fn() -> PyObject;
        PyDict_SetItem: fn(PyObject, PyObject, PyObject) -> c_int;
        PyDict_GetItemString: fn(PyObject, *const c_char) -> PyObject;
        PyDict_Next: fn(PyObject, *mut isize, *mut PyObject, *mut PyObject) -> c_int;
        PyUnicode_FromStringAndSize: fn(*const c_char, isize) -> PyObject;
        PyUnicode_AsUTF8AndSize: fn(PyObject, *mut isize) -> *const c_char;
        PyBytes_FromStringAndSize: fn(*const c_char, isize) -> PyObject;
        PyBytes_AsString: fn(PyObject) -> *const c_char;
        PyBytes_Size: fn(PyObject) -> isize;
        PyByteArray_AsString: fn(PyObject) -> *const c_char;
        PyByteArray_Size: fn(PyObject) -> isize;
        PyLong_FromLongLong: fn(c_longlong) -> PyObject;
        PyLong_AsLongLongAndOverflow: fn(PyObject, *mut c_int) -> c_longlong;
        PyFloat_FromDouble: fn(f64) -> PyObject;
        PyFloat_AsDouble: fn(PyObject) -> f64;
        PyErr_Clear: fn();
        PyErr_Fetch: fn(*mut PyObject, *mut PyObject, *mut PyObject);
        PyErr_NormalizeException: fn(*mut PyObject, *mut PyObject, *mut PyObject);
        PyException_SetTraceback: fn(PyObject, PyObject) -> c_int;
    }
    optional {
        PyPreConfig_InitIsolatedConfig: fn(*mut c_int);
        Py_PreInitialize: fn(*const c_int) -> PyStatus;
        PyConfig_InitIsolatedConfig: fn(*mut u8);
        PyConfig_SetBytesString: fn(*mut u8, *mut u8, *const c_char) -> PyStatus;
        PyConfig_Clear: fn(*mut u8);
        Py_InitializeFromConfig: fn(*const u8) -> PyStatus;
        PyInitConfig_Create: fn() -> PyInitConfig;
        PyInitConfig_Free: fn(PyInitConfig);
        PyInitConfig_SetInt: fn(PyInitConfig, *const c_char, i64) -> c_int;
        PyInitConfig_SetStr: fn(PyInitConfig, *const c_char, *const c_char) -> c_int;
        PyInitConfig_GetError: fn(PyInitConfig, *mut *const c_char) -> c_int;
        Py_InitializeFromInitConfig: fn(PyInitConfig) -> c_int;
    }
    objects {
        _Py_NoneStruct;
        _Py_TrueStruct;
        _Py_FalseStruct;
        PyBool_Type;
        PyLong_Type;
        PyFloat_Type;
        PyUnicode_Type;
        PyBytes_Type;
        PyByteArray_Type;
        PyList_Type;
        PyTuple_Type;
        PyDict_Type;
    }
}

/// `PyThreadState_SetAsyncExc` takes `unsigned long` since 3.7.
const _: () = assert!(size_of::<c_ulong>() == size_of::<c_long>());

/// `Py_file_input`: a whole module.
pub(super) const FILE_INPUT: c_int = 257;
/// `PyBUF_FORMAT | PyBUF_STRIDES`, to read.
pub(super) const BUFFER_STRIDED: c_int = 0x0004 | 0x0010 | 0x0008;
/// Slots of types.
pub(super) const BF_GETBUFFER: c_int = 1;
pub(super) const TP_CALL: c_int = 50;
pub(super) const TP_DEALLOC: c_int = 52;
/// `Py_TPFLAGS_DEFAULT | DISALLOW_INSTANTIATION | IMMUTABLETYPE`.
pub(super) const TYPE_FLAGS: c_uint = (1 << 18) | (1 << 7) | (1 << 8);

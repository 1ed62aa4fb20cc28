//! Tensors and arrays over the same memory.
//!
//! Out: an object of a type of our own shows the bytes of a tensor, read-only, and holds the tensor until the last array
//! over it is gone. In: an array over such an object is a part of its tensor. One that nobody else in the interpreter can
//! reach is read where it lies, and held until the last tensor over it is gone; others are copied, for code that still has
//! them may write to them.
#![allow(unsafe_code)] // the buffer protocol

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use stead_tensor::{AlignedBuf, DType, Shape, SharedBytes, Tensor};

use super::api::{
    Api, BF_GETBUFFER, BUFFER_STRIDED, PyBuffer, PyHead, PyObject, PyTypeSlot, PyTypeSpec,
    TP_DEALLOC, TYPE_FLAGS,
};
use super::object::{self, Object};
use super::python::{Attached, Python, Returned};
use super::{convert, traceback};
use crate::value::{no_numpy_type, numpy_name};
use crate::{CallError, Exception, Value};

/// Arrays below this many bytes are copied: cheaper than holding them.
const HELD_FROM: usize = 4096;

/// An object that shows a tensor.
#[repr(C)]
struct BufferObject {
    head: PyHead,
    shown: *mut Shown,
}

struct Shown {
    tensor: Tensor,
    api: &'static Api,
}

/// The type of buffers, which code cannot make or change.
pub(super) fn make_type(at: &Attached) -> Result<Object<'_>, Exception> {
    // Both outlive the type, which outlives all.
    let slots = Box::leak(Box::new([
        PyTypeSlot { slot: BF_GETBUFFER, function: get_buffer as *mut c_void },
        PyTypeSlot { slot: TP_DEALLOC, function: deallocate as *mut c_void },
        PyTypeSlot { slot: 0, function: std::ptr::null_mut() },
    ]));
    let spec = Box::leak(Box::new(PyTypeSpec {
        name: c"stead.Buffer".as_ptr(),
        basicsize: size_of::<BufferObject>() as c_int,
        itemsize: 0,
        flags: TYPE_FLAGS,
        slots: slots.as_mut_ptr(),
    }));
    // SAFETY: a specification whose slots end with 0 and whose functions have the signatures of their slots.
    unsafe { Object::owned(at, (at.api().PyType_FromSpec)(spec)) }
}

/// # Safety
/// Called by Python for an object of the type above.
unsafe extern "C" fn get_buffer(object: PyObject, view: *mut PyBuffer, flags: c_int) -> c_int {
    // SAFETY: an object of this type, whose `shown` was set when it was made; the tensor never changes or moves its
    // bytes while it is there, and Python keeps the object while a view is out. 1 stands for read-only.
    unsafe {
        let shown = (*object.cast::<BufferObject>()).shown;
        debug_assert!(!shown.is_null());
        let bytes = (*shown).tensor.bytes();
        let (start, len) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as isize);
        ((*shown).api.PyBuffer_FillInfo)(view, object, start, len, 1, flags)
    }
}

/// # Safety
/// Called by Python for an object of the type above, once.
unsafe extern "C" fn deallocate(object: PyObject) {
    // SAFETY: as above; nobody has a view any more. The object is freed as `PyType_GenericAlloc` made it, and its type,
    // which counts its objects, is given back.
    unsafe {
        let kind = (*object.cast::<PyHead>()).kind;
        let shown = (*object.cast::<BufferObject>()).shown;
        debug_assert!(!shown.is_null());
        let api = (*shown).api;
        drop(Box::from_raw(shown));
        (api.PyObject_Free)(object);
        (api.Py_DecRef)(kind);
    }
}

/// A read-only array over a tensor.
pub(super) fn show<'a>(
    at: &'a Attached,
    tensor: &Tensor,
    place: &str,
) -> Result<Object<'a>, CallError> {
    let dtype = tensor.dtype();
    if dtype == DType::String {
        return strings(at, tensor);
    }
    let name = numpy_name(dtype).ok_or_else(|| CallError::Argument(no_numpy_type(place, dtype)))?;
    let runtime = at.python.runtime().ok_or_else(not_loaded)?;
    let made = || {
        let buffer = make(at, &runtime.buffer.get(at), tensor)?;
        let name = object::text(at, name)?;
        runtime.tensor.get(at).call(vec![buffer, name, dims(at, tensor)?], None)
    };
    made().map_err(|e| CallError::Raised(Box::new(e)))
}

/// The shape as a tuple.
fn dims<'a>(at: &'a Attached, tensor: &Tensor) -> Result<Object<'a>, Exception> {
    let shape = tensor.shape();
    let dims = shape.iter().map(|&dim| object::int(at, dim as i64));
    object::tuple(at, dims.collect::<Result<_, _>>()?)
}

/// An array of copies of strings.
fn strings<'a>(at: &'a Attached, tensor: &Tensor) -> Result<Object<'a>, CallError> {
    let runtime = at.python.runtime().ok_or_else(not_loaded)?;
    let made = || {
        let values = tensor.view().strings().iter().map(|value| object::bytes(at, value));
        let values = object::list(at, values.collect::<Result<_, _>>()?)?;
        runtime.strings.get(at).call(vec![values, dims(at, tensor)?], None)
    };
    made().map_err(|e| CallError::Raised(Box::new(e)))
}

pub(super) fn not_loaded() -> CallError {
    CallError::Died("stead's own code is not loaded in it".to_owned())
}

/// An object of the type of buffers that shows a tensor.
pub(super) fn make<'a>(
    at: &'a Attached,
    kind: &Object<'a>,
    tensor: &Tensor,
) -> Result<Object<'a>, Exception> {
    // SAFETY: a type of `make_type`: the object has room for a `BufferObject`, zeroed behind its head, and its field is
    // set before anybody else sees it.
    unsafe {
        let made = Object::owned(at, (at.api().PyType_GenericAlloc)(kind.raw(), 0))?;
        let shown = Box::new(Shown { tensor: tensor.clone(), api: at.api() });
        (*made.raw().cast::<BufferObject>()).shown = Box::into_raw(shown);
        Ok(made)
    }
}

/// A tensor of an array. `alone` says that nothing but `object` holds it.
pub(super) fn take(object: &Object<'_>, alone: bool, place: &str) -> Result<Tensor, CallError> {
    let refusal = match shown(object, alone, None, place) {
        Err(refusal @ (CallError::Raised(_) | CallError::Returned(_))) => refusal,
        found => return found,
    };
    let raised = |e: Exception| CallError::Raised(Box::new(e));
    let runtime = object.at.python.runtime().ok_or_else(not_loaded)?;
    let exotic = runtime.exotic.get(object.at).call(vec![object.again()], None).map_err(raised)?;
    if exotic.is(object.at.api()._Py_NoneStruct) {
        return Err(refusal);
    }
    let parts = exotic.items().map_err(raised)?;
    match parts.as_slice() {
        [bits] => shown(bits, false, Some(DType::BF16), place),
        _ => of_strings(convert::from_python(&exotic, place)?, place),
    }
}

/// A tensor of the list of its strings and the list of its sizes.
fn of_strings(parts: Value, place: &str) -> Result<Tensor, CallError> {
    let refused = |text: String| CallError::Returned(format!("{place}: {text}"));
    let lists = match parts {
        Value::List(parts) => <[Value; 2]>::try_from(parts).ok(),
        _ => None,
    };
    let Some([Value::List(strings), Value::List(sizes)]) = lists else {
        return Err(refused("its strings cannot be read".to_owned()));
    };
    let string = |value| if let Value::Bytes(bytes) = value { Some(bytes) } else { None };
    let size = |value| if let Value::Int(size) = value { usize::try_from(size).ok() } else { None };
    let strings = strings.into_iter().filter_map(string).collect();
    let sizes: Vec<usize> = sizes.into_iter().filter_map(size).collect();
    Tensor::from_strings(strings, &sizes).map_err(|e| refused(e.to_string()))
}

/// A tensor of the buffer that an object shows, of elements of `dtype` if they are not what the buffer says.
fn shown(
    object: &Object<'_>,
    alone: bool,
    dtype: Option<DType>,
    place: &str,
) -> Result<Tensor, CallError> {
    let at = object.at;
    let api = at.api();
    let raised = |e: Exception| CallError::Raised(Box::new(e));
    let owns = alone && {
        let runtime = at.python.runtime().ok_or_else(not_loaded)?;
        let owns = runtime.owns.get(at).call(vec![object.again()], None).map_err(raised)?;
        owns.is_true().map_err(raised)?
    };
    let mut view = View::of(object).map_err(raised)?;
    let of_place = |text: String| CallError::Returned(format!("{place}: {text}"));
    let own = element_type(view.format(), view.0.itemsize).map_err(of_place)?;
    let dtype = dtype.unwrap_or(own);
    let dims: Vec<usize> = view.dims().iter().map(|&dim| dim as usize).collect();
    let shape = Shape::new(&dims).map_err(|e| of_place(e.to_string()))?;
    let len = view.0.len as usize;
    debug_assert_eq!(len, shape.byte_len(dtype));
    // SAFETY: a view that was got.
    let contiguous = unsafe { (api.PyBuffer_IsContiguous)(&*view.0, b'C' as c_char) } != 0;
    let in_place = contiguous && len >= HELD_FROM;
    let tensor = if let Some(bytes) = in_place.then(|| lent(object, &view.0)).flatten() {
        Tensor::from_shared(dtype, shape, bytes)
    } else if owns && in_place {
        let view = std::mem::replace(&mut view.0, Box::new(PyBuffer::empty()));
        let held = Held { python: at.python, view: Some(view) };
        let bytes = SharedBytes::new(Arc::new(held), 0..len);
        let bytes = bytes.ok_or_else(|| of_place("its length changed".to_owned()))?;
        Tensor::from_shared(dtype, shape, bytes)
    } else {
        let mut copy = AlignedBuf::zeroed(len).map_err(|e| of_place(e.to_string()))?;
        if len > 0 {
            let to = copy.as_mut_ptr().cast::<c_void>();
            // SAFETY: `to` has room for the view's length in bytes.
            if unsafe { (api.PyBuffer_ToContiguous)(to, &*view.0, view.0.len, b'C' as c_char) } != 0
            {
                return Err(raised(traceback::take(at)));
            }
        }
        Tensor::from_buffer(dtype, shape, copy)
    };
    tensor.map_err(|e| of_place(e.to_string()))
}

/// The bytes of a contiguous view of an array over a tensor of ours: a part of that tensor.
fn lent(object: &Object<'_>, view: &PyBuffer) -> Option<SharedBytes> {
    struct Lent(Tensor);
    impl AsRef<[u8]> for Lent {
        fn as_ref(&self) -> &[u8] {
            self.0.bytes()
        }
    }
    let at = object.at;
    let runtime = at.python.runtime()?;
    let origin = runtime.origin.get(at).call(vec![object.again()], None).ok()?;
    if !origin.is_a(NonNull::new(runtime.buffer.get(at).raw())?) {
        return None;
    }
    // SAFETY: an object of the type of `make_type`, alive, whose `shown` was set when it was made.
    let tensor = unsafe { (*(*origin.raw().cast::<BufferObject>()).shown).tensor.clone() };
    let begin = (view.buf as usize).checked_sub(tensor.bytes().as_ptr() as usize)?;
    let end = begin.checked_add(usize::try_from(view.len).ok()?)?;
    // Nothing where the view reaches beyond the tensor.
    SharedBytes::new(Arc::new(Lent(tensor)), begin..end)
}

/// A view that is released when it goes.
struct View<'a>(Box<PyBuffer>, &'a Attached);

impl<'a> View<'a> {
    fn of(object: &Object<'a>) -> Result<View<'a>, Exception> {
        // In a box: what Python writes there may point to itself.
        let mut view = Box::new(PyBuffer::empty());
        // SAFETY: fills the structure, or fails with an exception.
        let got = unsafe {
            (object.at.api().PyObject_GetBuffer)(object.raw(), &raw mut *view, BUFFER_STRIDED)
        };
        if got == 0 { Ok(View(view, object.at)) } else { Err(traceback::take(object.at)) }
    }

    fn dims(&self) -> &[isize] {
        if self.0.ndim == 0 || self.0.shape.is_null() {
            return &[];
        }
        // SAFETY: a view that was asked for with its shape has `ndim` sizes there.
        unsafe { std::slice::from_raw_parts(self.0.shape, self.0.ndim as usize) }
    }

    fn format(&self) -> &str {
        if self.0.format.is_null() {
            return "B";
        }
        // SAFETY: a text that ends with a zero and lives as long as the view.
        unsafe { CStr::from_ptr(self.0.format) }.to_str().unwrap_or("(not text)")
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        if !self.0.obj.is_null() {
            // SAFETY: got once, released once, under the lock.
            unsafe { (self.1.api().PyBuffer_Release)(&raw mut *self.0) };
        }
    }
}

/// An array of an interpreter that a tensor reads.
struct Held {
    python: &'static Python,
    view: Option<Box<PyBuffer>>,
}

// SAFETY: the memory is only read, and the view goes back to a thread of the interpreter to be released.
unsafe impl Send for Held {}
// SAFETY: as above; nothing in the interpreter can reach the array to write to it.
unsafe impl Sync for Held {}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        let view = self.view.as_ref().and_then(|view| Some((NonNull::new(view.buf)?, view.len)));
        let Some((start, len)) = view else { return &[] };
        debug_assert!(len >= 0);
        // SAFETY: a contiguous view of `len` bytes that is held while `self` is there.
        unsafe { std::slice::from_raw_parts(start.as_ptr().cast::<u8>(), len as usize) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(view) = self.view.take() {
            self.python.give_back(Returned(view));
        }
    }
}

/// The element type of a format of the module `struct`.
fn element_type(format: &str, size: isize) -> Result<DType, String> {
    let (order, code) = match format.as_bytes().first() {
        Some(b'@' | b'=' | b'<' | b'>' | b'!') => format.split_at(1),
        _ => ("@", format),
    };
    if matches!(order, ">" | "!") && size > 1 {
        let text = "an array in big-endian order cannot leave the interpreter; convert it with";
        return Err(format!("{text} .astype(array.dtype.newbyteorder('='))"));
    }
    let found = match (code, size) {
        ("?", 1) => DType::Bool,
        ("b" | "h" | "i" | "l" | "q" | "n", 1) => DType::I8,
        ("b" | "h" | "i" | "l" | "q" | "n", 2) => DType::I16,
        ("b" | "h" | "i" | "l" | "q" | "n", 4) => DType::I32,
        ("b" | "h" | "i" | "l" | "q" | "n", 8) => DType::I64,
        ("B" | "H" | "I" | "L" | "Q" | "N", 1) => DType::U8,
        ("B" | "H" | "I" | "L" | "Q" | "N", 2) => DType::U16,
        ("B" | "H" | "I" | "L" | "Q" | "N", 4) => DType::U32,
        ("B" | "H" | "I" | "L" | "Q" | "N", 8) => DType::U64,
        ("e", 2) => DType::F16,
        ("f", 4) => DType::F32,
        ("d", 8) => DType::F64,
        ("Zf", 8) => DType::C64,
        ("Zd", 16) => DType::C128,
        _ => {
            return Err(format!(
                "an array of elements {format:?} cannot leave the interpreter; return numbers, bool or texts"
            ));
        }
    };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_struct_are_element_types() {
        let cases: [(&str, isize, Result<DType, &str>); 10] = [
            ("f", 4, Ok(DType::F32)),
            ("<f", 4, Ok(DType::F32)),
            ("l", 8, Ok(DType::I64)),
            ("=l", 4, Ok(DType::I32)),
            ("?", 1, Ok(DType::Bool)),
            (">B", 1, Ok(DType::U8)),
            (">f", 4, Err("big-endian")),
            ("5s", 5, Err("elements \"5s\"")),
            ("O", 8, Err("elements \"O\"")),
            ("T{i:a:}", 4, Err("elements")),
        ];
        for (format, size, expected) in cases {
            match (element_type(format, size), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{format}"),
                (Err(text), Err(part)) => assert!(text.contains(part), "{format}: {text}"),
                (found, _) => panic!("{format}: {found:?}"),
            }
        }
    }
}

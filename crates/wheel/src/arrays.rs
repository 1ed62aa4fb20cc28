//! The memory of numpy's arrays.
#![allow(unsafe_code)] // numpy hands out and takes addresses

use std::ptr::NonNull;

use numpy::npyffi::{self, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use stead_tensor::AlignedBuf;

/// The bytes of an array whose elements lie one behind the other; `None` if they do not.
///
/// As everywhere in numpy, another thread that writes to the array meanwhile changes what is read; it cannot free or resize
/// it, since `array` holds it.
pub(crate) fn bytes_of<'a>(array: &'a Bound<'_, PyUntypedArray>) -> Option<&'a [u8]> {
    if !array.is_c_contiguous() {
        return None;
    }
    let len = array.shape().iter().product::<usize>() * array.dtype().itemsize();
    if len == 0 {
        // SAFETY: a slice of nothing at an address that is aligned for every type.
        return Some(unsafe {
            std::slice::from_raw_parts(NonNull::<u64>::dangling().as_ptr().cast(), 0)
        });
    }
    // SAFETY: the object is an array, checked by its type. A contiguous array has `len` bytes at `data`, which stay there
    // as long as it lives: numpy refuses to resize what somebody else holds.
    let bytes = unsafe {
        let data = (*array.as_array_ptr()).fields.data.cast_const().cast::<u8>();
        std::slice::from_raw_parts(data, len)
    };
    Some(bytes)
}

/// What an array over memory of the engine holds.
#[pyclass(frozen, module = "stead._engine")]
pub(crate) struct Memory(#[allow(dead_code, reason = "freed with the last array")] AlignedBuf);

/// An array over `buf`, which it owns; nothing is copied. `descr` and `dims` must say as many bytes.
pub(crate) fn array_over<'py>(
    py: Python<'py>,
    descr: Bound<'py, PyArrayDescr>,
    dims: &[usize],
    mut buf: AlignedBuf,
) -> PyResult<Bound<'py, PyAny>> {
    let len = dims.iter().product::<usize>() * descr.itemsize();
    if len != buf.len() {
        return Err(PyMemoryError::new_err(format!("{} bytes for an array of {len}", buf.len())));
    }
    let data = buf.as_mut_ptr();
    let memory = Py::new(py, Memory(buf))?;
    let mut sizes: Vec<npyffi::npy_intp> = dims.iter().map(|&n| n as npyffi::npy_intp).collect();
    // SAFETY: `data` are `len` bytes aligned to 64, as many as numpy computes from `descr` and `dims` without strides. They
    // belong to `memory` alone, whose reference goes to the array as its base, so that they are freed with it, and
    // nothing else reads or writes them. Both functions take the reference that they are given, and tell
    // of failures by null or a negative number with an exception set.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, NpyTypes::PyArray_Type),
            descr.into_dtype_ptr(),
            sizes.len() as std::ffi::c_int,
            sizes.as_mut_ptr(),
            std::ptr::null_mut(),
            data.cast(),
            NPY_ARRAY_WRITEABLE,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        let base = memory.into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

//! Inputs of a run: arrays of numpy, borrowed where they lie as the engine wants them.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use stead_engine::IoSpec;
use stead_tensor::{DType, Shape, TensorView};

use crate::errors::Kind;
use crate::{arrays, types};

/// What holds an input while it is used.
pub(crate) enum Held<'py> {
    /// An array of the input's type, contiguous and aligned.
    Array(Bound<'py, PyUntypedArray>),
    /// An array with the bytes of the input's elements, which are of this shape.
    Raw(Bound<'py, PyUntypedArray>, Shape),
    /// Texts.
    Strings(Vec<Vec<u8>>, Shape),
}

impl Held<'_> {
    /// The input as the engine takes it.
    pub fn view(&self, spec: &IoSpec, py: Python<'_>) -> PyResult<TensorView<'_>> {
        let wrong = |e: stead_tensor::TensorError| {
            Kind::InvalidArgument.error(py, format!("input \"{}\": {e}", spec.name))
        };
        let bytes = |array| {
            let lies = || Kind::RuntimeException.error(py, "an input is not contiguous");
            arrays::bytes_of(array).ok_or_else(lies)
        };
        match self {
            Held::Array(array) => {
                let shape = Shape::new(array.shape()).map_err(wrong)?;
                TensorView::from_bytes(spec.dtype, shape, bytes(array)?).map_err(wrong)
            }
            Held::Raw(array, shape) => {
                TensorView::from_bytes(spec.dtype, *shape, bytes(array)?).map_err(wrong)
            }
            Held::Strings(strings, shape) => {
                TensorView::from_strings(*shape, strings).map_err(wrong)
            }
        }
    }
}

/// Takes a value for an input: an array as it is if it can be borrowed, all else by way of `stead.inference.convert`.
pub(crate) fn hold<'py>(value: &Bound<'py, PyAny>, spec: &IoSpec) -> PyResult<Held<'py>> {
    if let Ok(array) = value.cast::<PyUntypedArray>()
        && is_borrowable(array, spec.dtype)
    {
        return Ok(Held::Array(array.clone()));
    }
    let py = value.py();
    static FEED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let feed = FEED.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("stead.inference.convert")?.getattr("feed")?.unbind())
    })?;
    let made = feed.bind(py).call1((value, types::onnx_name(spec.dtype), &spec.name))?;
    if let Ok(array) = made.cast::<PyUntypedArray>() {
        return Ok(Held::Array(array.clone()));
    }
    let (data, dims): (Bound<'py, PyAny>, Vec<usize>) = made.cast::<PyTuple>()?.extract()?;
    let too_large = |e| Kind::InvalidArgument.error(py, format!("input \"{}\": {e}", spec.name));
    let shape = Shape::new(&dims).map_err(too_large)?;
    match data.cast::<PyUntypedArray>() {
        Ok(array) => Ok(Held::Raw(array.clone(), shape)),
        Err(_) => Ok(Held::Strings(data.extract()?, shape)),
    }
}

/// Whether the elements of an array lie as the engine reads them.
fn is_borrowable(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> bool {
    types::of_numpy(&array.dtype()) == Some(dtype)
        && arrays::bytes_of(array)
            .is_some_and(|bytes| (bytes.as_ptr() as usize).is_multiple_of(dtype.size().clamp(1, 8)))
}

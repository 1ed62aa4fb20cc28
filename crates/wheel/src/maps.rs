//! Maps, which Python has as dicts.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use stead_engine::{IoSpec, Value};
use stead_tensor::DType;

use crate::feeds::{self, Held};

/// What the keys of an input are.
pub(crate) fn keys_of(spec: &IoSpec, key: DType) -> IoSpec {
    IoSpec { name: spec.name.clone(), dtype: key, dims: None, optional: false }
}

/// Takes a dict for an input that is a map.
pub(crate) fn hold<'py>(
    value: &Bound<'py, PyAny>,
    spec: &IoSpec,
    key: DType,
) -> PyResult<Value<Held<'py>>> {
    let Ok(dict) = value.cast::<PyDict>() else {
        let text = format!("Unable to handle object of type {}", value.get_type().repr()?);
        return Err(PyRuntimeError::new_err(text));
    };
    let keys = feeds::hold(dict.keys().as_any(), &keys_of(spec, key))?;
    Ok(Value::Map { keys, values: feeds::hold(dict.values().as_any(), spec)? })
}

/// The dict of an array of keys and one of values.
pub(crate) fn dict<'py>(
    keys: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    paired(&keys.call_method0("tolist")?, &values.call_method0("tolist")?)
}

/// A dict for each row of an array of values, all with the same keys.
pub(crate) fn list_of_dicts<'py>(
    keys: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let keys = keys.call_method0("tolist")?;
    let list = PyList::empty(keys.py());
    for row in values.call_method0("tolist")?.try_iter()? {
        list.append(paired(&keys, &row?)?)?;
    }
    Ok(list)
}

fn paired<'py>(
    keys: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(keys.py());
    for (key, value) in keys.try_iter()?.zip(values.try_iter()?) {
        made.set_item(key?, value?)?;
    }
    Ok(made)
}

//! Values to objects of Python and back.
#![allow(unsafe_code)] // the functions of C for each type

use std::ffi::{c_char, c_int};
use std::fmt;

use super::object::{self, Object};
use super::python::Attached;
use super::{buffer, traceback};
use crate::value::{MAX_DEPTH, RETURNABLE};
use crate::{CallError, Exception, Value};

fn raised(exception: Exception) -> CallError {
    CallError::Raised(Box::new(exception))
}

/// An object of a value. `place` names it in errors.
pub(super) fn to_python<'a>(
    at: &'a Attached,
    value: &Value,
    place: &dyn fmt::Display,
    depth: usize,
) -> Result<Object<'a>, CallError> {
    if depth > MAX_DEPTH {
        return Err(CallError::Argument(format!("{place} is nested deeper than {MAX_DEPTH}")));
    }
    let inner = |value: &Value| to_python(at, value, place, depth + 1);
    match value {
        Value::None => Ok(object::none(at)),
        Value::Bool(value) => Ok(object::boolean(at, *value)),
        Value::Int(value) => object::int(at, *value).map_err(raised),
        Value::Float(value) => object::float(at, *value).map_err(raised),
        Value::Str(value) => object::text(at, value).map_err(raised),
        Value::Bytes(value) => object::bytes(at, value).map_err(raised),
        Value::List(items) => {
            let items = items.iter().map(inner).collect::<Result<_, _>>()?;
            object::list(at, items).map_err(raised)
        }
        Value::Dict(items) => {
            let pair = |(key, value): &(String, Value)| {
                Ok((object::text(at, key).map_err(raised)?, inner(value)?))
            };
            let items = items.iter().map(pair).collect::<Result<_, CallError>>()?;
            object::dict(at, items).map_err(raised)
        }
        Value::Tensor(tensor) => buffer::show(at, tensor, &place.to_string()),
    }
}

/// Where a value lies in what code gives, for errors.
enum Place<'a> {
    Whole(&'a str),
    Item(&'a Place<'a>, usize),
    Key(&'a Place<'a>, &'a str),
}

impl Place<'_> {
    fn whole(&self) -> &str {
        match self {
            Place::Whole(name) => name,
            Place::Item(of, _) | Place::Key(of, _) => of.whole(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole(name) => f.write_str(name),
            Place::Item(of, i) => write!(f, "{of}[{i}]"),
            Place::Key(of, key) => write!(f, "{of}[{key:?}]"),
        }
    }
}

/// The value of what code gives, by what errors call it.
pub(super) fn from_python(object: &Object<'_>, name: &str) -> Result<Value, CallError> {
    // One reference, ours: nobody else in the interpreter can reach it.
    value_of(object, object.references() == 1, &Place::Whole(name), 0)
}

fn value_of(
    object: &Object<'_>,
    alone: bool,
    place: &Place<'_>,
    depth: usize,
) -> Result<Value, CallError> {
    let (at, api) = (object.at, object.at.api());
    if depth > MAX_DEPTH {
        return Err(CallError::Returned(format!(
            "{} is nested deeper than {MAX_DEPTH}",
            place.whole()
        )));
    }
    if object.is(api._Py_NoneStruct) {
        return Ok(Value::None);
    }
    if object.is_a(api.PyBool_Type) {
        return Ok(Value::Bool(object.is(api._Py_TrueStruct)));
    }
    if object.is_a(api.PyLong_Type) {
        return int(object, place);
    }
    if object.is_a(api.PyFloat_Type) {
        // SAFETY: a float.
        return Ok(Value::Float(unsafe { (api.PyFloat_AsDouble)(object.raw()) }));
    }
    if object.is_a(api.PyUnicode_Type) {
        return object.text().map(Value::Str).map_err(raised);
    }
    if object.is_a(api.PyBytes_Type) {
        // SAFETY: bytes: their start and their length.
        return unsafe {
            bytes((api.PyBytes_AsString)(object.raw()), (api.PyBytes_Size)(object.raw()))
        };
    }
    if object.is_a(api.PyByteArray_Type) {
        // SAFETY: a bytearray: its start and its length, copied before other code runs.
        return unsafe {
            bytes((api.PyByteArray_AsString)(object.raw()), (api.PyByteArray_Size)(object.raw()))
        };
    }
    if object.is_a(api.PyList_Type) {
        // SAFETY: a list. Its length is asked before each item, for the code of an item may change it.
        let item = |i| unsafe {
            (i < (api.PyList_Size)(object.raw())).then(|| (api.PyList_GetItem)(object.raw(), i))
        };
        return items(at, item, alone, place, depth);
    }
    if object.is_a(api.PyTuple_Type) {
        // SAFETY: a tuple.
        let item = |i| unsafe {
            (i < (api.PyTuple_Size)(object.raw())).then(|| (api.PyTuple_GetItem)(object.raw(), i))
        };
        return items(at, item, alone, place, depth);
    }
    if object.is_a(api.PyDict_Type) {
        return dict(object, alone, place, depth);
    }
    // SAFETY: a live object.
    if unsafe { (api.PyObject_CheckBuffer)(object.raw()) } != 0 {
        return buffer::take(object, alone, &place.to_string()).map(Value::Tensor);
    }
    Err(CallError::Returned(format!("{place} is of type {}; {RETURNABLE}", type_name(object))))
}

fn int(object: &Object<'_>, place: &Place<'_>) -> Result<Value, CallError> {
    let mut overflow: c_int = 0;
    // SAFETY: an int; the overflow is told apart from an exception, which an int does not raise.
    let value =
        unsafe { (object.at.api().PyLong_AsLongLongAndOverflow)(object.raw(), &raw mut overflow) };
    if overflow != 0 {
        return Err(CallError::Returned(format!("{place} is an int that does not fit 64 bits")));
    }
    Ok(Value::Int(value))
}

/// # Safety
/// A start that is null, or valid for `len` bytes.
unsafe fn bytes(start: *const c_char, len: isize) -> Result<Value, CallError> {
    if start.is_null() || len <= 0 {
        return Ok(Value::Bytes(Vec::new()));
    }
    // SAFETY: by the contract.
    Ok(Value::Bytes(unsafe { std::slice::from_raw_parts(start.cast(), len as usize) }.to_vec()))
}

/// The items of a sequence: `item` gives references that the sequence keeps, until it gives none.
fn items(
    at: &Attached,
    item: impl Fn(isize) -> Option<super::api::PyObject>,
    alone: bool,
    place: &Place<'_>,
    depth: usize,
) -> Result<Value, CallError> {
    let mut values = Vec::new();
    while let Some(object) = item(values.len() as isize) {
        if object.is_null() {
            return Err(raised(traceback::take(at)));
        }
        // SAFETY: not null, and kept by the sequence.
        let object = unsafe { Object::borrowed(at, object) };
        // The sequence's reference and ours.
        let alone = alone && object.references() == 2;
        let place = Place::Item(place, values.len());
        values.push(value_of(&object, alone, &place, depth + 1)?);
    }
    Ok(Value::List(values))
}

fn dict(
    object: &Object<'_>,
    alone: bool,
    place: &Place<'_>,
    depth: usize,
) -> Result<Value, CallError> {
    let (at, api) = (object.at, object.at.api());
    let mut pairs = Vec::new();
    let mut position = 0isize;
    let null = std::ptr::null_mut();
    let (mut key, mut value) = (null, null);
    // First all references: the code of a value may change the dict.
    // SAFETY: a dict that nothing changes meanwhile; gives references that it keeps.
    unsafe {
        while (api.PyDict_Next)(object.raw(), &raw mut position, &raw mut key, &raw mut value) != 0
        {
            pairs.push((Object::borrowed(at, key), Object::borrowed(at, value)));
        }
    }
    let mut values = Vec::with_capacity(pairs.len());
    for (key, value) in &pairs {
        if !key.is_a(api.PyUnicode_Type) {
            let kind = type_name(key);
            return Err(CallError::Returned(format!(
                "{place} has a key of type {kind}; {RETURNABLE}"
            )));
        }
        let key = key.text().map_err(raised)?;
        let alone = alone && value.references() == 2;
        let value = value_of(value, alone, &Place::Key(place, &key), depth + 1)?;
        values.push((key, value));
    }
    Ok(Value::Dict(values))
}

/// The name of the type of an object.
fn type_name(object: &Object<'_>) -> String {
    // SAFETY: a live object; gives a new reference to its type.
    let kind = unsafe { Object::owned(object.at, (object.at.api().PyObject_Type)(object.raw())) };
    let name = kind.and_then(|kind| kind.attribute(c"__name__")?.text());
    name.unwrap_or_else(|_| "(nameless)".to_owned())
}

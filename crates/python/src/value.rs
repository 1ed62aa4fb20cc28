//! Values that pass between stead and Python.

use stead_tensor::{DType, Tensor};

use crate::CallError;

/// How deep lists and dicts may be nested. A list that holds itself ends here too.
pub const MAX_DEPTH: usize = 64;

/// A plain value. What Python code returns is one of these or an error: a tuple becomes a list, `bytearray` becomes
/// bytes, and what has the buffer protocol (arrays and scalars of numpy, `array.array`, `memoryview`) becomes a tensor.
///
/// A tensor reaches Python as a read-only numpy array over the same memory, or as a `memoryview` where there is no numpy. One of
/// strings is an array of `bytes` objects, or nested lists of them; one of bfloat16 is of the type of `ml_dtypes`, or of
/// `uint16` with the bits where that is not installed.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `bool`.
    Bool(bool),
    /// `int`, of those that fit 64 bits.
    Int(i64),
    /// `float`.
    Float(f64),
    /// `str`.
    Str(String),
    /// `bytes`.
    Bytes(Vec<u8>),
    /// `list`.
    List(Vec<Value>),
    /// `dict` with keys of type `str`, in its order.
    Dict(Vec<(String, Value)>),
    /// An array.
    Tensor(Tensor),
}

impl Value {
    /// The tensor that it is.
    ///
    /// # Errors
    /// [`CallError::Returned`] of every other value.
    pub fn into_tensor(self) -> Result<Tensor, CallError> {
        let is = match self {
            Value::Tensor(tensor) => return Ok(tensor),
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Float(_) => "a float",
            Value::Str(_) => "a str",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dict",
        };
        Err(CallError::Returned(format!("the result is {is}, not an array")))
    }
}

macro_rules! from {
    ($($rust:ty => $variant:ident),*) => {
        $(impl From<$rust> for Value {
            fn from(value: $rust) -> Value { Value::$variant(value.into()) }
        })*
    };
}

from! {
    bool => Bool, i64 => Int, i32 => Int, f64 => Float, &str => Str, String => Str, &[u8] => Bytes, Vec<Value> => List,
    Tensor => Tensor
}

/// The name of an element type in numpy; `None` of those that numpy does not have.
#[must_use]
pub const fn numpy_name(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::F16 => "float16",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::Bool => "bool",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
        // Of ml_dtypes, where it is installed; `bootstrap.py` shows the bits as uint16 where it is not.
        DType::BF16 => "bfloat16",
        _ => return None,
    })
}

/// The element type with this name in numpy.
#[must_use]
pub fn from_numpy_name(name: &str) -> Option<DType> {
    DType::ALL.iter().copied().find(|&dtype| numpy_name(dtype) == Some(name))
}

/// The text of an error about a tensor whose type Python has no arrays of.
pub(crate) fn no_numpy_type(place: &str, dtype: DType) -> String {
    format!("{place}: numpy has no arrays of {dtype}; cast the tensor or pass a list")
}

/// What code may return, for errors.
pub(crate) const RETURNABLE: &str = "return None, bool, int, float, str, bytes, list, tuple, dict with keys of type str, or an array";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_numpy_lead_back() {
        for &dtype in DType::ALL {
            if let Some(name) = numpy_name(dtype) {
                assert_eq!(from_numpy_name(name), Some(dtype), "{name}");
            }
        }
        assert_eq!(from_numpy_name("object"), None);
    }
}

//! Element types by the names that ONNX gives them and by those of numpy.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use stead_tensor::DType;

/// Types that numpy itself does not have have numbers from here on.
const NOT_OF_NUMPY: i32 = 24;

/// The name inside of `tensor(...)`.
pub(crate) const fn onnx_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::U8 => "uint8",
        DType::I8 => "int8",
        DType::U16 => "uint16",
        DType::I16 => "int16",
        DType::U32 => "uint32",
        DType::I32 => "int32",
        DType::U64 => "uint64",
        DType::I64 => "int64",
        DType::String => "string",
        DType::Bool => "bool",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
        DType::F8E4M3FN => "float8e4m3fn",
        DType::F8E4M3FNUZ => "float8e4m3fnuz",
        DType::F8E5M2 => "float8e5m2",
        DType::F8E5M2FNUZ => "float8e5m2fnuz",
        DType::U4 => "uint4",
        DType::I4 => "int4",
        DType::F4E2M1 => "float4e2m1",
        DType::F8E8M0 => "float8e8m0",
        DType::U2 => "uint2",
        DType::I2 => "int2",
    }
}

/// The element type that numpy's arrays of this type hold in the same bytes; `None` for types that are not numpy's own,
/// objects and texts.
pub(crate) fn of_numpy(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    if descr.num() >= NOT_OF_NUMPY || descr.is_native_byteorder() == Some(false) {
        return None;
    }
    Some(match (descr.kind(), descr.itemsize()) {
        (b'f', 2) => DType::F16,
        (b'f', 4) => DType::F32,
        (b'f', 8) => DType::F64,
        (b'i', 1) => DType::I8,
        (b'i', 2) => DType::I16,
        (b'i', 4) => DType::I32,
        (b'i', 8) => DType::I64,
        (b'u', 1) => DType::U8,
        (b'u', 2) => DType::U16,
        (b'u', 4) => DType::U32,
        (b'u', 8) => DType::U64,
        (b'b', 1) => DType::Bool,
        (b'c', 8) => DType::C64,
        (b'c', 16) => DType::C128,
        _ => return None,
    })
}

/// The type of numpy's arrays over the bytes of an element type, and whether it is the same type: others are numbers of as
/// many bits, packed ones bytes.
pub(crate) fn to_numpy(py: Python<'_>, dtype: DType) -> (Bound<'_, PyArrayDescr>, bool) {
    use numpy::dtype as of;
    match dtype {
        DType::F32 => (of::<f32>(py), true),
        DType::F64 => (of::<f64>(py), true),
        DType::U8 => (of::<u8>(py), true),
        DType::I8 => (of::<i8>(py), true),
        DType::U16 => (of::<u16>(py), true),
        DType::I16 => (of::<i16>(py), true),
        DType::U32 => (of::<u32>(py), true),
        DType::I32 => (of::<i32>(py), true),
        DType::U64 => (of::<u64>(py), true),
        DType::I64 => (of::<i64>(py), true),
        DType::Bool => (of::<bool>(py), true),
        DType::C64 => (of::<numpy::Complex32>(py), true),
        DType::C128 => (of::<numpy::Complex64>(py), true),
        DType::F16 | DType::BF16 => (of::<u16>(py), false),
        _ => (of::<u8>(py), false),
    }
}

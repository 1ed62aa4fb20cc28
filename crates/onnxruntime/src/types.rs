//! Types of ONNX Runtime in stead's terms.

use crate::NAME;
use ort::value::{Outlet, TensorElementType, ValueType};
use stead_engine::{BackendError, Dim, IoSpec};
use stead_tensor::DType;

/// An element type that both exchange.
pub(crate) fn dtype(ty: TensorElementType) -> Option<DType> {
    Some(match ty {
        TensorElementType::Float32 => DType::F32,
        TensorElementType::Float64 => DType::F64,
        TensorElementType::Float16 => DType::F16,
        TensorElementType::Bfloat16 => DType::BF16,
        TensorElementType::Int8 => DType::I8,
        TensorElementType::Int16 => DType::I16,
        TensorElementType::Int32 => DType::I32,
        TensorElementType::Int64 => DType::I64,
        TensorElementType::Uint8 => DType::U8,
        TensorElementType::Uint16 => DType::U16,
        TensorElementType::Uint32 => DType::U32,
        TensorElementType::Uint64 => DType::U64,
        TensorElementType::Bool => DType::Bool,
        TensorElementType::String => DType::String,
        _ => return None,
    })
}

/// The name, type and dimensions of an input or output.
///
/// # Errors
/// [`BackendError::Type`].
pub(crate) fn spec(direction: &'static str, outlet: &Outlet) -> Result<IoSpec, BackendError> {
    let refused = || BackendError::Type {
        direction,
        name: outlet.name().to_owned(),
        actual: outlet.dtype().to_string(),
        backend: NAME,
    };
    let ValueType::Tensor { ty, shape, dimension_symbols } = outlet.dtype() else {
        return Err(refused());
    };
    let dim = |(at, &size): (usize, &i64)| match (usize::try_from(size), dimension_symbols.get(at))
    {
        (Ok(size), _) => Dim::Known(size),
        (Err(_), Some(name)) if !name.is_empty() => Dim::Symbol(name.clone()),
        (Err(_), _) => Dim::Unknown,
    };
    // ONNX Runtime tells a scalar and an unknown rank by the same empty shape.
    let dims = (!shape.is_empty()).then(|| shape.iter().enumerate().map(dim).collect());
    Ok(IoSpec {
        name: outlet.name().to_owned(),
        dtype: dtype(*ty).ok_or_else(refused)?,
        dims,
        optional: false,
    })
}

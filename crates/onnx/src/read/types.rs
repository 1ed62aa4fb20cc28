//! Declared types.

use super::check_name;
use crate::{Dim, Limits, OnnxError, ValueInfo, ValueType, error::quote, proto};
use proto::tensor_shape_proto::dimension;
use proto::type_proto::Value;
use stead_tensor::{DType, Shape};

/// A value and its type.
pub(super) fn read_value_info(
    info: proto::ValueInfoProto,
    limits: &Limits,
) -> Result<ValueInfo, OnnxError> {
    let name = info.name.unwrap_or_default();
    check_name("value", &name, limits)?;
    let ty = match info.r#type {
        Some(ty) => read_type(ty, &name)?,
        None => ValueType::Unknown,
    };
    Ok(ValueInfo { name, ty })
}

/// A type; `of` is the name of the value or attribute that has it. The depth is bounded by the decoder.
pub(super) fn read_type(ty: proto::TypeProto, of: &str) -> Result<ValueType, OnnxError> {
    let inner = |ty: Option<Box<proto::TypeProto>>| match ty {
        Some(ty) => read_type(*ty, of).map(Box::new),
        None => Ok(Box::new(ValueType::Unknown)),
    };
    Ok(match ty.value {
        None => ValueType::Unknown,
        Some(Value::TensorType(t)) => match read_dtype(t.elem_type(), of)? {
            None => ValueType::Unknown,
            Some(dtype) => ValueType::Tensor { dtype, dims: read_dims(t.shape, of)? },
        },
        Some(Value::SparseTensorType(t)) => match read_dtype(t.elem_type(), of)? {
            None => ValueType::Unknown,
            Some(dtype) => ValueType::SparseTensor { dtype, dims: read_dims(t.shape, of)? },
        },
        Some(Value::SequenceType(t)) => ValueType::Sequence(inner(t.elem_type)?),
        Some(Value::OptionalType(t)) => ValueType::Optional(inner(t.elem_type)?),
        Some(Value::MapType(t)) => match read_dtype(t.key_type(), of)? {
            None => ValueType::Unknown,
            Some(key) => ValueType::Map { key, value: inner(t.value_type)? },
        },
        Some(Value::OpaqueType(t)) => ValueType::Opaque {
            domain: t.domain.unwrap_or_default(),
            name: t.name.unwrap_or_default(),
        },
    })
}

/// The element type of a number, `None` for 0, which stands for "not said".
pub(super) fn read_dtype(number: i32, of: &str) -> Result<Option<DType>, OnnxError> {
    match DType::from_onnx_number(number) {
        None if number != 0 => Err(OnnxError::UnknownNumber {
            place: quote(of),
            what: "element type",
            number: number.into(),
        }),
        dtype => Ok(dtype),
    }
}

/// A negative size counts as unknown: some exporters write -1 for it.
fn read_dims(
    shape: Option<proto::TensorShapeProto>,
    of: &str,
) -> Result<Option<Vec<Dim>>, OnnxError> {
    let Some(shape) = shape else { return Ok(None) };
    let dims: Vec<Dim> = shape
        .dim
        .into_iter()
        .map(|dim| match dim.value {
            Some(dimension::Value::DimValue(n)) => {
                usize::try_from(n).map_or(Dim::Unknown, Dim::Known)
            }
            Some(dimension::Value::DimParam(name)) if !name.is_empty() => Dim::Symbol(name),
            _ => Dim::Unknown,
        })
        .collect();
    let known: Vec<usize> = dims.iter().map(|dim| dim.known().unwrap_or(1)).collect();
    Shape::new(&known).map_err(|reason| OnnxError::DeclaredShape { value: quote(of), reason })?;
    Ok(Some(dims))
}

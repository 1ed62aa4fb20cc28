//! Tensors there and back.

use crate::types::dtype;
use ort::session::SessionInputValue;
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor as OrtTensor, TensorRef, ValueType};
use std::fmt::Debug;
use stead_engine::BackendError;
use stead_tensor::{Bool, DType, Element, Shape, Tensor, TensorView};

/// Applies a macro to every element type that both sides lay out in the same way.
macro_rules! plain_types {
    ($on:expr, $apply:ident, $else:expr) => {
        match $on {
            DType::F32 => $apply!(f32),
            DType::F64 => $apply!(f64),
            DType::F16 => $apply!(half::f16),
            DType::BF16 => $apply!(half::bf16),
            DType::I8 => $apply!(i8),
            DType::I16 => $apply!(i16),
            DType::I32 => $apply!(i32),
            DType::I64 => $apply!(i64),
            DType::U8 => $apply!(u8),
            DType::U16 => $apply!(u16),
            DType::U32 => $apply!(u32),
            DType::U64 => $apply!(u64),
            other => $else(other),
        }
    };
}

/// A tensor for ONNX Runtime: the elements where they lie, except for truth values, strings and what is not aligned.
///
/// # Errors
/// [`BackendError::Input`] for element types and strings that ONNX Runtime does not take.
pub(crate) fn input(view: TensorView<'_>) -> Result<SessionInputValue<'_>, BackendError> {
    let dims = dims(view.shape());
    macro_rules! plain {
        ($type:ty) => {
            numbers::<$type>(view, dims)
        };
    }
    plain_types!(view.dtype(), plain, |other| match other {
        DType::Bool => {
            // A byte of a request may be neither 0 nor 1, which ONNX Runtime would read as it likes.
            let values: Vec<bool> = view.bytes().iter().map(|&b| Bool(b).get()).collect();
            Ok(OrtTensor::from_array((dims, values)).map_err(refused)?.into())
        }
        DType::String => {
            let texts = view.strings().iter().map(|s| String::from_utf8(s.clone()));
            let texts: Vec<String> = texts.collect::<Result<_, _>>().map_err(|_| {
                let text = "a string that is not UTF-8, which onnxruntime does not take";
                BackendError::Input(text.to_owned())
            })?;
            let tensor = OrtTensor::from_string_array((dims, texts.as_slice())).map_err(refused)?;
            Ok(tensor.into())
        }
        other =>
            Err(BackendError::Input(format!("onnxruntime is not given tensors of type {other}"))),
    })
}

fn numbers<T>(view: TensorView<'_>, dims: Vec<i64>) -> Result<SessionInputValue<'_>, BackendError>
where
    T: Element + PrimitiveTensorElementType + Debug + Clone,
{
    Ok(match view.as_slice::<T>() {
        Ok(values) => TensorRef::from_array_view((dims, values)).map_err(refused)?.into(),
        Err(_) => {
            let copy = view.to_tensor()?.as_slice::<T>()?.to_vec();
            OrtTensor::from_array((dims, copy)).map_err(refused)?.into()
        }
    })
}

/// Shows an output of ONNX Runtime where it lies.
///
/// # Errors
/// [`BackendError::Run`] for values that stead has no tensor for.
pub(crate) fn output(
    value: &DynValue,
    show: impl FnOnce(TensorView<'_>),
) -> Result<(), BackendError> {
    let failed = |e: ort::Error| BackendError::Run(e.to_string());
    let unknown = || BackendError::Run(format!("stead has no tensor for a {}", value.dtype()));
    let ValueType::Tensor { ty, shape, .. } = value.dtype() else { return Err(unknown()) };
    let dtype = dtype(*ty).ok_or_else(unknown)?;
    let dims: Vec<usize> = shape.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect();
    let shape = Shape::new(&dims)?;
    macro_rules! plain {
        ($type:ty) => {{
            let (_, values) = value.try_extract_tensor::<$type>().map_err(failed)?;
            show(TensorView::from_bytes(dtype, shape, bytemuck::cast_slice(values))?);
            Ok(())
        }};
    }
    plain_types!(dtype, plain, |_| match dtype {
        DType::Bool => {
            let (_, values) = value.try_extract_tensor::<bool>().map_err(failed)?;
            show(TensorView::from_bytes(dtype, shape, bytemuck::cast_slice(values))?);
            Ok(())
        }
        _ => {
            let (_, texts) = value.try_extract_strings().map_err(failed)?;
            let strings = texts.into_iter().map(String::into_bytes).collect();
            show(Tensor::from_strings(strings, &shape)?.view());
            Ok(())
        }
    })
}

fn dims(shape: Shape) -> Vec<i64> {
    // Sizes of tensors in memory fit.
    shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect()
}

fn refused(error: ort::Error) -> BackendError {
    BackendError::Input(error.to_string())
}

//! Arrays: the tensors of models, whose axes have no names.

use half::bf16;
use stead_expr::{Cells, Dimension, Labels, TensorType, Value};
use stead_python::Value as Plain;
use stead_tensor::{DType, Tensor};

use super::tensor::{read_tensor, tensor};
use super::{PlainError, Tag, members, tag, tagged, unexpected};

/// An array as components see it. One of bfloat16, which numpy does not have, is a tensor with the dimensions `d0`, `d1`, ...
///
/// # Errors
/// When it has elements that neither numpy nor tensors have, or is too large for a tensor.
pub(crate) fn array(found: Tensor) -> Result<Plain, PlainError> {
    let shape = found.shape();
    match found.dtype() {
        DType::String => {
            let sizes = shape.dims().iter().map(|size| Plain::Int(*size as i64)).collect();
            let values = found.view().strings().iter().map(|text| Plain::Bytes(text.clone()));
            let values = Plain::List(values.collect());
            Ok(tagged(Tag::Strings, [("shape", Plain::List(sizes)), ("values", values)]))
        }
        DType::BF16 => {
            let axes = shape.dims().iter().enumerate();
            let axes = axes.map(|(at, size)| Dimension::indexed(&format!("d{at}"), *size));
            let cells: Vec<bf16> = found.as_slice::<bf16>()?.to_vec();
            let cells = match shape.rank() {
                0 => Cells::Double(cells.iter().map(|cell| cell.to_f64()).collect()),
                _ => Cells::BFloat16(cells.into()),
            };
            let failed = |text: String| PlainError(format!("an array of bfloat16: {text}"));
            let kind = TensorType::new(stead_expr::CellType::BFloat16, axes.collect());
            let kind = kind.map_err(|e| failed(e.to_string()))?;
            let value = Value::new(kind, Labels::default(), cells);
            tensor(&value.map_err(|e| failed(e.to_string()))?)
        }
        DType::F32
        | DType::F64
        | DType::F16
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64
        | DType::Bool
        | DType::C64
        | DType::C128 => Ok(found.into()),
        other => Err(PlainError(format!("numpy has no arrays of {other}; cast it in the model"))),
    }
}

/// The array that a component gave: one of numpy, one of texts, a number or a text, or a dense tensor, whose dimensions in the order of
/// their names are the axes.
///
/// # Errors
/// When it is none.
pub(crate) fn read_array(value: Plain) -> Result<Tensor, PlainError> {
    match (tag(&value), value) {
        (None, Plain::Tensor(tensor)) => Ok(tensor),
        (None, Plain::Bool(bit)) => Ok(Tensor::scalar(stead_tensor::Bool::from(bit))?),
        (None, Plain::Int(number)) => Ok(Tensor::scalar(number)?),
        (None, Plain::Float(number)) => Ok(Tensor::scalar(number)?),
        (None, Plain::Str(text)) => Ok(Tensor::from_strings(vec![text.into_bytes()], &[])?),
        (None, Plain::Bytes(text)) => Ok(Tensor::from_strings(vec![text], &[])?),
        (Some(Tag::Strings), value) => strings(value),
        (Some(Tag::Tensor), value) => dense(&read_tensor(value)?),
        (_, other) => Err(unexpected("an array", &other)),
    }
}

fn strings(value: Plain) -> Result<Tensor, PlainError> {
    let [shape, values] = members(value, Tag::Strings, ["shape", "values"])?;
    let (Plain::List(shape), Plain::List(values)) = (shape, values) else {
        return Err(PlainError("an array of texts whose parts are of the wrong kinds".to_owned()));
    };
    let size = |size: &Plain| match size {
        Plain::Int(size) => usize::try_from(*size).ok(),
        _ => None,
    };
    let shape: Option<Vec<usize>> = shape.iter().map(size).collect();
    let shape = shape.ok_or_else(|| PlainError("an array of texts without a shape".to_owned()))?;
    let texts = values.into_iter().map(|value| match value {
        Plain::Bytes(text) => Ok(text),
        Plain::Str(text) => Ok(text.into_bytes()),
        other => Err(unexpected("a text", &other)),
    });
    Ok(Tensor::from_strings(texts.collect::<Result<_, _>>()?, &shape)?)
}

/// The array that a tensor of named dimensions is.
///
/// # Errors
/// When it has mapped dimensions.
pub(crate) fn dense(value: &Value) -> Result<Tensor, PlainError> {
    if value.kind().mapped_count() > 0 {
        let kind = value.kind();
        return Err(PlainError(format!("expected an array, found a {kind} with labels")));
    }
    let dims: Vec<usize> = value.kind().dimensions().iter().filter_map(Dimension::size).collect();
    Ok(match value.cells() {
        Cells::Double(list) => Tensor::from_slice(list, &dims)?,
        Cells::Float(list) => Tensor::from_slice(list, &dims)?,
        Cells::BFloat16(list) => Tensor::from_slice(list, &dims)?,
        Cells::Int8(list) => Tensor::from_slice(list, &dims)?,
        Cells::Float16(list) => Tensor::from_slice(list, &dims)?,
        Cells::Int16(list) => Tensor::from_slice(list, &dims)?,
        Cells::Int32(list) => Tensor::from_slice(list, &dims)?,
        Cells::Int64(list) => Tensor::from_slice(list, &dims)?,
        Cells::UInt8(list) => Tensor::from_slice(list, &dims)?,
        Cells::Bool(list) => {
            let bits: Vec<_> = list.iter().map(|bit| stead_tensor::Bool(*bit)).collect();
            Tensor::from_slice(&bits, &dims)?
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{dict, random};
    use super::*;

    proptest! {
        #[test]
        fn arrays_come_back(found in random::array()) {
            let plain = array(found.clone()).unwrap();
            let back = read_array(plain).unwrap();
            // A number of bfloat16 is a tensor without dimensions, whose cells are doubles.
            if found.dtype() == DType::BF16 && found.shape().rank() == 0 {
                let number = found.as_slice::<bf16>().unwrap()[0].to_f64();
                prop_assert_eq!(back.as_slice::<f64>().unwrap(), [number]);
            } else {
                prop_assert_eq!(back, found);
            }
        }

        /// Dense tensors are arrays of the same numbers.
        #[test]
        fn dense_tensors_are_arrays(value in random::dense()) {
            let back = read_array(tensor(&value).unwrap()).unwrap();
            let sizes: Vec<usize> = value.kind().dimensions().iter().map(|d| d.size().unwrap()).collect();
            let shape = back.shape();
            prop_assert_eq!(shape.dims(), &sizes[..]);
            prop_assert_eq!(back, dense(&value).unwrap());
        }
    }

    #[test]
    fn what_is_no_array_is_told() {
        let strings = |shape: Plain, values: Plain| {
            dict([("$", "strings".into()), ("shape", shape), ("values", values)])
        };
        let list = |list: &[i64]| Plain::List(list.iter().map(|n| (*n).into()).collect());
        for (label, plain, expected) in [
            ("a list", list(&[1]), "expected an array, found a list"),
            ("nothing", Plain::None, "expected an array, found None"),
            ("a position", dict([("$", "position".into())]), "found a stead.Position"),
            ("numbers as texts", strings(list(&[1]), list(&[1])), "expected a text, found 1"),
            ("a size below 0", strings(list(&[-1]), list(&[])), "without a shape"),
            ("too few texts", strings(list(&[2]), Plain::List(vec!["a".into()])), "2"),
        ] {
            let error = read_array(plain).unwrap_err().to_string();
            assert!(error.contains(expected), "{label}: {error}");
        }
        let labelled = stead_expr::compile("tensor(a{}):{x:1}", &|_: &str| None).unwrap();
        let labelled = tensor(&labelled.run(&[]).unwrap()).unwrap();
        let error = read_array(labelled).unwrap_err().to_string();
        assert_eq!(error, "expected an array, found a tensor(a{}) with labels");
    }
}

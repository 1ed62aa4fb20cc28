//! Tensors of named dimensions.

use std::borrow::Cow;

use half::{bf16, f16};
use stead_expr::{CellType, Cells, Labels, MAX_LABEL, Value, parse_type};
use stead_python::Value as Plain;
use stead_tensor::{Bool, Element, Tensor, TensorError};

use super::{PlainError, Tag, members, tagged, unexpected};

/// A tensor as components see it.
///
/// # Errors
/// When memory is short.
pub(crate) fn tensor(value: &Value) -> Result<Plain, PlainError> {
    let labels = value.labels().iter().map(|label| Plain::Str(label.text())).collect();
    Ok(tagged(
        Tag::Tensor,
        [
            ("type", value.kind().to_string().into()),
            ("labels", Plain::List(labels)),
            ("cells", cells(value.cells())?.into()),
        ],
    ))
}

/// The cells as one axis. Those of bfloat16 are their bits, since numpy does not have them.
fn cells(cells: &Cells<'_>) -> Result<Tensor, TensorError> {
    fn flat<T: Element>(list: &[T]) -> Result<Tensor, TensorError> {
        Tensor::from_slice(list, &[list.len()])
    }
    match cells {
        Cells::Double(list) => flat(list),
        Cells::Float(list) => flat(list),
        Cells::BFloat16(list) => {
            flat(&list.iter().map(|cell| cell.to_bits()).collect::<Vec<u16>>())
        }
        Cells::Int8(list) => flat(list),
        Cells::Float16(list) => flat(list),
        Cells::Int16(list) => flat(list),
        Cells::Int32(list) => flat(list),
        Cells::Int64(list) => flat(list),
        Cells::UInt8(list) => flat(list),
        Cells::Bool(list) => flat(&list.iter().map(|bit| Bool(*bit)).collect::<Vec<Bool>>()),
    }
}

/// The tensor that a component gave.
///
/// # Errors
/// When it is none, or its parts do not fit.
pub(crate) fn read_tensor(value: Plain) -> Result<Value, PlainError> {
    let [kind, labels, cells] = members(value, Tag::Tensor, ["type", "labels", "cells"])?;
    let (Plain::Str(kind), Plain::List(labels), Plain::Tensor(cells)) = (kind, labels, cells)
    else {
        return Err(PlainError("a stead.Tensor whose parts are of the wrong kinds".to_owned()));
    };
    let kind = parse_type(&kind).map_err(|e| PlainError(e.to_string()))?;
    let mut held = Labels::with_capacity(labels.len());
    for label in labels {
        match label {
            Plain::Str(text) if text.len() > MAX_LABEL => {
                return Err(PlainError(format!(
                    "a label of {} bytes; at most {MAX_LABEL} are allowed",
                    text.len()
                )));
            }
            Plain::Str(text) => held.push(&text),
            other => return Err(unexpected("a label", &other)),
        }
    }
    let cells = read_cells(kind.cell(), &cells)?;
    Value::new(kind, held, cells).map_err(|e| PlainError(e.to_string()))
}

/// The cells of an array of any rank, in its order.
fn read_cells(cell: CellType, array: &Tensor) -> Result<Cells<'static>, PlainError> {
    fn list<T: Element>(cell: CellType, array: &Tensor) -> Result<&[T], PlainError> {
        array.as_slice().map_err(|_| {
            PlainError(format!("cells of {} for a tensor of {}", array.dtype(), cell.name()))
        })
    }
    fn owned<T: Element>(cell: CellType, array: &Tensor) -> Result<Cow<'static, [T]>, PlainError> {
        list(cell, array).map(|list| list.to_vec().into())
    }
    Ok(match cell {
        CellType::Double => Cells::Double(owned(cell, array)?),
        CellType::Float => Cells::Float(owned(cell, array)?),
        CellType::BFloat16 => {
            let bits = list::<u16>(cell, array)?;
            Cells::BFloat16(bits.iter().map(|bits| bf16::from_bits(*bits)).collect())
        }
        CellType::Int8 => Cells::Int8(owned(cell, array)?),
        CellType::Float16 => Cells::Float16(owned::<f16>(cell, array)?),
        CellType::Int16 => Cells::Int16(owned(cell, array)?),
        CellType::Int32 => Cells::Int32(owned(cell, array)?),
        CellType::Int64 => Cells::Int64(owned(cell, array)?),
        CellType::UInt8 => Cells::UInt8(owned(cell, array)?),
        CellType::Bool => {
            let bits = list::<Bool>(cell, array)?;
            Cells::Bool(bits.iter().map(|bit| u8::from(bit.get())).collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{dict, random};
    use super::*;

    proptest! {
        /// Whatever its type, labels and cells are, a tensor comes back as it was.
        #[test]
        fn tensors_come_back(value in random::tensor()) {
            let plain = tensor(&value).unwrap();
            prop_assert_eq!(read_tensor(plain).unwrap(), value);
        }
    }

    fn wire(kind: &str, labels: &[&str], cells: Tensor) -> Plain {
        let labels = labels.iter().map(|label| Plain::from(*label)).collect();
        let labels = ("labels", Plain::List(labels));
        dict([("$", "tensor".into()), ("type", kind.into()), labels, ("cells", cells.into())])
    }

    #[test]
    fn what_is_no_tensor_is_told() {
        let floats = |n: usize| Tensor::from_slice(&vec![1f32; n], &[n]).unwrap();
        let matrix = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        for (label, plain, expected) in [
            ("of any rank", wire("tensor<float>(x[4])", &[], matrix), ""),
            ("no dict", 3.into(), "expected a stead.Tensor, found 3"),
            (
                "another tag",
                dict([("$", "position".into())]),
                "expected a stead.Tensor, found a stead.Position",
            ),
            (
                "no cells",
                dict([("$", "tensor".into()), ("type", "double".into())]),
                "a stead.Tensor without labels",
            ),
            ("no type", wire("tensor<float>(x", &[], floats(1)), "expected {} or [size]"),
            ("no size", wire("tensor<float>(x[])", &[], floats(1)), "a value has sizes"),
            ("too few cells", wire("tensor<float>(x[3])", &[], floats(2)), "needs 3 cells, got 2"),
            ("too few labels", wire("tensor<float>(a{},b{})", &["x"], floats(1)), "cells, got 1"),
            ("other cells", wire("tensor<int8>(x[1])", &[], floats(1)), "for a tensor of int8"),
            ("a block twice", wire("tensor<float>(a{})", &["x", "x"], floats(2)), "stands twice"),
            (
                "a long label",
                wire("tensor<float>(a{})", &[&"x".repeat(MAX_LABEL + 1)], floats(1)),
                "a label of 65537 bytes",
            ),
        ] {
            match (expected, read_tensor(plain)) {
                ("", found) => assert!(found.is_ok(), "{label}: {found:?}"),
                (expected, found) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains(expected), "{label}: {error}");
                }
            }
        }
    }
}

//! What an evaluation gives.

use stead_expr::{Cells, Dimension, Labels, TensorType, Value};
use stead_tensor::{DType, Tensor};

use super::function::cells;
use super::model::Datum;
use super::signature::cell_type;

/// The value of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluated {
    /// A tensor, or a number.
    Tensor(Value),
    /// What no tensor of Vespa is: texts, and arrays without elements.
    Array(Tensor),
}

impl Evaluated {
    /// The value of a function: axes of arrays become the dimensions `d0`, `d1`, and so on.
    ///
    /// # Errors
    /// In words, for elements that are no numbers.
    pub(super) fn of(datum: Datum) -> Result<Evaluated, String> {
        let array = match datum {
            Datum::Value(value) => return Ok(Evaluated::Tensor(value)),
            Datum::Array(array) => array,
        };
        let shape = array.shape();
        if array.dtype() == DType::String || shape.dims().contains(&0) {
            return Ok(Evaluated::Array(array));
        }
        let axes = shape.dims().iter().enumerate();
        let axes = axes.map(|(at, size)| Dimension::indexed(&format!("d{at}"), *size));
        let kind = TensorType::new(cell_type(array.dtype()), axes.collect());
        let kind = kind.map_err(|e| e.to_string())?;
        let cells = rounded(&array, &kind)?;
        Value::new(kind, Labels::default(), cells).map(Evaluated::Tensor).map_err(|e| e.to_string())
    }
}

/// The elements as cells of a type; of whole numbers that no double is, the nearest.
fn rounded(array: &Tensor, kind: &TensorType) -> Result<Cells<'static>, String> {
    let failed = |e: stead_tensor::TensorError| e.to_string();
    let numbers: Vec<f64> = match array.dtype() {
        DType::I64 => array.as_slice::<i64>().map_err(failed)?.iter().map(|n| *n as f64).collect(),
        DType::U64 => array.as_slice::<u64>().map_err(failed)?.iter().map(|n| *n as f64).collect(),
        _ => return cells(array, kind),
    };
    Ok(Cells::from_numbers(kind.cell(), &numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::Bool;

    #[test]
    fn arrays_become_tensors() {
        let array = |tensor: Result<Tensor, _>| Datum::Array(tensor.unwrap());
        for (datum, expected) in [
            (
                array(Tensor::from_slice(&[0.1f32, 2.0], &[1, 2])),
                "tensor<float>(d0[1],d1[2]):[[0.1,2]]",
            ),
            (
                array(Tensor::from_slice(&[i64::MAX, -1], &[2])),
                "tensor(d0[2]):[9223372036854775807,-1]",
            ),
            (array(Tensor::from_slice(&[u64::MAX], &[1])), "tensor(d0[1]):[18446744073709552000]"),
            (array(Tensor::from_slice(&[-3i8], &[1])), "tensor<int8>(d0[1]):[-3]"),
            (array(Tensor::from_slice(&[200u8], &[1])), "tensor(d0[1]):[200]"),
            (array(Tensor::from_slice(&[Bool(1), Bool(0)], &[2])), "tensor(d0[2]):[1,0]"),
            (array(Tensor::from_slice(&[1.5f32], &[])), "1.5"),
            (Datum::Value(Value::double(2.0)), "2"),
        ] {
            let Evaluated::Tensor(found) = Evaluated::of(datum).unwrap() else { panic!() };
            assert_eq!(
                found.to_string().replace("9223372036854776000", "9223372036854775807"),
                expected
            );
        }
        for tensor in [
            Tensor::from_strings(vec![b"a".to_vec()], &[1]).unwrap(),
            Tensor::from_slice::<f32>(&[], &[0, 3]).unwrap(),
        ] {
            assert_eq!(Evaluated::of(Datum::Array(tensor.clone())), Ok(Evaluated::Array(tensor)));
        }
    }
}

//! Joining requests along axis 0 and splitting their answers.

use crate::evaluate::Evaluate;
use crate::{Error, ErrorKind};
use std::time::Duration;
use stead_engine::{Dim, IoSpec};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor, TensorError, TensorView};

/// How requests of a model are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batching {
    /// The most rows of a batch.
    pub(crate) max: usize,
    /// How long the first request may wait for others.
    pub(crate) delay: Duration,
    /// Which inputs are joined; the others must be equal in all requests of a batch.
    joined: Vec<bool>,
}

impl Batching {
    /// Batching for a model whose axis 0 is free on inputs and on every output.
    ///
    /// # Errors
    /// In words, when the model cannot be batched.
    pub(crate) fn new(
        model: &dyn Evaluate,
        max: usize,
        delay: Duration,
    ) -> Result<Batching, String> {
        let free = |spec: &IoSpec| match spec.dims.as_deref() {
            Some([first, ..]) => first.known().is_none(),
            Some([]) => false,
            None => false,
        };
        let joined: Vec<bool> = model.inputs().iter().map(free).collect();
        if !joined.contains(&true) {
            return Err("max_batch_size needs an input whose first dimension is free".to_owned());
        }
        if let Some(output) = model.outputs().iter().find(|o| o.dims.is_some() && !free(o)) {
            return Err(format!(
                "max_batch_size needs outputs whose first dimension is free; {:?} has {}",
                output.name,
                output.dims_text()
            ));
        }
        // A symbol on axis 0 that also names another axis says that batches lie along both.
        let symbols: Vec<&str> = model
            .inputs()
            .iter()
            .filter_map(|i| match i.dims.as_deref()?.first()? {
                Dim::Symbol(s) => Some(&**s),
                _ => None,
            })
            .collect();
        for spec in model.inputs().iter().chain(model.outputs()) {
            let inner = spec.dims.iter().flatten().skip(1);
            if inner.into_iter().any(|d| matches!(d, Dim::Symbol(s) if symbols.contains(&&**s))) {
                return Err(format!(
                    "max_batch_size needs batches along axis 0 only; {:?} has {}",
                    spec.name,
                    spec.dims_text()
                ));
            }
        }
        Ok(Batching { max, delay, joined })
    }

    /// Rows of a request: its size along axis 0.
    ///
    /// # Errors
    /// [`ErrorKind::WrongBatch`] when inputs differ or there are more rows than a batch may have.
    pub(crate) fn rows(&self, inputs: &[Option<Tensor>], names: &[&str]) -> Result<usize, Error> {
        let mut rows: Option<usize> = None;
        for ((tensor, joined), name) in inputs.iter().zip(&self.joined).zip(names) {
            let (Some(tensor), true) = (tensor, joined) else { continue };
            let actual = tensor.shape().first().copied().unwrap_or(0);
            let expected = match rows {
                None if actual > self.max => format!("at most {}", self.max),
                Some(rows) if rows != actual => rows.to_string(),
                _ => {
                    rows = Some(actual);
                    continue;
                }
            };
            return Err(ErrorKind::WrongBatch {
                input: (*name).to_owned(),
                expected,
                actual: actual.to_string(),
            }
            .into());
        }
        Ok(rows.unwrap_or(1))
    }

    /// Whether two requests may lie in one batch: the same inputs, equal beyond axis 0, and equal values where
    /// there is no batch axis.
    pub(crate) fn joins(&self, a: &[Option<Tensor>], b: &[Option<Tensor>]) -> bool {
        a.iter().zip(b).zip(&self.joined).all(|((a, b), joined)| match (a, b) {
            (Some(a), Some(b)) if *joined => a.shape().get(1..) == b.shape().get(1..),
            (Some(a), Some(b)) => a == b,
            (None, None) => true,
            _ => false,
        })
    }

    /// One set of inputs for several requests.
    ///
    /// # Errors
    /// [`TensorError`] when memory is short.
    pub(crate) fn gather(
        &self,
        parts: &[&[Option<Tensor>]],
    ) -> Result<Vec<Option<Tensor>>, TensorError> {
        let Some(first) = parts.first() else { return Ok(Vec::new()) };
        let column = |i: usize| parts.iter().filter_map(move |p| p.get(i)?.as_ref());
        first
            .iter()
            .zip(&self.joined)
            .enumerate()
            .map(|(i, (tensor, joined))| match tensor {
                Some(tensor) if *joined => concat(tensor, &column(i).collect::<Vec<_>>()).map(Some),
                other => Ok(other.clone()),
            })
            .collect()
    }
}

fn concat(first: &Tensor, parts: &[&Tensor]) -> Result<Tensor, TensorError> {
    let rows = parts.iter().map(|t| t.shape().first().copied().unwrap_or(0)).sum();
    let mut dims = first.shape().to_vec();
    if let Some(axis) = dims.first_mut() {
        *axis = rows;
    }
    if first.dtype() == DType::String {
        let strings = parts.iter().flat_map(|t| t.view().strings().to_vec());
        return Tensor::from_strings(strings.collect(), &dims);
    }
    let shape = Shape::new(&dims)?;
    let mut buf = AlignedBuf::zeroed(shape.byte_len(first.dtype()))?;
    let mut at = 0;
    for part in parts {
        let bytes = part.bytes();
        if let Some(room) = buf.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
        }
        at += bytes.len();
    }
    Tensor::from_buffer(first.dtype(), shape, buf)
}

/// Cuts an output into the parts of requests with these rows. `None` when axis 0 does not have as many rows, or
/// a row is no whole number of bytes.
pub(crate) fn split(
    view: TensorView<'_>,
    rows: &[usize],
) -> Option<Result<Vec<Tensor>, TensorError>> {
    let total: usize = rows.iter().sum();
    let shape = view.shape();
    let (first, inner) = shape.split_first()?;
    let string = view.dtype() == DType::String;
    if *first != total || (!string && view.dtype().bits() < 8) {
        return None;
    }
    let per_row: usize = inner.iter().product();
    let size = view.dtype().size();
    let mut at = 0;
    let cut = |n: &usize| {
        let mut dims = vec![*n];
        dims.extend_from_slice(inner);
        let range = at * per_row..(at + n) * per_row;
        at += n;
        if string {
            let strings = view.strings().get(range).unwrap_or_default();
            return Tensor::from_strings(strings.to_vec(), &dims);
        }
        let bytes = view.bytes().get(range.start * size..range.end * size).unwrap_or_default();
        Tensor::from_buffer(view.dtype(), Shape::new(&dims)?, AlignedBuf::copy_of(bytes)?)
    };
    Some(rows.iter().map(cut).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batching(joined: &[bool]) -> Batching {
        Batching { max: 8, delay: Duration::ZERO, joined: joined.to_vec() }
    }

    fn tensor(rows: usize, columns: usize, start: i64) -> Tensor {
        let values: Vec<i64> = (0..rows * columns).map(|i| start + i as i64).collect();
        Tensor::from_slice(&values, &[rows, columns]).unwrap()
    }

    proptest! {
        /// Splitting what was gathered gives the parts back.
        #[test]
        fn gather_and_split_are_inverse(rows in prop::collection::vec(0usize..4, 1..6), columns in 0usize..4) {
            let parts: Vec<Vec<Option<Tensor>>> = rows
                .iter()
                .enumerate()
                .map(|(i, &n)| vec![Some(tensor(n, columns, 100 * i as i64)), None])
                .collect();
            let slices: Vec<_> = parts.iter().map(Vec::as_slice).collect();
            let gathered = batching(&[true, true]).gather(&slices).unwrap();
            prop_assert!(gathered[1].is_none());
            let whole = gathered[0].clone().unwrap();
            let back = split(whole.view(), &rows).unwrap().unwrap();
            for (part, back) in parts.iter().zip(back) {
                prop_assert_eq!(part[0].as_ref(), Some(&back));
            }
        }
    }

    #[test]
    fn strings_are_joined_and_split() {
        let part = |s: &str| vec![Some(Tensor::from_strings(vec![s.into()], &[1]).unwrap())];
        let (a, b) = (part("a"), part("bc"));
        let whole = batching(&[true]).gather(&[&a, &b]).unwrap().remove(0).unwrap();
        let back = split(whole.view(), &[1, 1]).unwrap().unwrap();
        assert_eq!(Some(&back[1]), b[0].as_ref());
    }

    #[test]
    fn who_joins_whom() {
        let b = batching(&[true, false]);
        let scalar = |v: i64| Tensor::scalar(v).unwrap();
        let request = |rows, columns, sr| vec![Some(tensor(rows, columns, 0)), Some(scalar(sr))];
        let cases = [
            ("other rows", request(2, 3, 16), true),
            ("other columns", request(1, 4, 16), false),
            ("other shared value", request(1, 3, 8), false),
            ("absent input", vec![Some(tensor(1, 3, 0)), None], false),
        ];
        for (label, other, expected) in cases {
            assert_eq!(b.joins(&request(1, 3, 16), &other), expected, "{label}");
        }
        assert_eq!(b.rows(&request(3, 3, 1), &["x", "sr"]), Ok(3));
        let error = b.rows(&request(9, 3, 1), &["x", "sr"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "Invalid input batch size - Expected: at most 8; Actual: 9; input name: x"
        );
    }

    #[test]
    fn an_output_of_other_rows_cannot_be_split() {
        assert!(split(tensor(3, 2, 0).view(), &[1, 1]).is_none());
        assert!(split(Tensor::scalar(1.0f32).unwrap().view(), &[1]).is_none());
    }
}

//! Joining requests along their batch axes and splitting their answers.

use super::pieces::{concat, split};
use crate::evaluate::Evaluate;
use crate::{Error, ErrorKind};
use std::time::Duration;
use stead_engine::{Dim, IoSpec};
use stead_tensor::{Tensor, TensorError, TensorView};

/// How requests of a model are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batching {
    /// The most rows of a batch.
    pub(crate) max: usize,
    /// How long the first request may wait for others.
    pub(crate) delay: Duration,
    /// The axis along which each input is joined; the others must be equal in all requests of a batch.
    inputs: Vec<Option<usize>>,
    /// The axis along which each output is split.
    outputs: Vec<usize>,
}

/// Where the states of a model lie: the axis of an input or an output that is one. The outer `None` when it is
/// none, the inner one when states cannot be joined.
pub(crate) trait StateAxes {
    /// The axis of the input at this position.
    fn input(&self, input: usize) -> Option<Option<usize>>;
    /// The axis of the output at this position.
    fn output(&self, output: usize) -> Option<Option<usize>>;
}

/// A model without states.
pub(crate) struct NoStates;

impl StateAxes for NoStates {
    fn input(&self, _: usize) -> Option<Option<usize>> {
        None
    }

    fn output(&self, _: usize) -> Option<Option<usize>> {
        None
    }
}

impl Batching {
    /// Batching for a model whose axis 0 is free on inputs and on every output, and whose states have a batch
    /// axis.
    ///
    /// # Errors
    /// In words, when the model cannot be batched.
    pub(crate) fn new(
        model: &dyn Evaluate,
        max: usize,
        delay: Duration,
        states: &dyn StateAxes,
    ) -> Result<Batching, String> {
        let mut specs = model.inputs().iter().chain(model.outputs());
        if let Some(spec) = specs.find(|spec| !spec.dtype.bits().is_multiple_of(8)) {
            // Rows of packed elements may begin inside a byte.
            return Err(format!(
                "max_batch_size needs elements of whole bytes; {:?} has {}",
                spec.name, spec.dtype
            ));
        }
        let free = |spec: &IoSpec| match spec.dims.as_deref() {
            Some([first, ..]) => first.known().is_none(),
            Some([]) | None => false,
        };
        let no_axis = |spec: &IoSpec| {
            format!(
                "max_batch_size needs the axis along which the state {:?} of several sequences is joined; it has {}; \
                 give batch_axis in the option states",
                spec.name,
                spec.dims_text()
            )
        };
        let mut inputs = Vec::with_capacity(model.inputs().len());
        let mut data = Vec::new();
        let mut joined = Vec::new();
        for (i, spec) in model.inputs().iter().enumerate() {
            inputs.push(match states.input(i) {
                None => {
                    data.push(spec);
                    free(spec).then_some(0)
                }
                Some(axis) => {
                    let axis = axis.ok_or_else(|| no_axis(spec))?;
                    joined.push((spec, axis));
                    Some(axis)
                }
            });
        }
        if !data.iter().any(|spec| free(spec)) {
            return Err("max_batch_size needs an input whose first dimension is free".to_owned());
        }
        let mut outputs = Vec::with_capacity(model.outputs().len());
        for (i, spec) in model.outputs().iter().enumerate() {
            outputs.push(match states.output(i) {
                Some(axis) => axis.ok_or_else(|| no_axis(spec))?,
                None if spec.dims.is_some() && !free(spec) => {
                    return Err(format!(
                        "max_batch_size needs outputs whose first dimension is free; {:?} has {}",
                        spec.name,
                        spec.dims_text()
                    ));
                }
                None => {
                    data.push(spec);
                    0
                }
            });
        }
        // A symbol on axis 0 that also names another axis says that batches lie along both.
        let symbols: Vec<&str> = data
            .iter()
            .filter_map(|spec| match spec.dims.as_deref()?.first()? {
                Dim::Symbol(s) => Some(&**s),
                _ => None,
            })
            .collect();
        // And a state that counts something else than axis 0 does, as in a model that takes time first.
        for (spec, axis) in joined {
            let dim = spec.dims.as_ref().and_then(|dims| dims.get(axis));
            if let Some(Dim::Symbol(s)) = dim
                && !symbols.is_empty()
                && !symbols.contains(&&**s)
            {
                return Err(format!(
                    "max_batch_size joins requests along axis 0, {}; the state {:?} counts {s} along axis {axis}",
                    symbols.join(", "),
                    spec.name,
                ));
            }
        }
        for spec in data {
            let inner = spec.dims.iter().flatten().skip(1);
            if inner.into_iter().any(|d| matches!(d, Dim::Symbol(s) if symbols.contains(&&**s))) {
                return Err(format!(
                    "max_batch_size needs batches along axis 0 only; {:?} has {}",
                    spec.name,
                    spec.dims_text()
                ));
            }
        }
        Ok(Batching { max, delay, inputs, outputs })
    }

    /// Rows of a request: its size along the batch axis.
    ///
    /// # Errors
    /// [`ErrorKind::WrongBatch`] when inputs differ or there are more rows than a batch may have.
    pub(crate) fn rows<'a>(
        &self,
        inputs: &[Option<Tensor>],
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<usize, Error> {
        let mut rows: Option<usize> = None;
        for ((tensor, axis), name) in inputs.iter().zip(&self.inputs).zip(names) {
            let (Some(tensor), Some(axis)) = (tensor, axis) else { continue };
            let actual = tensor.shape().get(*axis).copied().unwrap_or(0);
            let expected = match rows {
                None if actual > self.max => format!("at most {}", self.max),
                Some(rows) if rows != actual => rows.to_string(),
                _ => {
                    rows = Some(actual);
                    continue;
                }
            };
            return Err(ErrorKind::WrongBatch {
                input: name.to_owned(),
                expected,
                actual: actual.to_string(),
            }
            .into());
        }
        Ok(rows.unwrap_or(1))
    }

    /// Whether two requests may lie in one batch: the same inputs, equal beyond the batch axis, and equal values
    /// where there is none.
    pub(crate) fn joins(&self, a: &[Option<Tensor>], b: &[Option<Tensor>]) -> bool {
        a.iter().zip(b).zip(&self.inputs).all(|((a, b), axis)| match (a, b, axis) {
            (Some(a), Some(b), Some(axis)) => {
                let (a, b) = (a.shape(), b.shape());
                a.rank() == b.rank()
                    && a.iter().zip(b.iter()).enumerate().all(|(i, (m, n))| i == *axis || m == n)
            }
            (Some(a), Some(b), None) => a == b,
            (None, None, _) => true,
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
            .zip(&self.inputs)
            .enumerate()
            .map(|(i, (tensor, axis))| match (tensor, axis) {
                (Some(_), Some(axis)) => concat(&column(i).collect::<Vec<_>>(), *axis).map(Some),
                (other, _) => Ok(other.clone()),
            })
            .collect()
    }

    /// Cuts an output into the parts of requests with these rows. `None` when the output cannot be cut.
    pub(crate) fn scatter(
        &self,
        output: usize,
        view: TensorView<'_>,
        rows: &[usize],
    ) -> Option<Result<Vec<Tensor>, TensorError>> {
        split(view, *self.outputs.get(output)?, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batching(joined: &[bool]) -> Batching {
        Batching {
            max: 8,
            delay: Duration::ZERO,
            inputs: joined.iter().map(|j| j.then_some(0)).collect(),
            outputs: vec![0],
        }
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
            let back = batching(&[true]).scatter(0, whole.view(), &rows).unwrap().unwrap();
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
        let back = batching(&[true]).scatter(0, whole.view(), &[1, 1]).unwrap().unwrap();
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
        assert_eq!(b.rows(&request(3, 3, 1), ["x", "sr"]), Ok(3));
        let error = b.rows(&request(9, 3, 1), ["x", "sr"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "Invalid input batch size - Expected: at most 8; Actual: 9; input name: x"
        );
    }

    #[test]
    fn states_are_joined_along_their_own_axis() {
        let b = Batching { inputs: vec![Some(1)], outputs: vec![1], ..batching(&[true]) };
        let state = |start: i64| Tensor::from_slice(&[start, start + 1], &[2, 1]).unwrap();
        let (a, c) = (vec![Some(state(0))], vec![Some(state(10))]);
        assert!(b.joins(&a, &c));
        let whole = b.gather(&[&a, &c]).unwrap().remove(0).unwrap();
        assert_eq!(whole, Tensor::from_slice(&[0i64, 10, 1, 11], &[2, 2]).unwrap());
        let back = b.scatter(0, whole.view(), &[1, 1]).unwrap().unwrap();
        assert_eq!(back, [state(0), state(10)]);
    }
}

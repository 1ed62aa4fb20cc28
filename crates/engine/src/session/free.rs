//! Making a batch that the file fixes at 1 free.
//!
//! Plans are made for the shapes that come, whatever the file declares, so most models that were exported for one row
//! take any number. Constants inside a model may still tie it to one row. Whether they do is tried out: two rows are
//! run alone and together, and must give the same.

use super::Session;
use super::trial::{Below, Trial, joined};
use crate::error::RunError;
use crate::model::IoSpec;
use stead_onnx::Dim;
use stead_tensor::{Tensor, TensorError};

/// The name of the freed dimension.
pub const FREED: &str = "batch";

/// Absolute up to 1, relative above: a batch may be summed up in another order than a row.
const TOLERANCE: f64 = 1e-3;

/// Why a batch cannot be made free.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FreeError {
    /// The axis is none that is fixed at 1.
    #[error("input \"{input}\" has no axis {axis} of size 1")]
    Axis {
        /// The input.
        input: String,
        /// The axis.
        axis: usize,
    },
    /// The model does not run with two rows, or not at all.
    #[error("the model does not take two rows: {0}")]
    Run(#[from] RunError),
    /// An output does not have one row for each of the inputs.
    #[error("output \"{0}\" does not have a row for each of the inputs")]
    Output(String),
    /// Rows influence each other, or one of them is lost.
    #[error("output \"{0}\" is another for two rows than for each of them alone")]
    Differs(String),
}

impl From<TensorError> for FreeError {
    fn from(error: TensorError) -> FreeError {
        FreeError::Run(error.into())
    }
}

impl Session {
    /// Makes dimensions of inputs that the file fixes at 1, given as input and axis, and those of the outputs that
    /// go with them, one free dimension [`FREED`]. The model is run to see whether it computes each row for itself.
    ///
    /// # Errors
    /// [`FreeError`]; the session is as it was.
    pub fn free_batch(&mut self, axes: &[(usize, usize)]) -> Result<(), FreeError> {
        self.free_batch_of(axes, &[]).map(|_| ())
    }

    /// As [`Session::free_batch`], where the sizes of inputs are known: `shapes` has one for each input, which the trial
    /// takes instead of guessing. The axes may be free already, so that it is only found out whether rows are
    /// computed alone. Gives the axis of each output along which its rows stand.
    ///
    /// # Errors
    /// [`FreeError`]; the session is as it was.
    pub fn free_batch_of(
        &mut self,
        axes: &[(usize, usize)],
        shapes: &[Vec<usize>],
    ) -> Result<Vec<usize>, FreeError> {
        let before = (self.model.inputs.clone(), self.model.outputs.clone());
        let freed = self.freed(axes, shapes);
        if freed.is_err() {
            (self.model.inputs, self.model.outputs) = before;
        }
        freed
    }

    fn freed(
        &mut self,
        axes: &[(usize, usize)],
        shapes: &[Vec<usize>],
    ) -> Result<Vec<usize>, FreeError> {
        for &(input, axis) in axes {
            let name = self.model.inputs.get(input).map_or("", |i| &*i.name).to_owned();
            let Some(IoSpec { dims: Some(dims), .. }) = self.model.inputs.get_mut(input) else {
                continue;
            };
            let can_be_one = |d: &&mut Dim| match d.known() {
                Some(size) => size == 1,
                None => !shapes.is_empty(),
            };
            match Some(dims).and_then(|dims| dims.get_mut(axis)).filter(can_be_one) {
                Some(dim) => *dim = Dim::Symbol(FREED.to_owned()),
                None => return Err(FreeError::Axis { input: name, axis }),
            }
        }
        let trial = Trial { axes, shapes };
        let mut found = Vec::new();
        for below in trial.accepted(self)? {
            found = self.proved(&trial, &below)?;
        }
        for (spec, axis) in self.model.outputs.iter_mut().zip(&found) {
            if let Some(dim) = spec.dims.as_mut().and_then(|dims| dims.get_mut(*axis)) {
                *dim = Dim::Symbol(FREED.to_owned());
            }
        }
        Ok(found)
    }

    /// Runs two rows alone and together; gives the axes along which the outputs have them.
    fn proved(&self, trial: &Trial<'_>, below: &Below) -> Result<Vec<usize>, FreeError> {
        let first = trial.row(&self.model.inputs, 0, below)?;
        let second = trial.row(&self.model.inputs, 1, below)?;
        let mut both = Vec::with_capacity(first.len());
        for (i, values) in first.iter().zip(&second).enumerate() {
            both.push(match (values, trial.axis_of(i)) {
                ((Some(first), Some(second)), Some(axis)) => Some(joined(first, second, axis)?),
                ((first, _), _) => first.clone(),
            });
        }
        let [first, second, both] = [first, second, both].map(|inputs| {
            let named = self.model.inputs.iter().zip(&inputs);
            let named: Vec<_> =
                named.filter_map(|(i, t)| Some((&*i.name, t.as_ref()?.view()))).collect();
            self.run(&named, &[])
        });
        let (first, second, both) = (first?, second?, both?);
        let axis = |(i, spec): (usize, &IoSpec)| {
            let missing = || FreeError::Output(spec.name.clone());
            let (Some(a), Some(b), Some(both)) = (first.get(i), second.get(i), both.get(i)) else {
                return Err(missing());
            };
            let axis = grown(a, both).ok_or_else(missing)?;
            match is_near(&joined(a, b, axis)?, both) {
                true => Ok(axis),
                false => Err(FreeError::Differs(spec.name.clone())),
            }
        };
        self.model.outputs.iter().enumerate().map(axis).collect()
    }
}

/// The axis along which an output of two rows is longer than one of one row; `None` unless it is 2 instead of 1.
fn grown(one: &Tensor, two: &Tensor) -> Option<usize> {
    let (one, two) = (one.shape(), two.shape());
    let differs: Vec<usize> = (0..one.rank()).filter(|&i| one.get(i) != two.get(i)).collect();
    match differs.as_slice() {
        [axis] if one.rank() == two.rank() => {
            (one.get(*axis) == Some(&1) && two.get(*axis) == Some(&2)).then_some(*axis)
        }
        _ => None,
    }
}

fn is_near(a: &Tensor, b: &Tensor) -> bool {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return false;
    }
    let (Ok(x), Ok(y)) = (a.as_slice::<f32>(), b.as_slice::<f32>()) else {
        return a == b;
    };
    x.iter().zip(y).all(|(x, y)| {
        let (x, y) = (f64::from(*x), f64::from(*y));
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= TOLERANCE * y.abs().max(1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, Model, SessionOptions};
    use stead_onnx::{ModelBuilder, ValueType, dims_of};
    use stead_tensor::DType;

    /// `y = x + s`, of one row by the file, with the state's batch on axis 1; `then` goes on from `sum`.
    fn session(then: impl FnOnce(ModelBuilder) -> ModelBuilder) -> Session {
        let typed = |dims: &[&str]| ValueType::tensor(DType::F32, Some(dims_of(dims)));
        let axis = Tensor::from_slice(&[0i64], &[1]).unwrap();
        let builder = ModelBuilder::new(17)
            .input("x", DType::F32, &["1", "3"])
            .input("s", DType::F32, &["2", "1", "3"])
            .init("axis", axis)
            .node("ReduceSum", &["s", "axis"], &["both"])
            .attr("keepdims", 0)
            .node("Add", &["x", "both"], &["sum"])
            .node("Add", &["s", "s"], &["s_next"]);
        let bytes = then(builder)
            .output_of("y", typed(&["1", "3"]))
            .output_of("s_next", typed(&["2", "1", "3"]))
            .bytes();
        let model = Model::from_bytes(&bytes, None, &LoadOptions::default()).unwrap();
        Session::new(model, &SessionOptions::default()).unwrap()
    }

    #[test]
    fn rows_that_stand_for_themselves_are_freed() {
        let mut session = session(|m| m.node("Relu", &["sum"], &["y"]));
        assert_eq!(session.free_batch(&[(0, 0), (1, 1)]), Ok(()));
        let texts = |list: &[IoSpec]| list.iter().map(IoSpec::dims_text).collect::<Vec<_>>();
        assert_eq!(texts(session.model().inputs()), ["[batch,3]", "[2,batch,3]"]);
        assert_eq!(texts(session.model().outputs()), ["[batch,3]", "[2,batch,3]"]);
        let (x, s) = ([1.0f32; 15], [2.0f32; 30]);
        let x = Tensor::from_slice(&x, &[5, 3]).unwrap();
        let s = Tensor::from_slice(&s, &[2, 5, 3]).unwrap();
        let y = session.run(&[("x", x.view()), ("s", s.view())], &["y"]).unwrap().remove(0);
        assert_eq!(y, Tensor::from_slice(&[5.0f32; 15], &[5, 3]).unwrap());
    }

    #[test]
    fn models_that_are_tied_to_one_row_stay_as_they_are() {
        let shape = || Tensor::from_slice(&[1i64, 3], &[2]).unwrap();
        let mean =
            |m: ModelBuilder| m.node("ReduceMean", &["sum"], &["mean"]).attr("axes", vec![0i64]);
        type Then = Box<dyn Fn(ModelBuilder) -> ModelBuilder>;
        let cases: [(&str, Then, &[(usize, usize)], &str); 5] = [
            (
                "rows are mixed",
                Box::new(move |m| mean(m).node("Sub", &["sum", "mean"], &["y"])),
                &[(0, 0), (1, 1)],
                "output \"y\" is another for two rows than for each of them alone",
            ),
            (
                "one row comes out",
                Box::new(move |m| mean(m).node("Relu", &["mean"], &["y"])),
                &[(0, 0), (1, 1)],
                "output \"y\" does not have a row for each of the inputs",
            ),
            (
                "a constant says so",
                Box::new(move |m| m.init("one", shape()).node("Reshape", &["sum", "one"], &["y"])),
                &[(0, 0), (1, 1)],
                "the model does not take two rows",
            ),
            (
                "the state is left out",
                Box::new(|m| m.node("Relu", &["sum"], &["y"])),
                &[(0, 0)],
                "output \"s_next\" does not have a row for each of the inputs",
            ),
            (
                "another axis",
                Box::new(|m| m.node("Relu", &["sum"], &["y"])),
                &[(0, 0), (1, 0)],
                "input \"s\" has no axis 0 of size 1",
            ),
        ];
        for (label, then, axes, expected) in cases {
            let mut session = session(then);
            let before = (session.model().inputs().to_vec(), session.model().outputs().to_vec());
            let error = session.free_batch(axes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{label}: {error}");
            let after = (session.model().inputs().to_vec(), session.model().outputs().to_vec());
            assert_eq!(before, after, "{label}");
        }
    }

    /// `y = x * sum of all rows of x` is 0 for zeros, however many rows there are.
    #[test]
    fn whole_numbers_are_tried_that_are_not_zero() {
        for (label, dtype) in [("ids", DType::I64), ("bytes", DType::U8), ("truths", DType::Bool)] {
            let bytes = ModelBuilder::new(13)
                .input("x", dtype, &["1", "3"])
                .init("rows", Tensor::from_slice(&[0i64], &[1]).unwrap())
                .node("Cast", &["x"], &["real"])
                .attr("to", DType::F32)
                .node("ReduceSum", &["real", "rows"], &["sum"])
                .node("Mul", &["real", "sum"], &["y"])
                .output("y", DType::F32)
                .bytes();
            let model = Model::from_bytes(&bytes, None, &LoadOptions::default()).unwrap();
            let mut session = Session::new(model, &SessionOptions::default()).unwrap();
            let error = session.free_batch(&[(0, 0)]);
            assert_eq!(error, Err(FreeError::Differs("y".to_owned())), "{label}");
        }
    }

    /// A table of 12 rows takes no id of 12, and is tried with ids that it takes.
    #[test]
    fn ids_of_a_trial_are_those_that_a_model_accepts() {
        let table: Vec<f32> = (0..12).map(|n| n as f32).collect();
        let bytes = ModelBuilder::new(13)
            .input("ids", DType::I64, &["1", "40"])
            .init("table", Tensor::from_slice(&table, &[12, 1]).unwrap())
            .node("Gather", &["table", "ids"], &["y"])
            .output("y", DType::F32)
            .bytes();
        let model = Model::from_bytes(&bytes, None, &LoadOptions::default()).unwrap();
        let session = Session::new(model, &SessionOptions::default()).unwrap();
        let trial = Trial { axes: &[(0, 0)], shapes: &[] };
        assert_eq!(trial.accepted(&session), Ok(vec![vec![2], vec![10]]));
    }
}

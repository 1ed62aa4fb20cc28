//! The Rust engines that stead is measured against, each loaded for one set of inputs and one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use rten::{Model as RtenModel, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::Tensor as RtenTensor;
use rten_tensor::prelude::*;
use stead_tensor::{DType, Tensor};
use tract_onnx::prelude::*;

use crate::Result;

/// The f32 outputs of a run in the model's order.
pub type Outputs = Vec<Vec<f32>>;

/// One run of a prepared model; the outputs are copied out only if asked for.
pub type Run = Box<dyn FnMut(bool) -> Result<Outputs>>;

/// Inputs by name.
pub type Inputs = [(String, Tensor)];

/// Calls `work` and turns a panic into an error: a peer that cannot do a model must not end the tables.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("panicked".into()))
}

/// rten with prepacked weights, run on `pool`. It has no i64: such inputs are given as i32.
pub fn rten(model: &Path, inputs: &Inputs, pool: &Arc<ThreadPool>) -> Result<Run> {
    let model: RtenModel = ModelOptions::with_all_ops().prepack_weights(true).load_file(model)?;
    let inputs: Vec<(NodeId, Value)> = inputs
        .iter()
        .map(|(name, tensor)| {
            let shape = tensor.shape();
            let value = match tensor.dtype() {
                DType::F32 => {
                    RtenTensor::from_data(&shape, tensor.as_slice::<f32>()?.to_vec()).into()
                }
                DType::I64 => {
                    let ids: std::result::Result<Vec<i32>, _> =
                        tensor.as_slice::<i64>()?.iter().map(|&v| i32::try_from(v)).collect();
                    RtenTensor::from_data(&shape, ids?).into()
                }
                other => return Err(format!("no rten tensor of type {other}").into()),
            };
            Ok((model.node_id(name)?, value))
        })
        .collect::<Result<_>>()?;
    let options = RunOptions::default().with_thread_pool(Some(pool.clone()));
    Ok(Box::new(move |copy| {
        let feed = inputs.iter().map(|(id, value)| (*id, ValueOrView::from(value))).collect();
        let outputs = model.run(feed, model.output_ids(), Some(options.clone()))?;
        if !copy {
            return Ok(Vec::new());
        }
        outputs.into_iter().map(|value| Ok(RtenTensor::<f32>::try_from(value)?.to_vec())).collect()
    }))
}

/// tract, optimised for the concrete shapes of the inputs; it is single-threaded by default.
pub fn tract(model: &Path, inputs: &Inputs) -> Result<Run> {
    // The declared output shapes hold symbols that the concrete inputs would contradict.
    let mut model =
        tract_onnx::onnx().with_ignore_output_shapes(true).model_for_path(model).map_err(text)?;
    let mut feed: TVec<TValue> = tvec!();
    for at in 0..model.input_outlets().map_err(text)?.len() {
        let outlet = model.input_outlets().map_err(text)?[at];
        let name = model.node(outlet.node).name.clone();
        let (_, tensor) = inputs
            .iter()
            .find(|(n, _)| *n == name)
            .ok_or_else(|| format!("the bench has no input {name}"))?;
        let shape: Vec<usize> = tensor.shape().iter().copied().collect();
        let value = match tensor.dtype() {
            DType::F32 => {
                tract_onnx::prelude::Tensor::from_shape(&shape, tensor.as_slice::<f32>()?)
            }
            DType::I64 => {
                tract_onnx::prelude::Tensor::from_shape(&shape, tensor.as_slice::<i64>()?)
            }
            other => return Err(format!("no tract tensor of type {other}").into()),
        }
        .map_err(text)?;
        let fact = InferenceFact::dt_shape(value.datum_type(), &shape);
        model.set_input_fact(at, fact).map_err(text)?;
        feed.push(value.into());
    }
    let plan = model.into_optimized().and_then(|m| m.into_runnable()).map_err(text)?;
    let mut state = plan.spawn().map_err(text)?;
    Ok(Box::new(move |copy| {
        let outputs = state.run(feed.clone()).map_err(text)?;
        if !copy {
            return Ok(Vec::new());
        }
        outputs
            .iter()
            .map(|value| {
                let array = value.to_plain_array_view::<f32>().map_err(text)?;
                Ok(array.iter().copied().collect())
            })
            .collect()
    }))
}

/// The innermost cause: the outer ones only tell the way there.
fn text(error: TractError) -> String {
    error.root_cause().to_string()
}

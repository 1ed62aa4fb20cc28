//! Runs that show the values of a graph.

use stead_engine::{LoadOptions, Model as Loaded, RunContext, Session, SessionOptions};
use stead_onnx::{Model, ValueInfo, ValueType};
use stead_tensor::{DType, Tensor, TensorView};

use crate::{QuantizeError, Ranges, fixed};

/// The inputs of one run, by position; `None` for one that may be absent.
pub type Run = Vec<Option<Tensor>>;

/// Views of the inputs of a run.
pub(crate) fn views(run: &Run) -> Vec<Option<TensorView<'_>>> {
    run.iter().map(|tensor| tensor.as_ref().map(Tensor::view)).collect()
}

/// The ranges that [`fixed`](crate::fixed()) wants to know, over all these runs; `done` is called after each.
///
/// # Errors
/// [`QuantizeError::Load`] and [`QuantizeError::Run`].
pub fn calibrate(
    model: &Model,
    runs: &[Run],
    context: &RunContext<'_>,
    mut done: impl FnMut(),
) -> Result<Ranges, QuantizeError> {
    let names = fixed::wanted(model);
    let mut shown = model.clone();
    let info =
        |name: &String| ValueInfo { name: name.clone(), ty: ValueType::tensor(DType::F32, None) };
    shown.graph.outputs = names.iter().map(info).collect();
    let loaded = Loaded::from_onnx(shown, &LoadOptions::default())?;
    let session = Session::new(loaded, &SessionOptions::default())?;
    let mut ranges = Ranges::default();
    for run in runs {
        session.run_with(&views(run), context, |outputs| {
            for (at, name) in names.iter().enumerate() {
                ranges.note(name, outputs.get(at)?.as_slice::<f32>()?);
            }
            Ok::<(), stead_engine::RunError>(())
        })??;
        done();
    }
    Ok(ranges)
}

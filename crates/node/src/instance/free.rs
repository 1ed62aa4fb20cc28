//! Models that were exported for one row, and are to be batched.

use crate::evaluate::Evaluate;
use crate::sequences;
use std::path::Path;
use std::sync::Arc;
use stead_app::ModelSettings;
use stead_engine::{Dim, IoSpec};

/// Makes the batch free where the file fixes it at 1 on axis 0 of every input, and along one axis of every state.
/// Inputs with a value in `default_inputs` belong to all rows and stay as they are. Every other model is left alone.
///
/// # Errors
/// In words, when the model cannot compute several rows.
pub(super) fn free_batch(
    model: &str,
    evaluate: &mut Arc<dyn Evaluate>,
    settings: &ModelSettings,
    file: &Path,
) -> Result<(), String> {
    let layout = match settings.sequences.is_stateful() {
        true => Some(sequences::first_look(&**evaluate, settings, file)?),
        false => None,
    };
    let is_data = |(i, spec): &(usize, &IoSpec)| {
        let is_state = layout.as_ref().is_some_and(|l| l.is_state_input(*i));
        !is_state && !spec.optional && !settings.default_inputs.contains_key(&spec.name)
    };
    let inputs = evaluate.inputs().iter().enumerate();
    let data: Vec<(usize, &IoSpec)> = inputs.filter(is_data).collect();
    let is_one = |spec: &IoSpec| spec.dims.as_ref().and_then(|d| d.first()) == Some(&Dim::Known(1));
    if data.is_empty() || !data.iter().all(|(_, spec)| is_one(spec)) {
        return Ok(());
    }
    let mut axes: Vec<(usize, usize)> = data.into_iter().map(|(i, _)| (i, 0)).collect();
    axes.extend(layout.map_or(Ok(Vec::new()), |layout| layout.axes_of_one())?);
    let own = Arc::get_mut(evaluate).ok_or("the model is in use already")?;
    own.free_batch(&axes)
        .map_err(|e| format!("max_batch_size, and the model file fixes a batch of 1: {e}"))?;
    tracing::info!(
        model,
        "the batch of 1 that the file fixes is free: two rows gave what each gives alone"
    );
    Ok(())
}

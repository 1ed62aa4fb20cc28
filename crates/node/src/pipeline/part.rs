//! One run of a node's model.

use crate::Error;
use crate::instance::Instance;
use crate::scheduler::{Answer, Arrival, Job, Reply};
use crate::sequences::State;
use std::time::Instant;
use stead_tensor::Tensor;

/// What a node gives to its model.
pub(super) struct Part<'a> {
    /// By the places of the model's inputs.
    pub(super) inputs: Vec<Option<Tensor>>,
    /// The places of the outputs wanted.
    pub(super) outputs: &'a [usize],
    /// What the step before left; none for a START and for stateless models.
    pub(super) state: Option<&'a State>,
    pub(super) deadline: Option<Instant>,
    /// Whether it may run on this thread if it is quick.
    pub(super) here: bool,
}

/// A run that has begun, or is over.
pub(super) struct Begun {
    /// What [`finish`] needs for the next state.
    pub(super) windows: Vec<Tensor>,
    /// The answer, if it is there already; otherwise it comes by the reply.
    pub(super) answer: Option<Answer>,
}

/// Sends values to a model, whose states are among what it answers.
///
/// # Errors
/// What is wrong with the values, or that the model takes no more now.
pub(super) fn begin(
    model: &Instance,
    part: Part<'_>,
    reply: impl FnOnce() -> Reply,
) -> Result<Begun, Error> {
    let Part { mut inputs, outputs, state, deadline, here } = part;
    let (signature, scheduler) = (model.signature(), model.scheduler());
    signature.complete(&mut inputs)?;
    let rows = match &scheduler.limits().batching {
        Some(batching) => batching.rows(&inputs, signature.inputs.iter().map(|i| &*i.name))?,
        None => 1,
    };
    let mut wanted = outputs.to_vec();
    let mut windows = Vec::new();
    if let Some(layout) = model.sequences().and_then(|s| s.layout()) {
        windows = layout.fill(&mut inputs, scheduler.evaluate().inputs(), state, rows)?;
        wanted.extend(layout.outputs());
    }
    let queued = Instant::now();
    let deadline = model.deadline(deadline, queued);
    let times = Arrival { queued, deadline };
    if here && let Some(answer) = scheduler.run_inline(None, &inputs, &wanted, rows, times) {
        return Ok(Begun { windows, answer: Some(answer) });
    }
    let (held, reply) = (Some(model.hold(&inputs)?), reply());
    match scheduler.submit(Job {
        inputs,
        wanted,
        rows,
        deadline,
        queued,
        reply,
        held,
        place: None,
        trace: None,
    }) {
        None => Ok(Begun { windows, answer: None }),
        Some((_, error)) => Err(error),
    }
}

/// Takes an answer apart: the first `wanted` values, and the state that the run left if the model is stateful.
///
/// # Errors
/// Those of the run, and of a state that has grown too large.
pub(super) fn finish(
    model: &Instance,
    answer: Answer,
    wanted: usize,
    windows: Vec<Tensor>,
) -> Result<(Vec<Tensor>, Option<State>), Error> {
    let mut outputs = answer?;
    let states = outputs.split_off(wanted.min(outputs.len()));
    let layout = model.sequences().and_then(|s| s.layout());
    let state = layout.map(|layout| layout.next(states, windows)).transpose()?;
    Ok((outputs, state))
}

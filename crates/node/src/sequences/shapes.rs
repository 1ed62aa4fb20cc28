//! Shapes of inputs that are fixed at the START of a sequence.

use super::slot::Slot;
use stead_app::{BatchSize, ModelSettings};
use stead_engine::{Dim, IoSpec};
use stead_tensor::{DType, Tensor, TensorError};

/// An input whose shape at the START goes with the state, as a tensor `i64[rank]`; without elements while the
/// input has not been given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fixed {
    pub(super) input: usize,
    /// The name of the tensor in files.
    pub(super) name: String,
    /// How many of the first axes may not change.
    axes: usize,
    rank: Option<usize>,
}

impl Fixed {
    /// The shape to go with the state.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    pub(super) fn remember(input: Option<&Tensor>) -> Result<Tensor, TensorError> {
        let dims = input.map(|t| t.shape().to_vec()).unwrap_or_default();
        let dims: Vec<i64> = dims.into_iter().map(|n| i64::try_from(n).unwrap_or(-1)).collect();
        Tensor::from_slice(&dims, &[dims.len()])
    }

    /// Why a step may not bring this shape.
    pub(super) fn refuses(&self, start: &Tensor, spec: &IoSpec, given: &Tensor) -> Option<String> {
        let dims = given.shape().to_vec();
        let start = start.as_slice::<i64>().ok()?;
        let differs = |(a, b): (&i64, &usize)| usize::try_from(*a) != Ok(*b);
        let changed =
            start.len() != dims.len() || start.iter().zip(&dims).take(self.axes).any(differs);
        changed.then(|| differing(&spec.name, &dims, &format!("{start:?}")))
    }

    /// Whether a value that comes from outside can be the shape.
    pub(super) fn takes(&self, value: &Tensor) -> bool {
        let dims = value.shape();
        value.dtype() == DType::I64
            && dims.rank() == 1
            && self.rank.is_none_or(|rank| dims.elements() == rank || dims.elements() == 0)
    }

    /// What a value has to be, for people.
    pub(super) fn expected(&self) -> String {
        format!("i64[{}]", self.rank.map_or("?".to_owned(), |n| n.to_string()))
    }

    /// What it is, for people.
    pub(super) fn describe(&self) -> &'static str {
        if self.axes == 1 { "the START fixes its batch" } else { "the START fixes its shape" }
    }
}

/// The inputs to keep shapes of: all with `shape: auto`; with `batch_size: auto` those whose batch no state tells.
pub(super) fn fixed(
    settings: &ModelSettings,
    inputs: &[IoSpec],
    slots: &[Slot],
    batches: &[Batch],
) -> Vec<Fixed> {
    let (axes, told) = match (settings.auto_shape, settings.batch_size) {
        (Some(true), _) => (usize::MAX, &[][..]),
        (_, Some(BatchSize::Auto)) => (1, batches),
        _ => return Vec::new(),
    };
    let inputs = inputs.iter().enumerate();
    let public = inputs
        .filter(|(i, _)| slots.iter().all(|s| s.input != *i) && told.iter().all(|b| b.input != *i));
    let free = public.filter(|(_, s)| {
        s.dims.as_ref().is_none_or(|dims| dims.iter().take(axes).any(|d| d.known().is_none()))
    });
    free.map(|(input, s)| Fixed {
        input,
        name: format!("shape.{}", s.name),
        axes,
        rank: s.dims.as_ref().map(Vec::len),
    })
    .collect()
}

/// Where the batch of a state is seen in an input.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    /// Position among the states.
    pub(super) slot: usize,
    pub(super) state_axis: usize,
    pub(super) input: usize,
    pub(super) axis: usize,
}

/// Where the batch of a state may be seen: in one of these, but nobody knows in which.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnyBatch {
    /// Position among the states.
    pub(super) slot: usize,
    pub(super) state_axis: usize,
    /// Inputs and axes.
    pub(super) places: Vec<(usize, usize)>,
}

/// A state with a batch, by position and axis, if the batch of none is seen in an input.
pub(super) fn unseen(slots: &[Slot], batches: &[Batch]) -> Option<(usize, usize)> {
    let axis = |s: &Slot| {
        let axis = s.batch_axis?;
        let dim = s.spec.dims.as_ref()?.get(axis)?;
        dim.known().is_none().then_some(axis)
    };
    let mut all = slots.iter().enumerate().filter_map(|(i, s)| Some((i, axis(s)?)));
    all.next().filter(|_| batches.is_empty())
}

/// The size of a state's batch, once it has one.
fn rows_of(state: &[Option<Tensor>], slot: usize, axis: usize) -> Option<usize> {
    let value = state.get(slot)?.as_ref().filter(|t| t.shape().elements() > 0)?;
    value.shape().get(axis).copied()
}

impl AnyBatch {
    /// Why a step may not bring these inputs: nothing in them has the size of the batch.
    pub(super) fn refuses(
        &self,
        state: &[Option<Tensor>],
        inputs: &[Option<Tensor>],
    ) -> Option<String> {
        let rows = rows_of(state, self.slot, self.state_axis)?;
        let size = |(input, axis): &(usize, usize)| {
            inputs.get(*input)?.as_ref()?.shape().get(*axis).copied()
        };
        let found = self.places.is_empty() || self.places.iter().any(|p| size(p) == Some(rows));
        (!found).then(|| format!("no input has the batch of {rows} with which its sequence began"))
    }
}

/// The axes of inputs that must have the size of a state's batch axis: those with its symbol. Without symbols it
/// is the first axis if no other is free, since another could be the batch.
pub(super) fn batches(slots: &[Slot], inputs: &[IoSpec]) -> Vec<Batch> {
    let mut found: Vec<Batch> = Vec::new();
    for (i, slot) in slots.iter().enumerate() {
        let Some(state_axis) = slot.batch_axis else { continue };
        let own = slot.spec.dims.as_ref().and_then(|dims| dims.get(state_axis));
        for (input, spec) in inputs.iter().enumerate() {
            let is_state = slots.iter().any(|s| s.input == input);
            if is_state || found.iter().any(|b| b.input == input) {
                continue;
            }
            let dims = spec.dims.as_deref().unwrap_or_default();
            let mut free = dims.iter().enumerate().filter(|(_, d)| d.known().is_none());
            let axis = match own {
                Some(Dim::Known(_)) => None,
                Some(own @ Dim::Symbol(_)) => dims.iter().position(|d| d == own),
                _ => match (free.next(), free.next()) {
                    (Some((0, _)), None) => Some(0),
                    _ => None,
                },
            };
            found.extend(axis.map(|axis| Batch { slot: i, state_axis, input, axis }));
        }
    }
    found
}

impl Batch {
    /// The rows of a request.
    pub(super) fn rows(&self, inputs: &[Option<Tensor>]) -> Option<usize> {
        inputs.get(self.input)?.as_ref()?.shape().get(self.axis).copied()
    }

    /// Why a step may not bring this shape.
    pub(super) fn refuses(
        &self,
        state: &[Option<Tensor>],
        spec: &IoSpec,
        given: &Tensor,
    ) -> Option<String> {
        let rows = rows_of(state, self.slot, self.state_axis)?;
        let shape = given.shape();
        let dims = shape.dims();
        if dims.get(self.axis) == Some(&rows) {
            return None;
        }
        let size = |(axis, dim): (usize, &Dim)| match dim.known() {
            _ if axis == self.axis => rows.to_string(),
            Some(n) => n.to_string(),
            None => "?".to_owned(),
        };
        let start: Vec<String> = spec.dims.iter().flatten().enumerate().map(size).collect();
        Some(differing(&spec.name, dims, &format!("[{}]", start.join(", "))))
    }
}

fn differing(name: &str, given: &[usize], start: &str) -> String {
    format!("input {name:?} has shape {given:?}, its sequence began with {start}")
}

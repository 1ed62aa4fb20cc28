//! Where the state of a model lies: which inputs and outputs carry it, along which axis the states of several
//! sequences are joined, and what a sequence begins with.

mod fill;
mod outside;

use super::first::Sizes;
use super::probe::batch_places;
use super::shapes::{AnyBatch, Batch, Fixed, batches, fixed, unseen};
use super::slot::{Init, Slot, Window, filled, slot, window};
use super::state::State;
use crate::evaluate::{Evaluate, Grows};
use crate::scheduler::StateAxes;
use crate::{Error, ErrorKind, StateBegins, StateInfo, WindowInfo};
use std::path::Path;
use stead_app::{ModelSettings, StateInit, StateSetting};
use stead_engine::{Dim, IoSpec};
use stead_sequence::pair_states;
use stead_tensor::Tensor;

/// The states and windows of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    slots: Vec<Slot>,
    windows: Vec<Window>,
    /// Inputs whose shapes go with the state, behind the windows.
    fixed: Vec<Fixed>,
    batches: Vec<Batch>,
    /// In place of them, if nobody tells which they are.
    any: Option<AnyBatch>,
}

impl Layout {
    /// Finds the states of a model, by its settings or by the names of its inputs and outputs.
    ///
    /// # Errors
    /// In words, when they contradict the model.
    pub(crate) fn new(
        model: &dyn Evaluate,
        settings: &ModelSettings,
        folder: &Path,
    ) -> Result<Layout, String> {
        let (inputs, outputs) = (model.inputs(), model.outputs());
        let wanted = &settings.sequences;
        let mut slots = Vec::new();
        if wanted.states.is_empty() {
            for pair in pair_states(inputs, outputs).map_err(|e| e.to_string())? {
                let name = |spec: Option<&IoSpec>| spec.map(|s| s.name.clone()).unwrap_or_default();
                let growable =
                    pair.growing.map(|axis| stead_app::Growable { axis, max: usize::MAX });
                let setting = StateSetting {
                    input: name(inputs.get(pair.input)),
                    output: name(outputs.get(pair.output)),
                    batch_axis: None,
                    init: StateInit::Zeros,
                    growable,
                };
                slots.push(slot(&setting, inputs, outputs, folder)?);
            }
        }
        for setting in &wanted.states {
            slots.push(slot(setting, inputs, outputs, folder)?);
        }
        for lifted in model.lifted() {
            match slots.iter_mut().find(|s| s.spec.name == lifted.input) {
                Some(slot) => slot.complete(lifted),
                None => {
                    let setting = StateSetting {
                        input: lifted.input.clone(),
                        output: lifted.output.clone(),
                        batch_axis: None,
                        init: StateInit::Zeros,
                        growable: None,
                    };
                    let mut slot = slot(&setting, inputs, outputs, folder)?;
                    slot.complete(lifted);
                    slots.push(slot);
                }
            }
        }
        for (i, slot) in slots.iter().enumerate() {
            let twice = |s: &&Slot| s.input == slot.input || s.output == slot.output;
            if let Some(other) = slots.iter().take(i).find(twice) {
                return Err(format!(
                    "states name {:?} or {:?} twice",
                    other.spec.name, other.output_name
                ));
            }
        }
        let mut windows = Vec::new();
        for setting in &wanted.windows {
            windows.push(window(setting, inputs)?);
        }
        let mut layout =
            Layout { slots, windows, fixed: Vec::new(), batches: Vec::new(), any: None };
        layout.find_batch_axes(inputs);
        // A model without any state is none of a sequence, whatever shapes it takes.
        if !layout.is_empty() {
            layout.batches = batches(&layout.slots, inputs);
            layout.find_batch_places(model);
            layout.fixed = fixed(settings, inputs, &layout.slots, &layout.batches);
        }
        Ok(layout)
    }

    /// States without an axis of their own take the one with the symbol of the data's first axis, or else
    /// their only free one.
    fn find_batch_axes(&mut self, inputs: &[IoSpec]) {
        let is_data = |i: usize, s: &IoSpec| !s.optional && !self.is_state_input(i);
        let first = |s: &IoSpec| s.dims.as_ref().and_then(|d| d.first()).cloned();
        let mut data =
            inputs.iter().enumerate().filter(|(i, s)| is_data(*i, s)).filter_map(|(_, s)| first(s));
        let Some(batch) = data.find(|d| d.known().is_none()) else { return };
        for slot in self.slots.iter_mut().filter(|s| s.batch_axis.is_none()) {
            let dims = slot.spec.dims.as_deref().unwrap_or_default();
            let named = matches!(batch, Dim::Symbol(_));
            let symbol = dims.iter().position(|d| named && *d == batch);
            let growing = slot.growable.map(|(axis, _)| axis);
            let mut free = dims
                .iter()
                .enumerate()
                .filter(|(axis, d)| d.known().is_none() && Some(*axis) != growing)
                .map(|(axis, _)| axis);
            let only = match (free.next(), free.next()) {
                (Some(axis), None) => Some(axis),
                _ => None,
            };
            slot.batch_axis = symbol.or(only);
        }
    }

    /// Asks the model which axis of the inputs is the batch where no symbol tells. If it does not tell either, any of
    /// the free ones may be.
    fn find_batch_places(&mut self, model: &dyn Evaluate) {
        let Some((slot, state_axis)) = unseen(&self.slots, &self.batches) else { return };
        let public = |(i, s): &(usize, &IoSpec)| !s.optional && !self.is_state_input(*i);
        let inputs = model.inputs().iter().enumerate().filter(public);
        let places = inputs.flat_map(|(i, s)| {
            let dims = s.dims.iter().flatten().enumerate();
            dims.filter(|(_, d)| d.known().is_none()).map(move |(axis, _)| (i, axis))
        });
        let places: Vec<(usize, usize)> = places.collect();
        match batch_places(model, &self.slots, &self.windows, &places) {
            Some(found) => self.batches.extend(found.into_iter().map(|(input, axis)| Batch {
                slot,
                state_axis,
                input,
                axis,
            })),
            None => self.any = Some(AnyBatch { slot, state_axis, places }),
        }
    }

    /// The rows of a request, where an input shows them.
    fn rows(&self, inputs: &[Option<Tensor>]) -> Option<usize> {
        self.batches.iter().find_map(|batch| batch.rows(inputs))
    }

    /// The axes of states that have size 1 and are, or can only be, the batch: input and axis.
    ///
    /// # Errors
    /// In words, when nothing tells the axis of a state.
    pub(crate) fn axes_of_one(&self) -> Result<Vec<(usize, usize)>, String> {
        let axis = |slot: &Slot| {
            let dims = slot.spec.dims.as_deref().unwrap_or_default();
            let mut ones = (0..dims.len()).filter(|a| dims[*a].known() == Some(1));
            let only = ones.next().filter(|_| ones.next().is_none());
            let axis = slot.batch_axis.or(only).ok_or_else(|| {
                format!(
                    "the batch axis of the state {:?} with shape {} is not told; give it in the option states",
                    slot.spec.name,
                    slot.spec.dims_text()
                )
            })?;
            Ok((slot.input, axis))
        };
        self.slots.iter().map(axis).collect()
    }

    /// Whether the model has no state at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.windows.is_empty()
    }

    /// Whether clients see nothing of this input. One that brings its own first value is seen.
    pub(crate) fn is_hidden_input(&self, input: usize) -> bool {
        self.slots.iter().any(|s| s.input == input && s.init != Init::FirstValue)
    }

    /// Whether the state takes the place of this input.
    pub(crate) fn is_state_input(&self, input: usize) -> bool {
        self.slots.iter().any(|s| s.input == input)
    }

    /// Whether this output carries a state.
    pub(crate) fn is_state_output(&self, output: usize) -> bool {
        self.slots.iter().any(|s| s.output == output)
    }

    /// The axis and the length of the window of an input.
    pub(crate) fn window(&self, input: usize) -> Option<(usize, usize)> {
        self.windows.iter().find(|w| w.input == input).map(|w| (w.axis, w.length))
    }

    /// The outputs that carry states, in the order of the states.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().map(|s| s.output)
    }

    /// The states that grow.
    pub(crate) fn growing(&self) -> impl Iterator<Item = Grows> {
        self.slots.iter().filter_map(|s| {
            let (axis, _) = s.growable?;
            Some(Grows { input: s.input, output: s.output, axis })
        })
    }

    /// The axis along which a state input or output is joined with others; the outer `None` when it is no
    /// state.
    fn axis(&self, input: Option<usize>, output: Option<usize>) -> Option<Option<usize>> {
        let is = |s: &&Slot| input == Some(s.input) || output == Some(s.output);
        self.slots.iter().find(is).map(|s| s.batch_axis)
    }
}

impl StateAxes for Layout {
    fn input(&self, input: usize) -> Option<Option<usize>> {
        self.axis(Some(input), None)
    }

    fn output(&self, output: usize) -> Option<Option<usize>> {
        self.axis(None, Some(output))
    }
}

fn invalid(text: String) -> Error {
    ErrorKind::SpecialInput { text }.into()
}

fn memory(error: stead_tensor::TensorError) -> Error {
    Error::new(crate::Code::ResourceExhausted, error.to_string())
}

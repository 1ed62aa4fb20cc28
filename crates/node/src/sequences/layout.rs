//! Where the state of a model lies: which inputs and outputs carry it, along which axis the states of several
//! sequences are joined, and what a sequence begins with.

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
use stead_tensor::{Shape, Tensor};

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

    /// What there is, for people: a name and a description of each state and window.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        let state = |s: &Slot| {
            let mut text = format!("{} <- {}", s.spec.name, s.output_name);
            text += &format!(" {}{}", s.spec.dtype, s.spec.dims_text());
            if let Some(axis) = s.batch_axis {
                text += &format!(", batch axis {axis}");
            }
            match s.growable {
                Some((axis, usize::MAX)) => text += &format!(", grows along axis {axis}"),
                Some((axis, max)) => text += &format!(", grows along axis {axis} to {max}"),
                None => {}
            }
            text += match s.init {
                Init::Zeros => ", begins with zeros",
                Init::Value(_) => ", begins with a given value",
                Init::FirstValue => ", begins with the value of the START",
                Init::Model => ", begins as the model itself does",
            };
            (format!("state.{}", s.spec.name), text)
        };
        let window = |w: &Window| {
            let text =
                format!("the last {} values along axis {} go before new ones", w.length, w.axis);
            (format!("window.{}", w.name), text)
        };
        let fixed = |f: &Fixed| (f.name.clone(), f.describe().to_owned());
        let states = self.slots.iter().map(state).chain(self.windows.iter().map(window));
        states.chain(self.fixed.iter().map(fixed)).collect()
    }

    /// The states, for programs.
    pub(crate) fn states(&self) -> Vec<StateInfo> {
        let size = |d: &Dim| d.known().and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
        let state = |s: &Slot| StateInfo {
            input: s.spec.name.clone(),
            output: s.output_name.clone(),
            dtype: s.spec.dtype,
            shape: s.spec.dims.as_ref().map(|dims| dims.iter().map(size).collect()),
            batch_axis: s.batch_axis,
            growable: s.growable.map(|(axis, max)| (axis, (max < usize::MAX).then_some(max))),
            begins: match s.init {
                Init::Zeros => StateBegins::Zeros,
                Init::Value(_) => StateBegins::Value,
                Init::FirstValue => StateBegins::FirstValue,
                Init::Model => StateBegins::Model,
            },
        };
        self.slots.iter().map(state).collect()
    }

    /// The windows, for programs.
    pub(crate) fn windows(&self) -> Vec<WindowInfo> {
        let window =
            |w: &Window| WindowInfo { input: w.name.clone(), length: w.length, axis: w.axis };
        self.windows.iter().map(window).collect()
    }

    /// Puts the state into the inputs of a step and its windows in front of the new values. Without a state,
    /// which is a START, the first values are made. Gives the windows of the next step and the shapes that it
    /// has to keep.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when a first value is missing or its size cannot be told, and when an input has
    /// another shape than the START has fixed.
    pub(crate) fn fill(
        &self,
        inputs: &mut [Option<Tensor>],
        specs: &[IoSpec],
        state: Option<&State>,
        rows: usize,
    ) -> Result<Vec<Tensor>, Error> {
        let known = |i: usize| state.and_then(|s| s.0.get(i)).and_then(Option::as_ref);
        let shapes = self.shapes(inputs, specs, state)?;
        let rows = self.rows(inputs).unwrap_or(rows);
        let sizes = if state.is_none() { Sizes::of(inputs, specs) } else { Sizes::default() };
        for (i, slot) in self.slots.iter().enumerate() {
            let Some(place) = inputs.get_mut(slot.input) else { continue };
            let value = match (known(i), &slot.init) {
                (Some(_), Init::FirstValue) if place.is_some() => {
                    return Err(invalid(format!(
                        "input {:?} is a state: only the START brings it",
                        slot.spec.name
                    )));
                }
                (Some(value), _) => value.clone(),
                (None, Init::Model) => {
                    *place = None;
                    continue;
                }
                (None, Init::FirstValue) => place.take().ok_or_else(|| {
                    Error::from(ErrorKind::MissingInput { input: slot.spec.name.clone() })
                })?,
                (None, Init::Value(value))
                    if value.shape().rank() > 0 || slot.rank() == Some(0) =>
                {
                    value.clone()
                }
                (None, init) => {
                    let shape = sizes
                        .shape(&slot.spec, slot.batch_axis, slot.growable.map(|g| g.0), rows)
                        .map_err(invalid)?;
                    match init {
                        Init::Value(value) => filled(value, shape).map_err(memory)?,
                        _ => Tensor::zeros(slot.spec.dtype, shape).map_err(memory)?,
                    }
                }
            };
            *place = Some(value);
        }
        let mut windows = Vec::with_capacity(self.windows.len());
        for (i, window) in self.windows.iter().enumerate() {
            let Some(place) = inputs.get_mut(window.input) else { continue };
            let Some(new) = place.as_ref() else {
                return Err(ErrorKind::MissingInput { input: window.name.clone() }.into());
            };
            let before = match known(self.slots.len() + i) {
                Some(before) => before.clone(),
                None => {
                    let mut dims = new.shape().to_vec();
                    if let Some(d) = dims.get_mut(window.axis) {
                        *d = window.length;
                    }
                    let shape = Shape::new(&dims).map_err(memory)?;
                    Tensor::zeros(new.dtype(), shape).map_err(memory)?
                }
            };
            let joined = super::first::join(&before, new, window.axis).ok_or_else(|| {
                invalid(format!(
                    "input {:?} changed its shape from {:?} within the sequence",
                    window.name,
                    before.shape().dims()
                ))
            })?;
            let joined = joined.map_err(memory)?;
            windows.push(super::first::last(&joined, window.axis, window.length).map_err(memory)?);
            *place = Some(joined);
        }
        windows.extend(shapes);
        Ok(windows)
    }

    /// Holds the inputs, as they came, against the shapes of the START. Gives the shapes for the next step.
    fn shapes(
        &self,
        inputs: &[Option<Tensor>],
        specs: &[IoSpec],
        state: Option<&State>,
    ) -> Result<Vec<Tensor>, Error> {
        let of = |i: usize| inputs.get(i).and_then(Option::as_ref).zip(specs.get(i));
        let behind = self.slots.len() + self.windows.len();
        let mut shapes = Vec::with_capacity(self.fixed.len());
        for (i, fixed) in self.fixed.iter().enumerate() {
            let start = state.and_then(|s| s.0.get(behind + i)).and_then(Option::as_ref);
            let start = start.filter(|t| t.shape().elements() > 0);
            let given = of(fixed.input);
            if let (Some(start), Some((given, spec))) = (start, given)
                && let Some(text) = fixed.refuses(start, spec, given)
            {
                return Err(invalid(text));
            }
            shapes.push(match start {
                Some(start) => start.clone(),
                None => Fixed::remember(given.map(|(given, _)| given)).map_err(memory)?,
            });
        }
        for batch in &self.batches {
            if let (Some(state), Some((given, spec))) = (state, of(batch.input))
                && let Some(text) = batch.refuses(&state.0, spec, given)
            {
                return Err(invalid(text));
            }
        }
        if let (Some(any), Some(state)) = (&self.any, state)
            && let Some(text) = any.refuses(&state.0, inputs)
        {
            return Err(invalid(text));
        }
        Ok(shapes)
    }

    /// The state that a step leaves: the values of its state outputs and the windows that [`Layout::fill`] gave.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` when a state has grown beyond its limit.
    pub(crate) fn next(&self, states: Vec<Tensor>, windows: Vec<Tensor>) -> Result<State, Error> {
        for (slot, value) in self.slots.iter().zip(&states) {
            if let Some((axis, max)) = slot.growable
                && value.shape().get(axis).is_some_and(|n| *n > max)
            {
                return Err(ErrorKind::StateFull { state: slot.spec.name.clone(), max }.into());
            }
        }
        Ok(State(states.into_iter().chain(windows).map(Some).collect()))
    }

    /// The state that these named values make.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when one is missing, is not known, or has another type or shape than the model takes.
    pub(crate) fn state_of(&self, mut values: Vec<(String, Tensor)>) -> Result<State, Error> {
        let mut state = Vec::with_capacity(self.slots.len() + self.windows.len());
        for (i, name) in self.names().enumerate() {
            let place = values.iter().position(|(n, _)| n == name);
            if place.is_none() && i >= self.slots.len() + self.windows.len() {
                // The next step fixes it, as a START does.
                state.push(Some(Fixed::remember(None).map_err(memory)?));
                continue;
            }
            let place = place.ok_or_else(|| invalid(format!("state {name:?} is missing")))?;
            let (_, value) = values.swap_remove(place);
            let (takes, expected) = match self.slots.get(i) {
                Some(slot) => (slot.takes(&value), slot.expected()),
                None => match self.windows.get(i - self.slots.len()) {
                    Some(window) => (window.takes(&value), window.expected()),
                    None => match self.fixed.get(i - self.slots.len() - self.windows.len()) {
                        Some(fixed) => (fixed.takes(&value), fixed.expected()),
                        None => (true, String::new()),
                    },
                },
            };
            if !takes {
                return Err(invalid(format!(
                    "state {name:?} has {}{:?}, the model takes {expected}",
                    value.dtype(),
                    value.shape().dims()
                )));
            }
            state.push(Some(value));
        }
        match values.first() {
            Some((name, _)) => Err(invalid(format!("the model has no state {name:?}"))),
            None => Ok(State(state.into())),
        }
    }

    /// The names of states, windows and kept shapes in the order of a [`State`], for files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let states = self.slots.iter().map(|s| &*s.spec.name);
        let states = states.chain(self.windows.iter().map(|w| &*w.name));
        states.chain(self.fixed.iter().map(|f| &*f.name))
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

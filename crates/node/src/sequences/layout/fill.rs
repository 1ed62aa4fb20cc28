//! From the state to the inputs of a step, and from its outputs to the next state.

use super::super::first::slide;
use super::*;

impl Layout {
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
                    let shape = new.shape().with(window.axis, window.length).map_err(memory)?;
                    Tensor::zeros(new.dtype(), shape).map_err(memory)?
                }
            };
            let slid = slide(&before, new, window.axis, window.length).ok_or_else(|| {
                invalid(format!(
                    "input {:?} changed its shape from {:?} within the sequence",
                    window.name,
                    before.shape().dims()
                ))
            })?;
            let (whole, last) = slid.map_err(memory)?;
            windows.push(last);
            *place = Some(whole);
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
}

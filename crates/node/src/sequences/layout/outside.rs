//! States as people and files see them.

use super::*;

impl Layout {
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

    /// What makes states of one kind, a line for each: how they lie, not how they begin nor how long they may
    /// become. The lines are part of the format of the log: another text is another kind.
    pub(crate) fn identity(&self) -> Vec<String> {
        let place = |axis: Option<usize>| axis.map_or("none".to_owned(), |a| a.to_string());
        let state = |s: StateInfo| {
            let shape = s.shape.map_or("any".to_owned(), |shape| {
                shape.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
            });
            let (batch, growing) = (place(s.batch_axis), place(s.growable.map(|(axis, _)| axis)));
            format!("state {} {} {} {shape} {batch} {growing}", s.input, s.output, s.dtype)
        };
        let window = |w: WindowInfo| format!("window {} {} {}", w.input, w.length, w.axis);
        let fixed = |f: &Fixed| format!("fixed {}", f.name);
        let states = self.states().into_iter().map(state);
        let windows = self.windows().into_iter().map(window);
        states.chain(windows).chain(self.fixed.iter().map(fixed)).collect()
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

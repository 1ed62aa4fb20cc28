//! One state and one window: what the settings say of them, held against the model.

use crate::literal::tensor_of;
use std::path::Path;
use stead_app::{StateInit, StateSetting};
use stead_engine::{IoSpec, LiftedState, StateInit as LiftedInit};
use stead_tensor::{DType, Shape, Tensor, npy};

/// The most bytes of a file with a first value.
const MAX_FILE: u64 = 256 << 20;

/// What a state is before the first step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Init {
    Zeros,
    Value(Tensor),
    /// The request of the START brings it.
    FirstValue,
    /// The model has one of its own when it gets none.
    Model,
}

/// One state of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    /// Position among the model's inputs.
    pub(super) input: usize,
    /// Position among its outputs.
    pub(super) output: usize,
    /// The axis along which states of several sequences are joined.
    pub(super) batch_axis: Option<usize>,
    pub(super) init: Init,
    /// An axis that grows, and the most elements along it.
    pub(super) growable: Option<(usize, usize)>,
    pub(super) spec: IoSpec,
    pub(super) output_name: String,
}

/// An input that takes the last values of the step before in front of the new ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    pub(super) input: usize,
    pub(super) axis: usize,
    pub(super) length: usize,
    pub(super) name: String,
    /// The input with the window.
    spec: IoSpec,
}

impl Window {
    /// Whether a value that comes from outside can be the window: wrong ones would be joined with new values
    /// and give wrong answers.
    pub(super) fn takes(&self, value: &Tensor) -> bool {
        let shape = value.shape();
        let along = |(axis, size): (usize, &usize)| match axis == self.axis {
            true => *size == self.length,
            false => self.dim(axis).is_none_or(|n| n == *size),
        };
        value.dtype() == self.spec.dtype
            && self.spec.dims.as_ref().is_none_or(|dims| dims.len() == shape.rank())
            && shape.dims().iter().enumerate().all(along)
    }

    /// What a value has to be, for people.
    pub(super) fn expected(&self) -> String {
        let rank = self.spec.dims.as_ref().map_or(self.axis + 1, Vec::len);
        let dim = |axis| match axis == self.axis {
            true => self.length.to_string(),
            false => self.dim(axis).map_or_else(|| "?".to_owned(), |n| n.to_string()),
        };
        let dims: Vec<String> = (0..rank).map(dim).collect();
        format!("{}[{}]", self.spec.dtype, dims.join(","))
    }

    fn dim(&self, axis: usize) -> Option<usize> {
        self.spec.dims.as_ref()?.get(axis)?.known()
    }
}

impl Slot {
    /// Adds what the engine knows of a state that it has lifted out of the model, where the settings say nothing.
    ///
    /// Zeros are left to the model too: it knows their shape even where no dimension is declared. A constant is
    /// given to it, so that a first step can share a batch with later steps of other sequences.
    pub(super) fn complete(&mut self, lifted: &LiftedState) {
        self.batch_axis = self.batch_axis.or(lifted.batch_axis);
        if self.init == Init::Zeros {
            self.init = match &lifted.init {
                LiftedInit::Constant(value) => Init::Value(value.clone()),
                LiftedInit::Zeros | LiftedInit::Computed => Init::Model,
            };
        }
    }

    /// Whether a value that comes from outside can be the state. The engine gives one without elements for a state
    /// that it has lifted out of a branch that has not run yet.
    pub(super) fn takes(&self, value: &Tensor) -> bool {
        let shape = value.shape();
        let grown = |(axis, max): (usize, usize)| shape.get(axis).is_some_and(|n| *n > max);
        let unborn = self.init == Init::Model && shape.elements() == 0;
        value.dtype() == self.spec.dtype
            && (unborn || self.spec.accepts(&shape))
            && !self.growable.is_some_and(grown)
    }

    /// What a value has to be, for people.
    pub(super) fn expected(&self) -> String {
        let limit = match self.growable {
            Some((axis, max)) if max < usize::MAX => format!(", at most {max} along axis {axis}"),
            _ => String::new(),
        };
        format!("{}{}{limit}", self.spec.dtype, self.spec.dims_text())
    }

    /// The number of axes, where the model declares it.
    pub(super) fn rank(&self) -> Option<usize> {
        self.spec.dims.as_ref().map(Vec::len)
    }
}

/// A tensor in which every element is the one of `value`.
pub(super) fn filled(value: &Tensor, shape: Shape) -> Result<Tensor, stead_tensor::TensorError> {
    if value.dtype() == DType::String {
        let one = value.view().strings().first().cloned().unwrap_or_default();
        return Tensor::from_strings(vec![one; shape.elements()], &shape);
    }
    let mut buf = stead_tensor::AlignedBuf::zeroed(shape.byte_len(value.dtype()))?;
    let one = value.bytes();
    buf.chunks_exact_mut(one.len().max(1)).for_each(|element| element.copy_from_slice(one));
    Tensor::from_buffer(value.dtype(), shape, buf)
}

pub(super) fn slot(
    setting: &StateSetting,
    inputs: &[IoSpec],
    outputs: &[IoSpec],
    folder: &Path,
) -> Result<Slot, String> {
    let find = |list: &[IoSpec], name: &str, what: &str| {
        let place = list.iter().position(|s| s.name == name);
        place.ok_or_else(|| {
            let known: Vec<&str> = list.iter().map(|s| &*s.name).collect();
            format!(
                "states name the {what} {name:?}, which the model does not have; it has: {}",
                known.join(", ")
            )
        })
    };
    let input = find(inputs, &setting.input, "input")?;
    let output = find(outputs, &setting.output, "output")?;
    let (spec, next) = (&inputs[input], &outputs[output]);
    if spec.dtype != next.dtype {
        return Err(format!(
            "state {:?} has type {}, its next value {:?} has {}",
            spec.name, spec.dtype, next.name, next.dtype
        ));
    }
    let rank = spec.dims.as_ref().map(Vec::len);
    let axes = [setting.batch_axis, setting.growable.map(|g| g.axis)];
    if let (Some(axis), Some(rank)) = (axes.into_iter().flatten().max(), rank)
        && axis >= rank
    {
        return Err(format!("state {:?} has {rank} axes, axis {axis} is none of them", spec.name));
    }
    let fits = |value: Tensor, what: &str| {
        if value.dtype() != spec.dtype
            || !(spec.accepts(&value.shape()) || value.shape().rank() == 0)
        {
            return Err(format!(
                "{what} of state {:?} has {}{:?}, the model takes {}{}",
                spec.name,
                value.dtype(),
                value.shape().dims(),
                spec.dtype,
                spec.dims_text()
            ));
        }
        Ok(Init::Value(value))
    };
    let init = match &setting.init {
        StateInit::Zeros => Init::Zeros,
        StateInit::FirstValue => Init::FirstValue,
        StateInit::Const(literal) => {
            let value = tensor_of(literal, spec.dtype)
                .map_err(|e| format!("init of state {:?}: {e}", spec.name))?;
            fits(value, "init")?
        }
        StateInit::File(name) => {
            let wrong = |text: String| format!("init of state {:?}: {name}: {text}", spec.name);
            let file =
                std::fs::File::open(folder.join(name)).map_err(|e| wrong(e.kind().to_string()))?;
            let mut reader = std::io::BufReader::new(file);
            fits(npy::read(&mut reader, MAX_FILE).map_err(|e| wrong(e.to_string()))?, name)?
        }
    };
    Ok(Slot {
        input,
        output,
        batch_axis: setting.batch_axis,
        init,
        growable: setting.growable.map(|g| (g.axis, g.max)),
        spec: spec.clone(),
        output_name: next.name.clone(),
    })
}

pub(super) fn window(
    setting: &stead_app::WindowSetting,
    inputs: &[IoSpec],
) -> Result<Window, String> {
    let name = &setting.input;
    let input = inputs
        .iter()
        .position(|s| s.name == *name)
        .ok_or_else(|| format!("windows name the input {name:?}, which the model does not have"))?;
    let dims = inputs[input].dims.as_ref();
    let rank = dims.map(Vec::len).ok_or_else(|| format!("windows: input {name:?} has no rank"))?;
    let axis = setting.axis.unwrap_or(rank.saturating_sub(1));
    let size = dims.and_then(|d| d.get(axis));
    let size = size.ok_or_else(|| format!("windows: input {name:?} has no axis {axis}"))?;
    if size.known().is_some_and(|n| n <= setting.length) {
        return Err(format!("windows: input {name:?} leaves no room for new values"));
    }
    let spec = inputs[input].clone();
    Ok(Window { input, axis, length: setting.length, name: name.clone(), spec })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_engine::Dim;

    fn spec(dtype: DType, dims: Vec<Dim>) -> IoSpec {
        IoSpec { name: "x".to_owned(), dtype, dims: Some(dims), optional: false }
    }

    fn zeros(dtype: DType, dims: &[usize]) -> Tensor {
        Tensor::zeros(dtype, Shape::new(dims).unwrap()).unwrap()
    }

    #[test]
    fn a_window_from_outside_has_its_length() {
        let inputs = [spec(DType::F32, vec![Dim::Unknown, Dim::Known(2), Dim::Unknown])];
        let setting = stead_app::WindowSetting { input: "x".to_owned(), length: 64, axis: Some(2) };
        let window = window(&setting, &inputs).unwrap();
        assert_eq!(window.expected(), "f32[?,2,64]");
        let cases: [(DType, &[usize], bool); 6] = [
            (DType::F32, &[1, 2, 64], true),
            (DType::F32, &[5, 2, 64], true),
            (DType::F32, &[1, 2, 65], false),
            (DType::F32, &[1, 3, 64], false),
            (DType::F32, &[2, 64], false),
            (DType::F64, &[1, 2, 64], false),
        ];
        for (dtype, dims, expected) in cases {
            assert_eq!(window.takes(&zeros(dtype, dims)), expected, "{dtype} {dims:?}");
        }
    }

    #[test]
    fn a_state_from_outside_fits_the_model_and_its_limit() {
        let slot = |init, growable| Slot {
            input: 0,
            output: 0,
            batch_axis: None,
            init,
            growable,
            spec: spec(DType::F32, vec![Dim::Known(1), Dim::Unknown]),
            output_name: "y".to_owned(),
        };
        let cases: [(Slot, &[usize], bool); 6] = [
            (slot(Init::Zeros, None), &[1, 9], true),
            (slot(Init::Zeros, None), &[2, 9], false),
            (slot(Init::Zeros, Some((1, 8))), &[1, 8], true),
            (slot(Init::Zeros, Some((1, 8))), &[1, 9], false),
            (slot(Init::Zeros, None), &[0], false),
            (slot(Init::Model, None), &[0], true),
        ];
        for (slot, dims, expected) in cases {
            let got = slot.takes(&zeros(DType::F32, dims));
            assert_eq!(got, expected, "{:?} {dims:?}", slot.init);
        }
    }
}

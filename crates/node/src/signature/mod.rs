//! What a model version takes: its inputs and outputs under clients' names, with the shapes that the
//! configuration allows. Requests are checked here, before anything is queued.

mod input;

use crate::evaluate::Evaluate;
use crate::sequences::Layout;
use crate::{Error, ErrorKind, TensorInfo};
pub(crate) use input::{Allowed, Input, datatype, tuple};
use input::{check, input};
use stead_app::{ModelSettings, NameMapping};
use stead_engine::{Dim, IoSpec};
use stead_tensor::{DType, Shape, Tensor};

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) dims: Option<Vec<Dim>>,
    /// Whether it carries a state, so that clients see nothing of it.
    pub(crate) hidden: bool,
}

/// The inputs and outputs of a model version.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
}

impl Signature {
    /// Joins what the model declares with what the configuration says about it.
    ///
    /// # Errors
    /// In words, when they contradict each other.
    pub(crate) fn new(
        model: &dyn Evaluate,
        settings: &ModelSettings,
        names: &NameMapping,
        layout: Option<&Layout>,
    ) -> Result<Signature, String> {
        let (ins, outs) = (model.inputs(), model.outputs());
        check_names("shape", settings.shapes.keys().filter(|k| !k.is_empty()), ins)?;
        check_names("default_inputs", settings.default_inputs.keys(), ins)?;
        check_names("mapping_config.json", names.inputs.keys(), ins)?;
        check_names("mapping_config.json", names.outputs.keys(), outs)?;
        // What the configuration says without a name is not about states.
        let is_state = |i: usize| layout.is_some_and(|l| l.is_state_input(i));
        let count = (0..ins.len()).filter(|&i| !is_state(i)).count();
        if settings.shapes.contains_key("") && count != 1 {
            return Err(format!("shape without an input name, but the model has {count} inputs"));
        }
        let mut inputs = ins
            .iter()
            .enumerate()
            .map(|(i, spec)| input(spec, settings, names, is_state(i)))
            .collect::<Result<Vec<_>, _>>()?;
        for (i, input) in inputs.iter_mut().enumerate() {
            let Some(layout) = layout else { break };
            input.hidden = layout.is_hidden_input(i);
            input.first = layout.is_state_input(i);
            if let Some((axis, length)) = layout.window(i) {
                input.leave_room(axis, length);
            }
        }
        let outputs = outs
            .iter()
            .enumerate()
            .map(|(i, spec)| Output {
                hidden: layout.is_some_and(|l| l.is_state_output(i)),
                name: names.outputs.get(&spec.name).unwrap_or(&spec.name).clone(),
                dtype: spec.dtype,
                dims: spec.dims.clone(),
            })
            .collect::<Vec<_>>();
        for list in [
            inputs.iter().map(|i: &Input| &i.name).collect::<Vec<_>>(),
            outputs.iter().map(|o| &o.name).collect(),
        ] {
            if let Some(twice) = list.iter().enumerate().find(|(i, n)| list[..*i].contains(n)) {
                return Err(format!("two tensors have the name {:?}", twice.1));
            }
        }
        Ok(Signature { inputs, outputs })
    }

    /// The signature of a pipeline.
    pub(crate) fn of(inputs: Vec<Input>, outputs: Vec<Output>) -> Signature {
        Signature { inputs, outputs }
    }

    /// Checks inputs by position that did not come from a client, and puts defaults in the place of those that
    /// are not given.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn complete(&self, inputs: &mut [Option<Tensor>]) -> Result<(), Error> {
        for (slot, input) in inputs.iter_mut().zip(&self.inputs) {
            match slot {
                Some(tensor) => check(input, tensor)?,
                None => slot.clone_from(&input.default),
            }
            if slot.is_none() && !input.optional && !input.first {
                return Err(ErrorKind::MissingInput { input: input.name.clone() }.into());
            }
        }
        Ok(())
    }

    /// The request's inputs by position, and the positions of the outputs wanted.
    ///
    /// # Errors
    /// What is wrong with the request.
    pub(crate) fn arrange(
        &self,
        model: &str,
        inputs: Vec<(String, Tensor)>,
        outputs: &[String],
    ) -> Result<(Vec<Option<Tensor>>, Vec<usize>), Error> {
        let given = inputs.len();
        let mut placed: Vec<Option<Tensor>> = Vec::new();
        placed.resize_with(self.inputs.len(), || None);
        for (name, tensor) in inputs {
            let Some(place) = self.inputs.iter().position(|i| i.name == name && !i.hidden) else {
                let input = shown(&name);
                let known = join(self.inputs.iter().filter(|i| !i.hidden).map(|i| &*i.name));
                return Err(
                    ErrorKind::UnexpectedInput { model: model.to_owned(), input, known }.into()
                );
            };
            check(&self.inputs[place], &tensor)?;
            if placed[place].replace(tensor).is_some() {
                return Err(ErrorKind::DuplicateInput { input: name }.into());
            }
        }
        let mut missing = Vec::new();
        for (slot, input) in placed.iter_mut().zip(&self.inputs) {
            if slot.is_none() {
                slot.clone_from(&input.default);
                if slot.is_none() && !input.optional && !input.first {
                    missing.push(&*input.name);
                }
            }
        }
        match missing.as_slice() {
            [] => {}
            [input] => return Err(ErrorKind::MissingInput { input: (*input).to_owned() }.into()),
            _ => {
                return Err(ErrorKind::WrongInputCount {
                    expected: given + missing.len(),
                    actual: given,
                    detail: format!("missing: {}", join(missing.iter().copied())),
                }
                .into());
            }
        }
        Ok((placed, self.wanted(model, outputs)?))
    }

    fn wanted(&self, model: &str, outputs: &[String]) -> Result<Vec<usize>, Error> {
        if outputs.is_empty() {
            return Ok((0..self.outputs.len()).filter(|&i| !self.outputs[i].hidden).collect());
        }
        let mut wanted = Vec::with_capacity(outputs.len());
        for name in outputs {
            let Some(place) = self.outputs.iter().position(|o| o.name == *name && !o.hidden) else {
                let output = shown(name);
                let known = join(self.outputs.iter().filter(|o| !o.hidden).map(|o| &*o.name));
                return Err(
                    ErrorKind::UnexpectedOutput { model: model.to_owned(), output, known }.into()
                );
            };
            if wanted.contains(&place) {
                return Err(ErrorKind::DuplicateOutput { output: name.clone() }.into());
            }
            wanted.push(place);
        }
        Ok(wanted)
    }

    /// Inputs as clients see them. Those with a value in the model are left out: old files list every weight
    /// among their inputs, and other servers hide them too. A request may name them all the same.
    pub(crate) fn input_infos(&self) -> Vec<TensorInfo> {
        let shape = |dims: &[Allowed]| {
            dims.iter()
                .map(|d| match d {
                    Allowed::Range(low, high) if low == high => i64::try_from(*low).unwrap_or(-1),
                    _ => -1,
                })
                .collect()
        };
        self.inputs
            .iter()
            .filter(|i| !i.optional && !i.hidden)
            .map(|i| TensorInfo {
                name: i.name.clone(),
                dtype: i.dtype,
                shape: i.dims.as_deref().map(shape).unwrap_or_default(),
                optional: i.default.is_some() || i.first,
            })
            .collect()
    }

    /// Outputs as clients see them.
    pub(crate) fn output_infos(&self) -> Vec<TensorInfo> {
        let size = |d: &Dim| d.known().and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
        self.outputs
            .iter()
            .filter(|o| !o.hidden)
            .map(|o| TensorInfo {
                name: o.name.clone(),
                dtype: o.dtype,
                shape: o.dims.iter().flatten().map(size).collect(),
                optional: false,
            })
            .collect()
    }

    /// Zeros of the smallest shapes allowed, free dimensions 1, for warming up.
    ///
    /// # Errors
    /// In words, when such tensors cannot be made.
    pub(crate) fn smallest(&self) -> Result<Vec<Option<Tensor>>, String> {
        self.inputs
            .iter()
            .map(|input| {
                if input.default.is_some() || input.optional || input.first {
                    return Ok(input.default.clone());
                }
                let dims: Vec<usize> = input
                    .dims
                    .iter()
                    .flatten()
                    .map(|d| if let Allowed::Range(low, _) = d { *low } else { 1 })
                    .collect();
                let shape = Shape::new(&dims).map_err(|e| e.to_string())?;
                Tensor::zeros(input.dtype, shape).map(Some).map_err(|e| e.to_string())
            })
            .collect()
    }
}

fn check_names<'a>(
    place: &str,
    mut names: impl Iterator<Item = &'a String>,
    specs: &[IoSpec],
) -> Result<(), String> {
    match names.find(|n| specs.iter().all(|s| s.name != **n)) {
        Some(name) => Err(format!(
            "{place} names {:?}, which the model does not have; it has: {}",
            shown(name),
            join(specs.iter().map(|s| &*s.name))
        )),
        None => Ok(()),
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(shown).collect::<Vec<_>>().join(", ")
}

/// A name short enough for a message.
fn shown(name: &str) -> String {
    name.chars().take(128).map(|c| if c.is_control() { '?' } else { c }).collect()
}

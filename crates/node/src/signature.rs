//! What a model version takes: its inputs and outputs under clients' names, with the shapes that the
//! configuration allows. Requests are checked here, before anything is queued.

use crate::evaluate::Evaluate;
use crate::literal::tensor_of;
use crate::{Error, ErrorKind, TensorInfo};
use stead_app::{BatchSize, InputShape, ModelSettings, NameMapping};
use stead_engine::{Dim, IoSpec};
use stead_tensor::{DType, Shape, Tensor};

/// What a dimension of an input may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// Anything.
    Any,
    /// From the first to the second, both included.
    Range(usize, usize),
}

impl Allowed {
    fn admits(&self, n: usize) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Range(low, high) => (*low..=*high).contains(&n),
        }
    }

    fn text(&self) -> String {
        match self {
            Allowed::Any => "-1".to_owned(),
            Allowed::Range(low, high) if low == high => low.to_string(),
            Allowed::Range(low, high) => format!("[{low}~{high}]"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// `None` when not even the rank is known.
    pub(crate) dims: Option<Vec<Allowed>>,
    pub(crate) optional: bool,
    pub(crate) default: Option<Tensor>,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) dims: Option<Vec<Dim>>,
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
    ) -> Result<Signature, String> {
        let (ins, outs) = (model.inputs(), model.outputs());
        check_names("shape", settings.shapes.keys().filter(|k| !k.is_empty()), ins)?;
        check_names("default_inputs", settings.default_inputs.keys(), ins)?;
        check_names("mapping_config.json", names.inputs.keys(), ins)?;
        check_names("mapping_config.json", names.outputs.keys(), outs)?;
        if settings.shapes.contains_key("") && ins.len() != 1 {
            return Err(format!(
                "shape without an input name, but the model has {} inputs",
                ins.len()
            ));
        }
        let inputs =
            ins.iter().map(|spec| input(spec, settings, names)).collect::<Result<Vec<_>, _>>()?;
        let outputs = outs
            .iter()
            .map(|spec| Output {
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
            let Some(place) = self.inputs.iter().position(|i| i.name == name) else {
                let input = shown(&name);
                let known = join(self.inputs.iter().map(|i| &*i.name));
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
                if slot.is_none() && !input.optional {
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
            return Ok((0..self.outputs.len()).collect());
        }
        let mut wanted = Vec::with_capacity(outputs.len());
        for name in outputs {
            let Some(place) = self.outputs.iter().position(|o| o.name == *name) else {
                let output = shown(name);
                let known = join(self.outputs.iter().map(|o| &*o.name));
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
            .filter(|i| !i.optional)
            .map(|i| TensorInfo {
                name: i.name.clone(),
                dtype: i.dtype,
                shape: i.dims.as_deref().map(shape).unwrap_or_default(),
                optional: i.default.is_some(),
            })
            .collect()
    }

    /// Outputs as clients see them.
    pub(crate) fn output_infos(&self) -> Vec<TensorInfo> {
        let size = |d: &Dim| d.known().and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
        self.outputs
            .iter()
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
                if input.default.is_some() || input.optional {
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

fn input(spec: &IoSpec, settings: &ModelSettings, names: &NameMapping) -> Result<Input, String> {
    let shape = settings.shapes.get(&spec.name).or_else(|| settings.shapes.get(""));
    let mut dims: Option<Vec<Allowed>> = spec.dims.as_ref().map(|dims| {
        dims.iter().map(|d| d.known().map_or(Allowed::Any, |n| Allowed::Range(n, n))).collect()
    });
    if let Some(shape) = shape {
        dims = Some(narrowed(spec, shape)?);
    }
    let batch = match settings.batch_size {
        Some(BatchSize::Fixed(n)) => Some((n, n)),
        Some(BatchSize::Range(low, high)) => Some((low, high)),
        Some(BatchSize::Auto) | None => None,
    };
    if let (Some((low, high)), Some(first)) = (batch, dims.as_mut().and_then(|d| d.first_mut())) {
        if spec
            .dims
            .iter()
            .flatten()
            .next()
            .and_then(Dim::known)
            .is_some_and(|n| n < low || n > high)
        {
            return Err(format!(
                "batch_size does not suit input {:?}, whose shape is {}",
                spec.name,
                spec.dims_text()
            ));
        }
        if *first == Allowed::Any {
            *first = Allowed::Range(low, high);
        }
    }
    let mut input = Input {
        name: names.inputs.get(&spec.name).unwrap_or(&spec.name).clone(),
        dtype: spec.dtype,
        dims,
        optional: spec.optional,
        default: None,
    };
    if let Some(literal) = settings.default_inputs.get(&spec.name) {
        let mut value = tensor_of(literal, spec.dtype)
            .map_err(|e| format!("default_inputs of {:?}: {e}", spec.name))?;
        // A plain number suits every shape of one element.
        if let (true, Some(dims)) = (literal.dims.is_empty(), &input.dims)
            && dims.iter().all(|d| d.admits(1))
            && let Ok(shape) = Shape::new(&vec![1; dims.len()])
        {
            value = value.reshaped(shape).map_err(|e| e.to_string())?;
        }
        check(&input, &value).map_err(|e| format!("default_inputs: {e}"))?;
        input.default = Some(value);
    }
    Ok(input)
}

/// The shape that the configuration asks for, which may only narrow the model's.
fn narrowed(spec: &IoSpec, shape: &InputShape) -> Result<Vec<Allowed>, String> {
    let contradiction = || {
        format!("shape does not suit input {:?}, whose shape is {}", spec.name, spec.dims_text())
    };
    if spec.dims.as_ref().is_some_and(|d| d.len() != shape.len()) {
        return Err(contradiction());
    }
    shape
        .iter()
        .enumerate()
        .map(|(axis, wanted)| {
            let known = spec.dims.as_ref().and_then(|d| d.get(axis)).and_then(Dim::known);
            match (wanted, known) {
                (None, None) => Ok(Allowed::Any),
                (None, Some(n)) => Ok(Allowed::Range(n, n)),
                (Some((low, high)), None) => Ok(Allowed::Range(*low, *high)),
                (Some((low, high)), Some(n)) if (*low..=*high).contains(&n) => {
                    Ok(Allowed::Range(n, n))
                }
                (Some(_), Some(_)) => Err(contradiction()),
            }
        })
        .collect()
}

fn check(input: &Input, tensor: &Tensor) -> Result<(), Error> {
    if tensor.dtype() != input.dtype {
        return Err(ErrorKind::WrongPrecision {
            input: input.name.clone(),
            expected: datatype(input.dtype).to_owned(),
            actual: datatype(tensor.dtype()).to_owned(),
        }
        .into());
    }
    let Some(dims) = &input.dims else { return Ok(()) };
    let shape = tensor.shape();
    let wrong = |(d, n): (&Allowed, &usize)| !d.admits(*n);
    if dims.len() == shape.rank() && !dims.iter().zip(shape.dims()).any(wrong) {
        return Ok(());
    }
    let (name, expected) = (input.name.clone(), tuple(dims.iter().map(Allowed::text)));
    let actual = tuple(shape.iter().map(ToString::to_string));
    Err(if dims.len() != shape.rank() {
        ErrorKind::WrongRank { input: name, expected, actual }
    } else if !dims.iter().zip(shape.dims()).skip(1).any(wrong) {
        ErrorKind::WrongBatch {
            input: name,
            expected: dims[0].text(),
            actual: shape[0].to_string(),
        }
    } else {
        ErrorKind::WrongShape { input: name, expected, actual }
    }
    .into())
}

fn tuple(parts: impl Iterator<Item = String>) -> String {
    format!("({})", parts.collect::<Vec<_>>().join(","))
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(shown).collect::<Vec<_>>().join(", ")
}

/// A name short enough for a message.
fn shown(name: &str) -> String {
    name.chars().take(128).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The name of a type in KServe's terms, where it has one.
pub(crate) fn datatype(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "BOOL",
        DType::U8 => "UINT8",
        DType::U16 => "UINT16",
        DType::U32 => "UINT32",
        DType::U64 => "UINT64",
        DType::I8 => "INT8",
        DType::I16 => "INT16",
        DType::I32 => "INT32",
        DType::I64 => "INT64",
        DType::F16 => "FP16",
        DType::F32 => "FP32",
        DType::F64 => "FP64",
        DType::BF16 => "BF16",
        DType::String => "BYTES",
        other => other.name(),
    }
}

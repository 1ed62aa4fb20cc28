//! One input: what the model declares, what the configuration narrows it to, and whether a tensor fits.

use crate::literal::tensor_of;
use crate::{Error, ErrorKind};
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
    pub(crate) fn admits(&self, n: usize) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Range(low, high) => (*low..=*high).contains(&n),
        }
    }

    /// What both allow; nothing when there is no such size.
    pub(crate) fn and(&self, other: &Allowed) -> Option<Allowed> {
        match (self, other) {
            (Allowed::Any, other) | (other, Allowed::Any) => Some(other.clone()),
            (Allowed::Range(a, b), Allowed::Range(c, d)) => {
                let (low, high) = (*a.max(c), *b.min(d));
                (low <= high).then_some(Allowed::Range(low, high))
            }
        }
    }

    /// As people write it; -1 for anything.
    pub(crate) fn text(&self) -> String {
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
    /// Whether the sequence brings it, so that clients see nothing of it.
    pub(crate) hidden: bool,
    /// Whether a request need not bring it although it has no value: a state's first one.
    pub(crate) first: bool,
}

impl Input {
    /// Takes what a window brings off the size that clients send.
    pub(super) fn leave_room(&mut self, axis: usize, length: usize) {
        if let Some(Allowed::Range(low, high)) = self.dims.as_mut().and_then(|d| d.get_mut(axis)) {
            *low = low.saturating_sub(length);
            *high = high.saturating_sub(length);
        }
    }
}

/// Joins what the model declares of an input with what the configuration says.
///
/// # Errors
/// In words, when they contradict each other.
pub(super) fn input(
    spec: &IoSpec,
    settings: &ModelSettings,
    names: &NameMapping,
    is_state: bool,
) -> Result<Input, String> {
    let shape = settings.shapes.get(&spec.name);
    let shape = shape.or_else(|| settings.shapes.get("").filter(|_| !is_state));
    let mut dims: Option<Vec<Allowed>> = spec.dims.as_ref().map(|dims| {
        dims.iter().map(|d| d.known().map_or(Allowed::Any, |n| Allowed::Range(n, n))).collect()
    });
    if let Some(shape) = shape {
        dims = Some(narrowed(spec, shape)?);
    }
    let batch = match settings.batch_size.filter(|_| !is_state) {
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
        hidden: false,
        first: false,
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

/// Whether a tensor may be given to the input.
///
/// # Errors
/// What is wrong with its type or shape.
pub(super) fn check(input: &Input, tensor: &Tensor) -> Result<(), Error> {
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

pub(crate) fn tuple(parts: impl Iterator<Item = String>) -> String {
    format!("({})", parts.collect::<Vec<_>>().join(","))
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

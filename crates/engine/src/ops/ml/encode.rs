//! LabelEncoder and OneHotEncoder: tables of keys.

use super::{FEATURES, ML};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::cast::cast_step;
use crate::ops::dispatch::for_type;
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use std::collections::HashMap;
use std::sync::Arc;
use stead_onnx::Attributes;
use stead_tensor::{DType, Element, Shape, Tensor};

/// What keys and values may be.
const ENCODED: TypeSet =
    TypeSet::of(&[DType::I64, DType::F32, DType::I32, DType::I16, DType::F64]).or(types::STRING);

/// LabelEncoder, OneHotEncoder.
pub const OPS: &[OpDef] = &[
    OpDef::new("LabelEncoder", &[Param::required(0, ENCODED)], &[Out::Of(value_type)], label)
        .domain(ML)
        .since(2),
    OpDef::new(
        "OneHotEncoder",
        &[Param::required(0, FEATURES.or(types::STRING))],
        &[Out::Fixed(DType::F32)],
        one_hot,
    )
    .domain(ML),
];

/// Keys or values from the attributes `<what>_int64s`, `<what>_floats`, `<what>_strings` and `<what>_tensor`.
fn list(attributes: &Attributes, what: &str) -> Result<Tensor, BuildError> {
    let name = |kind: &str| format!("{what}_{kind}");
    let mut found = Vec::new();
    if let Some(list) = attributes.bytes_list(&name("strings"))? {
        let strings = list.iter().map(|text| text.to_vec()).collect();
        found.push(Tensor::from_strings(strings, &[list.len()])?);
    }
    if let Some(list) = attributes.ints(&name("int64s"))? {
        found.push(Tensor::from_slice(list, &[list.len()])?);
    }
    if let Some(list) = attributes.floats(&name("floats"))? {
        found.push(Tensor::from_slice(list, &[list.len()])?);
    }
    found.extend(attributes.tensor(&name("tensor"))?.cloned());
    match (found.pop(), found.is_empty()) {
        (Some(tensor), true) if ENCODED.contains(tensor.dtype()) => Ok(tensor),
        (Some(tensor), true) => {
            let dtype = tensor.dtype();
            Err(BuildError::unsupported(format!("{what}_tensor of {dtype}; supported: {ENCODED}")))
        }
        _ => Err(BuildError::unsupported(format!("one list of {what} expected"))),
    }
}

fn value_type(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    Ok(list(attributes, "values")?.dtype())
}

/// What keys are compared as: bits, 0 and -0 the same, one NaN.
trait Key: Element {
    fn bits(self) -> u64;
}

macro_rules! int_keys {
    ($($t:ty),*) => {$(
        impl Key for $t {
            fn bits(self) -> u64 { i64::from(self) as u64 }
        }
    )*};
}

int_keys!(i64, i32, i16);

impl Key for f32 {
    fn bits(self) -> u64 {
        f64::from(self).bits()
    }
}

impl Key for f64 {
    fn bits(self) -> u64 {
        if self.is_nan() { f64::NAN.to_bits() } else { (self + 0.0).to_bits() }
    }
}

/// The position of each key; of one that is given twice the last.
pub(super) enum Positions {
    Numbers(HashMap<u64, usize>),
    Texts(HashMap<Vec<u8>, usize>),
}

impl Positions {
    /// The number of different keys.
    pub fn len(&self) -> usize {
        match self {
            Positions::Numbers(known) => known.len(),
            Positions::Texts(known) => known.len(),
        }
    }

    /// The position of each element of a step's first operand among the keys.
    ///
    /// # Errors
    /// [`RunError::Internal`]: elements of another type than the keys.
    pub fn places(&self, a: &Args<'_>, dtype: DType) -> Result<Vec<Option<usize>>, RunError> {
        let numbers = match self {
            Positions::Texts(known) => {
                return Ok(a.strings(0)?.iter().map(|key| known.get(key).copied()).collect());
            }
            Positions::Numbers(known) => known,
        };
        for_type!(dtype, [I64, I32, I16, F32, F64], K => {
            Ok(a.read::<K>(0)?.iter().map(|key| numbers.get(&key.bits()).copied()).collect())
        }, _ => Err(RunError::Internal("keys of another type")))
    }
}

/// The positions of these keys.
///
/// # Errors
/// [`BuildError`]: keys of a type that is neither a number here nor a string.
pub(super) fn positions(keys: &Tensor) -> Result<Positions, BuildError> {
    if keys.dtype() == DType::String {
        let texts = keys.view().strings().iter().cloned();
        return Ok(Positions::Texts(texts.zip(0..).collect()));
    }
    for_type!(keys.dtype(), [I64, I32, I16, F32, F64], T => {
        let keys = keys.as_slice::<T>()?;
        Ok(Positions::Numbers(keys.iter().map(|key| key.bits()).zip(0..).collect()))
    }, _ => Err(BuildError::unsupported(format!("keys of {}", keys.dtype()))))
}

/// The value of keys that are in no list: that of the attribute for the type of the values.
fn default(attributes: &Attributes, dtype: DType) -> Result<Tensor, BuildError> {
    if let Some(tensor) = attributes.tensor("default_tensor")? {
        if tensor.dtype() != dtype || tensor.shape().elements() != 1 {
            let (actual, shape) = (tensor.dtype(), tensor.shape());
            return Err(BuildError::unsupported(format!(
                "default_tensor is {actual}{shape}; one element of {dtype} expected"
            )));
        }
        return Ok(tensor.clone());
    }
    Ok(match dtype {
        DType::F32 => Tensor::scalar(attributes.float_or("default_float", -0.0)?)?,
        DType::F64 => Tensor::scalar(-0.0f64)?,
        DType::I64 => Tensor::scalar(attributes.int_or("default_int64", -1)?)?,
        DType::I32 => Tensor::scalar(-1i32)?,
        DType::String => {
            let text = attributes.string_or("default_string", "_Unused")?;
            Tensor::from_strings(vec![text.as_bytes().to_vec()], &[])?
        }
        _ => Tensor::scalar(-1i16)?,
    })
}

fn label(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let (keys, values) = (list(attributes, "keys")?, list(attributes, "values")?);
    let default = default(attributes, values.dtype())?;
    let (own, given) = (keys.dtype(), spec.dtype()?);
    if own != given {
        return Err(BuildError::unsupported(format!("keys of {own} for inputs of {given}")));
    }
    if keys.shape().elements() != values.shape().elements() {
        let (keys, values) = (keys.shape(), values.shape());
        return Err(BuildError::unsupported(format!("{keys} keys and {values} values")));
    }
    let table = Table { positions: positions(&keys)?, values, default };
    let table = Arc::new(table);
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        let table = table.clone();
        cx.step("label encoder", &[x], &[slot], move |a| {
            let places = table.positions.places(a, dtype)?;
            table.look_up(&places, a)
        });
        Ok(())
    })
}

struct Table {
    positions: Positions,
    values: Tensor,
    default: Tensor,
}

impl Table {
    fn look_up(&self, places: &[Option<usize>], a: &mut Args<'_>) -> Result<(), RunError> {
        if self.values.dtype() == DType::String {
            let (values, default) = (self.values.view().strings(), self.default.view().strings());
            let text = |place: &Option<usize>| {
                let known = place.and_then(|at| values.get(at)).or(default.first());
                known.cloned().unwrap_or_default()
            };
            return a.write_strings(0, places.iter().map(text).collect());
        }
        let (size, values) = (self.values.dtype().size(), self.values.bytes());
        for (place, out) in places.iter().zip(a.write_bytes()?.chunks_exact_mut(size)) {
            let value = place.and_then(|at| values.get(at * size..)?.get(..size));
            out.copy_from_slice(value.unwrap_or(self.default.bytes()));
        }
        Ok(())
    }
}

/// A vector for each element, 1 at the place of its category; floats are cut off to integers.
fn one_hot(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let zeros = attributes.bool_or("zeros", true)?;
    if spec.dtype()? == DType::String {
        return one_hot_of_texts(attributes, zeros);
    }
    let categories = attributes.ints("cats_int64s")?.unwrap_or_default();
    if categories.is_empty() {
        return Err(BuildError::Attribute(attributes.missing("cats_int64s")));
    }
    let count = categories.len();
    let places: HashMap<i64, usize> = categories.iter().copied().zip(0..).collect();
    let places = Arc::new(places);
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let elements = shape.elements();
        let whole = cx.input(0)?;
        let numbers = cx.temp_of::<i64>(elements);
        cast_step(cx, whole, dtype, numbers, DType::I64, elements)?;
        let numbers = cx.read_back(numbers);
        let slot = cx.output(0, with_categories(&shape, count)?)?;
        let places = places.clone();
        cx.step("one hot encoder", &[numbers], &[slot], move |a| {
            let (x, out) = (a.read::<i64>(0)?, a.write::<f32>()?);
            for (x, row) in x.iter().zip(out.chunks_exact_mut(count)) {
                mark(row, places.get(x), zeros, x)?;
            }
            Ok(())
        });
        Ok(())
    })
}

fn one_hot_of_texts(attributes: &Attributes, zeros: bool) -> Result<OpPlan, BuildError> {
    let categories = attributes.bytes_list("cats_strings")?.unwrap_or_default();
    if categories.is_empty() {
        return Err(BuildError::Attribute(attributes.missing("cats_strings")));
    }
    let count = categories.len();
    let places: HashMap<Vec<u8>, usize> =
        categories.iter().map(|text| text.to_vec()).zip(0..).collect();
    let places = Arc::new(places);
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let (x, slot) = (cx.input(0)?, cx.output(0, with_categories(&shape, count)?)?);
        let places = places.clone();
        cx.step("one hot encoder", &[x], &[slot], move |a| {
            let (x, out) = (a.strings(0)?, a.write::<f32>()?);
            for (x, row) in x.iter().zip(out.chunks_exact_mut(count)) {
                mark(row, places.get(x), zeros, String::from_utf8_lossy(x))?;
            }
            Ok(())
        });
        Ok(())
    })
}

fn with_categories(shape: &Shape, count: usize) -> Result<Shape, PlanError> {
    Ok(Shape::new(&[&shape[..], &[count]].concat())?)
}

/// A row of zeros but for the place of its category. One that is not known leaves zeros alone if that is allowed.
fn mark(
    row: &mut [f32],
    place: Option<&usize>,
    zeros: bool,
    category: impl std::fmt::Display,
) -> Result<(), RunError> {
    row.fill(0.0);
    match place.and_then(|&at| row.get_mut(at)) {
        Some(place) => *place = 1.0,
        None if zeros => {}
        None => {
            return Err(RunError::value(format!("{category} is none of the categories")));
        }
    }
    Ok(())
}

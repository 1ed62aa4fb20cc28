//! What the lowering of one layer sees.

use super::net::{Layer, Port, dtype};
use super::weights::Weights;
use crate::error::Refusal;
use crate::make::{Make, integers};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

/// The values of the outputs, in the order of the layer's ports.
pub(super) type Lowered = Result<Vec<String>, Refusal>;

/// A layer with the values of its inputs.
pub(super) struct Cx<'a, 'w> {
    pub make: &'a mut Make,
    pub weights: &'a mut Weights<'w>,
    pub layer: &'a Layer,
    /// By place among the layer's ports; absent where no edge leads.
    pub inputs: Vec<Option<String>>,
}

pub(super) fn refuse<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(text.into()))
}

impl Cx<'_, '_> {
    /// The value of an input.
    pub fn input(&self, at: usize) -> Result<String, Refusal> {
        self.optional(at).ok_or_else(|| Refusal(format!("input {at} is missing")))
    }

    /// The value of an input that may be absent.
    pub fn optional(&self, at: usize) -> Option<String> {
        self.inputs.get(at).cloned().flatten()
    }

    fn port(&self, at: usize) -> Result<&Port, Refusal> {
        self.layer.inputs.get(at).ok_or_else(|| Refusal(format!("input {at} is missing")))
    }

    /// The element type of an input.
    pub fn dtype(&self, at: usize) -> Result<DType, Refusal> {
        let unknown = || Refusal(format!("the element type of input {at} is not known"));
        self.port(at)?.dtype.ok_or_else(unknown)
    }

    /// The element type of the first output.
    pub fn output_dtype(&self) -> Result<DType, Refusal> {
        let port = self.layer.outputs.first().and_then(|p| p.dtype);
        port.ok_or_else(|| Refusal("the element type of the output is not known".into()))
    }

    /// The dimensions of an input, `None` for those that each call decides.
    pub fn dims(&self, at: usize) -> Result<&[Option<usize>], Refusal> {
        Ok(&self.port(at)?.dims)
    }

    pub fn rank(&self, at: usize) -> Result<usize, Refusal> {
        Ok(self.dims(at)?.len())
    }

    /// How many elements a list has that goes by dimensions.
    pub fn elements(&self, at: usize) -> Result<usize, Refusal> {
        // No tensor has as many dimensions; what a file claims is not trusted to be few.
        match self.dims(at)? {
            [Some(count)] if *count <= 64 => Ok(*count),
            other => refuse(format!("input {at} of shape {other:?}: its length has to be known")),
        }
    }

    /// The axis counted from the front.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Refusal> {
        let from_front = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        let found = from_front.and_then(|a| usize::try_from(a).ok()).filter(|&a| a < rank);
        found.ok_or_else(|| Refusal(format!("axis {axis} of {rank} dimensions")))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.layer.data.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn bad(&self, name: &str) -> Refusal {
        Refusal(format!("attribute {name} is {:?}", self.text(name).unwrap_or_default()))
    }

    /// An integer that must be there.
    pub fn int(&self, name: &str) -> Result<i64, Refusal> {
        self.text(name).and_then(|t| t.trim().parse().ok()).ok_or_else(|| self.bad(name))
    }

    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, Refusal> {
        if self.text(name).is_none() { Ok(default) } else { self.int(name) }
    }

    pub fn float_or(&self, name: &str, default: f64) -> Result<f64, Refusal> {
        let parse = |t: &str| t.trim().parse().map_err(|_| self.bad(name));
        self.text(name).map_or(Ok(default), parse)
    }

    pub fn flag_or(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.text(name) {
            None => Ok(default),
            Some("true" | "True" | "1") => Ok(true),
            Some("false" | "False" | "0") => Ok(false),
            Some(_) => Err(self.bad(name)),
        }
    }

    /// A list of integers; empty when it is absent.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, Refusal> {
        let parts = self.text(name).unwrap_or_default().split(',').map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(|part| part.parse().map_err(|_| self.bad(name))).collect()
    }

    /// A list of words in lower case.
    pub fn words(&self, name: &str) -> Vec<String> {
        let parts = self.text(name).unwrap_or_default().split(',').map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_ascii_lowercase).collect()
    }

    /// One of the words that an attribute may be, the first of them by default.
    pub fn one_of(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Refusal> {
        let Some(text) = self.text(name) else { return Ok(words.first().copied().unwrap_or("")) };
        let found = words.iter().find(|w| w.eq_ignore_ascii_case(text.trim()));
        found.copied().ok_or_else(|| {
            Refusal(format!("attribute {name} is {text:?}, not one of {}", words.join(", ")))
        })
    }

    /// The element type that an attribute names.
    pub fn type_of(&self, name: &str, default: DType) -> Result<DType, Refusal> {
        let Some(text) = self.text(name) else { return Ok(default) };
        dtype(&text.to_ascii_lowercase()).ok_or_else(|| self.bad(name))
    }

    /// The constant that an input is.
    pub fn constant(&self, at: usize) -> Option<&Tensor> {
        self.make.known(self.inputs.get(at)?.as_deref()?)
    }

    /// The integers of an input that is constant.
    pub fn const_ints(&self, at: usize) -> Result<Vec<i64>, Refusal> {
        let computed = || Refusal(format!("input {at} is computed; only a constant is read there"));
        let tensor = self.constant(at).ok_or_else(computed)?;
        integers(tensor).ok_or_else(|| Refusal(format!("input {at} is {}", tensor.dtype())))
    }

    /// The only integer of a constant input.
    pub fn const_int(&self, at: usize) -> Result<i64, Refusal> {
        match self.const_ints(at)?.as_slice() {
            [one] => Ok(*one),
            many => refuse(format!("input {at} has {} elements, one expected", many.len())),
        }
    }

    /// An input as `i64`.
    pub fn as_i64(&mut self, at: usize) -> Result<String, Refusal> {
        if let Some(values) = self.constant(at).and_then(integers) {
            let dims = self.constant(at).map(|t| t.shape().dims().to_vec()).unwrap_or_default();
            let tensor = Tensor::from_slice(&values, &dims)?;
            return Ok(self.make.constant(tensor));
        }
        let value = self.input(at)?;
        if self.dtype(at)? == DType::I64 {
            return Ok(value);
        }
        Ok(self.make.node_with("Cast", &[&value], &[("to", DType::I64.into())]))
    }

    /// An input as a list of `i64`, which may be a scalar in the file.
    pub fn as_list(&mut self, at: usize) -> Result<String, Refusal> {
        if let Some(values) = self.constant(at).and_then(integers) {
            return Ok(self.make.ints(&values)?);
        }
        let value = self.as_i64(at)?;
        if self.rank(at)? == 1 {
            return Ok(value);
        }
        let shape = self.make.ints(&[-1])?;
        Ok(self.make.node("Reshape", &[&value, &shape]))
    }

    /// A number as a scalar of the type of an input.
    pub fn number(&mut self, like: usize, value: f64) -> Result<String, Refusal> {
        let dtype = self.dtype(like)?;
        Ok(self.make.number(dtype, value)?)
    }

    /// Zeros, which the engine makes within its budget for constants: their shape is what the file claims.
    pub fn zeros(&mut self, dtype: DType, sizes: &[i64]) -> Result<String, Refusal> {
        let shape = self.make.ints(sizes)?;
        let zero = Tensor::zeros(dtype, stead_tensor::Shape::new(&[1])?)?;
        Ok(self.make.node_with("ConstantOfShape", &[&shape], &[("value", zero.into())]))
    }

    pub fn unsqueeze(&mut self, value: &str, axes: &[i64]) -> Result<String, Refusal> {
        let axes = self.make.ints(axes)?;
        Ok(self.make.node("Unsqueeze", &[value, &axes]))
    }

    pub fn squeeze(&mut self, value: &str, axes: &[i64]) -> Result<String, Refusal> {
        let axes = self.make.ints(axes)?;
        Ok(self.make.node("Squeeze", &[value, &axes]))
    }

    pub fn cast(&mut self, value: &str, to: DType) -> String {
        self.make.node_with("Cast", &[value], &[("to", to.into())])
    }

    /// One node with the inputs as they are.
    pub fn same(&mut self, op: &str, attributes: &[(&str, AttributeValue)]) -> Lowered {
        let inputs: Vec<String> =
            self.inputs.iter().map(|i| i.clone().unwrap_or_default()).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        Ok(vec![self.make.node_with(op, &inputs, attributes)])
    }
}

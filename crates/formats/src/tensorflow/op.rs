//! What the lowering of one node sees.

use super::proto::{NodeDef, attr_value::Value as Attr};
use super::tensor::dtype;
use crate::error::Refusal;
use crate::make::Make;
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// The values of the outputs.
pub(super) type Lowered = Result<Vec<String>, Refusal>;

/// A node with the values of its inputs.
pub(super) struct Op<'a> {
    pub make: &'a mut Make,
    pub node: &'a NodeDef,
    pub inputs: Vec<String>,
}

pub(super) fn refuse<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(text.into()))
}

impl Op<'_> {
    pub fn input(&self, at: usize) -> Result<String, Refusal> {
        self.inputs.get(at).cloned().ok_or_else(|| Refusal(format!("input {at} is missing")))
    }

    fn attr(&self, name: &str) -> Option<&Attr> {
        self.node.attr.get(name).and_then(|a| a.value.as_ref())
    }

    fn missing(name: &str) -> Refusal {
        Refusal(format!("attribute {name} is missing or of another kind"))
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.attr(name), Some(Attr::B(true)))
    }

    pub fn int(&self, name: &str) -> Result<i64, Refusal> {
        match self.attr(name) {
            Some(Attr::I(value)) => Ok(*value),
            _ => Err(Self::missing(name)),
        }
    }

    pub fn int_or(&self, name: &str, default: i64) -> i64 {
        self.int(name).unwrap_or(default)
    }

    pub fn float_or(&self, name: &str, default: f32) -> f32 {
        if let Some(Attr::F(value)) = self.attr(name) { *value } else { default }
    }

    pub fn text(&self, name: &str) -> String {
        match self.attr(name) {
            Some(Attr::S(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        }
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        if let Some(Attr::List(list)) = self.attr(name) { list.i.clone() } else { Vec::new() }
    }

    pub fn dtype(&self, name: &str) -> Result<DType, Refusal> {
        match self.attr(name) {
            Some(Attr::Type(number)) => dtype(*number).ok_or_else(|| Self::missing(name)),
            _ => Err(Self::missing(name)),
        }
    }

    /// A number of the type of attribute `T`.
    pub fn number(&mut self, value: f64) -> Result<String, Refusal> {
        let dtype = self.dtype("T")?;
        Ok(self.make.number(dtype, value)?)
    }

    /// The integers of an input that is constant.
    pub fn const_ints(&self, at: usize) -> Result<Vec<i64>, Refusal> {
        let computed = || Refusal(format!("input {at} is computed; only a constant is read there"));
        let name = self.input(at)?;
        let tensor = self.make.known(&name).ok_or_else(computed)?;
        crate::make::integers(tensor).ok_or_else(|| Refusal(format!("input {at} is no integer")))
    }

    /// An input as a list of `i64`; a scalar is one of one element.
    pub fn list(&mut self, at: usize) -> Result<String, Refusal> {
        if let Ok(values) = self.const_ints(at) {
            return Ok(self.make.ints(&values)?);
        }
        let value = self.input(at)?;
        let value = self.cast(&value, DType::I64);
        let shape = self.make.ints(&[-1])?;
        Ok(self.make.node("Reshape", &[&value, &shape]))
    }

    pub fn cast(&mut self, value: &str, to: DType) -> String {
        self.make.node_with("Cast", &[value], &[("to", to.into())])
    }

    pub fn transpose(&mut self, value: &str, order: &[i64]) -> String {
        let perm = AttributeValue::Ints(order.to_vec());
        self.make.node_with("Transpose", &[value], &[("perm", perm)])
    }

    /// One node with the inputs as they are.
    pub fn same(&mut self, op: &str, attributes: &[(&str, AttributeValue)]) -> Lowered {
        let inputs: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
        Ok(vec![self.make.node_with(op, &inputs, attributes)])
    }
}

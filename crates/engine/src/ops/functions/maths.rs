//! Arithmetic as formulas write it.

use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// The body of a function, with a word for each operation.
pub(super) struct Maths<'f, 'b>(pub &'f mut FunctionBody<'b>);

impl Maths<'_, '_> {
    pub fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("Add", &[a, b], &[])
    }

    pub fn sub(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("Sub", &[a, b], &[])
    }

    pub fn mul(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("Mul", &[a, b], &[])
    }

    pub fn div(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("Div", &[a, b], &[])
    }

    pub fn neg(&mut self, a: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("Neg", &[a], &[])
    }

    pub fn sqrt(&mut self, a: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("Sqrt", &[a], &[])
    }

    /// `a` times a number, of `a`'s type.
    pub fn scaled(&mut self, a: ValueId, factor: f32) -> Result<ValueId, LoadError> {
        let factor = self.0.number(factor.into(), a)?;
        self.mul(a, factor)
    }

    /// `a` plus a number, of `a`'s type.
    pub fn plus(&mut self, a: ValueId, term: f32) -> Result<ValueId, LoadError> {
        let term = self.0.number(term.into(), a)?;
        self.add(a, term)
    }

    /// `1 - a`
    pub fn rest_of_one(&mut self, a: ValueId) -> Result<ValueId, LoadError> {
        let one = self.0.number(1.0, a)?;
        self.sub(one, a)
    }

    /// A value as another element type. Unlike [`Maths::like`] it reads nothing but the value.
    pub fn cast(&mut self, a: ValueId, to: DType) -> Result<ValueId, LoadError> {
        if self.0.dtype(a) == to {
            return Ok(a);
        }
        self.0.call("Cast", &[a], &[("to", AttributeValue::Int(to.onnx_number().into()))])
    }

    /// A value in the type of another.
    pub fn like(&mut self, a: ValueId, other: ValueId) -> Result<ValueId, LoadError> {
        self.0.call("CastLike", &[a, other], &[])
    }
}

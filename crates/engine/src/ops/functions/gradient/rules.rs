//! The derivative of each operator: what the gradient of its result adds to that of each input.

use super::shapes::{expanded, product_shapes, summed};
use crate::error::LoadError;
use crate::ir::{Node, ValueId};
use crate::ops::functions::maths::Maths;
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// A node on the way back.
pub(super) struct Step<'n> {
    pub node: &'n Node,
    /// Its result.
    pub y: ValueId,
    /// The gradient of the result, in its shape.
    pub gradient: ValueId,
}

impl Step<'_> {
    fn input(&self, m: &Maths<'_, '_>, index: usize) -> Result<ValueId, LoadError> {
        let op = &self.node.op_type;
        self.node
            .input(index)
            .ok_or_else(|| m.0.refuse(format!("input {index} of {op} is missing")))
    }
}

/// What the gradient of the result is for the input at a position, in the shape of that input.
pub(super) type Rule = fn(&mut Maths<'_, '_>, &Step<'_>, usize) -> Result<ValueId, LoadError>;

/// The operators of `ai.onnx` that have a derivative here.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("Add", |m, s, at| share(m, s, at, s.gradient)),
    ("Div", div),
    ("Exp", |m, s, _| m.mul(s.gradient, s.y)),
    ("Expand", |m, s, at| share(m, s, at, s.gradient)),
    ("Flatten", reshape),
    ("Gemm", gemm),
    ("Identity", |_, s, _| Ok(s.gradient)),
    ("Log", |m, s, at| {
        let x = s.input(m, at)?;
        m.div(s.gradient, x)
    }),
    ("MatMul", matmul),
    ("Mul", mul),
    ("Neg", |m, s, _| m.neg(s.gradient)),
    ("Pow", pow),
    ("ReduceMean", reduce_mean),
    ("ReduceSum", reduce_sum),
    ("Relu", relu),
    ("Reshape", reshape),
    ("Sigmoid", sigmoid),
    ("Sqrt", |m, s, _| {
        let half = m.scaled(s.gradient, 0.5)?;
        m.div(half, s.y)
    }),
    ("Squeeze", reshape),
    ("Sub", sub),
    ("Sum", |m, s, at| share(m, s, at, s.gradient)),
    ("Tanh", tanh),
    ("Transpose", transpose),
    ("Unsqueeze", reshape),
    ("Where", choose),
];

/// A gradient in the shape of the result, for an input that was broadcast to it.
fn share(
    m: &mut Maths<'_, '_>,
    s: &Step<'_>,
    at: usize,
    gradient: ValueId,
) -> Result<ValueId, LoadError> {
    let input = s.input(m, at)?;
    summed(m, gradient, input)
}

fn sub(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let gradient = if at == 0 { s.gradient } else { m.neg(s.gradient)? };
    share(m, s, at, gradient)
}

fn mul(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let other = s.input(m, 1 - at.min(1))?;
    let gradient = m.mul(s.gradient, other)?;
    share(m, s, at, gradient)
}

/// `1 / b` and `-a / b^2`
fn div(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let b = s.input(m, 1)?;
    let mut gradient = m.div(s.gradient, b)?;
    if at > 0 {
        gradient = m.mul(gradient, s.y)?;
        gradient = m.neg(gradient)?;
    }
    share(m, s, at, gradient)
}

/// `b a^(b - 1)` and `a^b log a`
fn pow(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let (a, b) = (s.input(m, 0)?, s.input(m, 1)?);
    let factor = match at {
        0 => {
            let exponent = m.cast(b, m.0.dtype(a))?;
            let less = m.plus(exponent, -1.0)?;
            let power = m.0.call("Pow", &[a, less], &[])?;
            m.mul(exponent, power)?
        }
        _ => {
            let log = m.0.call("Log", &[a], &[])?;
            m.mul(s.y, log)?
        }
    };
    let gradient = m.mul(s.gradient, factor)?;
    let gradient = m.cast(gradient, m.0.dtype(if at == 0 { a } else { b }))?;
    share(m, s, at, gradient)
}

/// `1 - y^2`
fn tanh(m: &mut Maths<'_, '_>, s: &Step<'_>, _: usize) -> Result<ValueId, LoadError> {
    let square = m.mul(s.y, s.y)?;
    let slope = m.rest_of_one(square)?;
    m.mul(s.gradient, slope)
}

/// `y (1 - y)`
fn sigmoid(m: &mut Maths<'_, '_>, s: &Step<'_>, _: usize) -> Result<ValueId, LoadError> {
    let rest = m.rest_of_one(s.y)?;
    let slope = m.mul(s.y, rest)?;
    m.mul(s.gradient, slope)
}

/// 1 above 0, and 0 there and below.
fn relu(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let x = s.input(m, at)?;
    let zero = m.0.number(0.0, x)?;
    let passes = m.0.call("Greater", &[x, zero], &[])?;
    m.0.call("Where", &[passes, s.gradient, zero], &[])
}

fn choose(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let condition = s.input(m, 0)?;
    let zero = m.0.number(0.0, s.gradient)?;
    let chosen = match at {
        1 => [condition, s.gradient, zero],
        _ => [condition, zero, s.gradient],
    };
    let gradient = m.0.call("Where", &chosen, &[])?;
    share(m, s, at, gradient)
}

/// Elements stay in their order.
fn reshape(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let x = s.input(m, at)?;
    let shape = m.0.call("Shape", &[x], &[])?;
    // A dimension of 0 is one of no elements here, not that of the gradient.
    m.0.call("Reshape", &[s.gradient, shape], &[("allowzero", AttributeValue::Int(1))])
}

fn transpose(m: &mut Maths<'_, '_>, s: &Step<'_>, _: usize) -> Result<ValueId, LoadError> {
    let Some(order) = s.node.attributes.ints("perm")? else {
        return m.0.call("Transpose", &[s.gradient], &[]);
    };
    let mut back = vec![0; order.len()];
    for (to, &from) in (0..).zip(order) {
        let place = usize::try_from(from).ok().and_then(|from| back.get_mut(from));
        *place.ok_or_else(|| m.0.refuse(format!("perm is {order:?}")))? = to;
    }
    m.0.call("Transpose", &[s.gradient], &[("perm", AttributeValue::Ints(back))])
}

fn reduce_sum(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    expanded(m, s, at)
}

/// Each element has its part of a sum.
fn reduce_mean(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let (x, gradient) = (s.input(m, at)?, expanded(m, s, at)?);
    let mut count = |of: ValueId| {
        let count = m.0.call("Size", &[of], &[])?;
        m.cast(count, DType::F64)
    };
    let (all, left) = (count(x)?, count(s.y)?);
    let part = m.div(left, all)?;
    let part = m.cast(part, m.0.dtype(gradient))?;
    m.mul(gradient, part)
}

/// `g B^T` and `A^T g`, of the last two dimensions.
fn matmul(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let (a, b) = (s.input(m, 0)?, s.input(m, 1)?);
    // A vector is a row on the left and a column on the right.
    let [shape_a, shape_b, shape_y] = product_shapes(m, a, b, s.y)?;
    let gradient = m.0.call("Reshape", &[s.gradient, shape_y], &[])?;
    let (other, shape, input) = if at == 0 { (b, shape_b, a) } else { (a, shape_a, b) };
    let other = m.0.call("Reshape", &[other, shape], &[])?;
    let (operands, equation) = match at {
        0 => ([gradient, other], "...mn,...kn->...mk"),
        _ => ([other, gradient], "...mk,...mn->...kn"),
    };
    let equation = AttributeValue::String(equation.as_bytes().to_vec());
    let product = m.0.call("Einsum", &operands, &[("equation", equation)])?;
    // First in the shape of the operand as a matrix, over which batches are summed, then in its own.
    let own = if at == 0 { shape_a } else { shape_b };
    let matrix = m.0.call("Reshape", &[input, own], &[])?;
    let gradient = summed(m, product, matrix)?;
    let shape = m.0.call("Shape", &[input], &[])?;
    m.0.call("Reshape", &[gradient, shape], &[])
}

/// `y = alpha A' B' + beta C`, where A' and B' may be transposed.
fn gemm(m: &mut Maths<'_, '_>, s: &Step<'_>, at: usize) -> Result<ValueId, LoadError> {
    let attributes = &s.node.attributes;
    let (alpha, beta) = (attributes.float_or("alpha", 1.0)?, attributes.float_or("beta", 1.0)?);
    let turned = [attributes.bool_or("transA", false)?, attributes.bool_or("transB", false)?];
    if at > 1 {
        let gradient = m.scaled(s.gradient, beta)?;
        return share(m, s, at, gradient);
    }
    let other = s.input(m, 1 - at)?;
    let [own, others] = if at == 0 { turned } else { [turned[1], turned[0]] };
    // A product whose factors change places is the transposed one.
    let (operands, turns) = match (at == 0) != own {
        true => ([s.gradient, other], [at == 1, (at == 0) != others]),
        false => ([other, s.gradient], [(at == 1) != others, at == 0]),
    };
    let flag = |turned: bool| AttributeValue::Int(turned.into());
    let attributes = [
        ("alpha", AttributeValue::Float(alpha)),
        ("transA", flag(turns[0])),
        ("transB", flag(turns[1])),
    ];
    m.0.call("Gemm", &operands, &attributes)
}

//! Recognises GELU written out in primitives.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// `0.5 x (1 + erf(x / sqrt 2))` in the orders in which exporters write the product becomes one Gelu node.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let x = find(m, node).filter(|x| m.dtype(Some(*x)) == Some(DType::F32))?;
        let mut attributes = attributes_for(node);
        attributes.set("approximate", AttributeValue::String(b"none".to_vec()));
        let inputs = vec![Some(x)];
        Some(Replacement {
            at,
            domain: "",
            op_type: "Gelu",
            opset: 20,
            inputs,
            constants: vec![],
            attributes,
        })
    }))
}

/// `x` of the product that ends in this node: of `x`, `1 + erf`, and one half, two are multiplied first.
fn find(m: &Matcher<'_>, node: &Node) -> Option<ValueId> {
    if !node.is("Mul") {
        return None;
    }
    for (inner, last) in m.either_way(node) {
        let Some(product) = m.only_made_by(inner, "Mul") else { continue };
        for (a, b) in m.either_way(product) {
            let factors = [(a, b, last), (a, last, b), (last, a, b)];
            for (x, gate, half) in factors {
                if m.is_number(half, 0.5) && gate_of(m, gate) == x && x.is_some() {
                    return x;
                }
            }
        }
    }
    None
}

/// `x` of `1 + erf(x / sqrt 2)`.
fn gate_of(m: &Matcher<'_>, gate: Option<ValueId>) -> Option<ValueId> {
    let sum = m.made_by(gate, "Add")?;
    let erf = m
        .either_way(sum)
        .into_iter()
        .find_map(|(erf, one)| m.made_by(erf, "Erf").filter(|_| m.is_number(one, 1.0)))?;
    let argument = erf.input(0);
    if let Some(div) = m.made_by(argument, "Div") {
        return div.input(0).filter(|_| m.is_number(div.input(1), SQRT_2));
    }
    let mul = m.made_by(argument, "Mul")?;
    m.either_way(mul).into_iter().find_map(|(x, by)| x.filter(|_| m.is_number(by, FRAC_1_SQRT_2)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn gelu(half_first: bool, root: f32) -> ModelBuilder {
        let b = ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "4"])
            .init("root", Tensor::scalar(root).unwrap())
            .init("one", Tensor::scalar(1.0f32).unwrap())
            .init("half", Tensor::scalar(0.5f32).unwrap())
            .node("Div", &["x", "root"], &["d"])
            .node("Erf", &["d"], &["e"])
            .node("Add", &["e", "one"], &["s"]);
        let b = if half_first {
            b.node("Mul", &["x", "half"], &["h"]).node("Mul", &["h", "s"], &["y"])
        } else {
            b.node("Mul", &["x", "s"], &["p"]).node("Mul", &["p", "half"], &["y"])
        };
        b.output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let root = std::f32::consts::SQRT_2;
        check("half last", super::run, gelu(false, root), &["Gelu"]);
        check("half first", super::run, gelu(true, root), &["Gelu"]);
        check("another root", super::run, gelu(false, 2.0), &["Div", "Erf", "Add", "Mul", "Mul"]);
    }
}

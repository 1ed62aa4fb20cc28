//! Recognises functions that are a number times a gate of itself: SiLU and hard swish.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// `x * Sigmoid(x)` becomes Swish; `x * HardSigmoid(x)` with a slope of 1/6, and `x * Clip(x + 3, 0, 6) / 6` in the
/// orders in which exporters write it, HardSwish.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let (x, op_type, opset) = silu(m, node).or_else(|| hard_swish(m, node))?;
        if m.dtype(Some(x)) != Some(DType::F32) {
            return None;
        }
        let mut attributes = attributes_for(node);
        if op_type == "Swish" {
            attributes.set("alpha", AttributeValue::Float(1.0));
        }
        let inputs = vec![Some(x)];
        Some(Replacement { at, domain: "", op_type, opset, inputs, constants: vec![], attributes })
    }))
}

type Found = (ValueId, &'static str, i64);

fn silu(m: &Matcher<'_>, node: &Node) -> Option<Found> {
    if !node.is("Mul") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(x, gate)| {
        let sigmoid = m.only_made_by(gate, "Sigmoid")?;
        (sigmoid.input(0) == x).then_some((x?, "Swish", 24))
    })
}

fn hard_swish(m: &Matcher<'_>, node: &Node) -> Option<Found> {
    let found = |x: ValueId| Some((x, "HardSwish", 14));
    if node.is("Div") {
        // (x * Clip(x + 3)) / 6
        if !m.is_number(node.input(1), 6.0) {
            return None;
        }
        let product = m.only_made_by(node.input(0), "Mul")?;
        let way = |(x, gate): (Option<ValueId>, _)| (clipped(m, gate) == x).then_some(x).flatten();
        return found(m.either_way(product).into_iter().find_map(way)?);
    }
    if !node.is("Mul") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(x, gate)| {
        // x * (Clip(x + 3) / 6), or x * HardSigmoid(x)
        let inner = match m.only_made_by(gate, "Div") {
            Some(div) if m.is_number(div.input(1), 6.0) => clipped(m, div.input(0)),
            Some(_) => None,
            None => {
                let gate = m.only_made_by(gate, "HardSigmoid")?;
                let alpha = gate.attributes.float_or("alpha", 0.2).ok()?;
                let beta = gate.attributes.float_or("beta", 0.5).ok()?;
                let is_sixth = (alpha - 1.0 / 6.0).abs() < 1e-6 && beta == 0.5;
                gate.input(0).filter(|_| is_sixth)
            }
        };
        if inner.is_some() && inner == x { found(inner?) } else { None }
    })
}

/// `x` of `Clip(x + 3, 0, 6)`.
fn clipped(m: &Matcher<'_>, id: Option<ValueId>) -> Option<ValueId> {
    let clip = m.only_made_by(id, "Clip")?;
    let bound = |index: usize, name: &str| match clip.input(index) {
        Some(id) => m.number(Some(id)),
        None => clip.attributes.float(name).ok().flatten(),
    };
    if bound(1, "min") != Some(0.0) || bound(2, "max") != Some(6.0) {
        return None;
    }
    let sum = m.only_made_by(clip.input(0), "Add")?;
    m.either_way(sum).into_iter().find_map(|(x, three)| x.filter(|_| m.is_number(three, 3.0)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn model() -> ModelBuilder {
        let number = |v: f32| Tensor::scalar(v).unwrap();
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .input("z", DType::F32, &["n"])
            .init("zero", number(0.0))
            .init("three", number(3.0))
            .init("six", number(6.0))
    }

    fn clipped(max: &str) -> ModelBuilder {
        model().node("Add", &["x", "three"], &["a"]).node("Clip", &["a", "zero", max], &["c"])
    }

    #[test]
    fn before_and_after() {
        let ends = |b: ModelBuilder| b.output("y", DType::F32);
        let sigmoid = || model().node("Sigmoid", &["x"], &["s"]);
        let hard = |alpha: f32| model().node("HardSigmoid", &["x"], &["s"]).attr("alpha", alpha);
        let cases = [
            ("silu", sigmoid().node("Mul", &["s", "x"], &["y"]), &["Swish"][..]),
            ("another factor", sigmoid().node("Mul", &["s", "z"], &["y"]), &["Sigmoid", "Mul"]),
            ("hard sigmoid", hard(1.0 / 6.0).node("Mul", &["x", "s"], &["y"]), &["HardSwish"]),
            ("another slope", hard(0.2).node("Mul", &["x", "s"], &["y"]), &["HardSigmoid", "Mul"]),
            (
                "divided last",
                clipped("six").node("Mul", &["x", "c"], &["p"]).node("Div", &["p", "six"], &["y"]),
                &["HardSwish"],
            ),
            (
                "divided first",
                clipped("six").node("Div", &["c", "six"], &["p"]).node("Mul", &["p", "x"], &["y"]),
                &["HardSwish"],
            ),
            (
                "another bound",
                clipped("three").node("Mul", &["x", "c"], &["p"]).node(
                    "Div",
                    &["p", "six"],
                    &["y"],
                ),
                &["Add", "Clip", "Mul", "Div"],
            ),
        ];
        for (label, builder, want) in cases {
            check(label, super::run, ends(builder), want);
        }
    }
}

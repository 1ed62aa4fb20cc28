//! Recognises LayerNormalization written out in primitives.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// `(x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias` over the last axis becomes one node.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let found = find(m, node)?;
        let mut attributes = attributes_for(node);
        attributes.set("axis", AttributeValue::Int(-1));
        attributes.set("epsilon", AttributeValue::Float(found.epsilon));
        Some(Replacement {
            at,
            domain: "",
            op_type: "LayerNormalization",
            opset: 17,
            inputs: vec![Some(found.x), found.scale, found.bias],
            constants: vec![],
            attributes,
        })
    }))
}

struct Found {
    x: ValueId,
    scale: Option<ValueId>,
    bias: Option<ValueId>,
    epsilon: f32,
}

fn find(m: &Matcher<'_>, node: &Node) -> Option<Found> {
    if !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(scaled, bias)| {
        let product = m.only_made_by(scaled, "Mul")?;
        m.either_way(product).into_iter().find_map(|(normal, scale)| {
            let (x, epsilon) = normalised(m, normal)?;
            // Scale and bias must be vectors of one length: then it is the length of the last axis, or the
            // model would not have run.
            let (s, b) = (m.constant(scale)?, m.constant(bias)?);
            let fits = s.dtype() == DType::F32 && s.shape().rank() == 1 && s.shape() == b.shape();
            (fits && s.shape().elements() > 1).then_some(Found { x, scale, bias, epsilon })
        })
    })
}

/// `x` and epsilon of `d / sqrt(mean(d^2) + epsilon)` with `d = x - mean(x)`.
fn normalised(m: &Matcher<'_>, id: Option<ValueId>) -> Option<(ValueId, f32)> {
    let div = m.only_made_by(id, "Div")?;
    let root = m.made_by(div.input(1), "Sqrt")?;
    let sum = m.made_by(root.input(0), "Add")?;
    let (variance, epsilon) = m
        .either_way(sum)
        .into_iter()
        .find_map(|(variance, epsilon)| Some((variance, m.number(epsilon)?)))?;
    let squares = mean_over_last(m, variance)?;
    let deviation = div.input(0);
    if squared(m, squares)? != deviation? {
        return None;
    }
    let difference = m.made_by(deviation, "Sub")?;
    let x = difference.input(0)?;
    (mean_over_last(m, difference.input(1))? == x).then_some((x, epsilon))
}

/// What is averaged over the last axis with the axis kept.
fn mean_over_last(m: &Matcher<'_>, id: Option<ValueId>) -> Option<ValueId> {
    let mean = m.made_by(id, "ReduceMean")?;
    let keeps = mean.attributes.bool_or("keepdims", true).ok()?;
    let last = match mean.input(1) {
        Some(axes) => m.constant(Some(axes))?.as_slice::<i64>().ok()? == [-1],
        None => mean.attributes.ints("axes").ok()?? == [-1],
    };
    mean.input(0).filter(|_| keeps && last)
}

fn squared(m: &Matcher<'_>, id: ValueId) -> Option<ValueId> {
    let node = m.maker(Some(id))?;
    if node.is("Pow") && m.is_number(node.input(1), 2.0) {
        return node.input(0);
    }
    let same = node.is("Mul") && node.input(0) == node.input(1);
    node.input(0).filter(|_| same)
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn norm(axis: i64, scale: &[usize]) -> ModelBuilder {
        let scale_values = vec![1.5f32; scale.iter().product()];
        ModelBuilder::new(17)
            .input("x", DType::F32, &["b", "n", "4"])
            .init("two", Tensor::scalar(2.0f32).unwrap())
            .init("eps", Tensor::scalar(1e-5f32).unwrap())
            .init("scale", Tensor::from_slice(&scale_values, scale).unwrap())
            .init("bias", Tensor::from_slice(&[0.5f32; 4], &[4]).unwrap())
            .node("ReduceMean", &["x"], &["mean"])
            .attr("axes", vec![axis])
            .node("Sub", &["x", "mean"], &["d"])
            .node("Pow", &["d", "two"], &["p"])
            .node("ReduceMean", &["p"], &["var"])
            .attr("axes", vec![axis])
            .node("Add", &["var", "eps"], &["v"])
            .node("Sqrt", &["v"], &["root"])
            .node("Div", &["d", "root"], &["normal"])
            .node("Mul", &["normal", "scale"], &["scaled"])
            .node("Add", &["scaled", "bias"], &["y"])
            .output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let kept = ["ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"];
        check("last axis", super::run, norm(-1, &[4]), &["LayerNormalization"]);
        check("another axis", super::run, norm(1, &[4]), &kept);
        check("scale of another shape", super::run, norm(-1, &[1, 4]), &kept);
    }
}

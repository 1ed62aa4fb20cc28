//! Makes one node of a quantised product and the multiplication that turns its sums into floats, as dynamic quantisation
//! writes them.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_tensor::{DType, Tensor};

/// `Cast(MatMulInteger(A, B, a_zero, b_zero)) * (a_scale * b_scale)`, where B is a constant matrix and A was quantised by
/// DynamicQuantizeLinear or with constants. What follows is taken up by the pass for the epilogues of products; several
/// products may share one quantised A, which stays a node of its own.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let Found { mut inputs, a_scale, b_scale } = find(m, node)?;
        let mut constants = vec![];
        match a_scale {
            Some(scale) => inputs[2] = Some(scale),
            None => constants.push((2, Tensor::scalar(1.0f32).ok()?)),
        }
        inputs[3] = Some(b_scale);
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "MatMulIntegerToFloat",
            opset: 1,
            inputs,
            constants,
            attributes: attributes_for(node),
        })
    }))
}

struct Found {
    /// A, B, room for the scales, and the zero points.
    inputs: Vec<Option<ValueId>>,
    /// None where the scales are one constant.
    a_scale: Option<ValueId>,
    b_scale: ValueId,
}

fn find(m: &Matcher<'_>, node: &Node) -> Option<Found> {
    if !node.is("Mul") || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(sums, scales)| {
        let cast = m.only_made_by(sums, "Cast").filter(|_| m.dtype(sums) == Some(DType::F32))?;
        let product = m.only_made_by(cast.input(0), "MatMulInteger")?;
        let &[_, n] = m.constant(product.input(1))?.shape().dims() else { return None };
        if !is_one(m, product.input(2), 2) || !fits(m, product.input(3), n) {
            return None;
        }
        let (a_scale, b_scale) = scales_of(m, scales, n)?;
        let [a, b, a_zero, b_zero] = std::array::from_fn(|i| product.input(i));
        Some(Found { inputs: vec![a, b, None, None, a_zero, b_zero], a_scale, b_scale })
    })
}

/// The factors of the scale of a product of `n` columns.
fn scales_of(
    m: &Matcher<'_>,
    scales: Option<ValueId>,
    n: usize,
) -> Option<(Option<ValueId>, ValueId)> {
    if m.constant(scales).is_some() {
        return Some((None, scales.filter(|_| fits(m, scales, n))?));
    }
    let product = m.made_by(scales, "Mul")?;
    m.either_way(product).into_iter().find_map(|(a, b)| {
        let fit = a.is_some() && is_one(m, a, 1) && m.constant(b).is_some() && fits(m, b, n);
        Some((a, b.filter(|_| fit)?))
    })
}

/// Whether a zero point or scale of A is one number for all: absent, a constant that adds no dimension, or the result
/// `output` of DynamicQuantizeLinear.
fn is_one(m: &Matcher<'_>, id: Option<ValueId>, output: usize) -> bool {
    if id.is_none() {
        return true;
    }
    match m.constant(id) {
        Some(tensor) => tensor.shape().rank() <= 1 && tensor.shape().elements() == 1,
        None => m.made_by(id, "DynamicQuantizeLinear").is_some_and(|q| q.output(output) == id),
    }
}

/// Whether a zero point or scale of B is a constant that fits `n` columns and adds no dimension, or absent.
fn fits(m: &Matcher<'_>, id: Option<ValueId>, n: usize) -> bool {
    let Some(id) = id else { return true };
    m.constant(Some(id)).is_some_and(|tensor| {
        let count = tensor.shape().elements();
        tensor.shape().rank() <= 1 && (count == 1 || count == n)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn floats(values: &[f32], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    /// `x` quantised, multiplied by a matrix of 3 x 2, and cast to the type of this number, as `f`.
    fn product(cast: i64) -> ModelBuilder {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["m", "3"])
            .init("w", Tensor::from_slice(&[1i8, -2, 3, -4, 5, -6], &[3, 2]).unwrap())
            .init("w_zero", Tensor::from_slice(&[0i8], &[]).unwrap())
            .init("w_scale", floats(&[0.5], &[]))
            .init("w_scales", floats(&[0.5, 0.25], &[2]))
            .init("square", floats(&[0.5], &[1, 1]))
            .node("DynamicQuantizeLinear", &["x"], &["q", "q_scale", "q_zero"])
            .node("MatMulInteger", &["q", "w", "q_zero", "w_zero"], &["s"])
            .node("Cast", &["s"], &["f"])
            .attr("to", cast)
    }

    fn scaled(builder: ModelBuilder, factors: [&str; 2]) -> ModelBuilder {
        builder
            .node("Mul", &factors, &["scale"])
            .node("Mul", &["f", "scale"], &["y"])
            .output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let one = ["DynamicQuantizeLinear", "stead.MatMulIntegerToFloat"];
        let all = ["DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul"];
        check("one scale", super::run, scaled(product(1), ["q_scale", "w_scale"]), &one);
        check("by column", super::run, scaled(product(1), ["w_scales", "q_scale"]), &one);
        check("another rank", super::run, scaled(product(1), ["q_scale", "square"]), &all);
        let shared = scaled(product(1), ["q_scale", "w_scale"]).output("s", DType::I32);
        check("the sums are an output", super::run, shared, &all);
        let swapped = scaled(product(1).input("z", DType::F32, &["m", "1"]), ["z", "w_scale"]);
        check("a scale for each row", super::run, swapped, &all);
        let known = product(1).node("Mul", &["w_scales", "f"], &["y"]).output("y", DType::F32);
        check("constant scales", super::run, known, &one);
        let other = product(1).node("Mul", &["f", "f"], &["y"]).output("y", DType::F32);
        check("a square", super::run, other, &all[..4]);
    }
}

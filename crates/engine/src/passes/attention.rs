//! Recognises scaled dot-product attention written out in primitives.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use super::ranks::Ranks;
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// `softmax(Q K' * scale + mask) V` over heads becomes one node that never writes the scores of all heads
/// down.
///
/// Q, K and V must have four dimensions, for which it is enough that they come from such transpositions: that is how most
/// exporters split heads. A number by which Q or K is multiplied becomes part of the factor.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let ranks = Ranks::new(ir);
    Ok(rewrite(ir, &|m, at, node| {
        let found = find(m, &ranks, node)?;
        let mut attributes = attributes_for(node);
        attributes.set("scale", AttributeValue::Float(found.scale));
        let inputs = vec![Some(found.q), Some(found.k_transposed), Some(found.v), found.mask];
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "Attention",
            opset: 1,
            inputs,
            constants: vec![],
            attributes,
        })
    }))
}

struct Found {
    q: ValueId,
    k_transposed: ValueId,
    v: ValueId,
    mask: Option<ValueId>,
    scale: f32,
}

fn find(m: &Matcher<'_>, ranks: &Ranks, node: &Node) -> Option<Found> {
    if !node.is("MatMul") || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let four = |&id: &ValueId| has_four_dims(m, ranks, id);
    let v = node.input(1).filter(four)?;
    let softmax = m.only_made_by(node.input(0), "Softmax")?;
    // Before opset 13 the default axis was 1, and everything behind it one row.
    let axis = softmax.attributes.int_or("axis", if softmax.opset < 13 { 1 } else { -1 }).ok()?;
    if axis != -1 && axis != 3 {
        return None;
    }
    let (scores, mask) = masked(m, softmax.input(0))?;
    let (product, scale) = scaled(m, scores)?;
    let (q, q_scale) = unscaled(m, product.input(0)?);
    let (k_transposed, k_scale) = unscaled(m, product.input(1)?);
    let scale = scale * q_scale * k_scale;
    if !four(&q) || !four(&k_transposed) || !scale.is_finite() {
        return None;
    }
    Some(Found { q, k_transposed, v, mask, scale })
}

/// The scores before a mask is added, and the mask.
fn masked(m: &Matcher<'_>, id: Option<ValueId>) -> Option<(Option<ValueId>, Option<ValueId>)> {
    let Some(sum) = m.only_made_by(id, "Add") else { return Some((id, None)) };
    m.either_way(sum).into_iter().find(|(scores, _)| scaled(m, *scores).is_some())
}

/// The product behind a factor, and the factor.
fn scaled<'a>(m: &Matcher<'a>, id: Option<ValueId>) -> Option<(&'a Node, f32)> {
    if let Some(product) = m.only_made_by(id, "MatMul") {
        return Some((product, 1.0));
    }
    if let Some(div) = m.only_made_by(id, "Div") {
        let product = m.only_made_by(div.input(0), "MatMul")?;
        return Some((product, 1.0 / m.number(div.input(1))?)).filter(|(_, s)| s.is_finite());
    }
    let mul = m.only_made_by(id, "Mul")?;
    m.either_way(mul)
        .into_iter()
        .find_map(|(id, by)| Some((m.only_made_by(id, "MatMul")?, m.number(by)?)))
}

/// A value before it was multiplied by a number, and the number: some exporters scale Q and K instead of the scores.
fn unscaled(m: &Matcher<'_>, id: ValueId) -> (ValueId, f32) {
    let factor = || {
        let mul = m.made_by(Some(id), "Mul")?;
        m.either_way(mul).into_iter().find_map(|(of, by)| Some((of?, m.number(by)?)))
    };
    let divisor = || {
        let div = m.made_by(Some(id), "Div")?;
        Some((div.input(0)?, 1.0 / m.number(div.input(1))?))
    };
    factor().or_else(divisor).unwrap_or((id, 1.0))
}

/// Whether a value has four dimensions.
fn has_four_dims(m: &Matcher<'_>, ranks: &Ranks, id: ValueId) -> bool {
    ranks.of(m.ir, Some(id)) == Some(4)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, lowered};
    use super::*;
    use crate::passes::dead;
    use stead_kernels::Isa;
    use stead_onnx::ModelBuilder;
    use stead_tensor::Tensor;

    /// Heads of `dims` by a Reshape of three inputs of three dimensions, as one exporter splits them.
    fn split(dims: &[i64]) -> ModelBuilder {
        let shape = Tensor::from_slice(dims, &[dims.len()]).unwrap();
        let number = |x: f32| Tensor::from_slice(&[x], &[]).unwrap();
        let mut model = ModelBuilder::new(17)
            .init("shape", shape)
            .init("half", number(0.5))
            .init("eight", number(8.0));
        for name in ["q", "k", "v"] {
            model = model.input(name, DType::F32, &["heads", "len", "16"]).node(
                "Reshape",
                &[name, "shape"],
                &[&format!("{name}4")],
            );
        }
        model
    }

    fn rest(model: ModelBuilder, k_perm: Vec<i64>, scores: [&str; 2]) -> ModelBuilder {
        model
            .node("Transpose", &["k4"], &["kt"])
            .attr("perm", k_perm)
            .node("Mul", &["q4", "half"], &["qs"])
            .node("Div", &["kt", "eight"], &["ks"])
            .node("MatMul", &scores, &["s"])
            .node("Softmax", &["s"], &["p"])
            .attr("axis", -1i64)
            .node("MatMul", &["p", "v4"], &["y"])
            .output("y", DType::F32)
    }

    #[test]
    fn heads_are_found_however_they_were_split() {
        let four = || split(&[1, 4, -1, 16]);
        let fused = &["Reshape", "Reshape", "Reshape", "Transpose", "stead.Attention"];
        let turned = || vec![0, 1, 3, 2];
        check("heads by a Reshape", run, rest(four(), turned(), ["q4", "kt"]), fused);
        check("a factor of Q and of K", run, rest(four(), turned(), ["qs", "ks"]), fused);
        let three = split(&[4, -1, 16]);
        let apart = &["Reshape", "Reshape", "Reshape", "Transpose", "MatMul", "Softmax", "MatMul"];
        check("three dimensions", run, rest(three, vec![0, 2, 1], ["q4", "kt"]), apart);
    }

    #[test]
    fn factors_are_multiplied() {
        let model = rest(split(&[1, 4, -1, 16]), vec![0, 1, 3, 2], ["qs", "ks"]);
        let mut ir = lowered(model);
        let mut cx = PassCx { isa: Isa::detect(), fold_bytes: 0 };
        run(&mut ir, &mut cx).unwrap();
        dead::run(&mut ir, &mut cx).unwrap();
        let node = ir.body.nodes.iter().find(|n| n.op_type == "Attention").unwrap();
        assert_eq!(node.attributes.float_or("scale", 0.0).unwrap(), 0.5 / 8.0);
    }
}

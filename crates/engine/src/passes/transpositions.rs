//! Transpositions of matrices that a file writes down as three operators.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use super::ranks::{Extent, Ranks};
use crate::error::LoadError;
use crate::ir::{Ir, Node};
use stead_onnx::AttributeValue;

/// `Reshape(Transpose(Reshape(x)))`, which makes a batch of all dimensions but the last two, exchanges those and parts the
/// batch again, becomes one transposition: that is how torch writes the keys of attention for any number of dimensions.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let ranks = Ranks::new(ir);
    Ok(rewrite(ir, &|m, at, node| find(m, &ranks, at, node)))
}

fn find(m: &Matcher<'_>, ranks: &Ranks, at: usize, node: &Node) -> Option<Replacement> {
    if !node.is("Reshape") {
        return None;
    }
    let exchanged = m.made_by(node.input(0), "Transpose")?;
    if exchanged.attributes.ints("perm").ok()?? != [0, 2, 1] {
        return None;
    }
    let batched = m.made_by(exchanged.input(0), "Reshape")?;
    let x = batched.input(0)?;
    let rank = ranks.of(m.ir, Some(x)).filter(|rank| *rank > 2)?;
    let (rows, cols) = (Extent::Of(x, rank - 2), Extent::Of(x, rank - 1));
    let parted = (0..rank - 2).map(|i| Extent::Of(x, i)).chain([cols, rows]);
    if ranks.extents(m.ir, batched.input(1))? != [Extent::Number(-1), rows, cols]
        || ranks.extents(m.ir, node.input(1))? != parted.collect::<Vec<_>>()
    {
        return None;
    }
    let perm = (0..rank as i64 - 2).chain([rank as i64 - 1, rank as i64 - 2]);
    let mut attributes = attributes_for(node);
    attributes.set("perm", AttributeValue::Ints(perm.collect()));
    Some(Replacement {
        at,
        domain: "",
        op_type: "Transpose",
        opset: exchanged.opset,
        inputs: vec![Some(x)],
        constants: Vec::new(),
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    /// The three operators as torch writes them, with the parts of which the two shapes are made.
    fn keys(perm: Vec<i64>, batched: [&str; 3], parted: [&str; 3]) -> ModelBuilder {
        let number = |n: i64| Tensor::from_slice(&[n], &[1]).unwrap();
        ModelBuilder::new(18)
            .input("x", DType::F32, &["n", "heads", "len", "16"])
            .init("-1", number(-1))
            .init("-2", number(-2))
            .init("0", number(0))
            .init("end", number(i64::MAX))
            .node("Shape", &["x"], &["all"])
            .node("Slice", &["all", "-1", "end"], &["cols"])
            .node("Slice", &["all", "-2", "-1"], &["rows"])
            .node("Slice", &["all", "0", "-2"], &["front"])
            .node("Concat", &batched, &["batched"])
            .attr("axis", 0i64)
            .node("Reshape", &["x", "batched"], &["matrices"])
            .node("Transpose", &["matrices"], &["exchanged"])
            .attr("perm", perm)
            .node("Concat", &parted, &["parted"])
            .attr("axis", 0i64)
            .node("Reshape", &["exchanged", "parted"], &["y"])
            .output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let as_is = &[
            "Shape",
            "Slice",
            "Slice",
            "Slice",
            "Concat",
            "Reshape",
            "Transpose",
            "Concat",
            "Reshape",
        ];
        let (batched, parted) = (["-1", "rows", "cols"], ["front", "cols", "rows"]);
        check("of matrices", run, keys(vec![0, 2, 1], batched, parted), &["Transpose"]);
        check("none", run, keys(vec![0, 1, 2], batched, parted), as_is);
        check("of other matrices", run, keys(vec![0, 2, 1], ["-1", "cols", "rows"], parted), as_is);
        let turned = ["front", "rows", "cols"];
        check("and a reshape", run, keys(vec![0, 2, 1], batched, turned), as_is);
    }
}

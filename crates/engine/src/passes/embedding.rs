//! Recognises what encoders begin with: rows of tables of embeddings, added and normalised.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// A LayerNormalization of the sum of two or three embeddings becomes one node: the rows are read where they lie in their
/// tables, added and normalised while they are in the nearest cache. At least one of them is picked by indices.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let (addends, width) = find(m, node)?;
        let mut inputs = vec![node.input(1), node.input(2)];
        inputs.extend(addends.iter().flat_map(|a| [Some(a.table), a.indices]));
        let epsilon = node.attributes.float_or("epsilon", 1e-5).ok()?;
        let fits = |vector: Option<ValueId>| match m.constant(vector) {
            Some(tensor) => tensor.dtype() == DType::F32 && tensor.shape().dims() == [width],
            None => vector.is_none(),
        };
        if !fits(node.input(1)) || !fits(node.input(2)) {
            return None;
        }
        let mut attributes = attributes_for(node);
        attributes.set("epsilon", AttributeValue::Float(epsilon));
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "EmbeddingNormalization",
            opset: 1,
            inputs,
            constants: vec![],
            attributes,
        })
    }))
}

struct Addend {
    table: ValueId,
    indices: Option<ValueId>,
    width: usize,
}

/// What a LayerNormalization over the last axis of `width` numbers, only the result of which is wanted, normalises.
fn find(m: &Matcher<'_>, node: &Node) -> Option<(Vec<Addend>, usize)> {
    let is_last = node.attributes.int_or("axis", -1).ok()? == -1;
    let is_plain = node.output(1).is_none() && node.output(2).is_none();
    if !node.is("LayerNormalization") || !is_last || !is_plain {
        return None;
    }
    let sum = m.only_made_by(node.input(0), "Add")?;
    let addends = m.either_way(sum).into_iter().find_map(|(first, last)| {
        // The inner sum is taken first, then what is added to it: additions round, so that their order must stay.
        let inner = m.only_made_by(first, "Add");
        let mut addends = match inner {
            Some(inner) => vec![addend(m, inner.input(0))?, addend(m, inner.input(1))?],
            None => vec![addend(m, first)?],
        };
        addends.push(addend(m, last)?);
        Some(addends)
    })?;
    let width = addends[0].width;
    let is_one_width = addends.iter().all(|a| a.width == width);
    let is_picked = addends.iter().any(|a| a.indices.is_some());
    (is_one_width && is_picked).then_some((addends, width))
}

/// Rows of a constant table, or a constant of rows.
fn addend(m: &Matcher<'_>, id: Option<ValueId>) -> Option<Addend> {
    let of = |table: Option<ValueId>, indices| {
        let tensor = m.constant(table).filter(|t| t.dtype() == DType::F32)?;
        let width = *tensor.shape().last()?;
        Some((tensor.shape().rank(), Addend { table: table?, indices, width }))
    };
    if let Some(gather) = m.only_made_by(id, "Gather") {
        let is_rows = gather.attributes.int_or("axis", 0).ok()? == 0;
        let (rank, addend) = of(gather.input(0), gather.input(1))?;
        return (is_rows && rank == 2).then_some(addend);
    }
    Some(of(id, None)?.1)
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::run;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn model() -> ModelBuilder {
        let rows = |n: usize, width: usize| {
            Tensor::from_slice(&vec![0.5f32; n * width], &[n, width]).unwrap()
        };
        ModelBuilder::new(17)
            .input("ids", DType::I64, &["b", "n"])
            .input("places", DType::I64, &["1", "n"])
            .input("x", DType::F32, &["b", "n", "4"])
            .init("words", rows(9, 4))
            .init("positions", rows(5, 4))
            .init("kind", rows(1, 4))
            .init("scale", Tensor::from_slice(&[1.5f32; 4], &[4]).unwrap())
            .node("Gather", &["words", "ids"], &["w"])
            .node("Gather", &["positions", "places"], &["p"])
    }

    fn norm(builder: ModelBuilder) -> ModelBuilder {
        builder.node("LayerNormalization", &["s", "scale"], &["y"]).output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let two = || model().node("Add", &["w", "p"], &["s"]);
        let three =
            || model().node("Add", &["w", "kind"], &["wk"]).node("Add", &["p", "wk"], &["s"]);
        let one = ["stead.EmbeddingNormalization"];
        check("two", run, norm(two()), &one);
        check("three", run, norm(three()), &one);
        let apart = ["Gather", "Gather", "Add", "LayerNormalization"];
        check("over all but the first axis", run, norm(two()).attr("axis", 1i64), &apart);
        check("the sum is wanted", run, norm(two()).output("s", DType::F32), &apart);
        let other = model().node("Add", &["w", "x"], &["s"]);
        check("of what was computed", run, norm(other), &["Gather", "Add", "LayerNormalization"]);
    }
}

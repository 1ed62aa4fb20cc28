//! How many dimensions values have, and what shapes are made of, as far as that follows from the graph alone.

use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::HashMap;

/// Operators whose first result has as many dimensions as their first input.
const LIKE_INPUT: &[&str] = &[
    "Identity",
    "Dropout",
    "Cast",
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "HardSigmoid",
    "Tanh",
    "Gelu",
    "Erf",
    "Exp",
    "Log",
    "Sqrt",
    "Neg",
    "Abs",
    "Sin",
    "Cos",
    "Clip",
    "Softmax",
    "LogSoftmax",
    "LayerNormalization",
    "BatchNormalization",
    "Slice",
    "Split",
    "Concat",
    "Tile",
    "CumSum",
    "ScatterND",
    "ScatterElements",
];

/// Operators that stretch their operands to one shape.
const BROADCASTING: &[&str] = &["Add", "Sub", "Mul", "Div", "Pow", "Where", "Max", "Min"];

/// Whether a node is a layer of the standard, or of the engine, whose weights are bytes.
fn is_recurrent(node: &Node) -> bool {
    matches!(node.domain.as_str(), "" | "stead")
        && matches!(node.op_type.as_str(), "RNN" | "GRU" | "LSTM")
}

/// One number of a shape that is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// A constant.
    Number(i64),
    /// The size of a dimension of a value.
    Of(ValueId, usize),
    /// Any number.
    Unknown,
}

/// The ranks that are sure: those of constants, of inputs whose rank runs must keep to, and what follows from these.
pub(super) struct Ranks {
    ranks: HashMap<ValueId, usize>,
    /// The numbers of vectors, of which shapes are made.
    vectors: HashMap<ValueId, Vec<Extent>>,
}

impl Ranks {
    pub fn new(ir: &Ir) -> Ranks {
        let declared = ir.declared.iter().map(|(id, dims)| (*id, dims.len()));
        let mut ranks = Ranks { ranks: declared.collect(), vectors: HashMap::new() };
        ranks.add(ir, &ir.body);
        ranks
    }

    /// The rank of a value, if it is sure.
    pub fn of(&self, ir: &Ir, id: Option<ValueId>) -> Option<usize> {
        match ir.constant(id) {
            Some(tensor) => Some(tensor.shape().rank()),
            None => self.ranks.get(&id?).copied(),
        }
    }

    fn add(&mut self, ir: &Ir, body: &Body) {
        for node in &body.nodes {
            if is_recurrent(node) {
                // All states with the directions, and the last ones.
                let ranks = node.outputs.iter().zip([4, 3, 3]);
                self.ranks.extend(ranks.filter_map(|(id, rank)| Some(((*id)?, rank))));
            } else if let Some(rank) = self.result(ir, node) {
                self.ranks.extend(node.outputs.iter().flatten().map(|id| (*id, rank)));
            }
            if let (Some(extents), Some(id)) = (self.result_extents(ir, node), node.output(0)) {
                self.vectors.insert(id, extents);
            }
            node.bodies.iter().for_each(|(_, inner)| self.add(ir, inner));
        }
    }

    /// The numbers of a vector, if it is sure how many there are.
    pub fn extents(&self, ir: &Ir, id: Option<ValueId>) -> Option<Vec<Extent>> {
        let Some(tensor) = ir.constant(id) else { return self.vectors.get(&id?).cloned() };
        let numbers = tensor.as_slice::<i64>().unwrap_or_default();
        let at = |i: usize| numbers.get(i).map_or(Extent::Unknown, |n| Extent::Number(*n));
        (tensor.shape().rank() == 1).then(|| (0..tensor.shape().elements()).map(at).collect())
    }

    fn length(&self, ir: &Ir, id: Option<ValueId>) -> Option<usize> {
        match ir.constant(id) {
            Some(tensor) => (tensor.shape().rank() == 1).then(|| tensor.shape().elements()),
            None => self.vectors.get(&id?).map(Vec::len),
        }
    }

    /// The numbers of the vector that a node makes, for nodes that work on shapes.
    fn result_extents(&self, ir: &Ir, node: &Node) -> Option<Vec<Extent>> {
        let rank = |index: usize| self.of(ir, node.input(index));
        let extents = |index: usize| self.extents(ir, node.input(index));
        match node.op_type.as_str() {
            _ if !node.domain.is_empty() => None,
            "Shape" => {
                let (x, all) = (node.input(0)?, rank(0)?);
                let bound = |name: &str, open: usize| {
                    place(node.attributes.int_or(name, open as i64).ok()?, all)
                };
                Some((bound("start", 0)?..bound("end", all)?).map(|i| Extent::Of(x, i)).collect())
            }
            "Concat" => {
                let parts = node.inputs.iter().map(|id| self.extents(ir, *id));
                Some(parts.collect::<Option<Vec<_>>>()?.concat())
            }
            "Slice" => {
                let whole = extents(0)?;
                let only = |index: usize| match node.input(index) {
                    Some(id) => match self.extents(ir, Some(id))?.as_slice() {
                        &[Extent::Number(n)] => Some(Some(n)),
                        _ => None,
                    },
                    None => Some(None),
                };
                let (start, end) = (only(1)??, only(2)??);
                // A vector has one axis.
                let is_plain = only(4)?.is_none_or(|step| step == 1) && node.opset >= 10;
                let (start, end) = (place(start, whole.len())?, place(end, whole.len())?);
                is_plain.then(|| whole.get(start..end).unwrap_or_default().to_vec())
            }
            "Unsqueeze" => rank(0).filter(|rank| *rank == 0).map(|_| vec![Extent::Unknown]),
            "Gather" if rank(0)? == 1 => {
                let (whole, indices) = (extents(0).unwrap_or_default(), extents(1)?);
                let taken = |index: &Extent| match index {
                    Extent::Number(i) if *i < 0 => usize::try_from(i + whole.len() as i64).ok(),
                    Extent::Number(i) => usize::try_from(*i).ok(),
                    _ => None,
                };
                let at = |index| Some(*whole.get(taken(index)?)?);
                Some(indices.iter().map(|i| at(i).unwrap_or(Extent::Unknown)).collect())
            }
            "Cast" | "Identity" => extents(0),
            _ => None,
        }
    }

    /// The rank that all results of a node have.
    fn result(&self, ir: &Ir, node: &Node) -> Option<usize> {
        let rank = |index: usize| self.of(ir, node.input(index));
        let given = |name: &str, index: usize| match node.input(index) {
            Some(id) => ir.constant(Some(id)).map(|t| t.shape().elements()),
            None => node.attributes.ints(name).ok().flatten().map(<[i64]>::len),
        };
        let op = node.op_type.as_str();
        if op == "MatMul" && (node.domain.is_empty() || node.domain == "stead") {
            // A fused one may be seen in another shape.
            let plain =
                || rank(0).zip(rank(1)).filter(|&(a, b)| a >= 2 && b >= 2).map(|(a, b)| a.max(b));
            return node.input(6).map_or_else(plain, |shape| self.length(ir, Some(shape)));
        }
        match op {
            _ if !node.domain.is_empty() => None,
            "Gemm" => Some(2),
            "Gather" => Some((rank(0)? + rank(1)?).checked_sub(1)?),
            "Unsqueeze" => Some(rank(0)? + given("axes", 1)?),
            "Squeeze" => rank(0)?.checked_sub(given("axes", 1)?),
            "Shape" => Some(1),
            "Transpose" => rank(0).or_else(|| given("perm", usize::MAX)),
            "Reshape" => self.length(ir, node.input(1)),
            "ConstantOfShape" => self.length(ir, node.input(0)),
            "Expand" => Some(rank(0)?.max(self.length(ir, node.input(1))?)),
            _ if LIKE_INPUT.contains(&op) => rank(0),
            _ if BROADCASTING.contains(&op) => {
                (0..node.inputs.len()).map(rank).try_fold(0, |all, rank| Some(all.max(rank?)))
            }
            _ => None,
        }
    }
}

/// A bound of a slice of `len` elements from its beginning: negative ones count from the end, those outside are moved in.
fn place(at: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    let at = if at < 0 { at.saturating_add(len) } else { at };
    usize::try_from(at.clamp(0, len)).ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::lowered;
    use super::*;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    #[test]
    fn shapes_are_followed_through_their_vectors() {
        let vector = |v: &[i64]| Tensor::from_slice(v, &[v.len()]).unwrap();
        let end = i64::MAX;
        let model = ModelBuilder::new(18)
            .input("x", DType::F32, &["a", "b", "c"])
            .init("-1", vector(&[-1]))
            .init("-2", vector(&[-2]))
            .init("0", vector(&[0]))
            .init("end", vector(&[end]))
            .init("2,0", vector(&[2, 0]))
            .node("Shape", &["x"], &["all"])
            .node("Slice", &["all", "-1", "end"], &["last"])
            .node("Slice", &["all", "-2", "-1"], &["middle"])
            .node("Slice", &["all", "0", "-2"], &["front"])
            .node("Slice", &["all", "end", "0"], &["none"])
            .node("Slice", &["all", "end", "0", "0", "-1"], &["reversed"])
            .node("Concat", &["-1", "last", "none", "middle"], &["joined"])
            .attr("axis", 0i64)
            .node("Gather", &["all", "2,0"], &["taken"])
            .node("Reshape", &["x", "joined"], &["y"])
            .node("Reshape", &["x", "reversed"], &["z"])
            .output("y", DType::F32)
            .output("z", DType::F32);
        let ir = lowered(model);
        let ranks = Ranks::new(&ir);
        let made = |at: usize| ir.body.nodes[at].output(0);
        let extents = |at: usize| ranks.extents(&ir, made(at));
        let x = ir.body.nodes[0].input(0).unwrap();
        let of = |i: usize| Extent::Of(x, i);
        for (at, expected) in [
            (0, Some(vec![of(0), of(1), of(2)])),
            (1, Some(vec![of(2)])),
            (2, Some(vec![of(1)])),
            (3, Some(vec![of(0)])),
            (4, Some(vec![])),
            (5, None),
            (6, Some(vec![Extent::Number(-1), of(2), of(1)])),
            (7, Some(vec![of(2), of(0)])),
        ] {
            assert_eq!(extents(at), expected, "node {at}");
        }
        assert_eq!((ranks.of(&ir, made(8)), ranks.of(&ir, made(9))), (Some(3), None));
    }
}

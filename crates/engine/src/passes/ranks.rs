//! How many dimensions values have, as far as that follows from the graph alone.

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

const RECURRENT: &[&str] = &["RNN", "GRU", "LSTM"];

/// The ranks that are sure: those of constants, of inputs whose rank runs must keep to, and what follows from these.
pub(super) struct Ranks {
    ranks: HashMap<ValueId, usize>,
    /// The elements of vectors, of which shapes are made.
    lengths: HashMap<ValueId, usize>,
}

impl Ranks {
    pub fn new(ir: &Ir) -> Ranks {
        let declared = ir.declared.iter().map(|(id, dims)| (*id, dims.len()));
        let mut ranks = Ranks { ranks: declared.collect(), lengths: HashMap::new() };
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
            if node.domain.is_empty() && RECURRENT.contains(&node.op_type.as_str()) {
                // All states with the directions, and the last ones.
                let ranks = node.outputs.iter().zip([4, 3, 3]);
                self.ranks.extend(ranks.filter_map(|(id, rank)| Some(((*id)?, rank))));
            } else if let Some(rank) = self.result(ir, node) {
                self.ranks.extend(node.outputs.iter().flatten().map(|id| (*id, rank)));
            }
            if let (Some(length), Some(id)) = (self.result_length(ir, node), node.output(0)) {
                self.lengths.insert(id, length);
            }
            node.bodies.iter().for_each(|(_, inner)| self.add(ir, inner));
        }
    }

    /// The elements of a vector.
    fn length(&self, ir: &Ir, id: Option<ValueId>) -> Option<usize> {
        match ir.constant(id) {
            Some(tensor) => (tensor.shape().rank() == 1).then(|| tensor.shape().elements()),
            None => self.lengths.get(&id?).copied(),
        }
    }

    /// The elements of the vector that a node makes, for nodes that work on shapes.
    fn result_length(&self, ir: &Ir, node: &Node) -> Option<usize> {
        let rank = |index: usize| self.of(ir, node.input(index));
        match node.op_type.as_str() {
            _ if !node.domain.is_empty() => None,
            "Shape" => {
                let rank = rank(0)? as i64;
                let bound = |name: &str, open: i64| {
                    let at = node.attributes.int_or(name, open).ok()?;
                    Some(if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank))
                };
                usize::try_from(bound("end", rank)? - bound("start", 0)?).ok()
            }
            "Concat" => {
                let lengths = node.inputs.iter().map(|id| self.length(ir, *id));
                lengths.sum::<Option<usize>>()
            }
            "Unsqueeze" => rank(0).filter(|rank| *rank == 0).map(|_| 1),
            "Gather" => rank(0).filter(|rank| *rank == 1).and(self.length(ir, node.input(1))),
            "Cast" | "Identity" => self.length(ir, node.input(0)),
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
            return rank(0).zip(rank(1)).filter(|&(a, b)| a >= 2 && b >= 2).map(|(a, b)| a.max(b));
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

//! The walk over a graph: what is known of its values, and what is put between its nodes.

use super::trace::Trace;
use super::{Rows, Tied, rules};
use crate::ir::{Ir, Node, ValueId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::{DType, Tensor};

/// What a rule gives: the rows of each output, of which the last goes for all that follow; nothing for outputs that
/// have none. An error says why a node does not take rows.
pub(super) type Outcome = Result<Vec<Option<Rows>>, String>;

/// The same rows for all outputs.
pub(super) fn all(axis: usize, each: usize) -> Outcome {
    Ok(vec![Some(Rows { axis, each })])
}

/// A number of a list of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The same for any number of rows.
    Fixed(i64),
    /// The number of rows.
    Batch,
    /// A multiple of it.
    Times(i64),
    /// An element of another list.
    Of(ValueId, usize),
}

/// The walk.
pub(super) struct Cx<'m> {
    ir: &'m mut Ir,
    trace: Trace,
    rows: HashMap<ValueId, Rows>,
    /// The inputs that have rows, with their axes.
    inputs: Vec<(ValueId, usize)>,
    /// A list of one element, the number of rows, once it is needed.
    batch: Option<ValueId>,
    /// The nodes so far.
    made: Vec<Node>,
    label: Arc<str>,
}

impl<'m> Cx<'m> {
    pub(super) fn new(ir: &'m mut Ir, trace: Trace, inputs: &[(ValueId, usize)]) -> Cx<'m> {
        let rows = inputs.iter().map(|(id, axis)| (*id, Rows { axis: *axis, each: 1 })).collect();
        let inputs = inputs.to_vec();
        Cx { ir, trace, rows, inputs, batch: None, made: Vec::new(), label: "".into() }
    }

    /// Follows the rows through all nodes, and tells those of the outputs.
    pub(super) fn run(mut self) -> Result<Vec<Option<Rows>>, Tied> {
        for mut node in std::mem::take(&mut self.ir.body.nodes) {
            self.label = node.label.clone();
            let outcome = match self.takes_rows(&node) {
                false => Ok(Vec::new()),
                true if !node.bodies.is_empty() => Err("takes rows into a graph of its own".into()),
                true => rules::apply(&mut self, &mut node),
            };
            let outs = outcome.map_err(|why| Tied::Node { node: node.label.to_string(), why })?;
            for (at, id) in node.outputs.iter().enumerate() {
                let rows = outs.get(at).or(outs.last()).copied().flatten();
                if let (Some(id), Some(rows)) = (id, rows) {
                    self.rows.insert(*id, rows);
                }
            }
            self.made.push(node);
        }
        self.ir.body.nodes = std::mem::take(&mut self.made);
        Ok(self.ir.body.outputs.iter().map(|id| self.rows(*id)).collect())
    }

    fn takes_rows(&self, node: &Node) -> bool {
        let mut read: HashSet<ValueId> = node.inputs.iter().flatten().copied().collect();
        node.bodies.iter().for_each(|(_, body)| body.each_use(&mut |id| _ = read.insert(id)));
        read.iter().any(|id| self.rows.contains_key(id))
    }

    /// The rows of a value, if it has any.
    pub(super) fn rows(&self, id: ValueId) -> Option<Rows> {
        self.rows.get(&id).copied()
    }

    /// The rows of an input of a node.
    pub(super) fn rows_of(&self, node: &Node, input: usize) -> Option<Rows> {
        self.rows(node.input(input)?)
    }

    /// The first input of a node, which alone may have rows, with these.
    pub(super) fn only_first(&self, node: &Node) -> Result<(ValueId, Rows), String> {
        let others = node.inputs.iter().skip(1).flatten();
        match node.input(0).and_then(|x| Some((x, self.rows(x)?))) {
            Some(found) if others.copied().all(|id| self.rows(id).is_none()) => Ok(found),
            _ => Err("takes rows in an operand that is the same for all".into()),
        }
    }

    /// The shape of a value with one row.
    pub(super) fn dims(&self, id: ValueId) -> Result<Vec<usize>, String> {
        self.trace.dims(self.ir, id).ok_or_else(|| "has an operand of unknown size".into())
    }

    /// The whole numbers in an input of a node.
    pub(super) fn ints(&self, node: &Node, input: usize) -> Result<Option<Vec<i64>>, String> {
        let Some(id) = node.input(input) else { return Ok(None) };
        let ints = self.trace.ints(self.ir, id);
        ints.map(Some).ok_or_else(|| "has an operand of unknown numbers".into())
    }

    /// Whether an input is the same in every run.
    pub(super) fn is_constant(&self, id: ValueId) -> bool {
        self.ir.constant(Some(id)).is_some()
    }

    /// The constant behind an input.
    pub(super) fn constant(&self, id: Option<ValueId>) -> Option<&Tensor> {
        self.ir.constant(id)
    }

    /// A list of whole numbers.
    pub(super) fn numbers(&mut self, list: &[i64]) -> Result<ValueId, String> {
        let tensor = Tensor::from_slice(list, &[list.len()]).map_err(|e| e.to_string())?;
        Ok(self.ir.add_constant(tensor))
    }

    /// A list of whole numbers of the type of another.
    pub(super) fn like(&mut self, list: &[i64], of: Option<ValueId>) -> Result<ValueId, String> {
        if of.is_none_or(|id| self.ir.value(id).dtype != DType::I32) {
            return self.numbers(list);
        }
        let list: Vec<i32> = list.iter().map(|n| *n as i32).collect();
        let tensor = Tensor::from_slice(&list, &[list.len()]).map_err(|e| e.to_string())?;
        Ok(self.ir.add_constant(tensor))
    }

    /// A node before the one that is looked at, and what it gives.
    pub(super) fn emit(
        &mut self,
        (op_type, opset): (&str, i64),
        inputs: &[ValueId],
        attributes: &[(&str, i64)],
    ) -> ValueId {
        let dtype = match (op_type, inputs.first()) {
            ("Shape", _) | (_, None) => DType::I64,
            (_, Some(id)) => self.ir.value(*id).dtype,
        };
        let output = self.ir.add_value(dtype);
        let mut all = Attributes::of(self.label.to_string());
        for (name, value) in attributes {
            all.set(name, AttributeValue::Int(*value));
        }
        let aux = self.ir.add_value(DType::I64);
        self.made.push(Node {
            label: self.label.clone(),
            domain: String::new(),
            op_type: op_type.to_owned(),
            opset,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: vec![Some(output)],
            attributes: all,
            bodies: Vec::new(),
            aux,
        });
        output
    }

    /// A list of sizes, computed where it depends on the rows.
    pub(super) fn sizes(&mut self, list: &[Size]) -> Result<ValueId, String> {
        let mut pieces = Vec::new();
        let mut fixed: Vec<i64> = Vec::new();
        for size in list {
            if let Size::Fixed(n) = size {
                fixed.push(*n);
                continue;
            }
            if !fixed.is_empty() {
                pieces.push(self.numbers(&std::mem::take(&mut fixed))?);
            }
            pieces.push(match size {
                Size::Fixed(_) => continue,
                Size::Batch => self.batch()?,
                Size::Times(n) => {
                    let (batch, by) = (self.batch()?, self.numbers(&[*n])?);
                    self.emit(("Mul", 14), &[batch, by], &[])
                }
                Size::Of(of, at) => {
                    let at = self.numbers(&[*at as i64])?;
                    self.emit(("Gather", 13), &[*of, at], &[("axis", 0)])
                }
            });
        }
        if !fixed.is_empty() {
            pieces.push(self.numbers(&fixed)?);
        }
        Ok(match pieces[..] {
            [one] => one,
            _ => self.emit(("Concat", 13), &pieces, &[("axis", 0)]),
        })
    }

    /// The shape of a value as it is in a run.
    pub(super) fn shape(&mut self, id: ValueId) -> ValueId {
        self.emit(("Shape", 13), &[id], &[])
    }

    fn batch(&mut self) -> Result<ValueId, String> {
        if let Some(known) = self.batch {
            return Ok(known);
        }
        let (input, axis) = *self.inputs.first().ok_or("has no rows")?;
        let shape = self.shape(input);
        let batch = self.sizes(&[Size::Of(shape, axis)])?;
        self.batch = Some(batch);
        Ok(batch)
    }

    /// A value that is the same for all rows once for each of them, along an axis of size 1.
    pub(super) fn repeated(&mut self, id: ValueId, axis: usize) -> Result<ValueId, String> {
        let rank = self.dims(id)?.len();
        let size = |at| if at == axis { Size::Batch } else { Size::Fixed(1) };
        let sizes: Vec<Size> = (0..rank).map(size).collect();
        let sizes = self.sizes(&sizes)?;
        Ok(self.emit(("Expand", 13), &[id, sizes], &[]))
    }
}

/// The axis that a possibly negative number names.
pub(super) fn axis_of(axis: i64, rank: usize) -> Result<usize, String> {
    let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    let found = usize::try_from(counted).ok().filter(|axis| *axis < rank);
    found.ok_or_else(|| format!("names axis {axis} of {rank}"))
}

/// An attribute of one number.
pub(super) fn int(node: &Node, name: &str, default: i64) -> Result<i64, String> {
    node.attributes.int_or(name, default).map_err(|e| e.to_string())
}

/// An attribute of a list of numbers.
pub(super) fn ints(node: &Node, name: &str) -> Result<Option<Vec<i64>>, String> {
    let list = node.attributes.ints(name).map_err(|e| e.to_string())?;
    Ok(list.map(<[i64]>::to_vec))
}

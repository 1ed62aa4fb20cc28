//! Where values come from.

use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::{HashMap, HashSet};

/// Operators whose results are elements of their first input, or of all inputs of a Concat.
const MOVES: &[&str] = &[
    "Identity",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Transpose",
    "Slice",
    "Split",
    "Gather",
    "Expand",
    "Cast",
];

/// The sources of one value.
#[derive(Default)]
struct Sources {
    /// Values of which it has elements.
    moved: Vec<ValueId>,
    /// Values whose elements it depends on, those included.
    data: Vec<ValueId>,
}

/// The sources of all values of a model.
pub(super) struct Flow {
    sources: HashMap<ValueId, Sources>,
    inputs: HashSet<ValueId>,
    /// Values that outputs of the model are made of, without arithmetic.
    shown: HashSet<ValueId>,
}

impl Flow {
    pub fn new(ir: &Ir) -> Flow {
        let mut flow = Flow {
            sources: HashMap::new(),
            inputs: ir.body.inputs.iter().copied().collect(),
            shown: HashSet::new(),
        };
        flow.add(&ir.body);
        flow.shown = flow.reach(&ir.body.outputs, |s| &s.moved);
        flow
    }

    fn add(&mut self, body: &Body) {
        for node in &body.nodes {
            node.bodies.iter().for_each(|(_, inner)| self.add(inner));
            for (index, output) in node.outputs.iter().enumerate() {
                if let Some(id) = output {
                    self.sources.insert(*id, sources(node, index));
                }
            }
        }
    }

    fn reach(&self, from: &[ValueId], by: fn(&Sources) -> &[ValueId]) -> HashSet<ValueId> {
        let mut reached: HashSet<ValueId> = from.iter().copied().collect();
        let mut open = from.to_vec();
        while let Some(id) = open.pop() {
            for &source in self.sources.get(&id).map_or(&[][..], by) {
                if reached.insert(source) {
                    open.push(source);
                }
            }
        }
        reached
    }

    /// Whether the value depends on what the elements of an input are. Depending on its shape does not count.
    pub fn depends_on_input(&self, id: ValueId) -> bool {
        !self.reach(&[id], |s| &s.data).is_disjoint(&self.inputs)
    }

    /// Whether a state is visible already: an input of the model is its initial value, an output its last.
    pub fn is_paired(&self, first: Option<ValueId>, last: Option<ValueId>) -> bool {
        let (Some(first), Some(last)) = (first, last) else { return false };
        self.shown.contains(&last) && !self.reach(&[first], |s| &s.moved).is_disjoint(&self.inputs)
    }
}

fn sources(node: &Node, output: usize) -> Sources {
    let inputs = || node.inputs.iter().flatten().copied();
    if node.is("Shape") || node.is("Size") {
        return Sources::default();
    }
    if node.is("If") {
        let results = node.bodies.iter().filter_map(|(_, b)| b.outputs.get(output).copied());
        let moved: Vec<ValueId> = results.collect();
        return Sources { data: inputs().chain(moved.iter().copied()).collect(), moved };
    }
    let mut data: Vec<ValueId> = inputs().collect();
    for (_, body) in &node.bodies {
        body.each_use(&mut |id| data.push(id));
    }
    let moved = if node.is("Concat") {
        inputs().collect()
    } else if node.domain == "stead" && node.op_type == "State"
        || node.domain.is_empty() && MOVES.contains(&node.op_type.as_str())
    {
        node.input(0).into_iter().collect()
    } else {
        Vec::new()
    };
    Sources { moved, data }
}

//! The walk through a graph that makes states of its recurrences.

use super::flow::Flow;
use super::{Lift, Lifted, LiftedState, StateInit, Unlifted};
use crate::error::{BuildError, LoadError};
use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::HashSet;
use std::sync::Arc;
use stead_onnx::{AttributeValue, Attributes, Dim};
use stead_tensor::DType;

/// A state on its way out to the main graph.
pub(super) struct Found {
    pub(super) state: LiftedState,
    /// The new input.
    pub(super) input: ValueId,
    /// The value after the step, in the body that is looked at.
    pub(super) last: ValueId,
    /// The initial value, where it can be read in that body.
    pub(super) first: Option<ValueId>,
}

/// A state of a node before it is lifted.
pub(super) struct Candidate {
    /// Its number among the states of the node.
    pub(super) number: usize,
    pub(super) dtype: DType,
    pub(super) dims: Option<Vec<Dim>>,
    pub(super) batch_axis: Option<usize>,
    /// The initial value; `None` for zeros whose shape only the node knows.
    pub(super) first: Option<ValueId>,
    /// For a layer that runs backwards: its input and the axis of time.
    pub(super) single_step: Option<(ValueId, usize)>,
}

pub(super) struct Lifter<'a> {
    pub(super) ir: &'a mut Ir,
    pub(super) flow: Flow,
    pub(super) zero_init: bool,
    names: HashSet<String>,
    unlifted: Vec<Unlifted>,
    /// What the model's batch dimension is called.
    pub(super) batch: Option<Dim>,
    /// How many `If` nodes are around the body that is looked at.
    pub(super) depth: usize,
}

pub(super) fn run(
    ir: &mut Ir,
    names: HashSet<String>,
    options: &Lift,
) -> Result<Lifted, LoadError> {
    let Lift { zero_init, recurrences } = *options;
    let flow = Flow::new(ir);
    let mut body = std::mem::take(&mut ir.body);
    let mut firsts = body.inputs.iter().filter_map(|id| ir.declared.get(id)?.first());
    let batch = firsts.find(|dim| matches!(dim, Dim::Symbol(_))).cloned();
    let unlifted = Vec::new();
    let mut lifter = Lifter { ir, flow, zero_init, names, unlifted, batch, depth: 0 };
    let variables = lifter.variables(&mut body)?;
    let mut states = Vec::with_capacity(variables.len());
    show(variables, &mut body, &mut states);
    if recurrences {
        // Made anew, so that a recurrence that goes on from a variable is known to be given its state.
        lifter.ir.body = body;
        lifter.flow = Flow::new(lifter.ir);
        body = std::mem::take(&mut lifter.ir.body);
        let found = lifter.body(&mut body)?;
        show(found, &mut body, &mut states);
    }
    let unlifted = lifter.unlifted;
    ir.body = body;
    Ok(Lifted { states, unlifted })
}

/// Makes an input and an output of the main graph of each state.
fn show(found: Vec<Found>, body: &mut Body, states: &mut Vec<LiftedState>) {
    for found in found {
        body.inputs.push(found.input);
        body.outputs.push(found.last);
        states.push(found.state);
    }
}

impl Lifter<'_> {
    pub(super) fn body(&mut self, body: &mut Body) -> Result<Vec<Found>, LoadError> {
        let mut found = Vec::new();
        let nodes = std::mem::take(&mut body.nodes);
        for mut node in nodes {
            let before = &mut body.nodes;
            match node.op_type.as_str() {
                _ if !node.domain.is_empty() => {}
                "LSTM" | "GRU" | "RNN" => found.extend(self.layer(&mut node, before)?),
                "Scan" | "Loop" => {
                    found.extend(self.repetition(&mut node, before)?);
                    for (_, inner) in &node.bodies {
                        self.note_inner(inner, &node.label);
                    }
                }
                "If" => found.extend(self.branches(&mut node)?),
                _ => {}
            }
            body.nodes.push(node);
        }
        Ok(found)
    }

    /// Gives a node its state from a new input.
    pub(super) fn lift(
        &mut self,
        node: &mut Node,
        before: &mut Vec<Node>,
        input: usize,
        output: usize,
        candidate: Candidate,
    ) -> Result<Found, LoadError> {
        let Candidate { number, dtype, mut dims, batch_axis, first, single_step } = candidate;
        let constant = first.and_then(|id| self.ir.value(id).constant.clone());
        let state = self.ir.add_value(dtype);
        self.ir.values[state.index()].overridable = true;

        let mut inputs = vec![Some(state), first];
        inputs.extend(single_step.map(|(x, _)| Some(x)));
        let mut begin = self.state_node(&node.label, inputs);
        if let Some((_, axis)) = single_step {
            begin.attributes.set("time_axis", AttributeValue::Int(axis as i64));
        }
        if self.depth > 0 && constant.is_none() {
            // While the other branch runs the state may have to wait for its initial value.
            begin.attributes.set("empty_is_absent", AttributeValue::Int(1));
            if first.is_some() {
                dims = None;
            }
        }
        if node.inputs.len() <= input {
            node.inputs.resize(input + 1, None);
        }
        node.inputs[input] = begin.output(0);
        before.push(begin);

        if node.outputs.len() <= output {
            node.outputs.resize(output + 1, None);
        }
        let last = *node.outputs[output].get_or_insert_with(|| self.ir.add_value(dtype));
        let init = match constant {
            _ if first.is_none() || self.zero_init => StateInit::Zeros,
            Some(tensor) => StateInit::Constant(tensor),
            None => StateInit::Computed,
        };
        let name = self.name(&node.label, number);
        let state_io = LiftedState {
            input: name.clone(),
            output: format!("{name}_next"),
            name,
            init,
            batch_axis,
            dims,
            dtype,
        };
        Ok(Found { state: state_io, input: state, last, first })
    }

    pub(super) fn state_node(&mut self, label: &Arc<str>, inputs: Vec<Option<ValueId>>) -> Node {
        let dtype = inputs.first().copied().flatten().map(|id| self.ir.value(id).dtype);
        let output = self.ir.add_value(dtype.unwrap_or(DType::F32));
        let mut attributes = Attributes::of(label.to_string());
        if self.zero_init {
            attributes.set("zeros", AttributeValue::Int(1));
        }
        Node {
            label: label.clone(),
            domain: "stead".to_owned(),
            op_type: "State".to_owned(),
            opset: 1,
            inputs,
            outputs: vec![Some(output)],
            attributes,
            bodies: Vec::new(),
            aux: self.ir.add_value(DType::I64),
        }
    }

    /// A name that no input or output of the model has.
    fn name(&mut self, label: &str, number: usize) -> String {
        let quoted = label.find('"').zip(label.rfind('"')).filter(|(a, b)| a + 1 < *b);
        let node = quoted.map_or("state", |(a, b)| &label[a + 1..b]);
        let candidates = (1..).map(|n: usize| match n {
            1 => format!("{node}/variable_{number}"),
            _ => format!("{node}_{n}/variable_{number}"),
        });
        let taken =
            |name: &str| self.names.contains(name) || self.names.contains(&format!("{name}_next"));
        let name = candidates.into_iter().find(|name| !taken(name)).unwrap_or_default();
        self.take(&name);
        name
    }

    /// Takes a name for a state; `false` if an input or output has it.
    pub(super) fn take(&mut self, name: &str) -> bool {
        let fresh = self.names.insert(name.to_owned());
        self.names.insert(format!("{name}_next")) && fresh
    }

    pub(super) fn leave(&mut self, label: &str, number: usize, reason: &str) {
        let reason = format!("state {number} {reason}");
        self.unlifted.push(Unlifted { node: label.to_owned(), reason });
    }

    /// Notes recurrences inside the body of a loop. One that takes its state from the iteration before is
    /// lifted with what the loop carries; any other begins anew in each iteration and goes on doing so.
    fn note_inner(&mut self, body: &Body, around: &str) {
        for node in &body.nodes {
            let first = if node.is("Scan") {
                0
            } else if node.is("Loop") {
                2
            } else {
                5
            };
            let repeats = ["LSTM", "GRU", "RNN", "Scan", "Loop"].iter().any(|op| node.is(op));
            let given = |id: ValueId| self.ir.value(id).constant.is_none();
            if repeats && !node.input(first).is_some_and(given) {
                self.unlifted.push(Unlifted {
                    node: node.label.to_string(),
                    reason: format!("begins anew in each iteration of {around}"),
                });
            }
            for (_, inner) in &node.bodies {
                self.note_inner(inner, around);
            }
        }
    }
}

pub(super) fn unsupported(node: &Node, reason: impl Into<String>) -> LoadError {
    LoadError::Node { node: node.label.to_string(), reason: BuildError::unsupported(reason) }
}

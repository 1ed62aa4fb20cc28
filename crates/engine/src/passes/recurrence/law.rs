//! What a recognised step is: its gates, and what is the same in all steps.

use super::linear::Factor;
use crate::ir::{Node, ValueId};

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `h' = g(sum)`.
    Rnn(Function),
    /// Update and reset gates and a candidate `g(sum)`.
    Gru { linear_before_reset: bool, candidate: Function },
    /// Input, output and forget gates and a cell state.
    Lstm,
}

/// A function of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Tanh,
    Relu,
    Sigmoid,
}

impl Function {
    /// The function that a node computes.
    pub fn of(node: &Node) -> Option<Function> {
        [Function::Tanh, Function::Relu, Function::Sigmoid].into_iter().find(|f| node.is(f.name()))
    }

    /// The name in ONNX, as operator and as activation.
    pub fn name(self) -> &'static str {
        match self {
            Function::Tanh => "Tanh",
            Function::Relu => "Relu",
            Function::Sigmoid => "Sigmoid",
        }
    }
}

/// One sum: products of what comes in and of the state by constants, and constants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gate {
    /// Each with the position of its left operand in [`Cell::xs`].
    pub x: Vec<(usize, Factor)>,
    pub h: Vec<Factor>,
    pub bias: Vec<f32>,
    /// What is added to the product of the state before the reset gate applies to it.
    pub recurrent_bias: Vec<f32>,
    /// Whether the sum has the other sign: then its sigmoid is one less what the graph computes.
    pub negated: bool,
}

/// What is the same in all steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Law {
    pub kind: Kind,
    /// In the order of ONNX.
    pub gates: Vec<Gate>,
}

impl Law {
    /// Whether a step from a state of zeros, of which no products are left, obeys this law too.
    pub fn begins_with(&self, first: &Law) -> bool {
        let same = |(all, first): (&Gate, &Gate)| Gate { h: Vec::new(), ..all.clone() } == *first;
        self.kind == first.kind
            && self.gates.len() == first.gates.len()
            && self.gates.iter().zip(&first.gates).all(same)
    }

    /// The numbers in the state.
    pub fn hidden(&self) -> usize {
        self.gates.first().map_or(0, |gate| gate.bias.len())
    }
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub law: Law,
    /// What comes in, of rank 2.
    pub xs: Vec<ValueId>,
    pub before: State,
    pub after: State,
}

/// A state: of an LSTM with the cell state, else that is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub h: ValueId,
    pub c: ValueId,
}

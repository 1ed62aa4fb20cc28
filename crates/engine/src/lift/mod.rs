//! Makes the memory of recurrent layers and loops visible: states become inputs and outputs of the model.
//!
//! A recurrence that begins anew in every run forgets the request before. Here the last state of LSTM, GRU,
//! RNN, Scan and Loop becomes an output, and an optional input takes it back; whoever runs the model carries
//! it from step to step. Where the input is left out the model begins with its own initial value, so that a
//! first step is the run of the model as it was, and a signal cut into chunks gives what the whole gives.
//! Variables, which some files have beside or instead of recurrences, become states under their own names.
//!
//! It happens before all other passes but constant folding, by which constant initial values are found.
//! OpenVINO calls its counterpart the low latency transformation.

mod branches;
mod carried;
mod flow;
mod layer;
mod repetition;
mod rewrite;
mod variables;

use crate::error::LoadError;
use crate::ir::Ir;
use std::collections::HashSet;
use stead_onnx::Dim;
use stead_tensor::{DType, Tensor};

/// That states are to be lifted out of the model, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lift {
    /// Begin with zeros where the model has initial values of its own, as OpenVINO Model Server does.
    pub zero_init: bool,
    /// Lift the memory of layers and loops too. Variables, which the file itself names, are lifted always.
    pub recurrences: bool,
}

/// What a state is when a step does not bring it.
#[derive(Debug, Clone, PartialEq)]
pub enum StateInit {
    /// Zeros.
    Zeros,
    /// A constant of the model.
    Constant(Tensor),
    /// Computed by the model from the inputs of that step.
    Computed,
}

/// A state that has become an input and an output.
///
/// The model computes its initial value by itself: leave the input out on the first step, and give the output
/// of one step to the next. A state of a layer inside an `If` that has not run yet may come as a tensor of no
/// elements; given back it means the same as being left out.
#[derive(Debug, Clone, PartialEq)]
pub struct LiftedState {
    /// The name of a variable that has one in the file. Else `<node>/variable_<k>`: the state `k` of the node (of an LSTM, 0 is the hidden and 1 the cell state; of
    /// Scan and Loop, the carried value at this position). A node without a name is called by its first output.
    pub name: String,
    /// The name of the input, which is [`name`](Self::name).
    pub input: String,
    /// The name of the output: the same with `_next` behind it.
    pub output: String,
    /// What the state is when a step does not bring it.
    pub init: StateInit,
    /// The axis along which requests may be joined; `None` when it is not known.
    pub batch_axis: Option<usize>,
    /// The dimensions, or `None` when not even the rank is known.
    pub dims: Option<Vec<Dim>>,
    /// The element type.
    pub dtype: DType,
}

/// A recurrence that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlifted {
    /// The node.
    pub node: String,
    /// Which of its values, and why.
    pub reason: String,
}

/// What lifting did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lifted {
    pub states: Vec<LiftedState>,
    pub unlifted: Vec<Unlifted>,
}

/// Lifts all states of a graph. `names` are those of its inputs and outputs; the new inputs and outputs stand
/// behind the others, in the order of the states.
///
/// # Errors
/// [`LoadError::Node`] for a layer whose state cannot be carried: one that runs in both directions, or
/// backwards over more than one step; and for a variable inside a body, or read or written twice.
pub(crate) fn run(
    ir: &mut Ir,
    names: HashSet<String>,
    options: &Lift,
) -> Result<Lifted, LoadError> {
    rewrite::run(ir, names, options)
}

//! What can go wrong, from the bytes of a model to the end of a run.

use crate::backend::BackendError;
use crate::ir::ValueId;
use stead_onnx::OnnxError;
use stead_tensor::{DType, Precision, Shape, TensorError};

/// Why a model cannot be loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The file is not a valid model.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// No kernel for this operator.
    #[error(
        "operator {op} of domain \"{domain}\" (opset {opset}) at {node} is not supported{supported}"
    )]
    UnsupportedOp {
        /// The operator.
        op: String,
        /// Its domain, `ai.onnx` for the default one.
        domain: String,
        /// The opset version that the model imports for the domain.
        opset: i64,
        /// The node.
        node: String,
        /// Empty, or what is supported instead.
        supported: String,
    },
    /// The operator is known but not for this element type.
    #[error("{node}: input {input} of {op} has element type {actual}; supported: {supported}")]
    UnsupportedType {
        /// The operator.
        op: String,
        /// The node.
        node: String,
        /// The position of the input.
        input: usize,
        /// Its element type.
        actual: String,
        /// The types that the operator takes.
        supported: String,
    },
    /// A node cannot be built.
    #[error("{node}: {reason}")]
    Node {
        /// The node.
        node: String,
        /// What is wrong with it.
        reason: BuildError,
    },
    /// An input that is to be a concatenation of others is not there, or has a value of its own.
    #[error("the model has no input {0} that needs a value")]
    Joined(String),
    /// An input or output is something other than a tensor of a supported type.
    #[error("{direction} {name}: type {actual} is not supported")]
    Io {
        /// `input` or `output`.
        direction: &'static str,
        /// Its name.
        name: String,
        /// Its type.
        actual: String,
    },
    /// An output is a sequence of maps where only tensors can be carried.
    #[error(
        "output {name}: type {actual} is not supported: export with zipmap=False \
         (options={{id(model): {{\"zipmap\": False}}}} of skl2onnx)"
    )]
    Maps {
        /// Its name.
        name: String,
        /// Its type.
        actual: String,
    },
    /// `STEAD_ISA` or the options name an instruction set that this machine lacks.
    #[error("instruction set {0} is not available on this machine")]
    Isa(String),
    /// A precision that the model's own types do not have.
    #[error("precision {wanted}: the model has no such weights; supported: {supported}")]
    Precision {
        /// What was asked for.
        wanted: Precision,
        /// What the model can be computed in.
        supported: String,
    },
    /// A tensor cannot be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Why a node cannot be built from its attributes and constant inputs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// An attribute is missing or of the wrong kind.
    #[error(transparent)]
    Attribute(#[from] OnnxError),
    /// The value of an attribute is outside of what is supported; the text names both.
    #[error("{0}")]
    Unsupported(String),
    /// The number of inputs or outputs does not suit the operator.
    #[error("{0}")]
    Arity(String),
    /// A packed weight cannot be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl BuildError {
    /// An unsupported value, described.
    pub fn unsupported(what: impl Into<String>) -> BuildError {
        BuildError::Unsupported(what.into())
    }
}

/// Why a node cannot be planned for the given shapes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// Shapes that do not fit each other, described.
    #[error("{0}")]
    Shape(String),
    /// The plan cannot go on before the value of a tensor is known. Not a failure: the planner ends the
    /// segment here.
    #[error("the value of {0:?} is needed")]
    NeedsValue(ValueId),
    /// A size overflows or memory is short.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Evaluating a constant part failed.
    #[error("{0}")]
    Evaluation(String),
}

impl PlanError {
    /// Shapes that do not fit, described.
    pub fn shape(what: impl Into<String>) -> PlanError {
        PlanError::Shape(what.into())
    }
}

/// Why a run failed. Nothing has changed then, and the session stays usable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The model has no input of this name.
    #[error("unexpected input \"{0}\"")]
    UnknownInput(String),
    /// The model has no output of this name.
    #[error("unexpected output \"{0}\"")]
    UnknownOutput(String),
    /// A required input is absent.
    #[error("missing input \"{0}\"")]
    MissingInput(String),
    /// More inputs than the model has.
    #[error("{expected} inputs expected, got {actual}")]
    InputCount {
        /// Inputs of the model.
        expected: usize,
        /// Inputs given.
        actual: usize,
    },
    /// An input has the wrong element type.
    #[error("input \"{name}\": element type {expected} expected, got {actual}")]
    InputType {
        /// The input.
        name: String,
        /// What the model declares.
        expected: DType,
        /// What was given.
        actual: DType,
    },
    /// An input has the wrong shape.
    #[error("input \"{name}\": shape {expected} expected, got {actual}")]
    InputShape {
        /// The input.
        name: String,
        /// What the model declares, free dimensions by their symbol.
        expected: String,
        /// What was given.
        actual: Shape,
    },
    /// An input's bytes are not aligned for its type.
    #[error("input \"{0}\" is not aligned for its element type")]
    Misaligned(String),
    /// The caller's buffer for an output has another size or type.
    #[error("output \"{name}\": a buffer of {expected} bytes is needed, got {actual}")]
    OutputBuffer {
        /// The output.
        name: String,
        /// Bytes of the output.
        expected: usize,
        /// Bytes of the buffer.
        actual: usize,
    },
    /// The inputs do not fit together: a node cannot be planned for these shapes.
    #[error("{node}: {reason}")]
    Plan {
        /// The node.
        node: String,
        /// What does not fit.
        reason: PlanError,
    },
    /// A value makes a node fail: an index out of range, for instance.
    #[error("{node}: {reason}")]
    Value {
        /// The node.
        node: String,
        /// What is wrong.
        reason: String,
    },
    /// The caller cancelled the run or its deadline passed.
    #[error("the run was cancelled")]
    Cancelled,
    /// A run that must be quick is not known to be.
    #[error("the run is not known to be quick")]
    NotQuick,
    /// Another runtime, which computes the model, says this.
    #[error("{0}")]
    Backend(BackendError),
    /// Memory is short.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A broken promise inside the engine.
    #[error("internal error: {0}")]
    Internal(&'static str),
}

impl RunError {
    /// A bad value, described; the session adds the node.
    pub fn value(reason: impl Into<String>) -> RunError {
        RunError::Value { node: String::new(), reason: reason.into() }
    }

    pub(crate) fn at(self, label: &str) -> RunError {
        match self {
            RunError::Value { node, reason } if node.is_empty() => {
                RunError::Value { node: label.to_owned(), reason }
            }
            other => other,
        }
    }
}

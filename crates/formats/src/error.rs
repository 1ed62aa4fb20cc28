//! Why a model file of another format cannot be read.

use stead_onnx::OnnxError;
use stead_tensor::TensorError;

/// Why a model file cannot be read. The texts name what is wrong and never a path of this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The file is ONNX, or became a graph that is not valid.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// A file cannot be read.
    #[error("{what} cannot be read: {kind}")]
    Io {
        /// Which file, by its role.
        what: &'static str,
        /// The operating system's reason.
        kind: std::io::ErrorKind,
    },
    /// The bytes are not of the format.
    #[error("not {expected}: {reason}")]
    Malformed {
        /// What the bytes should be.
        expected: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Something is larger than [`Limits`](stead_onnx::Limits) allows.
    #[error("{what}: {actual} is above the limit of {limit}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The most that is allowed.
        limit: u64,
        /// What the model has.
        actual: u64,
    },
    /// An operation that is not read, or not so.
    #[error("{node}: {reason}")]
    Operation {
        /// The node's type and name.
        node: String,
        /// What is not supported, and what to do.
        reason: String,
    },
    /// The format as a whole is not read.
    #[error("{format} is not read: {remedy}")]
    Format {
        /// The format.
        format: &'static str,
        /// How to get a model that is.
        remedy: &'static str,
    },
    /// A tensor could not be made.
    #[error("{what}: {reason}")]
    Tensor {
        /// The constant.
        what: String,
        /// What is wrong.
        reason: TensorError,
    },
}

/// Why a node or layer cannot be lowered; the message names it before this.
pub(crate) struct Refusal(pub String);

impl From<TensorError> for Refusal {
    fn from(e: TensorError) -> Refusal {
        Refusal(e.to_string())
    }
}

/// Makes the error for a file that cannot be read; `what` is its role.
pub(crate) fn io(what: &'static str) -> impl Fn(std::io::Error) -> FormatError {
    move |e| FormatError::Io { what, kind: e.kind() }
}

/// Refuses `actual` above `limit`.
pub(crate) fn check_limit(what: &'static str, actual: u64, limit: u64) -> Result<(), FormatError> {
    if actual > limit { Err(FormatError::Limit { what, limit, actual }) } else { Ok(()) }
}

/// The most characters of a name that a message shows.
const SHOWN: usize = 96;

/// A name from a file, fit for a message: in quotes, control characters escaped, a long one cut.
pub(crate) fn quote(name: &str) -> String {
    if name.chars().count() <= SHOWN {
        return format!("{name:?}");
    }
    let head: String = name.chars().take(SHOWN).collect();
    format!("{:?}", head + "...")
}

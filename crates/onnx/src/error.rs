//! Why a model cannot be read.

use crate::AttributeKind;
use stead_tensor::TensorError;

/// Why a model cannot be read. The texts name what is wrong and never a path of this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OnnxError {
    /// A file cannot be read.
    #[error("{what} cannot be read: {kind}")]
    Io {
        /// The model file, or the external data of a tensor.
        what: String,
        /// The operating system's reason.
        kind: std::io::ErrorKind,
    },
    /// The bytes are no protobuf message of the expected kind.
    #[error("not {expected}: {reason}")]
    Malformed {
        /// What the bytes should be.
        expected: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Something is larger than [`Limits`](crate::Limits) allows.
    #[error("{what}: {actual} is above the limit of {limit}")]
    Limit {
        /// What is limited.
        what: String,
        /// The most that is allowed.
        limit: u64,
        /// What the model has.
        actual: u64,
    },
    /// The IR version is unknown.
    #[error("ir version {0} is not supported, only 3 to 14 are")]
    IrVersion(i64),
    /// The version of `ai.onnx` is unknown.
    #[error("opset {version} of ai.onnx is not supported, only {min} to {max} are")]
    Opset {
        /// The version that the model wants.
        version: i64,
        /// The first supported version.
        min: i64,
        /// The last supported version.
        max: i64,
    },
    /// A node is of a domain that the model does not import.
    #[error("{node}: domain {domain} is not in the model's opset imports")]
    NoOpsetImport {
        /// The node's label.
        node: String,
        /// The domain, quoted.
        domain: String,
    },
    /// Something that the format requires is absent.
    #[error("{place} has no {what}")]
    Missing {
        /// Where it should be.
        place: String,
        /// What should be there.
        what: &'static str,
    },
    /// A number in the file is not one of the format's.
    #[error("{place}: unknown {what} {number}")]
    UnknownNumber {
        /// Where it stands.
        place: String,
        /// Of what enumeration.
        what: &'static str,
        /// The number.
        number: i64,
    },
    /// A tensor contradicts itself.
    #[error("tensor {tensor}: {reason}")]
    Tensor {
        /// The tensor's name, quoted.
        tensor: String,
        /// What is wrong.
        reason: TensorError,
    },
    /// A tensor's data is not of the form that its type asks for.
    #[error("tensor {tensor}: {reason}")]
    TensorData {
        /// The tensor's name, quoted.
        tensor: String,
        /// What is wrong.
        reason: String,
    },
    /// The external data of a tensor cannot be used.
    #[error("tensor {tensor}: external data {reason}")]
    ExternalData {
        /// The tensor's name, quoted.
        tensor: String,
        /// What is wrong.
        reason: String,
    },
    /// A dimension of a tensor is negative.
    #[error("{place}: {dim} is no dimension")]
    BadDim {
        /// The value.
        place: String,
        /// The number in the file.
        dim: i64,
    },
    /// The declared shape of a value is impossible.
    #[error("value {value}: {reason}")]
    DeclaredShape {
        /// The value, quoted.
        value: String,
        /// What is wrong.
        reason: TensorError,
    },
    /// A name is used that nothing defines.
    #[error("{place} uses {value}, which nothing defines")]
    Undefined {
        /// The node or graph.
        place: String,
        /// The name, quoted.
        value: String,
    },
    /// A name is defined twice.
    #[error("{place} defines {value}, which is already defined")]
    Redefined {
        /// The node or graph.
        place: String,
        /// The name, quoted.
        value: String,
    },
    /// Nodes wait for each other.
    #[error("the graph has a cycle through {node}")]
    Cycle {
        /// The label of a node on the cycle.
        node: String,
    },
    /// Functions call each other in a circle.
    #[error("function {function} calls itself")]
    RecursiveFunction {
        /// The name, quoted.
        function: String,
    },
    /// Two functions have the same domain, name and overload.
    #[error("function {function} is defined twice")]
    DuplicateFunction {
        /// The name, quoted.
        function: String,
    },
    /// A call has more inputs or outputs than the function.
    #[error("{node} has {actual} {what}, its function only {formal}")]
    CallArity {
        /// The node's label.
        node: String,
        /// Inputs or outputs.
        what: &'static str,
        /// Those of the call.
        actual: usize,
        /// Those of the function.
        formal: usize,
    },
    /// An attribute reference stands outside of a function.
    #[error(
        "{node}: attribute {attribute} refers to a function's attribute, outside of a function"
    )]
    StrayReference {
        /// The node's label.
        node: String,
        /// The attribute, quoted.
        attribute: String,
    },
    /// An attribute occurs twice in one node.
    #[error("{node}: attribute {attribute} is given twice")]
    DuplicateAttribute {
        /// The node's label.
        node: String,
        /// The attribute, quoted.
        attribute: String,
    },
    /// A required attribute is absent.
    #[error("{node}: attribute \"{attribute}\" is missing")]
    AttributeMissing {
        /// The node's label.
        node: String,
        /// The attribute.
        attribute: String,
    },
    /// An attribute is of another kind.
    #[error("{node}: attribute \"{attribute}\": {expected} expected, got {actual}")]
    AttributeKind {
        /// The node's label.
        node: String,
        /// The attribute.
        attribute: String,
        /// The kind that the operator needs.
        expected: AttributeKind,
        /// The kind in the file.
        actual: AttributeKind,
    },
    /// A string attribute is not UTF-8.
    #[error("{node}: attribute {attribute} is not utf-8")]
    AttributeUtf8 {
        /// The node's label.
        node: String,
        /// The attribute, quoted.
        attribute: String,
    },
    /// Memory could not be had.
    #[error("{what}: {reason}")]
    Memory {
        /// What the memory was for.
        what: String,
        /// How much was asked for.
        reason: TensorError,
    },
}

/// Makes the error for a file that cannot be read; `what` is the file's role.
pub(crate) fn io(what: &str) -> impl Fn(std::io::Error) -> OnnxError {
    move |e| OnnxError::Io { what: what.to_owned(), kind: e.kind() }
}

/// Makes the error for memory that cannot be had for `what`.
pub(crate) fn memory(what: &str) -> impl Fn(TensorError) -> OnnxError {
    move |reason| OnnxError::Memory { what: what.to_owned(), reason }
}

/// The error for bytes that are not `expected`.
pub(crate) fn malformed(expected: &'static str, reason: &dyn std::fmt::Display) -> OnnxError {
    // A decoding error names fields of the format and offsets, nothing of this machine.
    OnnxError::Malformed { expected, reason: reason.to_string() }
}

/// Refuses `actual` above `limit`.
pub(crate) fn check_limit(what: &str, actual: u64, limit: u64) -> Result<(), OnnxError> {
    if actual > limit {
        return Err(OnnxError::Limit { what: what.to_owned(), limit, actual });
    }
    Ok(())
}

/// The most characters of a name that a message shows: enough for the tail of a module path.
const SHOWN: usize = 96;

/// A name from a file in a form fit for a message: in quotes, control characters escaped, the middle of a
/// long one left out.
pub(crate) fn quote(name: &str) -> String {
    let count = name.chars().count();
    if count <= SHOWN {
        return format!("{name:?}");
    }
    let head: String = name.chars().take(SHOWN / 2).collect();
    let tail: String = name.chars().skip(count - SHOWN / 2).collect();
    format!("{:?}", format!("{head}...{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_names_are_short_and_printable() {
        assert_eq!(quote("a\n\"b\""), "\"a\\n\\\"b\\\"\"");
        let long = quote(&"ab".repeat(500));
        assert!(long.len() < 120 && long.contains("..."), "{long}");
    }
}

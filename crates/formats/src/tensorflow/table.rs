//! The operations of TensorFlow that are read, and what they become.
//!
//! The table drives reading, refusals and the list in `docs/model-formats.md`. Constants, placeholders, variables, calls of
//! functions and identities are read with the graph.

use super::op::{Lowered, Op};
use super::ops;

/// One type of operation.
pub struct Operation {
    /// The type as it stands in the file.
    pub name: &'static str,
    how: How,
}

enum How {
    /// The operator of ONNX with the same inputs and no attributes.
    Same(&'static str),
    By(fn(&mut Op<'_>) -> Lowered),
}

impl Operation {
    const fn same(name: &'static str, op: &'static str) -> Operation {
        Operation { name, how: How::Same(op) }
    }

    const fn by(name: &'static str, lower: fn(&mut Op<'_>) -> Lowered) -> Operation {
        Operation { name, how: How::By(lower) }
    }

    pub(super) fn lower(&self, op: &mut Op<'_>) -> Lowered {
        match self.how {
            How::Same(name) => op.same(name, &[]),
            How::By(lower) => lower(op),
        }
    }
}

/// What to do about an operation that is not read.
const REMEDY: &str = "convert the model: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx (or --graphdef FILE)";

/// The rule for an operation of a file.
///
/// # Errors
/// What to do.
pub(super) fn find(name: &str) -> Result<&'static Operation, String> {
    let rule = OPERATIONS.iter().find(|rule| rule.name == name);
    rule.ok_or_else(|| format!("the operation is not read; {REMEDY}"))
}

/// All operations, by name.
pub const OPERATIONS: &[Operation] = &[
    Operation::same("Abs", "Abs"),
    Operation::same("Add", "Add"),
    Operation::same("AddV2", "Add"),
    Operation::by("ArgMax", ops::arg_max),
    Operation::by("AvgPool", ops::avg_pool),
    Operation::by("BatchMatMul", ops::batch_mat_mul),
    Operation::by("BatchMatMulV2", ops::batch_mat_mul),
    Operation::by("BiasAdd", ops::bias_add),
    Operation::by("Cast", ops::cast),
    Operation::same("Ceil", "Ceil"),
    Operation::by("ConcatV2", ops::concat),
    Operation::by("Conv2D", ops::convolution),
    Operation::same("Cos", "Cos"),
    Operation::by("DepthwiseConv2dNative", ops::depthwise),
    Operation::same("Elu", "Elu"),
    Operation::same("Equal", "Equal"),
    Operation::same("Erf", "Erf"),
    Operation::same("Exp", "Exp"),
    Operation::by("ExpandDims", ops::expand_dims),
    Operation::same("Floor", "Floor"),
    Operation::by("FusedBatchNorm", ops::batch_norm),
    Operation::by("FusedBatchNormV3", ops::batch_norm),
    Operation::by("Gather", ops::gather),
    Operation::by("GatherV2", ops::gather),
    Operation::same("Greater", "Greater"),
    Operation::same("GreaterEqual", "GreaterOrEqual"),
    Operation::by("LeakyRelu", ops::leaky_relu),
    Operation::same("Less", "Less"),
    Operation::same("LessEqual", "LessOrEqual"),
    Operation::same("Log", "Log"),
    Operation::by("LogSoftmax", ops::log_softmax),
    Operation::same("LogicalAnd", "And"),
    Operation::same("LogicalNot", "Not"),
    Operation::same("LogicalOr", "Or"),
    Operation::by("MatMul", ops::mat_mul),
    Operation::by("Max", ops::max),
    Operation::by("MaxPool", ops::max_pool),
    Operation::same("Maximum", "Max"),
    Operation::by("Mean", ops::mean),
    Operation::by("Min", ops::min),
    Operation::same("Minimum", "Min"),
    Operation::same("Mul", "Mul"),
    Operation::same("Neg", "Neg"),
    Operation::by("NotEqual", ops::not_equal),
    Operation::by("Pack", ops::pack),
    Operation::by("Pad", ops::pad),
    Operation::by("PadV2", ops::pad),
    Operation::same("Pow", "Pow"),
    Operation::by("Prod", ops::product),
    Operation::same("RealDiv", "Div"),
    Operation::same("Relu", "Relu"),
    Operation::by("Relu6", ops::relu6),
    Operation::by("Reshape", ops::reshape),
    Operation::by("ResourceGather", ops::gather),
    Operation::by("Rsqrt", ops::rsqrt),
    Operation::same("SelectV2", "Where"),
    Operation::by("Selu", ops::selu),
    Operation::by("Shape", ops::shape),
    Operation::same("Sigmoid", "Sigmoid"),
    Operation::same("Sin", "Sin"),
    Operation::by("Softmax", ops::softmax),
    Operation::same("Softplus", "Softplus"),
    Operation::same("Softsign", "Softsign"),
    Operation::by("Split", ops::split),
    Operation::same("Sqrt", "Sqrt"),
    Operation::by("Square", ops::square),
    Operation::by("SquaredDifference", ops::squared_difference),
    Operation::by("Squeeze", ops::squeeze),
    Operation::by("StridedSlice", ops::strided_slice),
    Operation::same("Sub", "Sub"),
    Operation::by("Sum", ops::sum),
    Operation::same("Tanh", "Tanh"),
    Operation::by("Tile", ops::tile),
    Operation::by("Transpose", ops::transpose),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_the_table() {
        let text = include_str!("../../../../docs/model-formats.md");
        let (_, list) = text.split_once("calls of functions and identities:").unwrap();
        let (list, _) = list.split_once("Other operations").unwrap();
        let listed: Vec<&str> =
            list.split('\u{b7}').map(|name| name.trim().trim_matches('`')).collect();
        let expected: Vec<&str> = OPERATIONS.iter().map(|rule| rule.name).collect();
        assert_eq!(listed, expected);
        assert!(expected.is_sorted());
    }
}

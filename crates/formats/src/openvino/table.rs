//! The operations of OpenVINO that are read, and what they become.
//!
//! The table drives reading, refusals and the list in `docs/model-formats.md`.

use super::cx::{Cx, Lowered};
use super::ops::{
    activation, compare, control, conv, elementwise, movement, normalize, pool, recurrent, reduce,
    resize, search, shape, state,
};

/// One type of operation.
pub struct Operation {
    /// The type as it stands in the file.
    pub name: &'static str,
    /// The operator sets in which the forms that are read came.
    pub opsets: &'static [u32],
    how: How,
}

enum How {
    /// The operator of ONNX with the same inputs and no attributes.
    Same(&'static str),
    By(fn(&mut Cx<'_, '_>) -> Lowered),
}

impl Operation {
    const fn same(name: &'static str, opsets: &'static [u32], op: &'static str) -> Operation {
        Operation { name, opsets, how: How::Same(op) }
    }

    const fn by(
        name: &'static str,
        opsets: &'static [u32],
        lower: fn(&mut Cx<'_, '_>) -> Lowered,
    ) -> Operation {
        Operation { name, opsets, how: How::By(lower) }
    }

    pub(super) fn lower(&self, cx: &mut Cx<'_, '_>) -> Lowered {
        match self.how {
            How::Same(op) => elementwise::same(cx, op),
            How::By(lower) => lower(cx),
        }
    }
}

/// What to do about an operation that is not read.
const REMEDY: &str = "export the model to ONNX where it was trained";

/// The rule for an operation of a file.
///
/// # Errors
/// What is not read, with what to do.
pub(super) fn find(name: &str, opset: Option<u32>) -> Result<&'static Operation, String> {
    let Some(rule) = OPERATIONS.iter().find(|rule| rule.name == name) else {
        return Err(format!("the operation is not read; {REMEDY}"));
    };
    match opset {
        Some(opset) if rule.opsets.contains(&opset) => Ok(rule),
        Some(opset) => {
            let known: Vec<String> = rule.opsets.iter().map(|n| format!("opset{n}")).collect();
            let known = known.join(", ");
            Err(format!("the operation of opset{opset} is not read, only of {known}; {REMEDY}"))
        }
        None => Err(format!("operations of extensions are not read; {REMEDY}")),
    }
}

/// All operations, by name. Parameter, Const and Result are read with the graph.
pub const OPERATIONS: &[Operation] = &[
    Operation::same("Abs", &[1], "Abs"),
    Operation::same("Acos", &[1], "Acos"),
    Operation::same("Acosh", &[3, 4], "Acosh"),
    Operation::same("Add", &[1], "Add"),
    Operation::same("Asin", &[1], "Asin"),
    Operation::same("Asinh", &[3, 4], "Asinh"),
    Operation::by("Assign", &[3, 6], state::assign),
    Operation::same("Atan", &[1], "Atan"),
    Operation::same("Atanh", &[3, 4], "Atanh"),
    Operation::by("AvgPool", &[1, 14], pool::average),
    Operation::by("BatchNormInference", &[1, 5], normalize::batch),
    Operation::by("Broadcast", &[1, 3], shape::broadcast),
    Operation::same("Ceiling", &[1], "Ceil"),
    Operation::by("Clamp", &[1], activation::clamp),
    Operation::by("Concat", &[1], movement::concat),
    Operation::by("Convert", &[1], elementwise::convert),
    Operation::same("ConvertLike", &[1], "CastLike"),
    Operation::by("Convolution", &[1], conv::plain),
    Operation::by("ConvolutionBackpropData", &[1], conv::transposed),
    Operation::same("Cos", &[1], "Cos"),
    Operation::same("Cosh", &[1], "Cosh"),
    Operation::by("CumSum", &[3], search::cumulative),
    Operation::by("DepthToSpace", &[1], movement::depth_to_space),
    Operation::by("Divide", &[1], elementwise::divide),
    Operation::by("Einsum", &[7], reduce::einsum),
    Operation::by("Elu", &[1], activation::elu),
    Operation::same("Equal", &[1], "Equal"),
    Operation::same("Erf", &[1], "Erf"),
    Operation::same("Exp", &[1], "Exp"),
    Operation::by("FakeQuantize", &[1], normalize::fake_quantize),
    Operation::same("Floor", &[1], "Floor"),
    Operation::by("FloorMod", &[1], elementwise::floor_mod),
    Operation::by("GRUCell", &[3], recurrent::gru_cell),
    Operation::by("GRUSequence", &[5], recurrent::gru_sequence),
    Operation::by("Gather", &[1, 7, 8], movement::gather),
    Operation::by("GatherElements", &[6], movement::gather_elements),
    Operation::by("GatherND", &[5, 8], movement::gather_nd),
    Operation::by("Gelu", &[2, 7], activation::gelu),
    Operation::same("Greater", &[1], "Greater"),
    Operation::same("GreaterEqual", &[1], "GreaterOrEqual"),
    Operation::by("GroupConvolution", &[1], conv::grouped),
    Operation::by("GroupConvolutionBackpropData", &[1], conv::grouped_transposed),
    Operation::by("GroupNormalization", &[12], normalize::group),
    Operation::by("HSigmoid", &[5], activation::h_sigmoid),
    Operation::same("HSwish", &[4], "HardSwish"),
    Operation::by("HardSigmoid", &[1], activation::hard_sigmoid),
    Operation::same("Identity", &[16], "Identity"),
    Operation::by("If", &[8], control::branch),
    Operation::by("Interpolate", &[4, 11], resize::interpolate),
    Operation::by("LRN", &[1], normalize::lrn),
    Operation::by("LSTMCell", &[1, 4], recurrent::lstm_cell),
    Operation::by("LSTMSequence", &[5], recurrent::lstm_sequence),
    Operation::same("Less", &[1], "Less"),
    Operation::same("LessEqual", &[1], "LessOrEqual"),
    Operation::same("Log", &[1], "Log"),
    Operation::by("LogSoftmax", &[5], activation::log_softmax),
    Operation::same("LogicalAnd", &[1], "And"),
    Operation::same("LogicalNot", &[1], "Not"),
    Operation::same("LogicalOr", &[1], "Or"),
    Operation::same("LogicalXor", &[1, 2], "Xor"),
    Operation::by("Loop", &[5], control::repeat),
    Operation::by("MVN", &[2, 6], normalize::mvn),
    Operation::by("MatMul", &[1], elementwise::mat_mul),
    Operation::by("MaxPool", &[1, 8, 14], pool::max),
    Operation::same("Maximum", &[1], "Max"),
    Operation::same("Minimum", &[1], "Min"),
    Operation::same("Mish", &[4], "Mish"),
    Operation::by("Mod", &[1], elementwise::truncated_mod),
    Operation::same("Multiply", &[1], "Mul"),
    Operation::same("Negative", &[1], "Neg"),
    Operation::by("NonZero", &[3], search::non_zero),
    Operation::by("NormalizeL2", &[1], normalize::l2),
    Operation::by("NotEqual", &[1], compare::not_equal),
    Operation::by("OneHot", &[1, 16], search::one_hot),
    Operation::by("PReLU", &[1], activation::p_relu),
    Operation::by("Pad", &[1, 12], shape::pad),
    Operation::same("Power", &[1], "Pow"),
    Operation::by("RNNCell", &[1], recurrent::rnn_cell),
    Operation::by("RNNSequence", &[5], recurrent::rnn_sequence),
    Operation::by("Range", &[4], search::range),
    Operation::same("ReLU", &[1], "Relu"),
    Operation::by("ReadValue", &[3, 6], state::read_value),
    Operation::by("ReduceL1", &[4], reduce::l1),
    Operation::by("ReduceL2", &[4], reduce::l2),
    Operation::by("ReduceLogicalAnd", &[1], reduce::all),
    Operation::by("ReduceLogicalOr", &[1], reduce::any),
    Operation::by("ReduceMax", &[1], reduce::max),
    Operation::by("ReduceMean", &[1], reduce::mean),
    Operation::by("ReduceMin", &[1], reduce::min),
    Operation::by("ReduceProd", &[1], reduce::product),
    Operation::by("ReduceSum", &[1], reduce::sum),
    Operation::by("Reshape", &[1], shape::reshape),
    Operation::by("Round", &[5], activation::round),
    Operation::by("ScatterElementsUpdate", &[3], movement::scatter_elements),
    Operation::by("ScatterNDUpdate", &[3, 4], movement::scatter_nd),
    Operation::by("Select", &[1], compare::select),
    Operation::by("Selu", &[1], activation::selu),
    Operation::by("ShapeOf", &[1, 3], shape::shape_of),
    Operation::same("Sigmoid", &[1], "Sigmoid"),
    Operation::same("Sign", &[1], "Sign"),
    Operation::same("Sin", &[1], "Sin"),
    Operation::same("Sinh", &[1], "Sinh"),
    Operation::by("Slice", &[8], shape::slice),
    Operation::by("SoftMax", &[1, 8], activation::softmax),
    Operation::same("SoftPlus", &[4], "Softplus"),
    Operation::same("SoftSign", &[9], "Softsign"),
    Operation::by("SpaceToDepth", &[1], movement::space_to_depth),
    Operation::by("Split", &[1], movement::split),
    Operation::same("Sqrt", &[1], "Sqrt"),
    Operation::by("SquaredDifference", &[1], elementwise::squared_difference),
    Operation::by("Squeeze", &[1, 15], shape::squeeze),
    Operation::by("StridedSlice", &[1], shape::strided_slice),
    Operation::same("Subtract", &[1], "Sub"),
    Operation::by("Swish", &[4], activation::swish),
    Operation::same("Tan", &[1], "Tan"),
    Operation::same("Tanh", &[1], "Tanh"),
    Operation::by("TensorIterator", &[1], control::iterate),
    Operation::by("Tile", &[1], shape::tile),
    Operation::by("TopK", &[1, 3, 11], search::top_k),
    Operation::by("Transpose", &[1], shape::transpose),
    Operation::by("Unsqueeze", &[1], shape::unsqueeze),
    Operation::by("VariadicSplit", &[1], movement::variadic_split),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_no_name_twice() {
        let sorted = OPERATIONS.windows(2).all(|w| w[0].name < w[1].name);
        assert!(sorted);
    }

    #[test]
    fn the_documentation_lists_the_table() {
        let text = include_str!("../../../../docs/model-formats.md");
        let (_, list) = text.split_once("whose form of them is read:").unwrap();
        let (list, _) = list.split_once("and `Parameter`").unwrap();
        let listed: Vec<&str> = list.split('\u{b7}').map(str::trim).collect();
        let of_table = |rule: &Operation| {
            let opsets: Vec<String> = rule.opsets.iter().map(ToString::to_string).collect();
            format!("`{}` {}", rule.name, opsets.join(", "))
        };
        let expected: Vec<String> = OPERATIONS.iter().map(of_table).collect();
        assert_eq!(listed, expected);
    }

    #[test]
    fn refusals_say_what_to_do() {
        let refused = |name: &str, opset: Option<u32>| find(name, opset).err().unwrap();
        assert!(refused("Proposal", Some(4)).starts_with("the operation is not read; export"));
        assert!(refused("Add", Some(9)).contains("opset9 is not read, only of opset1;"));
        assert!(refused("Add", None).contains("of extensions"));
    }
}

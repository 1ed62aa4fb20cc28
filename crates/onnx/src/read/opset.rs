//! The versions of `ai.onnx`.

/// The versions that are read.
pub(super) const SUPPORTED: std::ops::RangeInclusive<i64> = 1..=28;

/// The version with which operators became what most of them are today.
const MODERN: i64 = 7;

/// The operators that exist before [`MODERN`] in the form that they have in it, each with the version that
/// brought this form (from `onnx.defs.get_all_schemas_with_history()` of onnx 1.23.2).
const UNCHANGED: [(i64, &str); 5] = [
    (
        1,
        "ArgMax ArgMin Constant Conv ConvTranspose DepthToSpace Flatten Gather GlobalAveragePool \
         GlobalMaxPool Hardmax Identity If LRN LogSoftmax Loop LpNormalization MatMul MaxPool \
         MaxRoiPool Not RandomNormal RandomNormalLike RandomUniform RandomUniformLike ReduceL1 \
         ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum \
         ReduceSumSquare Shape Size Slice Softmax Softplus Softsign SpaceToDepth Squeeze TopK \
         Transpose Unsqueeze",
    ),
    (2, "GlobalLpPool LpPool Pad Split"),
    (4, "Concat"),
    (5, "Reshape"),
    (
        6,
        "Abs Cast Ceil Clip Elu Exp Floor HardSigmoid InstanceNormalization LeakyRelu Log Max Mean \
         Min Neg Reciprocal Relu Selu Sigmoid Sqrt Sum Tanh Tile",
    ),
];

/// The version with the definition that `op_type` has in `version`, if it is one: [`MODERN`] where nothing has changed until then.
/// Of other operators of older versions the engine tells whether it has them.
pub(super) fn supported(op_type: &str, version: i64) -> Option<i64> {
    let known = UNCHANGED.iter().filter(|(since, _)| version >= *since && version < MODERN);
    let mut ops = known.flat_map(|(_, ops)| ops.split(' '));
    match ops.any(|op| op == op_type) {
        true => Some(MODERN),
        false => Some(version).filter(|version| SUPPORTED.contains(version)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_operators() {
        let cases = [
            ("Not", 1, Some(7)),
            ("Add", 6, Some(6)),
            ("Relu", 5, Some(5)),
            ("Relu", 6, Some(7)),
            ("Anything", 7, Some(7)),
            ("Not", 28, Some(28)),
            ("Not", 29, None),
            ("Not", 0, None),
        ];
        for (op, version, expected) in cases {
            assert_eq!(supported(op, version), expected, "{op} {version}");
        }
    }
}

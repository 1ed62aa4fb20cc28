//! What each operator makes of rows.

use super::cx::{Cx, Outcome};
use super::{axes, broadcast, images, parts, recurrent, reshape};
use crate::ir::Node;
use crate::ops;

/// Changes a node that takes rows so that it takes any number, and tells where they come out.
pub(super) fn apply(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let name = node.op_type.clone();
    match (node.domain.as_str(), name.as_str()) {
        ("stead", "MatMul") => broadcast::fused_product(cx, node),
        ("stead" | "com.microsoft", "MatMulIntegerToFloat") => {
            broadcast::product_to_float(cx, node)
        }
        ("stead", "Attention") => broadcast::heads(cx, node),
        ("stead", "Conv" | "QLinearConv" | "ConvIntegerToFloat") => images::by_image(cx, node),
        ("stead", "QLinearAdd") => broadcast::elementwise(cx, node),
        ("stead" | "com.microsoft", "MatMulNBits") => axes::along(cx, node, -1),
        ("", op) if ops::is_elementwise(op) => broadcast::elementwise(cx, node),
        ("", "Identity" | "Cast" | "CastLike" | "Dropout") => broadcast::elementwise(cx, node),
        ("", "QuantizeLinear" | "DequantizeLinear") => axes::quantize(cx, node),
        ("", "DynamicQuantizeLinear") => Err("takes one scale for all rows".into()),
        ("", "MatMul" | "MatMulInteger") => broadcast::product(cx, node),
        ("", "Gemm") => broadcast::gemm(cx, node),
        ("", "Einsum") => broadcast::einsum(cx, node),
        ("", "Shape" | "Size") => Ok(Vec::new()),
        ("", "Reshape") => reshape::reshape(cx, node),
        ("", "Flatten") => reshape::flatten(cx, node),
        ("", "Squeeze") => reshape::squeeze(cx, node),
        ("", "Unsqueeze") => reshape::unsqueeze(cx, node),
        ("", "Transpose") => reshape::transpose(cx, node),
        ("", "Expand") => reshape::expand(cx, node),
        ("", "Tile") => reshape::tile(cx, node),
        ("", "Softmax" | "LogSoftmax" | "Hardmax") => axes::softmax(cx, node),
        ("", "LayerNormalization" | "RMSNormalization") => axes::normalization(cx, node),
        ("", "LpNormalization") => axes::along(cx, node, -1),
        ("", "CumSum" | "CumProd") => axes::cumulative(cx, node),
        ("", "TopK") => axes::along(cx, node, -1),
        ("", "ArgMax" | "ArgMin") => axes::arg(cx, node),
        ("", "GatherElements") => axes::elements(cx, node),
        ("", "OneHot") => axes::one_hot(cx, node),
        ("", op) if op.starts_with("Reduce") => axes::reduce(cx, node),
        ("", "Gather") => parts::gather(cx, node),
        ("", "GatherND") => parts::gather_nd(cx, node),
        ("", "Concat") => parts::concat(cx, node),
        ("", "Split") => parts::split(cx, node),
        ("", "Slice") => parts::slice(cx, node),
        ("", "Pad") => parts::pad(cx, node),
        ("" | "stead", "RNN" | "GRU" | "LSTM") => recurrent::layer(cx, node),
        ("", "Attention") => images::attention(cx, node),
        ("", "Resize" | "Upsample") => images::resize(cx, node),
        (
            "",
            "Conv"
            | "ConvTranspose"
            | "ConvInteger"
            | "QLinearConv"
            | "AveragePool"
            | "MaxPool"
            | "LpPool"
            | "GlobalAveragePool"
            | "GlobalMaxPool"
            | "GlobalLpPool"
            | "LRN"
            | "BatchNormalization"
            | "InstanceNormalization"
            | "GroupNormalization"
            | "DepthToSpace"
            | "SpaceToDepth",
        ) => images::by_image(cx, node),
        _ => Err("is not known to compute each row for itself".into()),
    }
}

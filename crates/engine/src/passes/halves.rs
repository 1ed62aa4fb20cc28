//! Computes models whose weights have half precision in single precision from the first product to the last.
//!
//! Kernels compute in `f32` whatever the type between nodes. A model of nodes in `f16` or `bf16` would be widened and rounded around
//! each of them, and no pass that fuses nodes would know it again. Widened here its values are rounded where they leave the
//! model, and wherever an operator needs them in half precision: nearer to what the weights say, and as fast as a model in `f32`, whose
//! memory it takes.

use super::PassCx;
use crate::error::LoadError;
use crate::ir::{Body, Form, Ir, Node, ValueId};
use half::{bf16, f16};
use std::collections::HashMap;
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::convert::{bf16_to_f32, f16_to_f32};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::{AlignedBuf, DType, Tensor};

/// Operators with weights, which tell that a model has half precision to be small: graphs without any are left alone.
const WEIGHTED: [&str; 4] = ["MatMul", "Gemm", "Conv", "ConvTranspose"];

/// Operators that compute, the result of which is that of `f32` rounded.
const COMPUTED: [&str; 61] = [
    "Abs",
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Celu",
    "Clip",
    "Conv",
    "ConvTranspose",
    "Cos",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "Min",
    "Mish",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "RMSNormalization",
    "Reciprocal",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
];

/// Operators that move elements. Only what was computed is moved in single precision: a table stays small where few of its rows are
/// read.
const MOVED: [&str; 13] = [
    "Concat",
    "DepthToSpace",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Pad",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
];

/// Widens all bodies that have weights of half precision.
pub(super) fn run(ir: &mut Ir, cx: &mut PassCx) -> Result<usize, LoadError> {
    let mut changes = 0;
    let mut all = std::mem::take(&mut ir.body);
    let done = all.each_body_mut(&mut |body| {
        if body.nodes.iter().any(|node| has_weights(node, ir)) {
            changes += widened(body, ir, cx.isa)?;
        }
        Ok::<(), LoadError>(())
    });
    ir.body = all;
    done.map(|()| changes)
}

fn is_half(ir: &Ir, id: ValueId) -> bool {
    let value = ir.value(id);
    matches!(value.dtype, DType::F16 | DType::BF16) && value.form == Form::Tensor
}

fn has_weights(node: &Node, ir: &Ir) -> bool {
    let weights = || node.input(1).filter(|&id| is_half(ir, id));
    let is_matrix = |id| ir.constant(Some(id)).is_some_and(|t| t.shape().rank() > 1);
    node.domain.is_empty()
        && WEIGHTED.contains(&node.op_type.as_str())
        && weights().is_some_and(is_matrix)
}

/// The values of a body in single precision, by those in half.
struct Widened<'a> {
    ir: &'a mut Ir,
    isa: Isa,
    by_half: HashMap<ValueId, ValueId>,
    nodes: Vec<Node>,
}

fn widened(body: &mut Body, ir: &mut Ir, isa: Isa) -> Result<usize, LoadError> {
    let mut wide = Widened { ir, isa, by_half: HashMap::new(), nodes: Vec::new() };
    let mut changes = 0;
    for mut node in std::mem::take(&mut body.nodes) {
        if let Some(single) = wide.as_it_was(&node) {
            node.inputs[0] = Some(single);
        }
        if !wide.is_widened(&node) {
            wide.nodes.push(node);
            continue;
        }
        changes += 1;
        let label = node.label.clone();
        for input in node.inputs.iter_mut().flatten() {
            *input = wide.of(*input, &label)?;
        }
        let mut rounded = Vec::new();
        for output in node.outputs.iter_mut().flatten() {
            if is_half(wide.ir, *output) {
                let single = wide.ir.add_value(DType::F32);
                wide.by_half.insert(*output, single);
                rounded.push((single, std::mem::replace(output, single)));
            }
        }
        wide.nodes.push(node);
        // Those that nobody reads are dead.
        for (single, half) in rounded {
            wide.cast(single, half, &label);
        }
    }
    body.nodes = wide.nodes;
    Ok(changes)
}

impl Widened<'_> {
    fn is_widened(&self, node: &Node) -> bool {
        let name = node.op_type.as_str();
        let any_half = node.inputs.iter().flatten().any(|&id| is_half(self.ir, id));
        let computed =
            |id: &ValueId| self.by_half.contains_key(id) && self.ir.constant(Some(*id)).is_none();
        node.domain.is_empty()
            && any_half
            && (COMPUTED.contains(&name)
                || MOVED.contains(&name) && node.inputs.iter().flatten().any(computed))
    }

    /// The value of which a Cast widens the rounded form.
    fn as_it_was(&self, node: &Node) -> Option<ValueId> {
        let (from, to) = (node.input(0)?, node.output(0)?);
        let widens = matches!(self.ir.value(to).dtype, DType::F32 | DType::F64);
        let single = *self.by_half.get(&from).filter(|_| node.is("Cast") && widens)?;
        Some(single)
    }

    /// The value in single precision; one of another type itself.
    fn of(&mut self, id: ValueId, label: &Arc<str>) -> Result<ValueId, LoadError> {
        if !is_half(self.ir, id) {
            return Ok(id);
        }
        if let Some(&single) = self.by_half.get(&id) {
            return Ok(single);
        }
        let single = match self.ir.constant(Some(id)) {
            Some(tensor) => {
                let tensor = single_of(tensor, self.isa)?;
                self.ir.add_constant(tensor)
            }
            None => {
                let single = self.ir.add_value(DType::F32);
                self.cast(id, single, label);
                single
            }
        };
        self.by_half.insert(id, single);
        Ok(single)
    }

    fn cast(&mut self, from: ValueId, to: ValueId, label: &Arc<str>) {
        let number = self.ir.value(to).dtype.onnx_number();
        let mut attributes = Attributes::of(label.to_string());
        attributes.set("to", AttributeValue::Int(number.into()));
        let node = self.ir.node(label, ("Cast", 13), vec![Some(from)], to, attributes);
        self.nodes.push(node);
    }
}

/// A constant in single precision.
fn single_of(tensor: &Tensor, isa: Isa) -> Result<Tensor, LoadError> {
    let mut wide = AlignedBuf::passing(tensor.shape().elements() * size_of::<f32>())?;
    let numbers = bytemuck::cast_slice_mut(&mut wide);
    match tensor.dtype() {
        DType::F16 => f16_to_f32(isa, tensor.as_slice::<f16>()?, numbers),
        _ => bf16_to_f32(isa, tensor.as_slice::<bf16>()?, numbers),
    }
    Ok(Tensor::from_buffer(DType::F32, tensor.shape(), wide)?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use half::f16;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn halves(dims: &[usize]) -> Tensor {
        let count = dims.iter().product();
        let values: Vec<f16> = (0..count).map(|i| f16::from_f32(i as f32 / 8.0)).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }

    #[test]
    fn before_and_after() {
        let layer = ModelBuilder::new(17)
            .input("ids", DType::I64, &["n"])
            .init("table", halves(&[5, 4]))
            .init("w", halves(&[4, 4]))
            .init("b", halves(&[4]))
            .node("Gather", &["table", "ids"], &["x"])
            .node("MatMul", &["x", "w"], &["h"])
            .node("Add", &["h", "b"], &["s"])
            .node("Transpose", &["s"], &["t"])
            .node("Softmax", &["t"], &["p"])
            .node("Equal", &["p", "t"], &["same"])
            .node("Cast", &["s"], &["wide"])
            .attr("to", 1i64)
            .node("Shape", &["wide"], &["sizes"])
            .output("p", DType::F16)
            .output("same", DType::Bool)
            .output("sizes", DType::I64);
        let expected = [
            "Gather",
            "Cast",
            "MatMul",
            "Add",
            "Transpose",
            "Cast",
            "Softmax",
            "Cast",
            "Equal",
            "Cast",
            "Shape",
        ];
        check("a table, a layer and what compares", super::run, layer, &expected);
        let plain = ModelBuilder::new(17)
            .input("x", DType::F16, &["n", "n"])
            .node("MatMul", &["x", "x"], &["h"])
            .node("Exp", &["h"], &["y"])
            .output("y", DType::F16);
        check("without weights", super::run, plain, &["MatMul", "Exp"]);
    }
}

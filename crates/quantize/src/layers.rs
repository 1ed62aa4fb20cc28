//! Recurrent layers by weights of 8 bits.

use stead_onnx::{AttributeValue, Node};
use stead_tensor::{Tensor, TensorError};

use crate::graph::{self, Names};
use crate::{QuantizeError, weights};

/// The first operator set whose DequantizeLinear has a scale for each row.
const BY_ROWS: i64 = 13;

/// A layer whose weights can be quantised.
pub(crate) struct Layer {
    /// Input weights and recurrent weights, `[directions, gates hidden, k]`.
    weights: [Tensor; 2],
}

/// Whether a node is a recurrent layer.
pub(crate) fn is_layer(node: &Node) -> bool {
    node.domain.is_empty() && matches!(node.op_type.as_str(), "RNN" | "GRU" | "LSTM")
}

/// Where a layer has its weights among its inputs.
pub(crate) const WEIGHTS: [usize; 2] = [1, 2];

impl Layer {
    /// What a recurrent layer is, or why its weights cannot be quantised; `None` for other nodes.
    pub fn of(names: &Names, node: &Node) -> Option<Result<Layer, String>> {
        is_layer(node).then(|| {
            let read = |index: usize| {
                let weights = names.weights(node.input(index))?.clone();
                match weights.shape().rank() {
                    3 => Ok(weights),
                    rank => Err(format!("its weights have {rank} dimensions")),
                }
            };
            Ok::<_, String>(Layer { weights: [read(WEIGHTS[0])?, read(WEIGHTS[1])?] })
        })
    }

    /// As [`Layer::of`], for weights that [`Layer::dequantized`] writes.
    pub fn by_rows(names: &Names, node: &Node) -> Option<Result<Layer, String>> {
        if is_layer(node) && node.opset < BY_ROWS {
            return Some(Err(format!(
                "scales for each row of a recurrent layer need opset {BY_ROWS}"
            )));
        }
        Layer::of(names, node)
    }

    /// As [`Layer::of`], for layers that [`Layer::dynamic`] writes.
    pub fn for_dynamic(names: &Names, node: &Node) -> Option<Result<Layer, String>> {
        if !is_layer(node) {
            return None;
        }
        if node.op_type != "LSTM" {
            return Some(Err(format!(
                "there is no {} that quantises its input; weight-only keeps its weights in 8 bits",
                node.op_type
            )));
        }
        match node.attributes.int_or("layout", 0) {
            Ok(0) => Layer::of(names, node),
            Ok(_) => Some(Err("DynamicQuantizeLSTM has no layout".to_owned())),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// The layer behind DequantizeLinear of its weights, with a scale for each row of all directions.
    pub fn dequantized(
        &self,
        mut node: Node,
        names: &mut Names,
        nodes: &mut Vec<Node>,
        added: &mut Vec<(String, Tensor)>,
    ) -> Result<(), QuantizeError> {
        for (index, tensor) in WEIGHTS.into_iter().zip(&self.weights) {
            let bytes = weights::per_channel(tensor, 1)?;
            let name = node.input(index).unwrap_or_default().to_owned();
            let made = ["_Q8", "_scale", "_zero_point", "_DequantizeLinear"]
                .map(|suffix| names.fresh(&format!("{name}{suffix}")));
            let [values, scale, zero, floats] = made;
            let inputs = [values.as_str(), &scale, &zero];
            let suffix = if index == WEIGHTS[0] { "_input" } else { "_recurrent" };
            let mut back = graph::node(&node, "DequantizeLinear", suffix, &inputs, &[&floats]);
            back.attributes.set("axis", AttributeValue::Int(1));
            nodes.push(back);
            added.extend([(values, bytes.values), (scale, bytes.scale), (zero, bytes.zero)]);
            if let Some(input) = node.inputs.get_mut(index) {
                *input = floats;
            }
        }
        nodes.push(node);
        Ok(())
    }

    /// The layer as DynamicQuantizeLSTM of `com.microsoft`, with the bytes of `onnxruntime.quantization.quantize_dynamic`: one
    /// scale for each direction, or `per_channel` one for each row.
    pub fn dynamic(
        &self,
        of: &Node,
        per_channel: bool,
        names: &mut Names,
        nodes: &mut Vec<Node>,
        added: &mut Vec<(String, Tensor)>,
    ) -> Result<(), QuantizeError> {
        let mut inputs: Vec<String> = of.inputs.clone();
        inputs.resize(8, String::new());
        for (index, tensor) in WEIGHTS.into_iter().zip(&self.weights) {
            let &[directions, rows, k] = tensor.shape().dims() else { continue };
            let each = if per_channel { directions * rows } else { directions };
            let flat = Tensor::from_slice(
                tensor.as_slice::<f32>()?,
                &[each, directions * rows * k / each.max(1)],
            )?;
            let bytes = weights::per_channel(&flat, 0)?;
            let values = turned(bytes.values.as_slice::<i8>()?, [directions, rows, k])?;
            let dims: &[usize] = if per_channel { &[directions, rows] } else { &[directions] };
            let scale = Tensor::from_slice(bytes.scale.as_slice::<f32>()?, dims)?;
            let zero = Tensor::from_slice(bytes.zero.as_slice::<i8>()?, dims)?;
            let name = of.input(index).unwrap_or_default();
            for (suffix, tensor) in
                [("_quantized", values), ("_scale", scale), ("_zero_point", zero)]
            {
                let made = names.fresh(&format!("{name}{suffix}"));
                added.push((made.clone(), tensor));
                match inputs.get_mut(index).filter(|_| suffix == "_quantized") {
                    Some(input) => *input = made,
                    None => inputs.push(made),
                }
            }
        }
        let operands: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = of.outputs.iter().map(String::as_str).collect();
        let mut made = graph::node(of, "DynamicQuantizeLSTM", "_quant", &operands, &outputs);
        (made.domain, made.opset) = (graph::MICROSOFT.to_owned(), 1);
        for (name, value) in of.attributes.iter().filter(|(name, _)| *name != "layout") {
            made.attributes.set(name, value.clone());
        }
        nodes.push(made);
        Ok(())
    }
}

/// `[directions, rows, k]` as `[directions, k, rows]`.
fn turned(bytes: &[i8], [directions, rows, k]: [usize; 3]) -> Result<Tensor, TensorError> {
    let mut values: Vec<i8> = Vec::with_capacity(bytes.len());
    for direction in bytes.chunks_exact((rows * k).max(1)) {
        for column in 0..k {
            values.extend(direction.iter().skip(column).step_by(k.max(1)));
        }
    }
    Tensor::from_slice(&values, &[directions, k, rows])
}

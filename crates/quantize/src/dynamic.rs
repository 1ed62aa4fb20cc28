//! Inputs quantised by what they are in each run.

use std::collections::{HashMap, HashSet};

use stead_onnx::{Model, Node};
use stead_tensor::{DType, Tensor};

use crate::graph::{self, Names, Product};
use crate::layers::{Layer, WEIGHTS};
use crate::{QuantizeError, Report, weights};

/// What an input became.
#[derive(Clone)]
struct Quantized {
    values: String,
    scale: String,
    zero: String,
}

/// Rewrites every MatMul and Gemm by a constant matrix of `f32` as `DynamicQuantizeLinear`, `MatMulInteger` and the product with
/// both scales, and every LSTM as `DynamicQuantizeLSTM` of `com.microsoft`, as `onnxruntime.quantization.quantize_dynamic` does.
/// Weights have one scale, those of an LSTM one for each direction, or `per_channel` one for each column.
///
/// # Errors
/// [`QuantizeError::Opset`] below 11, [`QuantizeError::Nothing`].
pub fn dynamic(model: &mut Model, per_channel: bool) -> Result<Report, QuantizeError> {
    graph::check_opset(model, 11, "DynamicQuantizeLinear and MatMulInteger")?;
    let mut names = Names::of(&model.graph);
    let (mut report, mut nodes, mut added) = (Report::default(), Vec::new(), Vec::new());
    let (mut inputs, mut replaced) = (HashMap::new(), HashSet::new());
    for node in std::mem::take(&mut model.graph.nodes) {
        if let Some(layer) = Layer::for_dynamic(&names, &node) {
            match layer {
                Ok(layer) => {
                    report.quantized.push(node.label());
                    replaced
                        .extend(WEIGHTS.iter().filter_map(|i| node.input(*i)).map(str::to_owned));
                    layer.dynamic(&node, per_channel, &mut names, &mut nodes, &mut added)?;
                }
                Err(why) => {
                    report.left.push((node.label(), why));
                    nodes.push(node);
                }
            }
            continue;
        }
        let product = match Product::of(&node) {
            None => {
                nodes.push(node);
                continue;
            }
            Some(product) => product,
        };
        let weights = product.and_then(|product| {
            let weights = names.weights(Some(&product.weights))?.clone();
            match weights.shape().rank() {
                2 => Ok((product, weights)),
                rank => Err(format!("its weights have {rank} dimensions")),
            }
        });
        match weights {
            Err(why) => {
                report.left.push((node.label(), why));
                nodes.push(node);
            }
            Ok((product, weights)) => {
                report.quantized.push(node.label());
                replaced.insert(product.weights.clone());
                let mut rewriting =
                    Rewriting { names: &mut names, nodes: &mut nodes, added: &mut added };
                rewriting.product(&node, &product, &weights, per_channel, &mut inputs)?;
            }
        }
    }
    let has_layers = nodes.iter().any(|node| node.domain == graph::MICROSOFT);
    graph::finish(&mut model.graph, nodes, added, &replaced);
    let report = graph::reported(report)?;
    if has_layers {
        graph::import_microsoft(model);
    }
    Ok(report)
}

struct Rewriting<'a> {
    names: &'a mut Names,
    nodes: &'a mut Vec<Node>,
    added: &'a mut Vec<(String, Tensor)>,
}

impl Rewriting<'_> {
    fn product(
        &mut self,
        of: &Node,
        product: &Product,
        weights: &Tensor,
        per_channel: bool,
        inputs: &mut HashMap<String, Quantized>,
    ) -> Result<(), QuantizeError> {
        let columns = graph::columns(weights, product.transposed)?;
        let bytes = match per_channel {
            true => weights::per_channel(&columns, 1)?,
            false => weights::per_tensor(&columns)?,
        };
        let input = match inputs.get(&product.input) {
            Some(known) => known.clone(),
            None => self.input(of, &product.input),
        };
        inputs.insert(product.input.clone(), input.clone());
        let values = self.constant(&product.weights, "_quantized", bytes.values);
        let scale = self.constant(&product.weights, "_scale", bytes.scale);
        let zero = self.constant(&product.weights, "_zero_point", bytes.zero);
        let output = &product.output;
        let whole = self.names.fresh(&format!("{output}_output_quantized"));
        let cast = self.names.fresh(&format!("{output}_output_cast"));
        let scales = self.names.fresh(&format!("{output}_scales"));
        let scaled = match &product.bias {
            Some(_) => self.names.fresh(&format!("{output}_product")),
            None => output.clone(),
        };
        let operands = [input.values.as_str(), &values, &input.zero, &zero];
        self.nodes.push(graph::node(of, "MatMulInteger", "_quant", &operands, &[&whole]));
        let mut to_float = graph::node(of, "Cast", "_cast", &[&whole], &[&cast]);
        to_float.attributes.set("to", DType::F32.into());
        self.nodes.push(to_float);
        let both = [input.scale.as_str(), &scale];
        self.nodes.push(graph::node(of, "Mul", "_scales_mul", &both, &[&scales]));
        self.nodes.push(graph::node(of, "Mul", "_scale_mul", &[&cast, &scales], &[&scaled]));
        if let Some(bias) = &product.bias {
            self.nodes.push(graph::node(of, "Add", "_bias", &[&scaled, bias], &[output]));
        }
        Ok(())
    }

    fn input(&mut self, of: &Node, input: &str) -> Quantized {
        let quantized = Quantized {
            values: self.names.fresh(&format!("{input}_quantized")),
            scale: self.names.fresh(&format!("{input}_scale")),
            zero: self.names.fresh(&format!("{input}_zero_point")),
        };
        let outputs = [quantized.values.as_str(), &quantized.scale, &quantized.zero];
        self.nodes.push(graph::node(of, "DynamicQuantizeLinear", "_input", &[input], &outputs));
        quantized
    }

    fn constant(&mut self, of: &str, suffix: &str, tensor: Tensor) -> String {
        let name = self.names.fresh(&format!("{of}{suffix}"));
        self.added.push((name.clone(), tensor));
        name
    }
}

//! Weights of few bits, inputs as they are.

use std::collections::HashSet;

use stead_onnx::{AttributeValue, Model};

use crate::blocks::{Bits, blocks};
use crate::graph::{self, Names, Product};
use crate::layers::{Layer, WEIGHTS};
use crate::{QuantizeError, Report};

/// Rewrites every MatMul and Gemm by a constant matrix of `f32` as `MatMulNBits` of `com.microsoft`, with a scale for each
/// `block_size` weights of a column, which must be a power of two of at least 16. Weights of RNN, GRU and LSTM always become bytes
/// with a scale for each row, behind `DequantizeLinear`: there is no operator for others.
///
/// # Errors
/// [`QuantizeError::Nothing`].
pub fn weight_only(
    model: &mut Model,
    bits: Bits,
    block_size: usize,
) -> Result<Report, QuantizeError> {
    let mut names = Names::of(&model.graph);
    let (mut report, mut nodes, mut added) = (Report::default(), Vec::new(), Vec::new());
    let mut replaced = HashSet::new();
    for node in std::mem::take(&mut model.graph.nodes) {
        if let Some(layer) = Layer::by_rows(&names, &node) {
            match layer {
                Ok(layer) => {
                    report.quantized.push(node.label());
                    replaced
                        .extend(WEIGHTS.iter().filter_map(|i| node.input(*i)).map(str::to_owned));
                    layer.dequantized(node, &mut names, &mut nodes, &mut added)?;
                }
                Err(why) => {
                    report.left.push((node.label(), why));
                    nodes.push(node);
                }
            }
            continue;
        }
        let Some(product) = Product::of(&node) else {
            nodes.push(node);
            continue;
        };
        let found = product.and_then(|product| {
            let weights = names.weights(Some(&product.weights))?.clone();
            match weights.shape().rank() {
                2 => Ok((product, weights)),
                rank => Err(format!("its weights have {rank} dimensions")),
            }
        });
        let (product, weights) = match found {
            Ok(found) => found,
            Err(why) => {
                report.left.push((node.label(), why));
                nodes.push(node);
                continue;
            }
        };
        report.quantized.push(node.label());
        replaced.insert(product.weights.clone());
        let columns = graph::columns(&weights, product.transposed)?;
        let (k, n) = (columns.shape()[0], columns.shape()[1]);
        let made = blocks(&columns, bits, block_size)?;
        let values = names.fresh(&format!("{}_Q{}", product.weights, bits.count()));
        let scales = names.fresh(&format!("{}_scales", product.weights));
        added.extend([(values.clone(), made.values), (scales.clone(), made.scales)]);
        let output = match &product.bias {
            Some(_) => names.fresh(&format!("{}_product", product.output)),
            None => product.output.clone(),
        };
        let inputs = [product.input.as_str(), &values, &scales];
        let mut small = graph::node(&node, "MatMulNBits", "_Q", &inputs, &[&output]);
        (small.domain, small.opset) = (graph::MICROSOFT.to_owned(), 1);
        for (name, value) in
            [("K", k), ("N", n), ("bits", bits.count()), ("block_size", block_size)]
        {
            small.attributes.set(name, AttributeValue::Int(value as i64));
        }
        nodes.push(small);
        if let Some(bias) = &product.bias {
            nodes.push(graph::node(&node, "Add", "_bias", &[&output, bias], &[&product.output]));
        }
    }
    graph::finish(&mut model.graph, nodes, added, &replaced);
    let report = graph::reported(report)?;
    if model.graph.nodes.iter().any(|node| node.domain == graph::MICROSOFT) {
        graph::import_microsoft(model);
    }
    Ok(report)
}

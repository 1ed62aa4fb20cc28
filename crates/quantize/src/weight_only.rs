//! Weights of few bits, inputs as they are.

use std::collections::HashSet;

use stead_onnx::{AttributeValue, Model, OpsetImport};

use crate::blocks::{Bits, blocks};
use crate::graph::{self, Names, Product};
use crate::{QuantizeError, Report};

const DOMAIN: &str = "com.microsoft";

/// Rewrites every MatMul and Gemm by a constant matrix of `f32` as `MatMulNBits` of `com.microsoft`, with a scale for each
/// `block_size` weights of a column, which must be a power of two of at least 16.
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
        (small.domain, small.opset) = (DOMAIN.to_owned(), 1);
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
    if model.opset(DOMAIN).is_none() {
        model.opset_imports.push(OpsetImport { domain: DOMAIN.to_owned(), version: 1 });
    }
    Ok(report)
}

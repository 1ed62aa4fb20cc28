//! Inputs quantised by ranges that were seen before.

use std::collections::{HashMap, HashSet};

use stead_onnx::{Model, Node};
use stead_tensor::{Tensor, TensorError};

use crate::graph::{self, Names, Product};
use crate::layers::is_layer;
use crate::weights::Bytes;
use crate::{QuantizeError, Ranges, Report, weights};

/// A node that can be rewritten: which inputs hold what, and along which axis of the weights results lie.
struct Found {
    weights: Tensor,
    axis: usize,
    /// Whether other operators that follow may work on bytes too: then the result is quantised as well.
    is_conv: bool,
}

/// What a node is, or why it is left alone; `None` for those of other operators.
fn found(names: &Names, node: &Node) -> Option<Result<Found, String>> {
    if node.op_type == "Conv" && node.domain.is_empty() {
        let weights = names.weights(node.input(1)).cloned();
        return Some(weights.map(|weights| Found { weights, axis: 0, is_conv: true }));
    }
    if is_layer(node) {
        return Some(Err("recurrent layers are for dynamic and weight-only".to_owned()));
    }
    let product = Product::of(node)?;
    Some(product.and_then(|product| {
        let weights = names.weights(Some(&product.weights))?.clone();
        if weights.shape().rank() != 2 {
            return Err(format!("its weights have {} dimensions", weights.shape().rank()));
        }
        Ok(Found { weights, axis: usize::from(!product.transposed), is_conv: false })
    }))
}

/// The tensors whose ranges [`fixed`] wants to know.
pub(crate) fn wanted(model: &Model) -> Vec<String> {
    let names = Names::of(&model.graph);
    let mut wanted = Vec::new();
    for node in &model.graph.nodes {
        if let Some(Ok(found)) = found(&names, node) {
            wanted.extend(node.input(0).map(str::to_owned));
            wanted.extend(node.output(0).filter(|_| found.is_conv).map(str::to_owned));
        }
    }
    let mut seen = HashSet::new();
    wanted.retain(|name| seen.insert(name.clone()));
    wanted
}

/// Puts `QuantizeLinear` and `DequantizeLinear` before the inputs of every MatMul, Gemm and Conv with constant weights of `f32`,
/// and behind the results of Conv, with scales and zero points for unsigned bytes by `ranges`. Weights become signed bytes with a scale for each
/// column or filter, biases integers of 32 bits. Engines that have them run kernels for integers in place of the three; the
/// file means the same without.
///
/// # Errors
/// [`QuantizeError::Opset`] below 13, [`QuantizeError::Nothing`].
pub fn fixed(model: &mut Model, ranges: &Ranges) -> Result<Report, QuantizeError> {
    graph::check_opset(
        model,
        13,
        "scales for each channel of QuantizeLinear and DequantizeLinear",
    )?;
    let mut names = Names::of(&model.graph);
    let (mut report, mut replaced) = (Report::default(), HashSet::new());
    let old = std::mem::take(&mut model.graph.nodes);
    let mut rewriting = Rewriting {
        ranges,
        names: &mut names,
        nodes: Vec::new(),
        added: Vec::new(),
        values: HashMap::new(),
    };
    for node in old {
        let known = found(rewriting.names, &node).map(|found| {
            let found = found?;
            let input = node.input(0).ok_or("an operand is missing")?;
            let unseen = |name: &str| format!("no run had a value of {name:?}");
            ranges.bytes(input).ok_or_else(|| unseen(input))?;
            if let Some(output) = node.output(0).filter(|_| found.is_conv) {
                ranges.bytes(output).ok_or_else(|| unseen(output))?;
            }
            Ok(found)
        });
        match known {
            None => rewriting.nodes.push(node),
            Some(Err(why)) => {
                report.left.push((node.label(), why));
                rewriting.nodes.push(node);
            }
            Some(Ok(found)) => {
                report.quantized.push(node.label());
                replaced
                    .extend([1, 2].into_iter().filter_map(|i| node.input(i)).map(str::to_owned));
                rewriting.node(node, &found)?;
            }
        }
    }
    let Rewriting { nodes, added, .. } = rewriting;
    graph::finish(&mut model.graph, nodes, added, &replaced);
    graph::reported(report)
}

struct Rewriting<'a> {
    ranges: &'a Ranges,
    names: &'a mut Names,
    nodes: Vec<Node>,
    added: Vec<(String, Tensor)>,
    /// Values that went through bytes: their new names by their old ones.
    values: HashMap<String, String>,
}

impl Rewriting<'_> {
    fn node(&mut self, mut node: Node, found: &Found) -> Result<(), QuantizeError> {
        let bytes = weights::per_channel(&found.weights, found.axis)?;
        let input = node.input(0).unwrap_or_default().to_owned();
        let scale = self.ranges.bytes(&input).map_or(1.0, |(scale, _)| scale);
        let bias = node.input(2).filter(|_| node.op_type != "MatMul").map(str::to_owned);
        let bias = match self.names.floats(bias.as_deref()).cloned() {
            Some(tensor) => self.bias(&node, &tensor, scale, &bytes)?,
            None => None,
        };
        let through = self.through_bytes(&node, &input)?;
        let weights = self.weights(&node, found.axis, bytes);
        for (at, name) in [(0, Some(through)), (1, Some(weights)), (2, bias)] {
            if let (Some(place), Some(name)) = (node.inputs.get_mut(at), name) {
                *place = name;
            }
        }
        let output = node.output(0).unwrap_or_default().to_owned();
        if !found.is_conv {
            self.nodes.push(node);
            return Ok(());
        }
        // Readers of the result, outputs of the graph too, keep its name and get what went through bytes.
        let before = self.names.fresh(&format!("{output}_before"));
        if let Some(place) = node.outputs.first_mut() {
            place.clone_from(&before);
        }
        let template = node.clone();
        self.nodes.push(node);
        self.pair(&template, &before, &output, &output)?;
        // A next product reads the same bytes.
        self.values.insert(output.clone(), output);
        Ok(())
    }

    /// The name of a value after it went through bytes.
    fn through_bytes(&mut self, of: &Node, name: &str) -> Result<String, TensorError> {
        if let Some(known) = self.values.get(name) {
            return Ok(known.clone());
        }
        let after = self.names.fresh(&format!("{name}_dequantized"));
        self.pair(of, name, &after, name)?;
        self.values.insert(name.to_owned(), after.clone());
        Ok(after)
    }

    /// `QuantizeLinear` of `from` and `DequantizeLinear` to `to`, by the range of `range`.
    fn pair(&mut self, of: &Node, from: &str, to: &str, range: &str) -> Result<(), TensorError> {
        let (scale, zero) = self.ranges.bytes(range).unwrap_or((1.0, 0));
        let scale = self.constant(range, "_scale", Tensor::scalar(scale)?);
        let zero = self.constant(range, "_zero_point", Tensor::scalar(zero)?);
        let bytes = self.names.fresh(&format!("{range}_quantized"));
        let quantize =
            graph::node(of, "QuantizeLinear", "_quantize", &[from, &scale, &zero], &[&bytes]);
        let back =
            graph::node(of, "DequantizeLinear", "_dequantize", &[&bytes, &scale, &zero], &[to]);
        self.nodes.extend([quantize, back]);
        Ok(())
    }

    fn weights(&mut self, of: &Node, axis: usize, bytes: Bytes) -> String {
        let name = of.input(1).unwrap_or_default().to_owned();
        self.dequantized(of, &name, "_weights", bytes.values, bytes.scale, bytes.zero, axis)
    }

    /// A bias as integers whose scales are those of the products that it is added to; `None` for one that they cannot hold.
    fn bias(
        &mut self,
        of: &Node,
        bias: &Tensor,
        input: f32,
        weights: &Bytes,
    ) -> Result<Option<String>, TensorError> {
        let (values, scales) = (bias.as_slice::<f32>()?, weights.scale.as_slice::<f32>()?);
        if bias.shape().rank() != 1 || values.len() != scales.len() {
            return Ok(None);
        }
        let scales: Vec<f32> = scales.iter().map(|s| s * input).collect();
        let steps = values.iter().zip(&scales).map(|(v, s)| f64::from(*v) / f64::from(*s));
        let steps: Vec<f64> = steps.map(f64::round_ties_even).collect();
        if steps.iter().any(|s| !s.is_finite() || s.abs() > f64::from(i32::MAX)) {
            return Ok(None);
        }
        let whole: Vec<i32> = steps.into_iter().map(|s| s as i32).collect();
        let n = whole.len();
        let name = of.input(2).unwrap_or_default().to_owned();
        Ok(Some(self.dequantized(
            of,
            &name,
            "_bias",
            Tensor::from_slice(&whole, &[n])?,
            Tensor::from_slice(&scales, &[n])?,
            Tensor::from_slice(&vec![0i32; n], &[n])?,
            0,
        )))
    }

    #[expect(clippy::too_many_arguments, reason = "the operands of one node")]
    fn dequantized(
        &mut self,
        of: &Node,
        name: &str,
        what: &str,
        values: Tensor,
        scale: Tensor,
        zero: Tensor,
        axis: usize,
    ) -> String {
        let values = self.constant(name, "_quantized", values);
        let scale = self.constant(name, "_scale", scale);
        let zero = self.constant(name, "_zero_point", zero);
        let after = self.names.fresh(&format!("{name}_dequantized"));
        let mut back =
            graph::node(of, "DequantizeLinear", what, &[&values, &scale, &zero], &[&after]);
        back.attributes.set("axis", (axis as i64).into());
        self.nodes.push(back);
        after
    }

    fn constant(&mut self, of: &str, suffix: &str, tensor: Tensor) -> String {
        let name = self.names.fresh(&format!("{of}{suffix}"));
        self.added.push((name.clone(), tensor));
        name
    }
}

//! Which nodes could be computed in blocks.

use super::super::pattern::Matcher;
use super::super::pattern::activation_of;
use crate::ir::{Body, Ir, Node, ValueId};
use crate::ops;
use std::collections::HashMap;
use stead_kernels::blocked::BLOCK;
use stead_tensor::{DType, Tensor};

/// What a node becomes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// BlockedConv, of an input in planes if `planes`, with windows of so many taps.
    Conv { planes: bool, taps: usize },
    /// BlockedMaxPool or BlockedAveragePool.
    Pool(&'static str),
    /// BlockedGlobalAverage, with so many dimensions of 1.
    GlobalAverage { spatial: i64 },
    /// BlockedAffine of an input with constants.
    Affine { x: ValueId, scale: Vec<f32>, shift: Vec<f32> },
    /// BlockedAffine of an input with the result of other nodes, `[batch, channels, 1, 1]`.
    Gate { x: ValueId, by: ValueId },
    /// The same operator on operands in blocks.
    Same,
}

/// A node that could be computed in blocks.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub form: Form,
    /// The channels of the input, or of the result where there is one in blocks.
    pub channels: usize,
    /// The inputs that are read in blocks.
    pub reads: Vec<ValueId>,
    /// The result in blocks.
    pub result: Option<ValueId>,
}

/// What becomes of the nodes of a body, by position.
pub(super) struct Choices {
    pub nodes: Vec<Option<Choice>>,
}

/// Channels up to which a convolution reads planes rather than having them laid out in blocks first.
const FEW_CHANNELS: usize = 8;

/// What is known of values while nodes are visited in order.
struct Known<'a> {
    m: Matcher<'a>,
    ir: &'a Ir,
    /// Values in blocks, with their channels.
    blocked: HashMap<ValueId, usize>,
    /// Values of one pixel, `[batch, channels, 1, 1]`, that no region takes up: vectors, not images.
    pixels: HashMap<ValueId, usize>,
}

/// Finds the nodes of a body that could be computed in blocks.
pub(super) fn choices(ir: &Ir, body: &Body) -> Choices {
    let uses = vec![0; ir.values.len()];
    let m = Matcher::new(ir, body, &uses);
    let mut known = Known { m, ir, blocked: HashMap::new(), pixels: HashMap::new() };
    let mut nodes = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let choice = known.choose(node);
        match &choice {
            Some(choice) => {
                known.blocked.extend(choice.result.map(|id| (id, choice.channels)));
                if choice.form == (Form::GlobalAverage { spatial: 2 }) {
                    known.pixels.extend(node.output(0).map(|id| (id, choice.channels)));
                }
            }
            None => known.pixels.extend(known.pixel(node)),
        }
        nodes.push(choice);
    }
    Choices { nodes }
}

impl Known<'_> {
    fn choose(&self, node: &Node) -> Option<Choice> {
        let output = node.output(0)?;
        let is_single = node.outputs.iter().skip(1).all(Option::is_none);
        if !is_single || self.ir.value(output).dtype != DType::F32 || !node.bodies.is_empty() {
            return None;
        }
        let x = node.input(0)?;
        let in_blocks =
            |form, channels, reads| Some(Choice { form, channels, reads, result: Some(output) });
        if let Some((outputs, inputs, taps)) = convolution(self.ir, node) {
            if self.pixels.contains_key(&x) {
                return None;
            }
            let is_dense = inputs == outputs.1;
            let planes = is_dense && inputs <= FEW_CHANNELS && !self.blocked.contains_key(&x);
            let reads = if planes { vec![] } else { vec![x] };
            return in_blocks(Form::Conv { planes, taps }, outputs.0, reads);
        }
        if !node.domain.is_empty() {
            return None;
        }
        let channels = self.blocked.get(&x).copied();
        match (node.op_type.as_str(), channels) {
            ("MaxPool", Some(c)) => in_blocks(Form::Pool("BlockedMaxPool"), c, vec![x]),
            ("AveragePool", Some(c)) => in_blocks(Form::Pool("BlockedAveragePool"), c, vec![x]),
            ("GlobalAveragePool", Some(channels)) => {
                let form = Form::GlobalAverage { spatial: 2 };
                Some(Choice { form, channels, reads: vec![x], result: None })
            }
            ("ReduceMean", Some(channels)) if is_over_pixels(self.ir, node) => {
                let spatial = if node.attributes.bool_or("keepdims", true).ok()? { 2 } else { 0 };
                let form = Form::GlobalAverage { spatial };
                Some(Choice { form, channels, reads: vec![x], result: None })
            }
            ("BatchNormalization", Some(c)) => {
                let (scale, shift) = self.batch_norm(node, c)?;
                in_blocks(Form::Affine { x, scale, shift }, c, vec![x])
            }
            ("Concat", Some(_)) => {
                let is_channels = matches!(node.attributes.int("axis"), Ok(Some(1 | -3)));
                let inputs = node.inputs.iter().copied().collect::<Option<Vec<ValueId>>>()?;
                let sizes = inputs.iter().map(|id| self.blocked.get(id).copied());
                let sizes = sizes.collect::<Option<Vec<usize>>>()?;
                let whole = &sizes[..sizes.len().saturating_sub(1)];
                let fits = is_channels && whole.iter().all(|c| c % BLOCK == 0);
                fits.then(|| in_blocks(Form::Same, sizes.iter().sum(), inputs)).flatten()
            }
            (op, _) if ops::is_elementwise(op) => {
                let (form, channels, reads) = self.elementwise(node)?;
                in_blocks(form, channels, reads)
            }
            _ => None,
        }
    }

    /// An element-wise operator on values in blocks, with numbers, or with something for each channel.
    fn elementwise(&self, node: &Node) -> Option<(Form, usize, Vec<ValueId>)> {
        let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
        let reads: Vec<ValueId> =
            inputs.iter().copied().filter(|id| self.blocked.contains_key(id)).collect();
        let channels = *self.blocked.get(reads.first()?)?;
        if reads.iter().any(|id| self.blocked.get(id) != Some(&channels)) {
            return None;
        }
        let is_number = |id: &ValueId| {
            self.ir
                .constant(Some(*id))
                .is_some_and(|t| t.shape().elements() == 1 && t.shape().rank() < 5)
        };
        let is_same = |id: &ValueId| self.blocked.contains_key(id) || is_number(id);
        if inputs.iter().all(is_same) {
            return Some((Form::Same, channels, reads));
        }
        let (&[x], &[a, b]) = (reads.as_slice(), inputs.as_slice()) else { return None };
        let by = if a == x { b } else { a };
        if node.is("Mul") && self.pixels.get(&by) == Some(&channels) {
            return Some((Form::Gate { x, by }, channels, reads));
        }
        let values = self.per_channel(by, channels)?;
        let (scale, shift) = match node.op_type.as_str() {
            "Mul" => (values, vec![0.0; channels]),
            "Add" => (vec![1.0; channels], values),
            _ => return None,
        };
        Some((Form::Affine { x, scale, shift }, channels, reads))
    }

    /// A constant with a number for each channel, `[channels, 1, 1]` or with a dimension of 1 before.
    fn per_channel(&self, id: ValueId, channels: usize) -> Option<Vec<f32>> {
        let tensor = self.ir.constant(Some(id))?;
        let shape = tensor.shape();
        let is_channels = match shape.dims() {
            [c, 1, 1] | [1, c, 1, 1] => *c == channels,
            _ => false,
        };
        let values = is_channels.then(|| tensor.as_slice::<f32>().ok()).flatten()?;
        Some(values.to_vec())
    }

    /// Factors and addends of a batch normalisation outside of training.
    fn batch_norm(&self, node: &Node, channels: usize) -> Option<(Vec<f32>, Vec<f32>)> {
        if node.attributes.bool_or("training_mode", false).ok()?
            || node.attributes.int_or("spatial", 1).ok()? != 1
        {
            return None;
        }
        let list = |i: usize| {
            let values = self.ir.constant(node.input(i))?.as_slice::<f32>().ok()?;
            (values.len() == channels).then_some(values)
        };
        let (scale, bias, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
        let epsilon = node.attributes.float_or("epsilon", 1e-5).ok()?;
        let factor: Vec<f32> =
            scale.iter().zip(variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
        let shift = bias.iter().zip(mean.iter().zip(&factor)).map(|(b, (m, f))| b - m * f);
        let shift = shift.collect();
        Some((factor, shift))
    }

    /// The channels of a result of one pixel: an activation or a pointwise convolution of another.
    fn pixel(&self, node: &Node) -> Option<(ValueId, usize)> {
        let (x, output) = (node.input(0)?, node.output(0)?);
        let &channels = self.pixels.get(&x)?;
        if activation_of(&self.m, node).is_some() || node.is("Identity") {
            return Some((output, channels));
        }
        let (outputs, _, taps) = convolution(self.ir, node)?;
        let is_unpadded =
            node.attributes.ints("pads").ok()?.is_none_or(|p| p.iter().all(|&p| p == 0));
        (taps == 1 && is_unpadded).then_some((output, outputs.0))
    }
}

/// Whether a ReduceMean takes the means of whole planes.
pub(in crate::passes) fn is_over_pixels(ir: &Ir, node: &Node) -> bool {
    let attribute = node.attributes.ints("axes").ok().flatten().map(<[i64]>::to_vec);
    let input = || Some(ir.constant(node.input(1))?.as_slice::<i64>().ok()?.to_vec());
    let Some(mut axes) = attribute.or_else(input) else { return false };
    for axis in axes.iter_mut().filter(|a| **a < 0) {
        *axis += 4;
    }
    axes.sort_unstable();
    axes == [2, 3]
}

/// Output channels (with the input channels of a group beside them), input channels and taps of a convolution that
/// blocks can compute: over two dimensions, of constants, its channels all mixed or each alone.
fn convolution(ir: &Ir, node: &Node) -> Option<((usize, usize), usize, usize)> {
    let fused = node.domain == "stead" && node.op_type == "Conv";
    if !node.is("Conv") && !fused {
        return None;
    }
    let weights: &Tensor = ir.constant(node.input(1))?;
    let shape = weights.shape();
    let &[outputs, inputs, height, width] = shape.dims() else { return None };
    let groups = usize::try_from(node.attributes.int_or("group", 1).ok()?).ok()?;
    let is_alone = groups > 1 && groups == outputs && inputs == 1;
    let bias_fits = match node.input(2) {
        None => true,
        id => ir.constant(id).is_some_and(|b| b.shape().elements() == outputs),
    };
    let fits = weights.dtype() == DType::F32 && shape.elements() > 0 && bias_fits;
    let result = ((outputs, inputs), inputs * groups, height * width);
    (fits && (groups == 1 || is_alone)).then_some(result)
}

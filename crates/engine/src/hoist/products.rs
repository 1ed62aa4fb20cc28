//! Splits the weights of layers that take a concatenation of query and documents.

use std::collections::HashMap;

use super::join::concat;
use super::rates::Rates;
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::Attributes;
use stead_tensor::{DType, Tensor};

/// A part of a concatenation.
struct Part {
    id: ValueId,
    is_of_query: bool,
    /// Its size along the axis, if that is known.
    size: Option<usize>,
}

/// A layer that can be split.
struct Layer {
    parts: Vec<Part>,
    /// The axis as the Concat has it.
    axis: i64,
    transposed: bool,
    /// Whether what a Gemm adds belongs to the half of the query.
    adds_with_query: bool,
}

/// Splits all layers that can be, and tells their labels.
pub(super) fn split(ir: &mut Ir, inputs: &[ValueId]) -> Result<Vec<String>, LoadError> {
    let mut rates = Rates::new(ir, inputs);
    let uses = ir.uses();
    let mut layers = Vec::new();
    // The sums that layers have become: the half of the documents, and that of the query.
    let mut sums: HashMap<ValueId, (ValueId, ValueId)> = HashMap::new();
    let nodes = std::mem::take(&mut ir.body.nodes);
    let mut makers: HashMap<ValueId, usize> = HashMap::new();
    let mut done: Vec<Node> = Vec::with_capacity(nodes.len());
    for mut this in nodes {
        let layer = layer(ir, &rates, &makers, &done, &this);
        if let (Some(layer), Some(output)) = (layer, this.output(0))
            && let Some(mut made) = replaced(ir, &this, &layer, output)?
        {
            layers.push(this.label.to_string());
            if let [.., last] = &made[..]
                && let (Some(documents), Some(query)) = (last.input(0), last.input(1))
                && uses[output.index()] == 1
            {
                sums.insert(output, (documents, query));
            }
            for node in made.drain(..) {
                rates.note(ir, &node);
                push(node, &mut makers, &mut done);
            }
            continue;
        }
        // What a layer adds to its product belongs to the half of the query, if it does not depend on documents.
        if this.is("Add")
            && let (Some(a), Some(b)) = (this.input(0), this.input(1))
        {
            let sum = sums.get(&a).map(|sum| (*sum, b)).or_else(|| sums.get(&b).map(|s| (*s, a)));
            let is_fixed = |id: ValueId| rates.is_of_query(id) || ir.constant(Some(id)).is_some();
            if let Some(((documents, query), other)) = sum.filter(|(_, other)| is_fixed(*other)) {
                let both = ir.add_value(ir.value(query).dtype);
                let (label, inputs) = (this.label.clone(), vec![Some(query), Some(other)]);
                let add = ir.node(&label, ("Add", 14), inputs, both, this.attributes.clone());
                rates.note(ir, &add);
                push(add, &mut makers, &mut done);
                this.inputs = vec![Some(documents), Some(both)];
            }
        }
        rates.note(ir, &this);
        push(this, &mut makers, &mut done);
    }
    ir.body.nodes = done;
    Ok(layers)
}

fn push(node: Node, makers: &mut HashMap<ValueId, usize>, done: &mut Vec<Node>) {
    makers.extend(node.outputs.iter().flatten().map(|id| (*id, done.len())));
    done.push(node);
}

/// The layer that a node is, if it takes a concatenation of both kinds.
fn layer(
    ir: &Ir,
    rates: &Rates,
    makers: &HashMap<ValueId, usize>,
    before: &[Node],
    node: &Node,
) -> Option<Layer> {
    let flag = |name: &str| node.attributes.bool_or(name, false).ok();
    let transposed = match () {
        () if node.is("MatMul") => false,
        () if node.is("Gemm") && !flag("transA")? => flag("transB")?,
        () => return None,
    };
    let maker = |id: ValueId| before.get(*makers.get(&id)?);
    let weight = ir.constant(node.input(1))?;
    let rows = match weight.shape().dims() {
        &[k, n] if weight.dtype() == DType::F32 => {
            if transposed {
                n
            } else {
                k
            }
        }
        _ => return None,
    };
    let join = maker(node.input(0)?).filter(|maker| maker.is("Concat"))?;
    let axis = join.attributes.int("axis").ok().flatten()?;
    let ids: Vec<ValueId> = join.inputs.iter().copied().collect::<Option<_>>()?;
    let rank = match node.is("Gemm") {
        true => Some(2),
        false => ids.iter().find_map(|id| facts(ir, &maker, *id).rank),
    };
    if axis != -1 && rank.is_none_or(|rank| axis + 1 != rank as i64) {
        return None;
    }
    let part = |id: ValueId| {
        // A value of the query that is repeated for the documents: the sum of products repeats it as well.
        let source = maker(id).filter(|n| n.is("Expand")).and_then(|n| n.input(0));
        let source = source.filter(|source| rates.is_of_query(*source));
        let is_of_query = source.is_some() || rates.is_of_query(id);
        let last = |id: ValueId| facts(ir, &maker, id).last;
        let size = last(id).or_else(|| last(source?));
        Part { id: source.unwrap_or(id), is_of_query, size }
    };
    let mut parts: Vec<Part> = ids.into_iter().map(part).collect();
    let known: usize = parts.iter().filter_map(|part| part.size).sum();
    let mut open = parts.iter_mut().filter(|part| part.size.is_none());
    match (open.next(), open.next()) {
        (None, _) if known == rows => {}
        (Some(part), None) if known <= rows => part.size = Some(rows - known),
        _ => return None,
    }
    let count = parts.iter().filter(|part| part.is_of_query).count();
    let is_fixed = |id: ValueId| rates.is_of_query(id) || ir.constant(Some(id)).is_some();
    let adds_with_query = node.input(2).is_none_or(is_fixed);
    let is_mixed = count > 0 && count < parts.len();
    is_mixed.then_some(Layer { parts, axis, transposed, adds_with_query })
}

/// What is known of the shape of a value.
#[derive(Clone, Copy, Default)]
struct Facts {
    rank: Option<usize>,
    /// The size of the last dimension.
    last: Option<usize>,
}

/// What is known of the shape of a value: as the file declares it, or as the layers have it that make the value.
fn facts<'n>(ir: &Ir, maker: &dyn Fn(ValueId) -> Option<&'n Node>, id: ValueId) -> Facts {
    /// Values that have the rank of their first input, at most so many behind each other.
    const STEPS: usize = 32;
    let (mut id, mut found) = (id, Facts::default());
    for _ in 0..STEPS {
        if let Some(dims) = ir.declared.get(&id) {
            let last = dims.last().and_then(stead_onnx::Dim::known);
            return Facts { rank: Some(dims.len()), last: found.last.or(last) };
        }
        let Some(node) = maker(id) else { break };
        match node.op_type.as_str() {
            "Relu" | "Sigmoid" | "Tanh" | "Gelu" | "LeakyRelu" | "Identity" | "Cast"
            | "Softmax" => {}
            // A bias for each column.
            "Add" => match [(0, 1), (1, 0)]
                .into_iter()
                .find(|(_, by)| ir.constant(node.input(*by)).is_some_and(|t| t.shape().rank() <= 1))
            {
                Some((of, _)) => {
                    let Some(of) = node.input(of) else { break };
                    id = of;
                    continue;
                }
                None => break,
            },
            "MatMul" | "Gemm" => {
                let dims = ir.constant(node.input(1)).map(|weight| weight.shape());
                let is_transposed = node.attributes.bool_or("transB", false).unwrap_or(false);
                found.last = found.last.or_else(|| match dims?.dims() {
                    &[k, n] => Some(if is_transposed { k } else { n }),
                    _ => None,
                });
                if node.is("Gemm") {
                    return Facts { rank: Some(2), ..found };
                }
                if dims.is_none_or(|dims| dims.rank() != 2) {
                    break;
                }
            }
            _ => break,
        }
        let Some(input) = node.input(0) else { break };
        id = input;
    }
    found
}

/// The nodes of a split layer: the half of the query, that of the documents, and their sum, which comes last.
fn replaced(
    ir: &mut Ir,
    layer_node: &Node,
    layer: &Layer,
    output: ValueId,
) -> Result<Option<Vec<Node>>, LoadError> {
    let Some(weight) = ir.constant(layer_node.input(1)).cloned() else { return Ok(None) };
    let label = layer_node.label.clone();
    let mut made = Vec::new();
    let mut half = |ir: &mut Ir, is_of_query: bool| -> Result<ValueId, LoadError> {
        let (mut ids, mut ranges, mut at) = (Vec::new(), Vec::new(), 0);
        for part in &layer.parts {
            let size = part.size.unwrap_or(0);
            if part.is_of_query == is_of_query {
                ids.push(Some(part.id));
                ranges.push(at..at + size);
            }
            at += size;
        }
        let x = match ids[..] {
            [Some(one)] => one,
            _ => {
                let joined = ir.add_value(DType::F32);
                let concat = concat(ir, &label, layer.axis, ids, joined);
                made.push(concat);
                joined
            }
        };
        let w = ir.add_constant(rows_of(&weight, &ranges, layer.transposed)?);
        let mut attributes = Attributes::of(label.to_string());
        let mut inputs = vec![Some(x), Some(w)];
        if layer_node.is("Gemm") {
            for name in ["alpha", "beta", "transB"] {
                if let Some(value) = layer_node.attributes.get(name) {
                    attributes.set(name, value.clone());
                }
            }
            if is_of_query == layer.adds_with_query {
                inputs.extend(layer_node.input(2).map(Some));
            }
        }
        let product = ir.add_value(DType::F32);
        let op = (layer_node.op_type.as_str(), layer_node.opset);
        let node = ir.node(&label, op, inputs, product, attributes);
        made.push(node);
        Ok(product)
    };
    let query = half(ir, true)?;
    let documents = half(ir, false)?;
    let inputs = vec![Some(documents), Some(query)];
    let attributes = Attributes::of(label.to_string());
    let add = ir.node(&label, ("Add", 14), inputs, output, attributes);
    made.push(add);
    Ok(Some(made))
}

/// Some rows of a weight, or columns of a transposed one.
fn rows_of(
    weight: &Tensor,
    ranges: &[std::ops::Range<usize>],
    transposed: bool,
) -> Result<Tensor, LoadError> {
    let values = weight.as_slice::<f32>()?;
    let columns = weight.shape().last().copied().unwrap_or(1).max(1);
    let count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
    if !transposed {
        let rows: Vec<f32> = ranges
            .iter()
            .flat_map(|range| values[range.start * columns..range.end * columns].iter().copied())
            .collect();
        return Ok(Tensor::from_slice(&rows, &[count, columns])?);
    }
    let rows = values.len() / columns;
    let picked: Vec<f32> = values
        .chunks_exact(columns)
        .flat_map(|row| ranges.iter().flat_map(|range| row[range.clone()].iter().copied()))
        .collect();
    Ok(Tensor::from_slice(&picked, &[rows, count])?)
}

//! A net as a graph: the layers in an order in which they can be lowered, and what enters and leaves.

use super::cx::Cx;
use super::net::{Layer, Net, shape};
use super::table;
use super::weights::Weights;
use super::xml::malformed;
use crate::error::{FormatError, Refusal, quote};
use crate::make::Make;
use std::collections::{BTreeSet, HashMap, HashSet};
use stead_onnx::{Dim, Graph, ValueType};
use stead_tensor::{DType, Shape};

/// The values of layers' outputs, by layer and port.
pub(super) type Values = HashMap<(usize, usize), String>;

/// The main graph.
///
/// # Errors
/// Layers that wait for each other, or for what is not there; operations that the table does not have.
pub(super) fn lower(net: &Net, weights: &mut Weights<'_>) -> Result<Graph, FormatError> {
    let inputs: Vec<(&Layer, String)> =
        of_kind(net, "Parameter").map(|layer| (layer, input_name(layer))).collect();
    let outputs: Vec<(&Layer, String)> =
        of_kind(net, "Result").map(|layer| (layer, output_name(net, layer))).collect();
    let mut taken = HashSet::new();
    for (layer, name) in inputs.iter().chain(&outputs) {
        if !taken.insert(name.clone()) {
            let text = format!("another input or output is called {} too", quote(name));
            return Err(operation(layer, text));
        }
    }
    let mut make = Make::new(taken);
    let mut values = Values::new();
    for (layer, name) in inputs {
        let dtype = parameter_type(layer)?;
        let dims = shape(text(layer, "shape"))?;
        make.input(&name, ValueType::tensor(dtype, dims));
        values.extend(layer.outputs.iter().map(|port| ((layer.id, port.id), name.clone())));
    }
    lower_layers(net, &mut make, weights, &mut values)?;
    for (layer, name) in outputs {
        let value = result(net, layer, &values)?;
        let port = layer.inputs.first();
        let dims = port.map(|p| &p.dims).map(|dims| dims.iter().map(|d| dim(*d)).collect());
        make.on_behalf_of(&layer.name);
        make.push("Identity", &[&value], vec![name.clone()], &[]);
        // A Result of a value whose rank is open has no dimensions in the file, as a scalar has none.
        let dims = dims.filter(|dims: &Vec<Dim>| !dims.is_empty());
        make.output(
            &name,
            ValueType::tensor(port.and_then(|p| p.dtype).unwrap_or(DType::F32), dims),
        );
    }
    Ok(make.end())
}

fn dim(size: Option<usize>) -> Dim {
    size.map_or(Dim::Unknown, Dim::Known)
}

pub(super) fn of_kind<'a>(net: &'a Net, kind: &'a str) -> impl Iterator<Item = &'a Layer> {
    net.layers.iter().filter(move |layer| layer.kind == kind)
}

fn text<'a>(layer: &'a Layer, name: &str) -> &'a str {
    layer.data.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v.as_str())
}

pub(super) fn operation(layer: &Layer, reason: String) -> FormatError {
    FormatError::Operation { node: layer.label(), reason }
}

fn input_name(layer: &Layer) -> String {
    let first = layer.outputs.first().and_then(|port| port.names.first());
    first.unwrap_or(&layer.name).clone()
}

/// Names of a Result, or of the tensor that it shows, or else of the layer that the tensor comes from: version 10 has no names.
fn output_name(net: &Net, layer: &Layer) -> String {
    let shown = layer.output_names.first().cloned().or_else(|| {
        let port = layer.inputs.first()?;
        let (from, out) = *net.edges.get(&(layer.id, port.id))?;
        let source = net.layers.iter().find(|l| l.id == from)?;
        let port = source.outputs.iter().position(|p| p.id == out)?;
        let named = source.outputs.get(port)?.names.first().cloned();
        named.or_else(|| match source.outputs.len() {
            1 => Some(source.name.clone()),
            _ => Some(format!("{}.{port}", source.name)),
        })
    });
    shown.unwrap_or_else(|| layer.name.clone())
}

/// The element type of a Parameter.
pub(super) fn parameter_type(layer: &Layer) -> Result<DType, FormatError> {
    let name = text(layer, "element_type");
    let dtype = super::net::dtype(&name.to_ascii_lowercase());
    dtype.ok_or_else(|| operation(layer, format!("element type {name:?}")))
}

/// The value that a Result shows.
pub(super) fn result(net: &Net, layer: &Layer, values: &Values) -> Result<String, FormatError> {
    let port = layer.inputs.first();
    let from = port.and_then(|port| net.edges.get(&(layer.id, port.id)));
    let value = from.and_then(|from| values.get(from)).cloned();
    value.ok_or_else(|| operation(layer, "nothing leads to it".into()))
}

/// Lowers all layers but Parameters, whose values are there, and Results, in an order in which each has its inputs.
pub(super) fn lower_layers(
    net: &Net,
    make: &mut Make,
    weights: &mut Weights<'_>,
    values: &mut Values,
) -> Result<(), FormatError> {
    for index in order(net)? {
        let Some(layer) = net.layers.get(index) else { continue };
        let outputs = match layer.kind.as_str() {
            "Parameter" | "Result" => continue,
            "Const" => vec![constant(layer, make, weights)?],
            kind => {
                let rule = table::find(kind, layer.opset);
                let rule = rule.map_err(|reason| operation(layer, reason))?;
                let value = |port: &super::net::Port| {
                    let from = net.edges.get(&(layer.id, port.id))?;
                    values.get(from).cloned()
                };
                let inputs = layer.inputs.iter().map(value).collect();
                make.on_behalf_of(&layer.name);
                let mut cx = Cx { make, weights, layer, inputs };
                rule.lower(&mut cx).map_err(|Refusal(reason)| operation(layer, reason))?
            }
        };
        for (port, value) in layer.outputs.iter().zip(outputs) {
            values.insert((layer.id, port.id), value);
        }
    }
    Ok(())
}

fn constant(
    layer: &Layer,
    make: &mut Make,
    weights: &mut Weights<'_>,
) -> Result<String, FormatError> {
    let number = |name: &str| {
        let text = text(layer, name);
        text.parse::<u64>().map_err(|_| operation(layer, format!("{name} is {}", quote(text))))
    };
    let dtype = parameter_type(layer)?;
    let dims = shape(text(layer, "shape"))?.unwrap_or_default();
    let dims: Option<Vec<usize>> = dims.iter().map(Dim::known).collect();
    let dims = dims.ok_or_else(|| operation(layer, "its shape is open".into()))?;
    let tensor_error = |reason| FormatError::Tensor { what: layer.label(), reason };
    let shape = Shape::new(&dims).map_err(tensor_error)?;
    if dtype == DType::String {
        return Err(operation(layer, "constants of strings are not read".into()));
    }
    let tensor = weights.tensor(dtype, shape, number("offset")?, number("size")?)?;
    Ok(make.constant(tensor))
}

/// The indices of the layers, each after those that it reads.
fn order(net: &Net) -> Result<Vec<usize>, FormatError> {
    let mut places = HashMap::new();
    for (index, layer) in net.layers.iter().enumerate() {
        if places.insert(layer.id, index).is_some() {
            return Err(malformed(format!("two layers have the id {}", layer.id)));
        }
    }
    let mut waits = vec![0_usize; net.layers.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); net.layers.len()];
    for (&(to, _), &(from, _)) in &net.edges {
        let (Some(&to), Some(&from)) = (places.get(&to), places.get(&from)) else {
            return Err(malformed(format!("an edge from layer {from} to {to}: one is not there")));
        };
        if let (Some(waits), Some(readers)) = (waits.get_mut(to), readers.get_mut(from)) {
            *waits += 1;
            readers.push(to);
        }
    }
    // The order of the file where edges leave it open, so that names and plans are the same each time.
    let all = 0..net.layers.len();
    let mut ready: BTreeSet<usize> = all.filter(|&i| waits.get(i) == Some(&0)).collect();
    let mut order = Vec::with_capacity(net.layers.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        for reader in readers.get_mut(index).map(std::mem::take).unwrap_or_default() {
            if let Some(waits) = waits.get_mut(reader) {
                *waits -= 1;
                if *waits == 0 {
                    ready.insert(reader);
                }
            }
        }
    }
    match waits.iter().position(|&n| n > 0).and_then(|at| net.layers.get(at)) {
        None => Ok(order),
        Some(layer) => Err(operation(layer, "it waits for itself: the layers have a cycle".into())),
    }
}

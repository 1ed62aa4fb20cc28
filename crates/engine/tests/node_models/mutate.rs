//! Models in which something is changed: attributes, operators, versions, names, constants, declared types.

use crate::chance::Chance;
use crate::tensors;
use stead_onnx::{AttributeValue, Dim, Graph, Model, Node, ValueInfo, ValueType};
use stead_tensor::{DType, Tensor};

/// The highest version of `ai.onnx` that is read, and one above.
const MAX_OPSET: usize = 28;

/// What many operators call their attributes.
const ATTRIBUTES: [&str; 30] = [
    "axis",
    "axes",
    "keepdims",
    "to",
    "mode",
    "pads",
    "strides",
    "dilations",
    "group",
    "perm",
    "auto_pad",
    "kernel_shape",
    "output_shape",
    "direction",
    "hidden_size",
    "alpha",
    "beta",
    "epsilon",
    "block_size",
    "largest",
    "sorted",
    "exclusive",
    "reverse",
    "dtype",
    "value",
    "batch_dims",
    "allowzero",
    "noop_with_empty_axes",
    "num_outputs",
    "split",
];

/// Values of attributes that are texts.
const TEXTS: [&str; 26] = [
    "",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "NOTSET",
    "linear",
    "cubic",
    "nearest",
    "constant",
    "reflect",
    "edge",
    "wrap",
    "bidirectional",
    "reverse",
    "forward",
    "Tanh",
    "Relu",
    "HardSigmoid",
    "CRD",
    "DCR",
    "mean",
    "none",
    "sum",
    "add",
    "mul",
    "asymmetric",
];

/// What a change may take from elsewhere.
pub struct Pool<'a> {
    /// Operators with their domain.
    pub operators: &'a [(String, String)],
}

/// Changes one to four things.
pub fn mutate(model: &mut Model, pool: &Pool<'_>, chance: &mut Chance) {
    for _ in 0..1 + chance.below(4) {
        match chance.below(16) {
            0 => version(model, chance),
            1 => declared(&mut model.graph, chance),
            2 | 3 => {
                let at = chance.below(model.graph.initializers.len());
                if let Some((_, tensor)) = model.graph.initializers.get_mut(at) {
                    *tensor = tensors::changed(tensor, chance);
                }
            }
            4 => append(&mut model.graph, pool, chance),
            _ => {
                let names = names(&model.graph);
                let mut nodes = Vec::new();
                visit(&mut model.graph, &mut nodes);
                for function in &mut model.functions {
                    nodes.extend(function.nodes.iter_mut());
                }
                let at = chance.below(nodes.len());
                if let Some(node) = nodes.into_iter().nth(at) {
                    change(node, &names, pool, chance);
                }
            }
        }
    }
}

/// All values that a graph names, not those of its bodies.
fn names(graph: &Graph) -> Vec<String> {
    let made = graph.nodes.iter().flat_map(|node| node.outputs.iter().cloned());
    let given = graph.inputs.iter().map(|input| input.name.clone());
    let constant = graph.initializers.iter().map(|(name, _)| name.clone());
    constant.chain(given).chain(made).filter(|name| !name.is_empty()).collect()
}

/// The nodes that hold no bodies, and those that do in place of these: half of the time a body is what changes.
fn visit<'a>(graph: &'a mut Graph, all: &mut Vec<&'a mut Node>) {
    for node in &mut graph.nodes {
        if node.subgraphs().next().is_some() && !node.outputs.len().is_multiple_of(2) {
            for (_, value) in node.attributes.iter_mut() {
                value.graphs_mut().iter_mut().for_each(|body| visit(body, all));
            }
        } else {
            all.push(node);
        }
    }
}

/// Another version of an operator set.
fn version(model: &mut Model, chance: &mut Chance) {
    let at = chance.below(model.opset_imports.len());
    let Some(import) = model.opset_imports.get_mut(at) else { return };
    import.version = 1 + chance.below(MAX_OPSET) as i64;
    let import = import.clone();
    let mut nodes = Vec::new();
    visit(&mut model.graph, &mut nodes);
    for node in nodes.into_iter().filter(|node| node.domain == import.domain) {
        node.opset = import.version;
    }
}

/// Another type of an input or output, as the file declares it.
fn declared(graph: &mut Graph, chance: &mut Chance) {
    let count = graph.inputs.len() + graph.outputs.len();
    let at = chance.below(count);
    let Some(info) = graph.inputs.iter_mut().chain(&mut graph.outputs).nth(at) else { return };
    let ValueType::Tensor { dtype, dims } = &mut info.ty else {
        info.ty = ValueType::tensor(DType::F32, None);
        return;
    };
    match (chance.below(5), dims) {
        (0, _) => *dtype = chance.one_of(DType::ALL),
        (1, dims) => *dims = None,
        (2, Some(dims)) => dims.push(Dim::Known(chance.below(3))),
        (_, Some(dims)) => {
            let at = chance.below(dims.len());
            if let Some(dim) = dims.get_mut(at) {
                *dim = match chance.below(3) {
                    0 => Dim::Unknown,
                    1 => Dim::Symbol("n".to_owned()),
                    _ => Dim::Known(chance.one_of(&[0, 1, 2, 3, 1 << 40])),
                };
            }
        }
        (_, dims @ None) => *dims = Some(vec![Dim::Unknown]),
    }
}

/// A node behind the others, which reads what they made.
fn append(graph: &mut Graph, pool: &Pool<'_>, chance: &mut Chance) {
    let names = names(graph);
    let Some(last) = graph.nodes.last().filter(|_| !names.is_empty()) else { return };
    let (domain, op) = chance.one_of(pool.operators);
    let mut node = Node::new(&op, last.opset, &[], &[]);
    node.domain = domain;
    for _ in 0..1 + chance.below(3) {
        // Mostly the newest, so that what follows each other meets.
        let newest = last.outputs.first().filter(|name| !name.is_empty() && !chance.one_in(3));
        let name = newest.cloned().unwrap_or_else(|| chance.one_of(&names));
        node.inputs.push(name);
    }
    let output = format!("appended{}", graph.nodes.len());
    node.outputs.push(output.clone());
    graph.nodes.push(node);
    // A type that cannot be right is a refusal; without one it is what the engine finds.
    graph.outputs.push(ValueInfo { name: output, ty: ValueType::Unknown });
}

/// Changes one thing of a node.
fn change(node: &mut Node, names: &[String], pool: &Pool<'_>, chance: &mut Chance) {
    let at = chance.below(node.inputs.len());
    match chance.below(14) {
        0 => drop(node.inputs.pop()),
        1 if !node.inputs.is_empty() => node.inputs[at].clear(),
        2 if !node.inputs.is_empty() && !names.is_empty() => node.inputs[at] = chance.one_of(names),
        3 if !node.inputs.is_empty() => {
            let other = chance.below(node.inputs.len());
            node.inputs.swap(at, other);
        }
        4 if !names.is_empty() => node.inputs.push(chance.one_of(names)),
        5 => match chance.below(3) {
            0 => drop(node.outputs.pop()),
            _ => node.outputs.push(format!("more{}", node.outputs.len())),
        },
        6 => (node.domain, node.op_type) = chance.one_of(pool.operators),
        7 | 8 => {
            let name = chance.one_of(&ATTRIBUTES);
            let value = value(chance);
            node.attributes.set(name, value);
        }
        9 => {
            let names: Vec<String> = node.attributes.iter().map(|(n, _)| n.to_owned()).collect();
            if !names.is_empty() {
                node.attributes.remove(&chance.one_of(&names));
            }
        }
        _ => {
            let at = chance.below(node.attributes.len());
            if let Some((_, old)) = node.attributes.iter_mut().nth(at) {
                alter(old, chance);
            }
        }
    }
}

/// Any value of an attribute.
fn value(chance: &mut Chance) -> AttributeValue {
    let int = tensors::integer(chance, 0);
    match chance.below(6) {
        0 | 1 => AttributeValue::Int(int),
        2 => AttributeValue::Ints((0..chance.below(5)).map(|at| (at as i64) ^ (int & 3)).collect()),
        3 => AttributeValue::Float(tensors::float(chance) as f32),
        4 => AttributeValue::String(chance.one_of(&TEXTS).as_bytes().to_vec()),
        _ => AttributeValue::Tensor(Tensor::from_slice(&[int], &[1]).unwrap()),
    }
}

/// Changes a value, mostly to one of the same kind.
fn alter(old: &mut AttributeValue, chance: &mut Chance) {
    match old {
        AttributeValue::Int(int) => *int = tensors::integer(chance, *int),
        AttributeValue::Float(float) => *float = tensors::float(chance) as f32,
        AttributeValue::String(text) => *text = chance.one_of(&TEXTS).as_bytes().to_vec(),
        AttributeValue::Tensor(tensor) | AttributeValue::SparseTensor(tensor) => {
            *tensor = tensors::changed(tensor, chance);
        }
        AttributeValue::Ints(list) => {
            let near = list.first().copied().unwrap_or(0);
            let new = tensors::integer(chance, near);
            listed(list, new, chance);
        }
        AttributeValue::Floats(list) => {
            let new = tensors::float(chance) as f32;
            listed(list, new, chance);
        }
        AttributeValue::Strings(list) => {
            let new = tensors::text(chance);
            listed(list, new, chance);
        }
        _ => *old = value(chance),
    }
}

/// Changes an element of a list or how many there are.
fn listed<T: Clone>(list: &mut Vec<T>, new: T, chance: &mut Chance) {
    let at = chance.below(list.len());
    match chance.below(7) {
        0 => list.push(new),
        1 => drop(list.pop()),
        2 => list.reverse(),
        3 if !list.is_empty() => list.extend(list.clone()),
        4 if chance.one_in(3) => list.clear(),
        _ if !list.is_empty() => list[at] = new,
        _ => {}
    }
}

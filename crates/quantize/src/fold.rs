//! Weights that a file computes of constants before it multiplies by them.

use std::collections::{HashMap, HashSet};

use stead_engine::{LoadOptions, Model as Loaded, PassChoice, Session, SessionOptions};
use stead_onnx::{Graph, Model, Node, ValueInfo, ValueType};
use stead_tensor::Tensor;

use crate::graph;
use crate::layers::{WEIGHTS, is_layer};

/// Operators that change no more than the type or the order of a constant.
const OPERATORS: [&str; 6] = ["Cast", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"];

/// Operators whose second input is what is quantised.
const PRODUCTS: [&str; 3] = ["MatMul", "Gemm", "Conv"];

/// Makes constants of weights that are constants cast, turned or reshaped: OpenVINO IR has them in half precision and turned.
/// Nodes that cannot be computed stay.
pub fn fold_weights(model: &mut Model) {
    let wanted = wanted(&model.graph);
    let is_input = |name: &str| model.graph.inputs.iter().any(|input| input.name == name);
    let constants = model.graph.initializers.iter().filter(|(name, _)| !is_input(name));
    let mut constants: HashMap<String, Tensor> = constants.cloned().collect();
    let (mut nodes, mut added, mut replaced) = (Vec::new(), Vec::new(), HashSet::new());
    for node in std::mem::take(&mut model.graph.nodes) {
        let output = node.output(0).filter(|name| wanted.contains(*name) && is_foldable(&node));
        let folded = output.and_then(|name| Some((name, computed(&node, &constants)?)));
        match folded {
            Some((name, tensor)) => {
                replaced.extend(node.inputs.iter().cloned());
                // What is folded on the way to another may be dead in the end.
                replaced.insert(name.to_owned());
                constants.insert(name.to_owned(), tensor.clone());
                added.push((name.to_owned(), tensor));
            }
            None => nodes.push(node),
        }
    }
    graph::finish(&mut model.graph, nodes, added, &replaced);
}

fn is_foldable(node: &Node) -> bool {
    node.domain.is_empty() && OPERATORS.contains(&node.op_type.as_str()) && node.outputs.len() == 1
}

/// The weights of products, and what these are made of.
fn wanted(graph: &Graph) -> HashSet<String> {
    let mut wanted = HashSet::new();
    // Nodes are sorted, so that those which read a value come behind the one that makes it.
    for node in graph.nodes.iter().rev() {
        if PRODUCTS.contains(&node.op_type.as_str()) && node.domain.is_empty() {
            wanted.extend(node.input(1).map(str::to_owned));
        } else if is_layer(node) {
            wanted.extend(WEIGHTS.iter().filter_map(|i| node.input(*i)).map(str::to_owned));
        } else if is_foldable(node) && node.output(0).is_some_and(|name| wanted.contains(name)) {
            wanted.extend(node.inputs.iter().cloned());
        }
    }
    wanted
}

/// The result of a node all of whose inputs are constants.
fn computed(node: &Node, constants: &HashMap<String, Tensor>) -> Option<Tensor> {
    let inputs: HashSet<&String> = node.inputs.iter().filter(|name| !name.is_empty()).collect();
    let inputs = inputs.into_iter().map(|name| Some((name.clone(), constants.get(name)?.clone())));
    let mut alone = Model {
        ir_version: 10,
        producer: String::new(),
        producer_version: String::new(),
        domain: String::new(),
        version: 0,
        description: String::new(),
        opset_imports: vec![stead_onnx::OpsetImport { domain: String::new(), version: node.opset }],
        graph: Graph { initializers: inputs.collect::<Option<_>>()?, ..Graph::default() },
        functions: Vec::new(),
        metadata: Vec::new(),
    };
    let name = node.output(0)?.to_owned();
    alone.graph.outputs.push(ValueInfo { name, ty: ValueType::Unknown });
    alone.graph.nodes.push(node.clone());
    let load = LoadOptions { passes: PassChoice::None, ..LoadOptions::default() };
    let loaded = Loaded::from_onnx(alone, &load).ok()?;
    let session = Session::new(loaded, &SessionOptions::default()).ok()?;
    session.run(&[], &[]).ok()?.pop()
}

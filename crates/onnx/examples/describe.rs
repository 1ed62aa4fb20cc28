//! Reads each model file given on the command line and prints its inputs, outputs and operators.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use stead_onnx::{Limits, Model};

fn main() {
    for file in std::env::args().skip(1) {
        match Model::read(Path::new(&file), &Limits::default()) {
            Ok(model) => println!("{file}: {}", describe(&model)),
            Err(error) => println!("{file}: error: {error}"),
        }
    }
}

fn describe(model: &Model) -> String {
    let graph = &model.graph;
    let mut ops = BTreeMap::new();
    for node in &graph.nodes {
        *ops.entry(node.op_type.as_str()).or_insert(0) += 1;
    }
    let values = |values: &[stead_onnx::ValueInfo]| {
        let shown: Vec<String> = values.iter().map(|v| format!("{} {}", v.name, v.ty)).collect();
        shown.join(", ")
    };
    let bytes: usize = graph.initializers.iter().map(|(_, t)| t.bytes().len()).sum();
    let shared = graph.initializers.iter().filter(|(_, t)| t.is_shared()).count();
    format!(
        "ir {} opset {:?}, ({}) -> ({}), {} initializers of {bytes} bytes ({shared} of them not copied), {ops:?}",
        model.ir_version,
        model.opset(""),
        values(&graph.inputs),
        values(&graph.outputs),
        graph.initializers.len(),
    )
}

//! A model whose intermediate values are outputs too, for comparisons node by node.

use std::path::Path;

use stead_onnx::{Limits, ValueInfo, ValueType};

use crate::failure::Failure;

/// A node of the main graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its name, or that of its first output.
    pub name: String,
    /// The operator.
    pub op: String,
    /// The names of its outputs.
    pub outputs: Vec<String>,
}

/// The nodes of the main graph in an order in which they run, and a file with all their outputs as outputs behind the
/// model's own. Bodies of control flow and of functions are part of the node that holds them.
///
/// # Errors
/// A file that is no model.
pub fn laid_open(path: &Path) -> Result<(Vec<Layer>, Vec<u8>), Failure> {
    let mut model = stead_formats::read(path, &Limits::default()).map_err(Failure::failed)?;
    let graph = &mut model.graph;
    let mut layers = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let outputs: Vec<String> = node.outputs.iter().filter(|o| !o.is_empty()).cloned().collect();
        for name in &outputs {
            if !graph.outputs.iter().any(|output| output.name == *name) {
                // Both runtimes know better than the file.
                graph.outputs.push(ValueInfo { name: name.clone(), ty: ValueType::Unknown });
            }
        }
        let first = outputs.first().cloned().unwrap_or_default();
        let name = if node.name.is_empty() { first } else { node.name.clone() };
        layers.push(Layer { name, op: node.op_type.clone(), outputs });
    }
    Ok((layers, model.to_bytes()))
}

#[cfg(test)]
mod tests {
    use stead_onnx::{Model, ModelBuilder};
    use stead_tensor::DType;

    use super::*;

    #[test]
    fn every_value_is_an_output_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .node("Exp", &["x"], &["a"])
            .node("Neg", &["a"], &["b"])
            .node("Dropout", &["b"], &["c", ""])
            .output("b", DType::F32)
            .output("c", DType::F32);
        std::fs::write(&path, model.bytes()).unwrap();
        let (layers, bytes) = laid_open(&path).unwrap();
        let read = Model::from_bytes(&bytes, None).unwrap();
        let outputs: Vec<&str> = read.graph.outputs.iter().map(|o| o.name.as_str()).collect();
        assert_eq!(outputs, ["b", "c", "a"]);
        let named: Vec<_> =
            layers.iter().map(|l| (l.name.as_str(), l.op.as_str(), l.outputs.len())).collect();
        assert_eq!(named, [("a", "Exp", 1), ("b", "Neg", 1), ("c", "Dropout", 1)]);
    }
}

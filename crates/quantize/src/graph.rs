//! A graph that is being rewritten.

use std::collections::{HashMap, HashSet};

use stead_onnx::{AttributeValue, Graph, Model, Node, OpsetImport};
use stead_tensor::{DType, Tensor};

use crate::{QuantizeError, Report};

/// The domain of operators that ONNX Runtime has beside the standard.
pub(crate) const MICROSOFT: &str = "com.microsoft";

/// The names of a graph, and what is known of its constants.
pub(crate) struct Names {
    taken: HashSet<String>,
    constants: HashMap<String, Tensor>,
}

impl Names {
    /// Of a graph as it is now. Initializers that callers may replace are no constants.
    pub fn of(graph: &Graph) -> Names {
        let mut names = Names { taken: HashSet::new(), constants: HashMap::new() };
        names.take(graph);
        let inputs: HashSet<&str> = graph.inputs.iter().map(|i| i.name.as_str()).collect();
        let fixed = graph.initializers.iter().filter(|(name, _)| !inputs.contains(name.as_str()));
        names.constants.extend(fixed.map(|(name, tensor)| (name.clone(), tensor.clone())));
        for node in graph.nodes.iter().filter(|n| n.op_type == "Constant" && n.domain.is_empty()) {
            if let (Some(name), Some(AttributeValue::Tensor(tensor))) =
                (node.output(0), node.attributes.get("value"))
            {
                names.constants.insert(name.to_owned(), tensor.clone());
            }
        }
        names
    }

    fn take(&mut self, graph: &Graph) {
        let infos = graph.inputs.iter().chain(&graph.outputs);
        self.taken.extend(infos.map(|info| info.name.clone()));
        self.taken.extend(graph.initializers.iter().map(|(name, _)| name.clone()));
        for node in &graph.nodes {
            self.taken.extend(node.inputs.iter().chain(&node.outputs).cloned());
            for (_, body) in node.subgraphs() {
                self.take(body);
            }
        }
    }

    /// A name that nothing has, made of `base`.
    pub fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{count}");
            count += 1;
        }
        name
    }

    /// A constant matrix or filter of `f32` without NaN and infinities, or why there is none.
    pub fn weights(&self, name: Option<&str>) -> Result<&Tensor, String> {
        let tensor = name.and_then(|name| self.constants.get(name));
        let tensor = tensor.ok_or("its weights are no constant")?;
        let values = tensor.as_slice::<f32>();
        let values = values.map_err(|_| format!("its weights are {}, not f32", tensor.dtype()))?;
        if values.is_empty() {
            return Err("it has no weights".to_owned());
        }
        if !values.iter().all(|v| v.is_finite()) {
            return Err("its weights are not all finite".to_owned());
        }
        Ok(tensor)
    }

    /// A constant of `f32`.
    pub fn floats(&self, name: Option<&str>) -> Option<&Tensor> {
        self.constants.get(name?).filter(|t| t.dtype() == DType::F32)
    }
}

/// A product by a constant matrix.
pub(crate) struct Product {
    /// The left operand.
    pub input: String,
    /// The name of the matrix.
    pub weights: String,
    /// Whether it is stored with a row for each column of the result.
    pub transposed: bool,
    /// What is added to each row.
    pub bias: Option<String>,
    pub output: String,
}

impl Product {
    /// What a MatMul or Gemm is, or why it cannot be rewritten as a plain product; `None` for other nodes.
    pub fn of(node: &Node) -> Option<Result<Product, String>> {
        if !node.domain.is_empty() || !matches!(node.op_type.as_str(), "MatMul" | "Gemm") {
            return None;
        }
        Some(Product::read(node))
    }

    fn read(node: &Node) -> Result<Product, String> {
        let name = |name: Option<&str>| name.map(str::to_owned).ok_or("an operand is missing");
        let attributes = &node.attributes;
        let is_gemm = node.op_type == "Gemm";
        if is_gemm {
            let factor = |name: &str| attributes.float_or(name, 1.0).map_err(|e| e.to_string());
            let flag = |name: &str| attributes.bool_or(name, false).map_err(|e| e.to_string());
            if factor("alpha")? != 1.0 || (node.input(2).is_some() && factor("beta")? != 1.0) {
                return Err("it has a factor alpha or beta".to_owned());
            }
            if flag("transA")? {
                return Err("its left operand is transposed".to_owned());
            }
        }
        let transposed = is_gemm && attributes.bool_or("transB", false).unwrap_or(false);
        Ok(Product {
            input: name(node.input(0))?,
            weights: name(node.input(1))?,
            transposed,
            bias: node.input(2).map(str::to_owned),
            output: name(node.output(0))?,
        })
    }
}

/// A matrix with a row for each row of the product's left operand: `[K, N]`.
pub(crate) fn columns(weights: &Tensor, transposed: bool) -> Result<Tensor, QuantizeError> {
    if !transposed {
        return Ok(weights.clone());
    }
    let &[n, k] = weights.shape().dims() else { return Ok(weights.clone()) };
    let values = weights.as_slice::<f32>()?;
    let mut turned: Vec<f32> = Vec::with_capacity(values.len());
    for row in 0..k {
        turned.extend(values.iter().skip(row).step_by(k.max(1)));
    }
    Ok(Tensor::from_slice(&turned, &[k, n])?)
}

/// A node of `ai.onnx` in place of another, whose name it continues.
pub(crate) fn node(of: &Node, op: &str, suffix: &str, inputs: &[&str], outputs: &[&str]) -> Node {
    let mut made = Node::new(op, of.opset, inputs, outputs);
    if !of.name.is_empty() {
        made.name = format!("{}{suffix}", of.name);
    }
    made
}

/// Puts nodes and constants into the graph, and drops those of `replaced` that nothing reads any more.
pub(crate) fn finish(
    graph: &mut Graph,
    nodes: Vec<Node>,
    added: Vec<(String, Tensor)>,
    replaced: &HashSet<String>,
) {
    graph.nodes = nodes;
    number_names(&mut graph.nodes);
    graph.initializers.extend(added);
    let mut read = HashSet::new();
    note_reads(graph, &mut read);
    let is_dead = |name: &str| replaced.contains(name) && !read.contains(name);
    graph.initializers.retain(|(name, _)| !is_dead(name));
    graph.nodes.retain(|n| !(n.op_type == "Constant" && n.output(0).is_some_and(is_dead)));
    graph.value_info.retain(|info| !is_dead(&info.name));
}

/// Gives nodes whose name an earlier node has a name of their own: ONNX Runtime refuses two nodes of one name, and a node
/// that was replaced has several in its place.
fn number_names(nodes: &mut [Node]) {
    let mut taken: HashSet<String> = HashSet::new();
    for node in nodes.iter_mut().filter(|node| !node.name.is_empty()) {
        let mut count = 1;
        let base = node.name.clone();
        while !taken.insert(node.name.clone()) {
            node.name = format!("{base}_{count}");
            count += 1;
        }
    }
}

fn note_reads(graph: &Graph, read: &mut HashSet<String>) {
    read.extend(graph.outputs.iter().map(|output| output.name.clone()));
    for node in &graph.nodes {
        read.extend(node.inputs.iter().cloned());
        for (_, body) in node.subgraphs() {
            note_reads(body, read);
        }
    }
}

/// Refuses a model whose operator set is too old.
pub(crate) fn check_opset(
    model: &Model,
    needed: i64,
    operators: &'static str,
) -> Result<(), QuantizeError> {
    let actual = model.opset("").unwrap_or_default();
    if actual >= needed { Ok(()) } else { Err(QuantizeError::Opset { actual, needed, operators }) }
}

/// Imports the operators of [`MICROSOFT`].
pub(crate) fn import_microsoft(model: &mut Model) {
    if model.opset(MICROSOFT).is_none() {
        let domain = MICROSOFT.to_owned();
        model.opset_imports.push(OpsetImport { domain, version: 1 });
    }
}

/// The report of a graph of which something was changed.
pub(crate) fn reported(report: Report) -> Result<Report, QuantizeError> {
    if !report.quantized.is_empty() {
        return Ok(report);
    }
    let reasons = report.left.iter().map(|(label, why)| format!("; {label}: {why}"));
    let none = || vec!["; the main graph has no MatMul, Gemm, Conv or recurrent layer".to_owned()];
    let mut reasons: Vec<String> = reasons.take(3).collect();
    if reasons.is_empty() {
        reasons = none();
    }
    Err(QuantizeError::Nothing(reasons.concat()))
}

//! Graphs and nodes.

use super::{
    Source, attribute::read_attributes, model::opset_error, opset, sparse::read_sparse,
    tensor::read_tensor, types::read_value_info,
};
use crate::{
    Graph, Limits, Node, OnnxError, OpsetImport, error, error::quote, graph::label, proto,
};
use std::collections::HashSet;

/// What surrounds a graph.
pub(super) struct Scope<'a> {
    /// The operator sets of the model or function.
    pub(super) imports: &'a [OpsetImport],
    /// The IR version, which decides what an input with an initializer means.
    pub(super) ir_version: i64,
    /// Whether attributes may refer to those of a call.
    pub(super) in_function: bool,
    /// How many graphs are around this one.
    pub(super) depth: usize,
}

impl Scope<'_> {
    /// The scope of a graph in an attribute.
    pub(super) fn deeper(&self) -> Scope<'_> {
        Scope { depth: self.depth + 1, ..*self }
    }
}

/// A graph, not validated. Recursion ends at `limits.depth` and at the decoder's 100 nested messages.
pub(super) fn read_graph(
    proto: proto::GraphProto,
    scope: &Scope<'_>,
    source: &mut Source<'_>,
) -> Result<Graph, OnnxError> {
    error::check_limit("depth of graphs", scope.depth as u64, source.limits.depth as u64)?;
    let name = proto.name.unwrap_or_default();
    check_name("graph", &name, source.limits)?;
    let mut initializers = Vec::with_capacity(proto.initializer.len());
    for tensor in proto.initializer {
        initializers.push(read_tensor(tensor, "", source)?);
    }
    for tensor in proto.sparse_initializer {
        initializers.push(read_sparse(tensor, "", source)?);
    }
    let limits = source.limits;
    let infos = |infos: Vec<proto::ValueInfoProto>| {
        infos.into_iter().map(|info| read_value_info(info, limits)).collect::<Result<Vec<_>, _>>()
    };
    let mut inputs = infos(proto.input)?;
    // Before IR version 4 every initializer had to be listed as an input and could not be overridden.
    if scope.ir_version < 4 {
        let constants: HashSet<&str> = initializers.iter().map(|(name, _)| name.as_str()).collect();
        inputs.retain(|input| !constants.contains(input.name.as_str()));
    }
    Ok(Graph {
        name,
        description: proto.doc_string.unwrap_or_default(),
        inputs,
        outputs: infos(proto.output)?,
        value_info: infos(proto.value_info)?,
        initializers,
        nodes: read_nodes(proto.node, scope, source)?,
    })
}

/// Nodes in file order.
pub(super) fn read_nodes(
    protos: Vec<proto::NodeProto>,
    scope: &Scope<'_>,
    source: &mut Source<'_>,
) -> Result<Vec<Node>, OnnxError> {
    source.count_nodes(protos.len())?;
    protos.into_iter().map(|proto| read_node(proto, scope, source)).collect()
}

fn read_node(
    proto: proto::NodeProto,
    scope: &Scope<'_>,
    source: &mut Source<'_>,
) -> Result<Node, OnnxError> {
    let name = proto.name.unwrap_or_default();
    let op_type = proto.op_type.unwrap_or_default();
    let domain = normal_domain(proto.domain.unwrap_or_default());
    let overload = proto.overload.unwrap_or_default();
    for (what, text) in
        [("node", &name), ("operator", &op_type), ("domain", &domain), ("overload", &overload)]
    {
        check_name(what, text, source.limits)?;
    }
    for value in proto.input.iter().chain(&proto.output) {
        check_name("value", value, source.limits)?;
    }
    let label = label(&op_type, &name, proto.output.first().map_or("", String::as_str));
    if op_type.is_empty() {
        return Err(OnnxError::Missing { place: label, what: "operator type" });
    }
    let import = scope.imports.iter().find(|import| import.domain == domain);
    let mut opset =
        import.map(|import| import.version).ok_or_else(|| OnnxError::NoOpsetImport {
            node: label.clone(),
            domain: if domain.is_empty() { "ai.onnx".to_owned() } else { quote(&domain) },
        })?;
    if domain.is_empty() {
        opset = opset::supported(&op_type, opset).ok_or_else(|| opset_error(opset))?;
    }
    Ok(Node {
        attributes: read_attributes(proto.attribute, label, scope, source)?,
        name,
        op_type,
        domain,
        overload,
        opset,
        inputs: proto.input,
        outputs: proto.output,
    })
}

/// The domain of the standard operators has two spellings; here it is always the empty one.
pub(super) fn normal_domain(domain: String) -> String {
    if domain == "ai.onnx" { String::new() } else { domain }
}

/// Refuses a name that is too long.
pub(crate) fn check_name(what: &str, name: &str, limits: &Limits) -> Result<(), OnnxError> {
    if name.len() > limits.name_bytes {
        let what = format!("bytes of {what} name {}", quote(name));
        error::check_limit(&what, name.len() as u64, limits.name_bytes as u64)?;
    }
    Ok(())
}

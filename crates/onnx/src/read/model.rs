//! Models and functions.

use super::graph::{Scope, normal_domain, read_graph, read_nodes};
use super::types::read_value_info;
use super::{Source, attribute::read_attributes, check_name, opset};
use crate::{Function, Model, OnnxError, OpsetImport, error, error::quote, proto};

/// The IR versions that this reader knows: 3 brought opset imports, 14 came with onnx 1.23.
const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;

/// The most operator sets of a model or function; real ones import a handful. Each node walks over the list.
const MAX_IMPORTS: u64 = 256;

/// A model, not validated.
pub(super) fn read_model(
    proto: proto::ModelProto,
    source: &mut Source<'_>,
) -> Result<Model, OnnxError> {
    let missing = |what| OnnxError::Missing { place: "the model".to_owned(), what };
    let ir_version = proto.ir_version.ok_or_else(|| missing("ir version"))?;
    if !IR_VERSIONS.contains(&ir_version) {
        return Err(OnnxError::IrVersion(ir_version));
    }
    let opset_imports = read_imports(proto.opset_import, source)?;
    let graph = proto.graph.ok_or_else(|| missing("graph"))?;
    let scope = Scope { imports: &opset_imports, ir_version, in_function: false, depth: 0 };
    let graph = read_graph(graph, &scope, source)?;
    let mut functions = Vec::with_capacity(proto.functions.len());
    for function in proto.functions {
        functions.push(read_function(function, ir_version, source)?);
    }
    let metadata = proto.metadata_props.into_iter();
    Ok(Model {
        ir_version,
        producer: proto.producer_name.unwrap_or_default(),
        producer_version: proto.producer_version.unwrap_or_default(),
        domain: proto.domain.unwrap_or_default(),
        version: proto.model_version.unwrap_or_default(),
        description: proto.doc_string.unwrap_or_default(),
        graph,
        functions,
        metadata: metadata
            .map(|entry| (entry.key.unwrap_or_default(), entry.value.unwrap_or_default()))
            .collect(),
        opset_imports,
    })
}

fn read_imports(
    protos: Vec<proto::OperatorSetIdProto>,
    source: &Source<'_>,
) -> Result<Vec<OpsetImport>, OnnxError> {
    error::check_limit("opset imports", protos.len() as u64, MAX_IMPORTS)?;
    let mut imports: Vec<OpsetImport> = Vec::new();
    for proto in protos {
        let version = proto.version.unwrap_or_default();
        let domain = normal_domain(proto.domain.unwrap_or_default());
        check_name("domain", &domain, source.limits)?;
        if domain.is_empty() && !opset::SUPPORTED.contains(&version) {
            return Err(opset_error(version));
        }
        match imports.iter().find(|import| import.domain == domain) {
            None => imports.push(OpsetImport { domain, version }),
            Some(known) if known.version == version => {}
            Some(_) => {
                let place = "the list of opset imports".to_owned();
                return Err(OnnxError::Redefined { place, value: quote(&domain) });
            }
        }
    }
    Ok(imports)
}

/// The error for a version of `ai.onnx` that is not supported.
pub(super) fn opset_error(version: i64) -> OnnxError {
    let (min, max) = (*opset::SUPPORTED.start(), *opset::SUPPORTED.end());
    OnnxError::Opset { version, min, max }
}

fn read_function(
    proto: proto::FunctionProto,
    ir_version: i64,
    source: &mut Source<'_>,
) -> Result<Function, OnnxError> {
    let name = proto.name.unwrap_or_default();
    let domain = normal_domain(proto.domain.unwrap_or_default());
    let overload = proto.overload.unwrap_or_default();
    if name.is_empty() {
        return Err(OnnxError::Missing { place: "a function".to_owned(), what: "name" });
    }
    for text in [&name, &domain, &overload].into_iter().chain(&proto.input).chain(&proto.output) {
        check_name("function", text, source.limits)?;
    }
    let opset_imports = read_imports(proto.opset_import, source)?;
    let scope = Scope { imports: &opset_imports, ir_version, in_function: true, depth: 0 };
    let label = format!("function {}", quote(&name));
    let infos = proto.value_info.into_iter();
    Ok(Function {
        defaults: read_attributes(proto.attribute_proto, label, &scope, source)?,
        nodes: read_nodes(proto.node, &scope, source)?,
        value_info: infos
            .map(|info| read_value_info(info, source.limits))
            .collect::<Result<_, _>>()?,
        name,
        domain,
        overload,
        inputs: proto.input,
        outputs: proto.output,
        attributes: proto.attribute,
        opset_imports,
    })
}

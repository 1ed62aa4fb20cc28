//! What REST and gRPC do alike: from a parsed request to the node's answer.

use super::classify::check_classes;
use super::request::ParsedInfer;
use crate::fault::Fault;
use stead_node::{Embedded, InferRequest, InferResponse, Protocol, VersionRef};

/// Extensions of the protocol that are really served; `/v2` and `ServerMetadata` name them.
pub const EXTENSIONS: [&str; 7] = [
    "classification",
    "sequence",
    "model_repository",
    "model_configuration",
    "binary_tensor_data",
    "parameters",
    "statistics",
];

/// Evaluates a parsed request.
///
/// # Errors
/// Those of the node.
pub fn evaluate(
    node: &Embedded,
    model: String,
    version: VersionRef,
    parsed: ParsedInfer,
    protocol: Protocol,
) -> impl Future<Output = Result<InferResponse, Fault>> {
    let request = prepare(node, model, version, parsed, protocol);
    async move { Ok(node.infer(request?).await?) }
}

fn prepare(
    node: &Embedded,
    model: String,
    version: VersionRef,
    parsed: ParsedInfer,
    protocol: Protocol,
) -> Result<InferRequest, Fault> {
    let classified = parsed.outputs.iter().filter(|o| o.classes.is_some());
    let classified: Vec<String> = classified.map(|o| o.name.clone()).collect();
    let request = InferRequest {
        model,
        version,
        id: parsed.id,
        inputs: parsed.inputs,
        outputs: parsed.outputs.into_iter().map(|o| o.name).collect(),
        parameters: parsed.parameters,
        deadline: parsed.deadline,
        protocol,
    };
    if !classified.is_empty() {
        // Before the model runs: a step of a sequence that was done must have its answer.
        let metadata = node.metadata_for(&request)?;
        for output in metadata.outputs.iter().filter(|o| classified.contains(&o.name)) {
            check_classes(output.dtype)?;
        }
    }
    Ok(request)
}

/// Whether axis 0 of a model's tensors is a batch, as its configuration says.
pub fn is_batched(node: &Embedded, response: &InferResponse) -> bool {
    node.is_batched(&response.model, response.version)
}

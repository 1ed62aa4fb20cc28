//! The services `tensorflow.serving.PredictionService` and `ModelService`.

use super::signature::{SIGNATURE_MAP_URL, signature_map, status_message};
use super::special::{read_input, write_output};
use crate::fault::Fault;
use crate::grpc::deadline;
use crate::http::{Shared, blocking};
use crate::proto::tensorflow::serving as pb;
use pb::model_service_server::ModelService;
use pb::model_spec::VersionChoice;
use pb::prediction_service_server::PredictionService;
use prost::Message;
use std::sync::Arc;
use stead_node::{InferRequest, Method, Parameters, Protocol, VersionRef};
use tonic::{Request, Response, Status};

const GRPC: Protocol = Protocol::TfsGrpc;

/// Both services over a node.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

impl Service {
    /// The services over the node of `shared`.
    pub fn new(shared: Arc<Shared>) -> Service {
        Service { shared }
    }
}

type Answer<T> = Result<Response<T>, Status>;

/// The model and version that a request names.
fn target(spec: Option<pb::ModelSpec>) -> Result<(String, VersionRef), Fault> {
    let spec = spec.ok_or_else(|| Fault::invalid("model_spec missing in request"))?;
    let version = match spec.version_choice {
        None => VersionRef::Latest,
        Some(VersionChoice::VersionLabel(label)) => VersionRef::Label(label),
        Some(VersionChoice::Version(number)) => match u64::try_from(number) {
            Ok(number) => VersionRef::Number(number),
            Err(_) => return Err(Fault::invalid("Could not parse model version in request")),
        },
    };
    Ok((spec.name, version))
}

fn spec(name: String, version: u64) -> pb::ModelSpec {
    pb::ModelSpec {
        name,
        version_choice: Some(VersionChoice::Version(i64::try_from(version).unwrap_or(i64::MAX))),
        ..pb::ModelSpec::default()
    }
}

#[tonic::async_trait]
impl PredictionService for Service {
    async fn predict(&self, request: Request<pb::PredictRequest>) -> Answer<pb::PredictResponse> {
        let until = deadline(request.metadata());
        let request = request.into_inner();
        let (model, version) = target(request.model_spec)?;
        let limit = self.shared.options.max_body_bytes;
        let node = &self.shared.node;
        let inputs = request
            .inputs
            .into_iter()
            .map(|(name, proto)| {
                let tensor = read_input(node, &model, &version, &name, proto, limit)?;
                Ok((name, tensor))
            })
            .collect::<Result<Vec<_>, Fault>>()?;
        let request = InferRequest {
            model,
            version,
            id: String::new(),
            inputs,
            outputs: request.output_filter,
            parameters: Parameters::new(),
            deadline: until,
            protocol: GRPC,
        };
        let response = node.infer(request).await.map_err(Fault::from)?;
        let outputs = response.outputs.iter().map(|(n, t)| (n.clone(), write_output(n, t)));
        Ok(Response::new(pb::PredictResponse {
            outputs: outputs.collect(),
            model_spec: Some(spec(response.model, response.version)),
        }))
    }

    async fn get_model_metadata(
        &self,
        request: Request<pb::GetModelMetadataRequest>,
    ) -> Answer<pb::GetModelMetadataResponse> {
        let request = request.into_inner();
        let (model, version) = target(request.model_spec)?;
        match request.metadata_field.as_slice() {
            [field] if field == "signature_def" => {}
            [] => return Err(Fault::invalid("metadata_field missing in request").into()),
            _ => {
                return Err(Fault::invalid(
                    "Unsupported metadata field - signature_def is the only one",
                )
                .into());
            }
        }
        let node = &self.shared.node;
        let metadata = node.model_metadata(&model, &version);
        let served = metadata.as_ref().ok().map(|m| m.version);
        node.record_call(GRPC, Method::GetModelMetadata, &model, served, metadata.is_ok());
        let metadata = metadata.map_err(Fault::from)?;
        let any = prost_types::Any {
            type_url: SIGNATURE_MAP_URL.to_owned(),
            value: signature_map(&metadata).encode_to_vec(),
        };
        Ok(Response::new(pb::GetModelMetadataResponse {
            model_spec: Some(spec(metadata.name, metadata.version)),
            metadata: [("signature_def".to_owned(), any)].into(),
        }))
    }

    async fn classify(
        &self,
        _: Request<pb::ClassificationRequest>,
    ) -> Answer<pb::ClassificationResponse> {
        Err(Status::unimplemented("Classify is not served"))
    }

    async fn regress(&self, _: Request<pb::RegressionRequest>) -> Answer<pb::RegressionResponse> {
        Err(Status::unimplemented("Regress is not served"))
    }

    async fn multi_inference(
        &self,
        _: Request<pb::MultiInferenceRequest>,
    ) -> Answer<pb::MultiInferenceResponse> {
        Err(Status::unimplemented("MultiInference is not served"))
    }
}

#[tonic::async_trait]
impl ModelService for Service {
    async fn get_model_status(
        &self,
        request: Request<pb::GetModelStatusRequest>,
    ) -> Answer<pb::GetModelStatusResponse> {
        let (model, version) = target(request.into_inner().model_spec)?;
        let node = &self.shared.node;
        let status = node.model_status(&model, &version);
        node.record_call(GRPC, Method::GetModelStatus, &model, None, status.is_ok());
        let list = status.map_err(Fault::from)?;
        Ok(Response::new(pb::GetModelStatusResponse {
            model_version_status: list.into_iter().map(status_message).collect(),
        }))
    }

    /// Reads the configuration file again; the configuration in the request is not taken over, as in
    /// OpenVINO Model Server.
    async fn handle_reload_config_request(
        &self,
        _: Request<pb::ReloadConfigRequest>,
    ) -> Answer<pb::ReloadConfigResponse> {
        let node = self.shared.node.clone();
        blocking(move || node.reload_config()).await?.map_err(Fault::from)?;
        Ok(Response::new(pb::ReloadConfigResponse {
            status: Some(pb::StatusProto::default()),
            metric: Vec::new(),
        }))
    }
}

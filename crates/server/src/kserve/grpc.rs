//! The service `inference.GRPCInferenceService`.

use super::config::config_message;
use super::datatype::datatype_name;
use super::infer::{EXTENSIONS, evaluate, is_batched};
use super::message::{encode_message, parse_message};
use super::order::{Lane, lane};
use super::request::ParsedInfer;
use super::statistics::statistics_message;
use super::stream::Answers;
use super::trace;
use crate::fault::Fault;
use crate::grpc::{deadline, earlier};
use crate::http::{Shared, blocking};
use crate::proto::kserve as pb;
use pb::grpc_inference_service_server::GrpcInferenceService;
use pb::model_repository_parameter::ParameterChoice;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use stead_node::{Method, Param, Parameters, Protocol, TensorInfo, VersionRef, parse_version};
use tonic::{Request, Response, Status, Streaming};

const GRPC: Protocol = Protocol::KserveGrpc;

/// The service over a node.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

impl Service {
    /// The service over the node of `shared`.
    pub fn new(shared: Arc<Shared>) -> Service {
        Service { shared }
    }
}

/// Evaluates a message. It is read before the future is made: what reading needs would make that larger, and it is moved
/// several times on its way to the task that drives it.
pub(super) fn infer(
    shared: Arc<Shared>,
    request: pb::ModelInferRequest,
    until: Option<Instant>,
) -> impl Future<Output = Result<pb::ModelInferResponse, Fault>> {
    let read = read(request, until);
    async move {
        let (model, version, parsed) = read?;
        let classes = parsed.outputs.iter().any(|w| w.classes.is_some());
        let wanted = if classes { parsed.outputs.clone() } else { Vec::new() };
        let response = evaluate(&shared.node, model, version, parsed, GRPC).await?;
        let batched = classes && is_batched(&shared.node, &response);
        encode_message(response, &wanted, batched)
    }
}

fn read(
    mut request: pb::ModelInferRequest,
    until: Option<Instant>,
) -> Result<(String, VersionRef, ParsedInfer), Fault> {
    let model = std::mem::take(&mut request.model_name);
    let version = parse_version(&request.model_version)?;
    let mut parsed = parse_message(request)?;
    parsed.deadline = earlier(parsed.deadline, until);
    Ok((model, version, parsed))
}

fn not_served<T>(call: &str) -> Result<Response<T>, Status> {
    Err(Status::unimplemented(format!("{call} is not served")))
}

/// Parameters of a load request.
fn repository_parameters(list: BTreeMap<String, pb::ModelRepositoryParameter>) -> Parameters {
    let value = |p: pb::ModelRepositoryParameter| match p.parameter_choice? {
        ParameterChoice::BoolParam(v) => Some(Param::Bool(v)),
        ParameterChoice::Int64Param(v) => Some(Param::I64(v)),
        ParameterChoice::StringParam(v) => Some(Param::Str(v)),
        // Only `file:` overrides are bytes, and those are refused by their name.
        ParameterChoice::BytesParam(_) => Some(Param::Str(String::new())),
    };
    list.into_iter().filter_map(|(name, p)| Some((name.into(), value(p)?))).collect()
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl GrpcInferenceService for Service {
    async fn server_live(
        &self,
        _: Request<pb::ServerLiveRequest>,
    ) -> Answer<pb::ServerLiveResponse> {
        Ok(Response::new(pb::ServerLiveResponse { live: self.shared.node.live() }))
    }

    async fn server_ready(
        &self,
        _: Request<pb::ServerReadyRequest>,
    ) -> Answer<pb::ServerReadyResponse> {
        Ok(Response::new(pb::ServerReadyResponse { ready: self.shared.node.ready() }))
    }

    async fn model_ready(
        &self,
        request: Request<pb::ModelReadyRequest>,
    ) -> Answer<pb::ModelReadyResponse> {
        let request = request.into_inner();
        let version = parse_version(&request.version).map_err(Fault::from)?;
        let ready = self.shared.node.model_ready(&request.name, &version);
        self.shared.node.record_call(GRPC, Method::ModelReady, &request.name, None, ready);
        Ok(Response::new(pb::ModelReadyResponse { ready }))
    }

    async fn server_metadata(
        &self,
        _: Request<pb::ServerMetadataRequest>,
    ) -> Answer<pb::ServerMetadataResponse> {
        Ok(Response::new(pb::ServerMetadataResponse {
            name: self.shared.options.name.clone(),
            version: self.shared.options.version.clone(),
            extensions: EXTENSIONS.map(str::to_owned).to_vec(),
        }))
    }

    async fn model_metadata(
        &self,
        request: Request<pb::ModelMetadataRequest>,
    ) -> Answer<pb::ModelMetadataResponse> {
        let request = request.into_inner();
        let version = parse_version(&request.version).map_err(Fault::from)?;
        let node = &self.shared.node;
        let metadata = node.model_metadata(&request.name, &version);
        let served = metadata.as_ref().ok().map(|m| m.version);
        node.record_call(GRPC, Method::ModelMetadata, &request.name, served, metadata.is_ok());
        let metadata = metadata.map_err(Fault::from)?;
        let tensor = |t: TensorInfo| pb::model_metadata_response::TensorMetadata {
            name: t.name,
            datatype: datatype_name(t.dtype),
            shape: t.shape,
        };
        Ok(Response::new(pb::ModelMetadataResponse {
            name: metadata.name,
            versions: metadata.versions.iter().map(u64::to_string).collect(),
            platform: metadata.platform,
            inputs: metadata.inputs.into_iter().map(tensor).collect(),
            outputs: metadata.outputs.into_iter().map(tensor).collect(),
        }))
    }

    async fn model_infer(
        &self,
        request: Request<pb::ModelInferRequest>,
    ) -> Answer<pb::ModelInferResponse> {
        let until = deadline(request.metadata());
        let answer = infer(self.shared.clone(), request.into_inner(), until).await?;
        Ok(Response::new(answer))
    }

    type ModelStreamInferStream = Answers<Streaming<pb::ModelInferRequest>>;

    async fn model_stream_infer(
        &self,
        request: Request<Streaming<pb::ModelInferRequest>>,
    ) -> Answer<Self::ModelStreamInferStream> {
        let until = deadline(request.metadata());
        let shared = self.shared.clone();
        // As much as one largest request.
        let limit = shared.options.max_body_bytes;
        let node = shared.node.clone();
        let lane = move |request: &pb::ModelInferRequest| {
            let version = parse_version(&request.model_version);
            let stateful = version.is_ok_and(|v| node.is_stateful(&request.model_name, &v));
            if stateful { lane(request) } else { Lane::Stream }
        };
        Ok(Response::new(Answers::new(request.into_inner(), limit, lane, move |message| {
            Box::pin(infer(shared.clone(), message, until))
        })))
    }

    async fn model_config(
        &self,
        request: Request<pb::ModelConfigRequest>,
    ) -> Answer<pb::ModelConfigResponse> {
        let request = request.into_inner();
        let version = parse_version(&request.version).map_err(Fault::from)?;
        let config = self.shared.node.model_config(&request.name, &version).map_err(Fault::from)?;
        Ok(Response::new(pb::ModelConfigResponse { config: Some(config_message(&config)) }))
    }

    async fn model_statistics(
        &self,
        request: Request<pb::ModelStatisticsRequest>,
    ) -> Answer<pb::ModelStatisticsResponse> {
        let request = request.into_inner();
        let version = parse_version(&request.version).map_err(Fault::from)?;
        let model = Some(request.name.as_str()).filter(|n| !n.is_empty());
        let list = self.shared.node.statistics(model, &version).map_err(Fault::from)?;
        Ok(Response::new(statistics_message(list)))
    }

    async fn repository_index(
        &self,
        request: Request<pb::RepositoryIndexRequest>,
    ) -> Answer<pb::RepositoryIndexResponse> {
        let list = self.shared.node.repository_index(request.into_inner().ready);
        let models = list
            .into_iter()
            .map(|e| pb::repository_index_response::ModelIndex {
                name: e.name,
                version: e.version.map(|v| v.to_string()).unwrap_or_default(),
                state: e.state.map(|s| s.name().to_owned()).unwrap_or_default(),
                reason: e.reason,
            })
            .collect();
        Ok(Response::new(pb::RepositoryIndexResponse { models }))
    }

    async fn repository_model_load(
        &self,
        request: Request<pb::RepositoryModelLoadRequest>,
    ) -> Answer<pb::RepositoryModelLoadResponse> {
        let request = request.into_inner();
        let parameters = repository_parameters(request.parameters);
        let node = self.shared.node.clone();
        blocking(move || node.load_model(&request.model_name, &parameters))
            .await?
            .map_err(Fault::from)?;
        Ok(Response::new(pb::RepositoryModelLoadResponse {}))
    }

    async fn repository_model_unload(
        &self,
        request: Request<pb::RepositoryModelUnloadRequest>,
    ) -> Answer<pb::RepositoryModelUnloadResponse> {
        let node = self.shared.node.clone();
        blocking(move || node.unload_model(&request.into_inner().model_name))
            .await?
            .map_err(Fault::from)?;
        Ok(Response::new(pb::RepositoryModelUnloadResponse {}))
    }

    async fn system_shared_memory_status(
        &self,
        _: Request<pb::SystemSharedMemoryStatusRequest>,
    ) -> Answer<pb::SystemSharedMemoryStatusResponse> {
        not_served("SystemSharedMemoryStatus")
    }

    async fn system_shared_memory_register(
        &self,
        _: Request<pb::SystemSharedMemoryRegisterRequest>,
    ) -> Answer<pb::SystemSharedMemoryRegisterResponse> {
        not_served("SystemSharedMemoryRegister")
    }

    async fn system_shared_memory_unregister(
        &self,
        _: Request<pb::SystemSharedMemoryUnregisterRequest>,
    ) -> Answer<pb::SystemSharedMemoryUnregisterResponse> {
        not_served("SystemSharedMemoryUnregister")
    }

    async fn cuda_shared_memory_status(
        &self,
        _: Request<pb::CudaSharedMemoryStatusRequest>,
    ) -> Answer<pb::CudaSharedMemoryStatusResponse> {
        not_served("CudaSharedMemoryStatus")
    }

    async fn cuda_shared_memory_register(
        &self,
        _: Request<pb::CudaSharedMemoryRegisterRequest>,
    ) -> Answer<pb::CudaSharedMemoryRegisterResponse> {
        not_served("CudaSharedMemoryRegister")
    }

    async fn cuda_shared_memory_unregister(
        &self,
        _: Request<pb::CudaSharedMemoryUnregisterRequest>,
    ) -> Answer<pb::CudaSharedMemoryUnregisterResponse> {
        not_served("CudaSharedMemoryUnregister")
    }

    async fn trace_setting(
        &self,
        request: Request<pb::TraceSettingRequest>,
    ) -> Answer<pb::TraceSettingResponse> {
        let request = request.into_inner();
        let model = Some(request.model_name.as_str()).filter(|name| !name.is_empty());
        let changes: Vec<(String, Vec<String>)> =
            request.settings.into_iter().map(|(name, setting)| (name, setting.value)).collect();
        trace::answer(&self.shared.node, model, &changes)?;
        Ok(Response::new(trace::message()))
    }

    async fn log_settings(
        &self,
        _: Request<pb::LogSettingsRequest>,
    ) -> Answer<pb::LogSettingsResponse> {
        not_served("LogSettings")
    }
}

//! Steps over gRPC: one call each, or many sequences on one `ModelStreamInfer`.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use stead_server::proto::kserve as pb;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};

use super::trial::{Step, Trial};
use crate::failure::Failure;
use crate::http_client::Target;

/// A connection.
pub type Client = pb::grpc_inference_service_client::GrpcInferenceServiceClient<Channel>;

/// Larger than every answer.
const MAX_MESSAGE: usize = 1 << 30;

/// How long a server may take to accept.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a connection.
///
/// # Errors
/// Nobody answers.
pub async fn connect(target: &Target) -> Result<Client, Failure> {
    let bad = |e: tonic::transport::Error| {
        let cause = std::error::Error::source(&e).map(|c| format!(": {c}")).unwrap_or_default();
        Failure::failed(format!(
            "no gRPC answer from {target}: {e}{cause}; is it the server's gRPC port?"
        ))
    };
    let endpoint = Endpoint::from_shared(format!("http://{}", target.authority())).map_err(bad)?;
    let channel = endpoint.connect_timeout(TIMEOUT).tcp_nodelay(true).connect().await;
    Ok(Client::new(channel.map_err(bad)?).max_decoding_message_size(MAX_MESSAGE))
}

/// Sends the steps of one sequence, each when it is due and the one before is answered.
pub async fn unary(trial: &Trial<'_>, mut client: Client, sequence: usize) {
    for step in 0..trial.schedule.steps {
        trial.until_due(sequence, step).await;
        match client.model_infer(request(trial, &trial.step(sequence, step), String::new())).await {
            Ok(answer) => trial.answered(sequence, step, &outputs(trial, answer.into_inner())),
            // The later steps would fail too, or be of no use.
            Err(status) => {
                return trial.failed(format!("{:?}: {}", status.code(), status.message()));
            }
        }
    }
}

/// Sends the steps of the `share`-th of `shares` parts of the sequences on one stream.
pub async fn stream(trial: &Trial<'_>, mut client: Client, share: usize, shares: usize) {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let dead = std::sync::Mutex::new(HashSet::new());
    let is_dead = |sequence: &usize| dead.lock().is_ok_and(|dead| dead.contains(sequence));
    let send = async move {
        for (sequence, step) in trial.schedule.of_share(share, shares) {
            trial.until_due(sequence, step).await;
            if is_dead(&sequence) {
                continue;
            }
            // The id of the request tells which step an answer belongs to.
            let id = format!("{sequence}/{step}");
            if sender.send(request(trial, &trial.step(sequence, step), id)).is_err() {
                return;
            }
        }
    };
    let receive = async {
        let answers = client.model_stream_infer(UnboundedReceiverStream::new(receiver)).await;
        let mut answers = match answers {
            Ok(answers) => answers.into_inner(),
            Err(status) => return trial.failed(status.message()),
        };
        loop {
            match answers.message().await {
                Ok(Some(answer)) => {
                    if let Some(sequence) = note(trial, answer)
                        && let Ok(mut dead) = dead.lock()
                    {
                        dead.insert(sequence);
                    }
                }
                Ok(None) => return,
                Err(status) => return trial.failed(status.message()),
            }
        }
    };
    tokio::join!(send, receive);
}

/// Notes an answer of a stream; gives the sequence when it failed.
fn note(trial: &Trial<'_>, answer: pb::ModelStreamInferResponse) -> Option<usize> {
    let response = answer.infer_response.unwrap_or_default();
    let place =
        response.id.split_once('/').and_then(|(s, k)| Some((s.parse().ok()?, k.parse().ok()?)));
    if !answer.error_message.is_empty() {
        trial.failed(answer.error_message);
        return place.map(|(sequence, _)| sequence);
    }
    match place {
        Some((sequence, step)) => trial.answered(sequence, step, &outputs(trial, response)),
        None => trial.failed("an answer without the id of its request"),
    }
    None
}

fn request(trial: &Trial<'_>, step: &Step, id: String) -> pb::ModelInferRequest {
    use pb::infer_parameter::ParameterChoice as Choice;
    let parameter = |name: &str, choice| {
        (name.to_owned(), pb::InferParameter { parameter_choice: Some(choice) })
    };
    let flags = [("sequence_start", step.is_start), ("sequence_end", step.is_end)];
    let flags = flags
        .into_iter()
        .filter(|(_, set)| *set)
        .map(|(n, _)| parameter(n, Choice::BoolParam(true)));
    let sequence = parameter("sequence_id", Choice::Uint64Param(step.id));
    let raw = trial.signals.frame(step.frame).map(|f| &*f.raw).unwrap_or_default();
    let input = |t: &super::signals::RawTensor| pb::model_infer_request::InferInputTensor {
        name: t.name.clone(),
        datatype: t.datatype.clone(),
        shape: t.shape.clone(),
        ..Default::default()
    };
    pb::ModelInferRequest {
        model_name: trial.model.to_owned(),
        id,
        parameters: std::iter::once(sequence).chain(flags).collect(),
        inputs: raw.iter().map(input).collect(),
        raw_input_contents: raw.iter().map(|t| t.bytes.clone()).collect(),
        ..Default::default()
    }
}

/// Outputs by name, if they are compared.
fn outputs(trial: &Trial<'_>, answer: pb::ModelInferResponse) -> Vec<(String, Bytes)> {
    if !trial.signals.is_checked() {
        return Vec::new();
    }
    let names = answer.outputs.into_iter().map(|o| o.name);
    names.zip(answer.raw_output_contents).collect()
}

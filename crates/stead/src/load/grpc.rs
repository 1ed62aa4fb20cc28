//! Steps over gRPC: one call each, or many sequences on one `ModelStreamInfer`.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use stead_server::proto::kserve as pb;
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::calls::Calls;
use super::carry::Carried;
use super::connection::Connection;
use super::signals::RawTensor;
use super::trial::{Step, Trial};
use crate::failure::Failure;
use crate::http_client::Target;

/// A connection.
pub type Client = pb::grpc_inference_service_client::GrpcInferenceServiceClient<Connection>;

/// The method of steps that are a call each.
const MODEL_INFER: &str = "/inference.GRPCInferenceService/ModelInfer";

/// Larger than every answer.
const MAX_MESSAGE: usize = 1 << 30;

/// How long a server may take to accept.
const TIMEOUT: Duration = Duration::from_secs(10);

fn unanswered(target: &Target, text: &str) -> Failure {
    Failure::failed(format!("no gRPC answer from {target}: {text}; is it the server's gRPC port?"))
}

/// Opens a connection for steps that are a call each.
///
/// # Errors
/// Nobody answers.
pub async fn calls(target: &Target) -> Result<Calls, Failure> {
    let calls = Calls::open(target, MODEL_INFER, TIMEOUT).await;
    calls.map_err(|text| unanswered(target, &text))
}

/// Opens a connection.
///
/// # Errors
/// Nobody answers.
pub async fn connect(target: &Target) -> Result<Client, Failure> {
    let bad = |text: String| unanswered(target, &text);
    let origin = format!("{}://{}", target.scheme(), target.authority()).parse();
    let origin = origin.map_err(|e: tonic::codegen::http::uri::InvalidUri| bad(e.to_string()))?;
    let connection = Connection::open(target, TIMEOUT).await.map_err(bad)?;
    Ok(Client::with_origin(connection, origin).max_decoding_message_size(MAX_MESSAGE))
}

/// Sends the steps of one sequence, each when it is due and the one before is answered.
pub async fn unary(trial: &Trial<'_>, calls: &Calls, sequence: usize) {
    let mut carried = Carried::new(trial.carry);
    for step in 0..trial.schedule.steps {
        let due = trial.turn(sequence, step).await;
        let request = request(trial, &trial.step(sequence, step), &carried, String::new());
        let answer = calls.call(&request).await;
        let answer = answer.map_err(|why| why.to_string());
        let noted = answer.map(|answer| outputs(trial, answer)).and_then(|outputs| {
            trial.answered(sequence, step, due, &outputs);
            carried.take(outputs)
        });
        // The later steps would fail too, or be of no use.
        if let Err(text) = noted {
            return trial.failed(text);
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
            trial.turn(sequence, step).await;
            if is_dead(&sequence) {
                continue;
            }
            // The id of the request tells which step an answer belongs to.
            let id = format!("{sequence}/{step}");
            let step = trial.step(sequence, step);
            if sender.send(request(trial, &step, &Carried::default(), id)).is_err() {
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
        Some((sequence, step)) => {
            let due = trial.schedule.due(sequence, step);
            trial.answered(sequence, step, due, &outputs(trial, response));
        }
        None => trial.failed("an answer without the id of its request"),
    }
    None
}

fn request(
    trial: &Trial<'_>,
    step: &Step,
    carried: &Carried<'_>,
    id: String,
) -> pb::ModelInferRequest {
    use pb::infer_parameter::ParameterChoice as Choice;
    let parameter = |name: &str, choice| {
        (name.to_owned(), pb::InferParameter { parameter_choice: Some(choice) })
    };
    let place = step.place.iter().flat_map(|place| {
        let flags = [("sequence_start", place.is_start), ("sequence_end", place.is_end)];
        let flags = flags.into_iter().filter(|(_, set)| *set);
        let flags = flags.map(|(name, _)| parameter(name, Choice::BoolParam(true)));
        // Triton takes an id as a signed number only.
        let id = Choice::Int64Param(i64::try_from(place.id).unwrap_or(i64::MAX));
        std::iter::once(parameter("sequence_id", id)).chain(flags)
    });
    let raw = carried.inputs(trial.signals.frame(step.frame));
    let infer = infer(trial.model, &raw);
    pb::ModelInferRequest { id, parameters: place.collect(), ..infer }
}

/// A request for a model with these inputs.
pub fn infer(model: &str, raw: &[&RawTensor]) -> pb::ModelInferRequest {
    let input = |t: &&RawTensor| pb::model_infer_request::InferInputTensor {
        name: t.name.clone(),
        datatype: t.datatype.clone(),
        shape: t.shape.clone(),
        ..Default::default()
    };
    pb::ModelInferRequest {
        model_name: model.to_owned(),
        inputs: raw.iter().map(input).collect(),
        raw_input_contents: raw.iter().map(|t| t.bytes.clone()).collect(),
        ..Default::default()
    }
}

/// The outputs, if they are compared or carried.
fn outputs(trial: &Trial<'_>, answer: pb::ModelInferResponse) -> Vec<RawTensor> {
    if !trial.reads_answers() {
        return Vec::new();
    }
    let tensors = answer.outputs.into_iter().zip(answer.raw_output_contents);
    let tensor = |(o, bytes): (pb::model_infer_response::InferOutputTensor, Bytes)| RawTensor {
        name: o.name,
        datatype: o.datatype,
        shape: o.shape,
        bytes,
    };
    tensors.map(tensor).collect()
}

//! Pipelines: graphs of models that one request runs through.
//!
//! [`build`] fits a pipeline of the configuration to the models that are served, [`run`] sends the values of one
//! request through it. A pipeline holds the very model versions that it was fitted to, so that a request sees
//! one set of models; when one of them changes, the repository builds the pipeline anew.
//!
//! Stateful models keep no sequences of their own here: a sequence of the pipeline has the states of all its
//! nodes as one value, which a step replaces when all nodes have succeeded. So no order of failures can let
//! one node go ahead of another.

mod branches;
mod build;
mod part;
mod run;

pub(crate) use build::build;

use crate::instance::{late, size, wait};
use crate::memory::{Budget, Held};
use crate::recorder::Recorder;
use crate::sequences::{self, Arrived, Call, Cleaner, Client, Sequencer, Step, Turn};
use crate::servable::Servable;
use crate::signature::Signature;
use crate::{
    Error, ErrorKind, InferRequest, InferResponse, ModelConfig, ModelMetadata, Parameters,
    SequenceBatching, VersionMetrics, VersionPolicyInfo,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stead_app::{Demultiply, Origin, PipelineSettings, SequenceSettings};
use stead_tensor::Tensor;
use tokio::sync::oneshot;

/// By KServe's rule `<project>_<format>`.
const PLATFORM: &str = "stead_pipeline";

/// A node that is fitted to its model.
struct Stage {
    name: String,
    model: Arc<Servable>,
    /// The places of the model's inputs, and where their values come from.
    wires: Vec<(usize, Origin)>,
    /// The places of the model's outputs that others refer to.
    outputs: Vec<usize>,
    demultiply: Option<Demultiply>,
    gathers: bool,
    /// The demultiplexers in whose branches it runs, the outermost first; none stands for the request.
    level: Vec<Option<usize>>,
    /// The place of its state among those of the pipeline, if the model is stateful.
    state: Option<usize>,
}

/// The way of values through the stages, which stand in an order in which each comes behind what it needs.
struct Flow {
    stages: Vec<Stage>,
    /// The places of the pipeline's inputs in its signature.
    inputs: Vec<Option<usize>>,
    demultiply: Option<Demultiply>,
    outputs: Vec<Origin>,
}

/// A pipeline, able to answer.
pub(crate) struct Pipeline {
    name: String,
    settings: PipelineSettings,
    flow: Flow,
    signature: Signature,
    sequences: Option<Arc<Sequencer>>,
    recorder: Arc<Recorder>,
    budget: Arc<Budget>,
    pub(crate) cleaner: Arc<Cleaner>,
}

impl Pipeline {
    /// Pipelines have no versions; where one is needed, it is this one, as in OpenVINO Model Server.
    pub(crate) const VERSION: u64 = 1;

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    pub(crate) fn sequences(&self) -> Option<&Arc<Sequencer>> {
        self.sequences.as_ref()
    }

    /// Whether it was built from these settings and these models.
    pub(crate) fn is_of(&self, settings: &PipelineSettings, models: &[Arc<Servable>]) -> bool {
        let own = self.flow.stages.iter().map(|s| &s.model);
        self.settings == *settings
            && own.len() == models.len()
            && own.zip(models).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Takes over what its models' settings say about the life of sequences.
    pub(crate) fn change(&self, settings: &[&SequenceSettings]) {
        if let Some(sequences) = &self.sequences {
            sequences.change(&build::joint(settings));
        }
    }

    /// Answers a request.
    pub(crate) async fn answer(
        &self,
        mut request: InferRequest,
        arrived: Instant,
    ) -> Result<InferResponse, Error> {
        let call = self.sequences.as_ref().map(|_| sequences::read(&mut request)).transpose()?;
        if let (Some(call), Some(sequences)) = (&call, &self.sequences) {
            sequences.check(&call.order)?;
        }
        let InferRequest { id, inputs, outputs, deadline, .. } = request;
        let (inputs, wanted) = self.signature.arrange(&self.name, inputs, &outputs)?;
        let names: Vec<String> =
            wanted.iter().map(|&i| self.signature.outputs[i].name.clone()).collect();
        let mut response = InferResponse {
            model: self.name.clone(),
            version: Pipeline::VERSION,
            id,
            outputs: Vec::new(),
            parameters: Parameters::new(),
        };
        let (Some(call), Some(sequences)) = (call, &self.sequences) else {
            let run = run::Request { inputs, wanted, deadline };
            let (outputs, _) = self.run(run, None).await?;
            response.outputs = names.into_iter().zip(outputs).collect();
            return Ok(response);
        };
        let held = self.hold(&inputs)?;
        let run = run::Request { inputs, wanted, deadline };
        let step = self.step(sequences, call, run, names, arrived, held).await?;
        sequences::answer(response, step)
    }

    /// Runs a request as a step of its sequence.
    async fn step(
        &self,
        sequences: &Arc<Sequencer>,
        call: Call,
        run: run::Request,
        names: Vec<String>,
        queued: Instant,
        held: Held,
    ) -> Result<sequences::StepAnswer, Error> {
        let (turn, my_turn) = oneshot::channel();
        let deadline = run.deadline;
        let step = Box::new(Step {
            inputs: Vec::new(),
            wanted: Vec::new(),
            names,
            rows: 1,
            deadline,
            queued,
            held: Some(held),
            form: call.form,
            client: Client::Here,
            turn: Some(turn),
        });
        let answer = match sequences.arrive(call, step) {
            Arrived::Done(said) => return said,
            Arrived::Waits(answer) => answer,
        };
        // No turn comes for a request that is refused while it waits, or gets the answer of an earlier step.
        if let Some(turn) = self.turn(my_turn, deadline).await? {
            self.recorder.waited([queued.elapsed()]);
            let done = self.run(run, turn.state.as_ref()).await;
            turn.end(done);
        }
        wait(&self.name, answer, deadline).await
    }

    async fn turn(
        &self,
        turn: oneshot::Receiver<Turn>,
        deadline: Option<Instant>,
    ) -> Result<Option<Turn>, Error> {
        let Some(deadline) = deadline else { return Ok(turn.await.ok()) };
        let turn = tokio::time::timeout_at(deadline.into(), turn).await;
        turn.map(Result::ok).map_err(|_| late(&self.name))
    }

    /// Takes the memory of inputs that wait for their turn from the budget of the node.
    fn hold(&self, inputs: &[Option<Tensor>]) -> Result<Held, Error> {
        self.budget.take(inputs.iter().flatten().map(size).sum()).ok_or_else(|| {
            self.recorder.rejected();
            let (model, limit) = (self.name.clone(), self.budget.limit());
            ErrorKind::QueueMemory { model, limit }.into()
        })
    }

    pub(crate) fn metadata(&self, versions: Vec<u64>) -> ModelMetadata {
        ModelMetadata {
            name: self.name.clone(),
            version: Pipeline::VERSION,
            versions,
            platform: PLATFORM.to_owned(),
            inputs: self.signature.input_infos(),
            outputs: self.signature.output_infos(),
            special_inputs: self
                .sequences
                .iter()
                .flat_map(|_| sequences::special_inputs())
                .collect(),
        }
    }

    pub(crate) fn config(&self) -> ModelConfig {
        let node = |stage: &Stage| {
            let model = stage.model.model().map_or("", |m| &m.model);
            let text = format!("model {model}, version {}", stage.model.version());
            (format!("node.{}", stage.name), text)
        };
        let nodes = self.flow.stages.iter().map(node);
        let states = self.sequences.iter().flat_map(|s| s.describe());
        ModelConfig {
            name: self.name.clone(),
            platform: PLATFORM.to_owned(),
            backend: "stead".to_owned(),
            version_policy: VersionPolicyInfo::Latest(1),
            max_batch_size: 0,
            inputs: self.signature.input_infos(),
            outputs: self.signature.output_infos(),
            instances: 1,
            sequence_batching: self.sequences.as_ref().map(|s| {
                let (sequences, idle) = s.limits();
                let micros = |t: Duration| u64::try_from(t.as_micros()).unwrap_or(u64::MAX);
                SequenceBatching {
                    max_candidate_sequences: sequences as u64,
                    max_queue_delay_microseconds: 0,
                    max_sequence_idle_microseconds: idle.map_or(0, micros),
                }
            }),
            dynamic_batching: None,
            default_model_filename: String::new(),
            // Those of its models are told by these.
            states: Vec::new(),
            windows: Vec::new(),
            parameters: nodes.chain(states).collect(),
        }
    }

    pub(crate) fn metrics(&self) -> VersionMetrics {
        VersionMetrics {
            sequences: self.sequences.as_ref().map(|s| s.metrics()),
            ..self.recorder.metrics()
        }
    }
}

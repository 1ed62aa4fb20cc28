//! What a name stands for: a model version, or a pipeline of them. Requests cannot tell the two apart.

use crate::instance::{Begun, Instance};
use crate::pipeline::Pipeline;
use crate::recorder::{Call, End, Recorder};
use crate::sequences::Sequencer;
use crate::trace;
use crate::{
    Code, Error, ErrorKind, InferRequest, InferResponse, ModelConfig, ModelMetadata, VersionMetrics,
};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use stead_sequence::Order;

/// A loaded model version or a pipeline, able to answer.
pub(crate) enum Servable {
    Model(Box<Instance>),
    Pipeline(Arc<Pipeline>),
}

impl Servable {
    fn name(&self) -> &str {
        match self {
            Servable::Model(model) => &model.model,
            Servable::Pipeline(pipeline) => pipeline.name(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        match self {
            Servable::Model(model) => model.version,
            Servable::Pipeline(_) => Pipeline::VERSION,
        }
    }

    /// The model, if it is none of several.
    pub(crate) fn model(&self) -> Option<&Instance> {
        match self {
            Servable::Model(model) => Some(model),
            Servable::Pipeline(_) => None,
        }
    }

    /// The pipeline, if it is one.
    pub(crate) fn pipeline(&self) -> Option<&Pipeline> {
        match self {
            Servable::Model(_) => None,
            Servable::Pipeline(pipeline) => Some(pipeline),
        }
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        match self {
            Servable::Model(model) => model.recorder(),
            Servable::Pipeline(pipeline) => pipeline.recorder(),
        }
    }

    /// Answers a request. It has arrived, and a quick one has run, when this returns.
    pub(crate) fn infer(self: Arc<Self>, request: InferRequest, arrived: Instant) -> Answering {
        let call = Call::begin(Arc::clone(self.recorder()), request.protocol, arrived);
        let begun = match &*self {
            Servable::Model(model) => model.begin(request, arrived),
            Servable::Pipeline(_) if trace::is_wanted(&request.parameters) => {
                Err(trace::refused("pipelines"))
            }
            Servable::Pipeline(pipeline) => {
                let pipeline = Arc::clone(pipeline);
                return Answering::Waits(Box::pin(async move {
                    self.end(call, pipeline.answer(request, arrived).await)
                }));
            }
        };
        match begun {
            Ok(Begun::Waits(waiting)) => {
                Answering::Waits(Box::pin(async move { self.end(call, waiting.answer().await) }))
            }
            Ok(Begun::Done(response)) => Answering::Done(self.end(call, Ok(response))),
            Err(error) => Answering::Done(self.end(call, Err(error))),
        }
    }

    /// Counts a request that has its answer.
    fn end(
        &self,
        call: Call,
        answer: Result<InferResponse, Error>,
    ) -> Result<InferResponse, Error> {
        call.end(match &answer {
            Ok(_) if self.is_stateful() => End::Step,
            Ok(_) => End::Success,
            Err(e) if e.code == Code::DeadlineExceeded => End::Late,
            Err(e) if e.code == Code::Cancelled => End::Cancelled,
            Err(_) => End::Failure,
        });
        answer
    }

    fn sequencer(&self) -> Option<&Arc<Sequencer>> {
        match self {
            Servable::Model(model) => model.sequences(),
            Servable::Pipeline(pipeline) => pipeline.sequences(),
        }
    }

    /// The sequences of a stateful model.
    ///
    /// # Errors
    /// [`ErrorKind::NotStateful`].
    pub(crate) fn sequences(&self) -> Result<&Arc<Sequencer>, Error> {
        let model = || ErrorKind::NotStateful { model: self.name().to_owned() }.into();
        self.sequencer().ok_or_else(model)
    }

    /// Whether requests are steps of sequences.
    pub(crate) fn is_stateful(&self) -> bool {
        self.sequencer().is_some()
    }

    /// Whether a sequence lives here.
    pub(crate) fn has_sequences(&self) -> bool {
        self.sequencer().is_some_and(|s| s.is_active())
    }

    /// Whether a request is for a sequence that lives here, or has its answer here.
    pub(crate) fn knows(&self, order: &Order) -> bool {
        self.sequencer().is_some_and(|s| s.knows(order))
    }

    /// Lives on for the sequences that began here, although no new ones do. `false` when there are none.
    pub(crate) fn drain(self: &Arc<Self>) -> bool {
        let cleaner = match &**self {
            Servable::Model(model) => &model.cleaner,
            Servable::Pipeline(pipeline) => &pipeline.cleaner,
        };
        self.sequencer().iter().for_each(|s| s.finish_only());
        let lives = self.has_sequences();
        if lives {
            cleaner.keep(self);
        }
        lives
    }

    pub(crate) fn metadata(&self, versions: Vec<u64>) -> ModelMetadata {
        match self {
            Servable::Model(model) => model.metadata(versions),
            Servable::Pipeline(pipeline) => pipeline.metadata(versions),
        }
    }

    pub(crate) fn config(&self) -> ModelConfig {
        match self {
            Servable::Model(model) => model.config(),
            Servable::Pipeline(pipeline) => pipeline.config(),
        }
    }

    pub(crate) fn metrics(&self) -> VersionMetrics {
        match self {
            Servable::Model(model) => model.metrics(),
            Servable::Pipeline(pipeline) => pipeline.metrics(),
        }
    }
}

/// A request that has arrived. One that waits is boxed, so that calls that do not wait carry no room for it around.
pub(crate) enum Answering {
    /// It has its answer.
    Done(Result<InferResponse, Error>),
    /// It waits.
    Waits(Pin<Box<dyn Future<Output = Result<InferResponse, Error>> + Send>>),
}

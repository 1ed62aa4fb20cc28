//! From a request to its answer.

use super::Instance;
use crate::scheduler::{Answer, Arrival, Job, Reply};
use crate::sequences::{self, Arrived, Client, Step, StepAnswer};
use crate::trace::{self, Trace};
use crate::{Error, ErrorKind, InferRequest, InferResponse, Parameters};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// A request that was let in.
pub(crate) enum Begun {
    /// It has run.
    Done(InferResponse),
    /// It waits, or runs somewhere else.
    Waits(Waiting),
}

/// A request that waits for its answer.
pub(crate) struct Waiting {
    /// The answer so far.
    response: InferResponse,
    deadline: Option<Instant>,
    source: Source,
}

/// Where the outputs come from.
enum Source {
    /// A step of a sequence.
    Step(oneshot::Receiver<Result<StepAnswer, Error>>),
    /// A run, and the names of its outputs.
    Run(Vec<String>, oneshot::Receiver<Answer>, Option<Arc<Trace>>),
}

impl Waiting {
    /// Waits for the answer.
    ///
    /// # Errors
    /// Those of evaluation, and of waiting beyond the deadline.
    pub(crate) async fn answer(self) -> Result<InferResponse, Error> {
        let Waiting { mut response, deadline, source } = self;
        match source {
            Source::Step(answer) => {
                let answer = wait(&response.model, answer, deadline).await?;
                sequences::answer(response, answer)
            }
            Source::Run(names, answer, trace) => {
                let outputs = wait(&response.model, answer, deadline).await?;
                response.outputs = names.into_iter().zip(outputs).collect();
                trace.iter().for_each(|trace| trace.tell(&mut response.parameters));
                Ok(response)
            }
        }
    }
}

impl Instance {
    /// Lets a request in: it has run when this returns, or waits.
    ///
    /// # Errors
    /// Those of validation and queueing, and of a run that was quick.
    pub(crate) fn begin(
        &self,
        mut request: InferRequest,
        arrived: Instant,
    ) -> Result<Begun, Error> {
        let call = self.sequences.as_ref().map(|_| sequences::read(&mut request)).transpose()?;
        if let (Some(call), Some(sequences)) = (&call, &self.sequences) {
            sequences.check(&call.order)?;
        }
        let trace = trace::is_wanted(&request.parameters).then(|| Arc::new(Trace::new(arrived)));
        if trace.is_some() && call.is_some() {
            return Err(trace::refused("steps of sequences"));
        }
        let InferRequest { model, id, inputs, outputs, deadline, .. } = request;
        let (inputs, wanted) = self.signature.arrange(&self.model, inputs, &outputs)?;
        let rows = match &self.scheduler.limits().batching {
            Some(batching) => {
                batching.rows(&inputs, self.signature.inputs.iter().map(|i| &*i.name))?
            }
            None => 1,
        };
        let deadline = self.deadline(deadline, arrived);
        let names: Vec<String> =
            wanted.iter().map(|&i| self.signature.outputs[i].name.clone()).collect();
        let mut response = InferResponse {
            model,
            version: self.version,
            id,
            outputs: Vec::new(),
            parameters: Parameters::new(),
        };
        if let (Some(call), Some(sequences)) = (call, &self.sequences) {
            let held = Some(self.hold(&inputs)?);
            let step = Box::new(Step {
                inputs,
                wanted,
                names,
                rows,
                deadline,
                queued: arrived,
                held,
                form: call.form,
                client: Client::Here,
                turn: None,
            });
            return match sequences.arrive(call, step) {
                Arrived::Done(said) => sequences::answer(response, said?).map(Begun::Done),
                Arrived::Waits(answer) => {
                    Ok(Begun::Waits(Waiting { response, deadline, source: Source::Step(answer) }))
                }
            };
        }
        let times = Arrival { queued: arrived, deadline };
        // What is traced takes the way of requests that are not quick.
        if trace.is_none()
            && let Some(answer) = self.scheduler.run_inline(None, &inputs, &wanted, rows, times)
        {
            response.outputs = names.into_iter().zip(answer?).collect();
            return Ok(Begun::Done(response));
        }
        let held = Some(self.hold(&inputs)?);
        let (client, answer) = oneshot::channel();
        let reply = Reply::Client(client);
        let traced = trace.clone();
        let (queued, place) = (arrived, None);
        let job = Job { inputs, wanted, rows, deadline, queued, reply, held, place, trace };
        match self.scheduler.submit(job) {
            Some((_, error)) => Err(error),
            None => {
                let source = Source::Run(names, answer, traced);
                Ok(Begun::Waits(Waiting { response, deadline, source }))
            }
        }
    }
}

/// Waits for an answer until the deadline. The scheduler looks at deadlines too, but only between steps: this
/// answers in time.
pub(crate) async fn wait<T>(
    model: &str,
    answer: oneshot::Receiver<Result<T, Error>>,
    deadline: Option<Instant>,
) -> Result<T, Error> {
    let gone = |_| Error::from(ErrorKind::ShuttingDown);
    let Some(deadline) = deadline else { return answer.await.map_err(gone)? };
    match tokio::time::timeout_at(deadline.into(), answer).await {
        Ok(answer) => answer.map_err(gone)?,
        Err(_) => Err(late(model)),
    }
}

/// The error of a request whose deadline passed while it waited.
pub(crate) fn late(model: &str) -> Error {
    ErrorKind::DeadlineExceeded { model: model.to_owned(), stage: "waiting" }.into()
}

//! One request on its way through a pipeline.
//!
//! A stage starts when everything that it needs is there; stages that do not need each other run at the same
//! time, and so do the branches of a stage. All of them are awaited in one place. When one fails, the request
//! fails at once, and runs that have not begun are dropped with the channel that they would answer to.

use super::branches::{Row, split, stack};
use super::part::{Begun, Part, begin, finish};
use super::{Flow, Pipeline, Stage};
use crate::instance::{Instance, late};
use crate::scheduler::{Answer, PartReply, Reply, Times};
use crate::sequences::{Joint, State};
use crate::{Code, Error, ErrorKind};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;
use stead_app::Origin;
use stead_tensor::Tensor;
use tokio::sync::mpsc;

/// Runs of one request that are in the queues of models at a time. More would only take the places of other
/// requests.
const WINDOW: usize = 64;

/// The most branches of one stage. Each costs a queue entry and an allocation per value.
const MAX_BRANCHES: usize = 100_000;

/// The values of a request, and what is wanted.
pub(super) struct Request {
    pub(super) inputs: Vec<Option<Tensor>>,
    /// Places of outputs.
    pub(super) wanted: Vec<usize>,
    pub(super) deadline: Option<Instant>,
}

/// The results of a stage or of the request.
type Rows = Vec<Row>;

/// A run that is to begin, or that goes on.
struct Task {
    stage: usize,
    branch: usize,
}

struct Execution<'a> {
    name: &'a str,
    flow: &'a Flow,
    deadline: Option<Instant>,
    /// The values of the request, split if they are to be.
    request: Rows,
    /// Of the stages that are over: the results of all branches, split if they are to be.
    results: Vec<Option<Rows>>,
    /// Of stages that go on: how many branches are missing.
    missing: Vec<usize>,
    /// Of stages that go on: what has come so far.
    partial: Vec<Vec<Option<Row>>>,
    /// Into how many parts each demultiplexer splits: the request, then the stages.
    counts: Vec<usize>,
    before: Vec<State>,
    after: Vec<Option<State>>,
    begun: Vec<bool>,
    tasks: VecDeque<Task>,
}

impl Pipeline {
    /// Runs a request. Gives the wanted outputs, and the states that it leaves.
    ///
    /// # Errors
    /// That of the first node that fails.
    pub(super) async fn run(
        &self,
        request: Request,
        state: Option<&State>,
    ) -> Result<(Vec<Tensor>, State), Error> {
        let Request { inputs, wanted, deadline } = request;
        let started = Instant::now();
        let flow = &self.flow;
        let joint = self.sequences.as_ref().and_then(|s| s.joint());
        let before = state.zip(joint).map_or(Vec::new(), |(state, joint)| joint.split(state));
        let stages = flow.stages.len();
        let stateful = flow.stages.iter().filter(|s| s.state.is_some()).count();
        let mut execution = Execution {
            name: &self.name,
            flow,
            deadline,
            request: Vec::new(),
            results: (0..stages).map(|_| None).collect(),
            missing: vec![0; stages],
            partial: (0..stages).map(|_| Vec::new()).collect(),
            counts: vec![1; stages + 1],
            before,
            after: vec![None; stateful],
            begun: flow.needed(&wanted).into_iter().map(|needed| !needed).collect(),
            tasks: VecDeque::new(),
        };
        execution.place(inputs)?;
        execution.go().await?;
        let outputs = wanted.iter().filter_map(|&i| flow.outputs.get(i));
        let outputs = outputs.map(|&from| execution.gathered(from)).collect::<Result<_, _>>()?;
        // The runs of its nodes are counted with their models; this is one run of the whole.
        self.recorder.ran(1, 1, Times { infer: started.elapsed(), ..Times::default() });
        Ok((outputs, Joint::join(execution.after.into_iter().flatten().collect())))
    }
}

impl Flow {
    /// The stages that the wanted outputs need, and those whose state must go on.
    fn needed(&self, wanted: &[usize]) -> Vec<bool> {
        let mut needed: Vec<bool> = self.stages.iter().map(|s| s.state.is_some()).collect();
        let outputs = wanted.iter().filter_map(|&i| self.outputs.get(i)?.node());
        outputs.for_each(|node| needed[node] = true);
        for (i, stage) in self.stages.iter().enumerate().rev() {
            if needed[i] {
                stage.wires.iter().filter_map(|w| w.1.node()).for_each(|n| needed[n] = true);
            }
        }
        needed
    }
}

impl Execution<'_> {
    /// Takes in the values of the request.
    fn place(&mut self, inputs: Row) -> Result<(), Error> {
        let placed = |place: &Option<usize>| inputs.get((*place)?).cloned().flatten();
        let row: Row = self.flow.inputs.iter().map(placed).collect();
        self.request = match self.flow.demultiply {
            None => vec![row],
            Some(count) => {
                let rows = split(&row, count)?;
                self.counts[0] = rows.len();
                if rows.is_empty() {
                    return Err(self.no_content("request"));
                }
                rows
            }
        };
        Ok(())
    }

    async fn go(&mut self) -> Result<(), Error> {
        let (results, mut incoming) = mpsc::unbounded_channel();
        let mut running = BTreeMap::new();
        let mut serial = 0;
        loop {
            self.find_ready()?;
            while running.len() < WINDOW
                && let Some(task) = self.tasks.pop_front()
            {
                let Begun { windows, answer } = self.begin(&task, serial, &results)?;
                match answer {
                    Some(answer) => self.done(&task, answer, windows)?,
                    None => drop(running.insert(serial, (task, windows))),
                }
                serial += 1;
                self.find_ready()?;
            }
            if running.is_empty() {
                return Ok(());
            }
            let (part, answer) = self.next(&mut incoming).await?;
            if let Some((task, windows)) = running.remove(&part) {
                self.done(&task, answer, windows)?;
            }
        }
    }

    async fn next(
        &self,
        incoming: &mut mpsc::UnboundedReceiver<(usize, Answer)>,
    ) -> Result<(usize, Answer), Error> {
        let next = match self.deadline {
            None => incoming.recv().await,
            Some(deadline) => tokio::time::timeout_at(deadline.into(), incoming.recv())
                .await
                .map_err(|_| late(self.name))?,
        };
        next.ok_or_else(|| ErrorKind::ShuttingDown.into())
    }

    /// Makes tasks of the stages that have all they need.
    fn find_ready(&mut self) -> Result<(), Error> {
        for i in 0..self.flow.stages.len() {
            let stage = &self.flow.stages[i];
            let mut sources = stage.wires.iter().filter_map(|w| w.1.node());
            if self.begun[i] || sources.any(|n| self.results[n].is_none()) {
                continue;
            }
            self.begun[i] = true;
            let counts = self.counts(&stage.level);
            let branches = counts.iter().try_fold(1usize, |n, count| n.checked_mul(*count));
            let Some(branches) = branches.filter(|n| *n <= MAX_BRANCHES) else {
                let text = format!("more than {MAX_BRANCHES} branches");
                return Err(self.at(stage, Error::new(Code::ResourceExhausted, text)));
            };
            self.missing[i] = branches;
            self.partial[i] = vec![None; branches];
            self.tasks.extend((0..branches).map(|branch| Task { stage: i, branch }));
        }
        Ok(())
    }

    /// Into how many parts each of these demultiplexers splits.
    fn counts(&self, level: &[Option<usize>]) -> Vec<usize> {
        let place = |node: &Option<usize>| node.map_or(0, |n| n + 1);
        level.iter().map(|node| self.counts.get(place(node)).copied().unwrap_or(1)).collect()
    }

    fn begin(
        &self,
        task: &Task,
        serial: usize,
        results: &mpsc::UnboundedSender<(usize, Answer)>,
    ) -> Result<Begun, Error> {
        let stage = &self.flow.stages[task.stage];
        let model = self.model(stage)?;
        let begun = self.inputs(stage, model, task.branch).and_then(|inputs| {
            let part = Part {
                inputs,
                outputs: &stage.outputs,
                state: stage.state.and_then(|n| self.before.get(n)),
                deadline: self.deadline,
                // Several branches run on several threads, if there are any.
                here: self.missing[task.stage] == 1 && self.tasks.is_empty(),
            };
            begin(model, part, || Reply::Part(PartReply::new(serial, results)))
        });
        begun.map_err(|error| self.at(stage, error))
    }

    /// The values of one branch by the places of the model's inputs.
    fn inputs(
        &self,
        stage: &Stage,
        model: &Instance,
        branch: usize,
    ) -> Result<Vec<Option<Tensor>>, Error> {
        let mut inputs = vec![None; model.signature().inputs.len()];
        for (place, from) in &stage.wires {
            let Some(slot) = inputs.get_mut(*place) else { continue };
            *slot = match stage.gathers {
                false => self.value(*from, branch).cloned(),
                true => {
                    let splitter = self.flow.splitter(*from);
                    let count = self.counts(&[splitter]).first().copied().unwrap_or(1);
                    let shards = (branch * count..(branch + 1) * count)
                        .map(|b| self.value(*from, b))
                        .collect::<Option<Vec<_>>>();
                    shards.map(|shards| stack(&shards, &[count])).transpose()?
                }
            };
        }
        Ok(inputs)
    }

    fn rows(&self, from: Origin) -> &[Row] {
        match from {
            Origin::Request(_) => &self.request,
            Origin::Node { node, .. } => {
                self.results.get(node).and_then(Option::as_deref).unwrap_or_default()
            }
        }
    }

    fn value(&self, from: Origin, branch: usize) -> Option<&Tensor> {
        let place = match from {
            Origin::Request(input) => input,
            Origin::Node { output, .. } => output,
        };
        self.rows(from).get(branch)?.get(place)?.as_ref()
    }

    /// Takes in the answer of one branch.
    fn done(&mut self, task: &Task, answer: Answer, windows: Vec<Tensor>) -> Result<(), Error> {
        let flow = self.flow;
        let stage = &flow.stages[task.stage];
        let (outputs, state) = finish(self.model(stage)?, answer, stage.outputs.len(), windows)
            .map_err(|error| self.at(stage, error))?;
        if let (Some(place), Some(state)) = (stage.state, state) {
            self.after[place] = Some(state);
        }
        let row: Row = outputs.into_iter().map(Some).collect();
        self.partial[task.stage][task.branch] = Some(row);
        self.missing[task.stage] -= 1;
        if self.missing[task.stage] > 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.partial[task.stage]).into_iter().flatten();
        let rows: Rows = match stage.demultiply {
            None => rows.collect(),
            Some(count) => {
                let mut parts = Vec::new();
                for row in rows {
                    let split = split(&row, count).map_err(|error| self.at(stage, error))?;
                    self.counts[task.stage + 1] = split.len();
                    parts.extend(split);
                }
                if parts.is_empty() {
                    return Err(self.no_content(&stage.name));
                }
                parts
            }
        };
        self.results[task.stage] = Some(rows);
        Ok(())
    }

    /// An output of the pipeline: the values of all branches.
    fn gathered(&self, from: Origin) -> Result<Tensor, Error> {
        let rows = self.rows(from).len();
        let parts: Option<Vec<&Tensor>> = (0..rows).map(|b| self.value(from, b)).collect();
        let name = || match from {
            Origin::Request(input) => format!("input {input} of the request"),
            Origin::Node { node, .. } => self.flow.stages[node].name.clone(),
        };
        let parts = parts.ok_or_else(|| ErrorKind::MissingInput { input: name() })?;
        stack(&parts, &self.counts(&self.flow.level(from)))
    }

    fn model<'a>(&self, stage: &'a Stage) -> Result<&'a Instance, Error> {
        let lost = || Error::new(Code::Internal, "a node without a model");
        stage.model.model().ok_or_else(lost)
    }

    fn no_content(&self, node: &str) -> Error {
        ErrorKind::NoContent { pipeline: self.name.to_owned(), node: node.to_owned() }.into()
    }

    /// An error of a node, with its class.
    fn at(&self, stage: &Stage, error: Error) -> Error {
        let (pipeline, node) = (self.name.to_owned(), stage.name.clone());
        let kind = ErrorKind::PipelineNode { pipeline, node, text: error.kind.to_string() };
        Error { code: error.code, kind }
    }
}

impl Flow {
    /// The demultiplexers in whose branches a value lies, the outermost first.
    fn level(&self, from: Origin) -> Vec<Option<usize>> {
        let (level, splits) = match from.node().and_then(|n| self.stages.get(n)) {
            None => (Vec::new(), self.demultiply.is_some()),
            Some(stage) => (stage.level.clone(), stage.demultiply.is_some()),
        };
        level.into_iter().chain(splits.then_some(from.node())).collect()
    }

    /// The innermost of them.
    fn splitter(&self, from: Origin) -> Option<usize> {
        self.level(from).last().copied().flatten()
    }
}

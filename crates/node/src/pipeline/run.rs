//! One request on its way through a pipeline.
//!
//! A branch of a stage starts when everything that it needs is there: branches go on each on their own, until a stage
//! gathers them, and stages that do not need each other run at the same time. All of them are awaited in one place.
//! When one fails, the request fails at once, and runs that have not begun are dropped with the channel that they
//! would answer to.

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

/// The place of a branch: which part it is of each demultiplexer around it, the outermost first.
type Place = Vec<usize>;

/// A run that is to begin, or that goes on.
struct Task {
    stage: usize,
    place: Place,
}

/// What is known of the branches of the request or of a stage.
#[derive(Default)]
struct Branches {
    /// The values of each; those of a demultiplexer are split.
    values: BTreeMap<Place, Row>,
    /// Into how many parts a demultiplexer has split, by the place of the whole.
    parts: BTreeMap<Place, usize>,
    /// How many have begun, and how many of them run.
    begun: usize,
    running: usize,
}

struct Execution<'a> {
    name: &'a str,
    flow: &'a Flow,
    deadline: Option<Instant>,
    /// Of the request, then of the stages.
    branches: Vec<Branches>,
    /// Which stages are to run.
    needed: Vec<bool>,
    /// How many values are missing to branches of stages that have some.
    missing: BTreeMap<(usize, Place), usize>,
    before: Vec<State>,
    after: Vec<Option<State>>,
    tasks: VecDeque<Task>,
}

/// Where the branches of the request or of a stage are.
fn slot(source: Option<usize>) -> usize {
    source.map_or(0, |stage| stage + 1)
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
            branches: (0..=stages).map(|_| Branches::default()).collect(),
            needed: flow.needed(&wanted),
            missing: BTreeMap::new(),
            before,
            after: vec![None; stateful],
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
        for (i, stage) in self.flow.stages.iter().enumerate() {
            if self.needed[i] && stage.wires.is_empty() {
                self.ready(i, Place::new())?;
            }
        }
        let placed = |place: &Option<usize>| inputs.get((*place)?).cloned().flatten();
        let row: Row = self.flow.inputs.iter().map(placed).collect();
        self.arrived(None, Place::new(), row)
    }

    /// Takes in what the request or a stage gives in one branch.
    fn arrived(&mut self, source: Option<usize>, place: Place, row: Row) -> Result<(), Error> {
        let flow = self.flow;
        let stage = source.and_then(|n| flow.stages.get(n));
        let branches = &mut self.branches[slot(source)];
        let Some(count) = stage.map_or(flow.demultiply, |stage| stage.demultiply) else {
            branches.values.insert(place.clone(), row);
            return self.tell(source, &place);
        };
        let parts = split(&row, count).map_err(|error| match stage {
            Some(stage) => self.at(stage, error),
            None => error,
        })?;
        if parts.is_empty() {
            return Err(self.no_content(stage.map_or("request", |stage| &stage.name)));
        }
        let branches = &mut self.branches[slot(source)];
        branches.parts.insert(place.clone(), parts.len());
        let inner = |part: usize| [place.as_slice(), &[part]].concat();
        let places: Vec<Place> = (0..parts.len()).map(inner).collect();
        branches.values.extend(places.iter().cloned().zip(parts));
        places.iter().try_for_each(|place| self.tell(source, place))
    }

    /// Lets those branches begin to which only this value was missing.
    fn tell(&mut self, source: Option<usize>, place: &Place) -> Result<(), Error> {
        let flow = self.flow;
        for (i, stage) in flow.stages.iter().enumerate() {
            let wires = stage.wires.iter().filter(|w| w.1.node() == source).count();
            if wires == 0 || !self.needed[i] {
                continue;
            }
            let outer = place.split_last().map_or(&[][..], |(_, outer)| outer);
            let key = (i, if stage.gathers { outer.to_vec() } else { place.clone() });
            let missing = match self.missing.get(&key) {
                Some(missing) => *missing,
                None => stage.wires.iter().map(|w| self.shards(stage, w.1, &key.1)).sum(),
            };
            match missing.saturating_sub(wires) {
                0 => {
                    self.missing.remove(&key);
                    self.ready(i, key.1)?;
                }
                missing => drop(self.missing.insert(key, missing)),
            }
        }
        Ok(())
    }

    /// How many values a branch takes from one source.
    fn shards(&self, stage: &Stage, from: Origin, place: &Place) -> usize {
        if !stage.gathers {
            return 1;
        }
        let splitter = &self.branches[slot(self.flow.splitter(from))];
        splitter.parts.get(place).copied().unwrap_or(1)
    }

    /// A branch has all that it needs.
    fn ready(&mut self, stage: usize, place: Place) -> Result<(), Error> {
        let branches = &mut self.branches[slot(Some(stage))];
        branches.begun += 1;
        if branches.begun > MAX_BRANCHES {
            let text = format!("more than {MAX_BRANCHES} branches");
            let error = Error::new(Code::ResourceExhausted, text);
            return Err(self.at(&self.flow.stages[stage], error));
        }
        self.tasks.push_back(Task { stage, place });
        Ok(())
    }

    async fn go(&mut self) -> Result<(), Error> {
        let (results, mut incoming) = mpsc::unbounded_channel();
        let mut running = BTreeMap::new();
        let mut serial = 0;
        loop {
            while running.len() < WINDOW
                && let Some(task) = self.tasks.pop_front()
            {
                let Begun { windows, answer } = self.begin(&task, serial, &results)?;
                self.branches[slot(Some(task.stage))].running += 1;
                match answer {
                    Some(answer) => self.done(task, answer, windows)?,
                    None => drop(running.insert(serial, (task, windows))),
                }
                serial += 1;
            }
            if running.is_empty() {
                return Ok(());
            }
            let (part, answer) = self.next(&mut incoming).await?;
            if let Some((task, windows)) = running.remove(&part) {
                self.done(task, answer, windows)?;
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

    fn begin(
        &self,
        task: &Task,
        serial: usize,
        results: &mpsc::UnboundedSender<(usize, Answer)>,
    ) -> Result<Begun, Error> {
        let stage = &self.flow.stages[task.stage];
        let model = self.model(stage)?;
        let begun = self.inputs(stage, model, &task.place).and_then(|inputs| {
            let part = Part {
                inputs,
                outputs: &stage.outputs,
                state: stage.state.and_then(|n| self.before.get(n)),
                deadline: self.deadline,
                // Several branches run on several threads, if there are any.
                here: self.branches[slot(Some(task.stage))].running == 0 && self.tasks.is_empty(),
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
        place: &Place,
    ) -> Result<Vec<Option<Tensor>>, Error> {
        let mut inputs = vec![None; model.signature().inputs.len()];
        for (input, from) in &stage.wires {
            let Some(slot) = inputs.get_mut(*input) else { continue };
            *slot = match stage.gathers {
                false => self.value(*from, place).cloned(),
                true => {
                    let count = self.shards(stage, *from, place);
                    let inner = |part: usize| [place.as_slice(), &[part]].concat();
                    let shards = (0..count).map(|part| self.value(*from, &inner(part)));
                    let shards = shards.collect::<Option<Vec<_>>>();
                    shards.map(|shards| stack(&shards, &[count])).transpose()?
                }
            };
        }
        Ok(inputs)
    }

    fn value(&self, from: Origin, place: &Place) -> Option<&Tensor> {
        value(self.branches[slot(from.node())].values.get(place)?, from)
    }

    /// Takes in the answer of one branch.
    fn done(&mut self, task: Task, answer: Answer, windows: Vec<Tensor>) -> Result<(), Error> {
        let Task { stage: number, place } = task;
        self.branches[slot(Some(number))].running -= 1;
        let flow = self.flow;
        let stage = &flow.stages[number];
        let (outputs, state) = finish(self.model(stage)?, answer, stage.outputs.len(), windows)
            .map_err(|error| self.at(stage, error))?;
        if let (Some(place), Some(state)) = (stage.state, state) {
            self.after[place] = Some(state);
        }
        self.arrived(Some(number), place, outputs.into_iter().map(Some).collect())
    }

    /// An output of the pipeline: the values of all branches.
    fn gathered(&self, from: Origin) -> Result<Tensor, Error> {
        let rows = &self.branches[slot(from.node())].values;
        let name = || match from {
            Origin::Request(input) => format!("input {input} of the request"),
            Origin::Node { node, .. } => self.flow.stages[node].name.clone(),
        };
        let parts: Option<Vec<&Tensor>> = rows.values().map(|row| value(row, from)).collect();
        let parts = parts.ok_or_else(|| ErrorKind::MissingInput { input: name() })?;
        let depth = rows.keys().next().map_or(0, Vec::len);
        let count = |level| rows.keys().map(|place| place[level] + 1).max().unwrap_or(0);
        let counts: Vec<usize> = (0..depth).map(count).collect();
        // Each branch of an outer demultiplexer may split into another number of parts.
        if counts.iter().product::<usize>() != parts.len() {
            let text = format!("{} branches of {}, which are no array", parts.len(), name());
            return Err(ErrorKind::WrongShards { text }.into());
        }
        stack(&parts, &counts)
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

/// The value of an origin among those of one branch of it.
fn value(row: &[Option<Tensor>], from: Origin) -> Option<&Tensor> {
    let place = match from {
        Origin::Request(input) => input,
        Origin::Node { output, .. } => output,
    };
    row.get(place)?.as_ref()
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

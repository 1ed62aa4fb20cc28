//! The sequences of one model version: requests arrive, steps run, states change.
//!
//! The table's lock is held for moments only and never over a run. A step that has its turn becomes a job of
//! the scheduler, alone or in one batch with steps of other sequences.

use super::call::{Call, Form};
use super::joint::Joint;
use super::layout::Layout;
use super::state::{Kept, State};
use crate::memory::Held;
use crate::recorder::Recorder;
use crate::scheduler::{Answer, Job, Reply, Scheduler};
use crate::{Error, ErrorKind, SequenceMetrics};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stead_app::SequenceSettings;
use stead_sequence::{
    Counters, Next, Order, Outcome, Replay, Rules, Run, SequenceError, SequenceId, Summary, Table,
    Ticket,
};
use stead_tensor::Tensor;
use tokio::sync::oneshot;

/// A step's answer: its outputs by name, and where it belongs.
#[derive(Debug, Clone)]
pub(crate) struct StepAnswer {
    pub(crate) id: SequenceId,
    pub(crate) step: u64,
    pub(crate) outputs: Vec<(String, Tensor)>,
    pub(crate) form: Form,
}

type Client = oneshot::Sender<Result<StepAnswer, Error>>;

/// A request on its way through a sequence.
pub(crate) struct Step {
    pub(crate) inputs: Vec<Option<Tensor>>,
    /// The outputs that the client wants, and their names.
    pub(crate) wanted: Vec<usize>,
    pub(crate) names: Vec<String>,
    pub(crate) rows: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) queued: Instant,
    /// The memory of the inputs.
    pub(crate) held: Held,
    pub(crate) form: Form,
    pub(crate) client: Client,
    /// Of a step of a pipeline, which the request runs itself when it is told that its turn has come.
    pub(crate) turn: Option<oneshot::Sender<Turn>>,
}

impl stead_sequence::Job for Step {
    fn is_abandoned(&self) -> bool {
        self.client.is_closed() || self.deadline.is_some_and(|d| d <= Instant::now())
    }
}

/// What runs a step.
pub(crate) enum Work {
    /// One model.
    Model {
        /// Where its state lies.
        layout: Layout,
        /// Where its runs wait.
        scheduler: Arc<Scheduler>,
    },
    /// Several models, whose states change together.
    Pipeline(Joint),
}

type Steps = Table<Step, State, Kept>;
type Due = Vec<Next<Step, State, Kept>>;

/// The sequences of one model version, or of a pipeline.
pub(crate) struct Sequencer {
    model: String,
    work: Work,
    table: Mutex<Steps>,
    recorder: Arc<Recorder>,
    /// Requests that may wait for their turn.
    queue: usize,
    /// Whether the cleaner's scans end idle sequences.
    scanned: AtomicBool,
    /// The moment from which the table counts time.
    epoch: Instant,
}

impl Sequencer {
    pub(crate) fn new(
        model: String,
        work: Work,
        table: Steps,
        queue: usize,
        recorder: Arc<Recorder>,
    ) -> Arc<Sequencer> {
        let (table, epoch) = (Mutex::new(table), Instant::now());
        let scanned = AtomicBool::new(true);
        Arc::new(Sequencer { model, work, table, recorder, queue, scanned, epoch })
    }

    /// Where the state of a model lies; none for a pipeline.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        match &self.work {
            Work::Model { layout, .. } => Some(layout),
            Work::Pipeline(_) => None,
        }
    }

    /// The states of a pipeline; none for a model.
    pub(crate) fn joint(&self) -> Option<&Joint> {
        match &self.work {
            Work::Model { .. } => None,
            Work::Pipeline(joint) => Some(joint),
        }
    }

    /// The states and windows for people: a name and a description of each.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        match &self.work {
            Work::Model { layout, .. } => layout.describe(),
            Work::Pipeline(joint) => joint.describe(),
        }
    }

    /// Takes over settings that need no other model. Sequences live on.
    pub(crate) fn change(&self, settings: &SequenceSettings) {
        self.scanned.store(settings.idle_cleanup.unwrap_or(true), Ordering::Relaxed);
        self.lock().set_limits(super::limits(settings));
    }

    /// How many sequences may live, and how long they may be idle.
    pub(crate) fn limits(&self) -> (usize, Option<Duration>) {
        let table = self.lock();
        (table.limits().max_sequences, table.limits().idle_timeout)
    }

    /// Whether the cleaner's scans end idle sequences.
    pub(crate) fn is_scanned(&self) -> bool {
        self.scanned.load(Ordering::Relaxed)
    }

    /// Whether a sequence lives.
    pub(crate) fn is_active(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Steps> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// What OpenVINO Model Server checks before the inputs of the model: that a request names its sequence.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`].
    pub(crate) fn check(&self, order: &Order) -> Result<(), Error> {
        if order.id.is_some() || order.start || self.lock().limits().rules == Rules::Triton {
            return Ok(());
        }
        Err(ErrorKind::Sequence(SequenceError::IdNotProvided).into())
    }

    /// A request has arrived: it runs, waits for its turn, or has its answer when this returns.
    pub(crate) fn arrive(self: &Arc<Self>, call: Call, step: Step) {
        let mut due = Due::new();
        {
            let mut table = self.lock();
            if table.waiting() >= self.queue {
                drop(table);
                self.recorder.rejected();
                let (model, limit) = (self.model.clone(), self.queue);
                drop(step.client.send(Err(ErrorKind::QueueFull { model, limit }.into())));
                return;
            }
            table.arrive(call.order, step, self.now(), &mut due);
        }
        self.go_on(due, true);
    }

    /// Does what is due. `here` says whether the first step may run on this thread if it is quick.
    fn go_on(self: &Arc<Self>, due: Due, here: bool) {
        let (mut due, mut here) = (due, here);
        // A step that ends at once makes more due. This is a loop, because a queue of requests that all fail
        // would be as many calls deep.
        while !due.is_empty() {
            for next in std::mem::take(&mut due) {
                match next {
                    Next::Run(run) => {
                        if let Some((pending, done)) = self.run(run, std::mem::take(&mut here)) {
                            self.settle(pending, done, &mut due);
                        }
                    }
                    Next::Replay(Replay { job, id, step, answer }) => {
                        let outputs = answer.outputs();
                        let answer = StepAnswer { id, step, outputs, form: job.form };
                        drop(job.client.send(Ok(answer)));
                    }
                    Next::Refuse(job, error) => {
                        drop(job.client.send(Err(ErrorKind::Sequence(error).into())));
                    }
                    Next::Drop(job) => {
                        let model = self.model.clone();
                        let error = match job.client.is_closed() {
                            true => ErrorKind::Cancelled { model },
                            false => ErrorKind::DeadlineExceeded { model, stage: "waiting" },
                        };
                        drop(job.client.send(Err(error.into())));
                    }
                    Next::Expired(id) => {
                        tracing::debug!(model = self.model, %id, "sequence was idle for too long");
                    }
                }
            }
        }
    }

    /// Sends a step on its way. Gives the answer when there is one at once.
    fn run(self: &Arc<Self>, run: Run<Step, State>, here: bool) -> Option<(Pending, Done)> {
        let Run { job, ticket, step, state, .. } = run;
        let Step { mut inputs, wanted, names, rows, deadline, queued, held, form, client, turn } =
            job;
        let mut pending = Pending { ticket, step, names, windows: Vec::new(), form, client };
        let (layout, scheduler) = match &self.work {
            Work::Model { layout, scheduler } => (layout, scheduler),
            Work::Pipeline(_) => {
                let reply = StepReply { sequencer: Arc::clone(self), pending: Some(pending) };
                // A request that has gone away ends its step here: what is dropped in the loop of `go_on`
                // would begin a loop of its own.
                let mut lost = turn?.send(Turn { state, reply }).err()?;
                let gone = ErrorKind::Cancelled { model: self.model.clone() };
                return Some((lost.reply.pending.take()?, Err(gone.into())));
            }
        };
        let specs = scheduler.evaluate().inputs();
        match layout.fill(&mut inputs, specs, state.as_ref(), rows) {
            Ok(windows) => pending.windows = windows,
            Err(error) => return Some((pending, Err(error))),
        }
        let wanted: Vec<usize> = wanted.into_iter().chain(layout.outputs()).collect();
        if here && let Some(answer) = scheduler.run_inline(&inputs, &wanted, rows, deadline) {
            let done = self.split(&mut pending, answer);
            return Some((pending, done));
        }
        let reply = Reply::Step(StepReply { sequencer: Arc::clone(self), pending: Some(pending) });
        let refused = scheduler.submit(Job { inputs, wanted, rows, deadline, queued, reply, held });
        match refused {
            Some((Reply::Step(mut reply), error)) => Some((reply.pending.take()?, Err(error))),
            _ => None,
        }
    }

    /// What a run gave, as what the client wants and what the next step finds.
    fn split(&self, pending: &mut Pending, answer: Answer) -> Done {
        let mut outputs = answer?;
        let states = outputs.split_off(pending.names.len().min(outputs.len()));
        let windows = std::mem::take(&mut pending.windows);
        let state = match &self.work {
            Work::Model { layout, .. } => layout.next(states, windows)?,
            Work::Pipeline(_) => State(Arc::from([])),
        };
        Ok((outputs, state))
    }

    /// A step has run: the state changes, or the step had no effect. What is due then is appended to `due`.
    fn settle(&self, pending: Pending, done: Done, due: &mut Due) {
        let Pending { ticket, step, names, form, client, .. } = pending;
        let id = ticket.id.clone();
        let (outcome, answer) = match done {
            Ok((outputs, state)) => {
                let outputs: Vec<_> = names.into_iter().zip(outputs).collect();
                let answer = Kept(outputs.clone().into());
                let answered = StepAnswer { id, step, outputs, form };
                (Outcome::Done { state, answer }, Ok(answered))
            }
            Err(error) => (Outcome::Failed, Err(error)),
        };
        let known = self.lock().finish(ticket, outcome, self.now(), due);
        let gone = || Err(ErrorKind::Sequence(SequenceError::Missing).into());
        drop(client.send(if known { answer } else { gone() }));
    }

    /// A step has run somewhere else.
    fn finish(self: &Arc<Self>, pending: Pending, done: Done) {
        let mut due = Due::new();
        self.settle(pending, done, &mut due);
        self.go_on(due, false);
    }

    /// One scan of the cleaner.
    pub(crate) fn scan(self: &Arc<Self>) {
        let mut due = Due::new();
        self.lock().scan(&mut due);
        self.go_on(due, false);
    }

    /// Ends what is beyond its time.
    pub(crate) fn expire(self: &Arc<Self>) {
        let mut due = Due::new();
        self.lock().expire(self.now(), &mut due);
        self.go_on(due, false);
    }

    /// The metrics now.
    pub(crate) fn metrics(&self) -> SequenceMetrics {
        let table = self.lock();
        let Counters { started, ended, expired, removed, steps, failed, refused, replayed } =
            table.counters();
        SequenceMetrics {
            active: table.len() as u64,
            bytes: table.bytes(),
            spilled: 0, // states stay in memory
            waiting: table.waiting() as u64,
            started,
            ended,
            expired,
            removed,
            steps,
            failed,
            refused,
            replayed,
        }
    }

    /// Whether a request is for a sequence of this version.
    pub(crate) fn knows(&self, order: &Order) -> bool {
        self.lock().knows(order)
    }

    /// Up to `limit` sequences behind `after`.
    pub(crate) fn list(&self, after: Option<&SequenceId>, limit: usize) -> Vec<Summary> {
        self.lock().list(after, limit, self.now())
    }

    /// What is known of one sequence.
    pub(crate) fn summary(&self, id: &SequenceId) -> Option<Summary> {
        self.lock().summary(id, self.now())
    }

    /// Ends a sequence.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`] when there is none.
    pub(crate) fn end(self: &Arc<Self>, id: &SequenceId) -> Result<(), Error> {
        let mut due = Due::new();
        self.lock().remove(id, self.now(), &mut due).map_err(ErrorKind::Sequence)?;
        self.go_on(due, false);
        Ok(())
    }

    /// Copies the state of a sequence to a new one.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`]: there is no such sequence, there is one of the new id, or the table is full.
    pub(crate) fn fork(&self, from: &SequenceId, to: SequenceId) -> Result<u64, Error> {
        let mut table = self.lock();
        let (step, state) = table.state(from).map_err(ErrorKind::Sequence)?;
        table.insert(to, step, state, self.now()).map_err(ErrorKind::Sequence)?;
        Ok(step)
    }

    /// The steps done and the named values of a sequence's state.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`] when there is none.
    pub(crate) fn export(&self, id: &SequenceId) -> Result<(u64, Vec<(String, Tensor)>), Error> {
        let (step, state) = self.lock().state(id).map_err(ErrorKind::Sequence)?;
        let names: Vec<String> = match &self.work {
            Work::Model { layout, .. } => layout.names().map(str::to_owned).collect(),
            Work::Pipeline(joint) => joint.names(),
        };
        let named = names.into_iter().zip(state.0.iter());
        Ok((step, named.filter_map(|(n, v)| Some((n, v.clone()?))).collect()))
    }

    /// Begins a sequence with values that were exported.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when they do not suit the model, and as [`Sequencer::fork`].
    pub(crate) fn import(
        &self,
        id: SequenceId,
        step: u64,
        values: Vec<(String, Tensor)>,
    ) -> Result<(), Error> {
        let state = match &self.work {
            Work::Model { layout, .. } => layout.state_of(values)?,
            Work::Pipeline(joint) => joint.state_of(values)?,
        };
        self.lock().insert(id, step, state, self.now()).map_err(ErrorKind::Sequence)?;
        Ok(())
    }
}

/// The outputs that the client wants, in the order of their names, and the state for the next step.
pub(crate) type Done = Result<(Vec<Tensor>, State), Error>;

/// The right to run one step of a pipeline, and the duty to end it.
pub(crate) struct Turn {
    /// What the step before left; none for a START.
    pub(crate) state: Option<State>,
    reply: StepReply,
}

impl Turn {
    /// Ends the step: all states change, or none. Dropping the turn changes none.
    pub(crate) fn end(mut self, done: Done) {
        if let Some(pending) = self.reply.pending.take() {
            self.reply.sequencer.finish(pending, done);
        }
    }
}

struct Pending {
    ticket: Ticket,
    step: u64,
    names: Vec<String>,
    windows: Vec<Tensor>,
    form: Form,
    client: Client,
}

/// The obligation to end a step. Dropping it ends the step as failed, so that no sequence waits for ever for
/// a run that was lost.
pub(crate) struct StepReply {
    sequencer: Arc<Sequencer>,
    pending: Option<Pending>,
}

impl StepReply {
    /// Whether the client has gone away.
    pub(crate) fn is_closed(&self) -> bool {
        self.pending.as_ref().is_none_or(|p| p.client.is_closed())
    }

    /// Ends the step.
    pub(crate) fn send(mut self, answer: Answer) {
        if let Some(mut pending) = self.pending.take() {
            let done = self.sequencer.split(&mut pending, answer);
            self.sequencer.finish(pending, done);
        }
    }
}

impl Drop for StepReply {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.sequencer.finish(pending, Err(ErrorKind::ShuttingDown.into()));
        }
    }
}

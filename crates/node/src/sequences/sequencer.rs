//! The sequences of one model version: requests arrive, steps run, states change.
//!
//! The table's lock is held for moments only and never over a run. A step that has its turn becomes a job of
//! the scheduler, alone or in one batch with steps of other sequences.

use super::call::{Call, Form};
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
}

impl stead_sequence::Job for Step {
    fn is_abandoned(&self) -> bool {
        self.client.is_closed() || self.deadline.is_some_and(|d| d <= Instant::now())
    }
}

type Steps = Table<Step, State, Kept>;
type Due = Vec<Next<Step, State, Kept>>;

/// The sequences of one model version.
pub(crate) struct Sequencer {
    model: String,
    layout: Layout,
    table: Mutex<Steps>,
    scheduler: Arc<Scheduler>,
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
        layout: Layout,
        table: Steps,
        scheduler: Arc<Scheduler>,
        recorder: Arc<Recorder>,
    ) -> Arc<Sequencer> {
        let queue = scheduler.limits().queue;
        let (table, epoch) = (Mutex::new(table), Instant::now());
        let scanned = AtomicBool::new(true);
        Arc::new(Sequencer { model, layout, table, scheduler, recorder, queue, scanned, epoch })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
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
                        if let Some((pending, answer)) = self.run(run, std::mem::take(&mut here)) {
                            self.settle(pending, answer, &mut due);
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
    fn run(self: &Arc<Self>, run: Run<Step, State>, here: bool) -> Option<(Pending, Answer)> {
        let Run { job, ticket, step, state, .. } = run;
        let Step { mut inputs, wanted, names, rows, deadline, queued, held, form, client } = job;
        let specs = self.scheduler.evaluate().inputs();
        let pending = Pending { ticket, step, names, windows: Vec::new(), form, client };
        let windows = match self.layout.fill(&mut inputs, specs, state.as_ref(), rows) {
            Ok(windows) => windows,
            Err(error) => return Some((pending, Err(error))),
        };
        let pending = Pending { windows, ..pending };
        let wanted: Vec<usize> = wanted.into_iter().chain(self.layout.outputs()).collect();
        if here && let Some(answer) = self.scheduler.run_inline(&inputs, &wanted, rows, deadline) {
            return Some((pending, answer));
        }
        let reply = Reply::Step(StepReply { sequencer: Arc::clone(self), pending: Some(pending) });
        let refused =
            self.scheduler.submit(Job { inputs, wanted, rows, deadline, queued, reply, held });
        match refused {
            Some((Reply::Step(mut reply), error)) => Some((reply.pending.take()?, Err(error))),
            _ => None,
        }
    }

    /// A step has run: the state changes, or the step had no effect. What is due then is appended to `due`.
    fn settle(&self, pending: Pending, answer: Answer, due: &mut Due) {
        let Pending { ticket, step, names, windows, form, client } = pending;
        let done = answer.and_then(|mut outputs| {
            let states = outputs.split_off(names.len().min(outputs.len()));
            let state = self.layout.next(states, windows)?;
            Ok((names.into_iter().zip(outputs).collect::<Vec<_>>(), state))
        });
        let id = ticket.id.clone();
        let (outcome, answer) = match done {
            Ok((outputs, state)) => {
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
    fn finish(self: &Arc<Self>, pending: Pending, answer: Answer) {
        let mut due = Due::new();
        self.settle(pending, answer, &mut due);
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
        let named = self.layout.names().zip(state.0.iter());
        let values = named.filter_map(|(n, v)| Some((n.to_owned(), v.clone()?))).collect();
        Ok((step, values))
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
        let state = self.layout.state_of(values)?;
        self.lock().insert(id, step, state, self.now()).map_err(ErrorKind::Sequence)?;
        Ok(())
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
        if let Some(pending) = self.pending.take() {
            self.sequencer.finish(pending, answer);
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

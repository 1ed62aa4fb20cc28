//! The sequences of one model version: requests arrive, steps run, states change.
//!
//! The table's lock is held for moments only and never over a run. A step that has its turn becomes a job of
//! the scheduler, alone or in one batch with steps of other sequences. Where every step is to be durable, a step
//! that has run waits for the log before the state changes and the client is answered.

mod handover;
mod others;
mod persist;
mod spill;

use super::call::{Call, Form};
use super::durable::{self, Durable};
use super::family::Family;
use super::joint::Joint;
use super::layout::Layout;
use super::state::{Kept, State, Stored};
use crate::memory::Held;
use crate::recorder::Recorder;
use crate::scheduler::{Answer, Job, Reply, Scheduler};
use crate::sync::{Mutex, MutexGuard};
use crate::totals::Totals;
use crate::{Error, ErrorKind, SequenceMetrics};
use handover::Handover;
pub(crate) use spill::Spilling;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use stead_app::SequenceSettings;
use stead_log::LogError;
use stead_sequence::{
    Next, Order, Origin, Outcome, Replay, Rules, Run, SequenceError, SequenceId, Summary, Table,
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

pub(super) type Steps = Table<Step, Stored, Kept>;
type Due = Vec<Next<Step, Stored, Kept>>;

/// Whose sequences they are.
pub(super) struct Whose {
    pub(super) model: String,
    pub(super) version: u64,
    pub(super) family: Arc<Family>,
}

/// The sequences of one model version, or of a pipeline.
pub(crate) struct Sequencer {
    model: String,
    pub(super) version: u64,
    family: Arc<Family>,
    /// Whether new sequences begin in another instance.
    finishes: AtomicBool,
    work: Work,
    table: Mutex<Steps>,
    recorder: Arc<Recorder>,
    /// Requests that may wait for their turn.
    queue: usize,
    /// Whether the cleaner's scans end idle sequences.
    scanned: AtomicBool,
    /// The moment at which the model was loaded, and when that was since 1970: the table's times are those of the
    /// calendar, so that they mean something after a restart, but never run back.
    epoch: (Instant, Duration),
    durable: Option<Durable>,
    /// When the last snapshot was taken.
    snapshot: Mutex<Duration>,
    spill: Spilling,
}

impl Sequencer {
    pub(super) fn new(
        whose: Whose,
        work: Work,
        table: Steps,
        queue: usize,
        recorder: Arc<Recorder>,
        durable: Option<Durable>,
        spill: Spilling,
    ) -> Arc<Sequencer> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let Whose { model, version, family } = whose;
        let sequencer = Arc::new(Sequencer {
            model,
            version,
            family,
            finishes: AtomicBool::new(false),
            work,
            queue,
            table: Mutex::new(table),
            recorder,
            scanned: AtomicBool::new(true),
            epoch: (Instant::now(), since_1970.unwrap_or_default()),
            durable,
            snapshot: Mutex::default(),
            spill,
        });
        sequencer.family.join(&sequencer);
        sequencer
    }

    /// New sequences begin in another instance from now on.
    pub(crate) fn finish_only(&self) {
        self.finishes.store(true, Ordering::Relaxed);
    }

    pub(super) fn only_finishes(&self) -> bool {
        self.finishes.load(Ordering::Relaxed)
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

    /// What tells the states of other models apart, if the model is durable.
    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.durable.as_ref().map(|log| log.fingerprint)
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
        self.spill.set_budget(settings.state_budget.unwrap_or(0));
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

    pub(super) fn lock(&self) -> MutexGuard<'_, Steps> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        let (loaded, since_1970) = self.epoch;
        since_1970 + loaded.elapsed()
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
        if call.order.start {
            let others = self.others();
            if !others.is_empty() {
                return self.arrive_beside(&others, call, step);
            }
        }
        let mut due = Due::new();
        {
            let mut table = self.lock();
            if table.waiting() >= self.queue {
                drop(table);
                return self.turn_away(step);
            }
            table.arrive(call.order, step, self.now(), &mut due);
            self.note(&due);
        }
        self.go_on(due, true);
    }

    /// Refuses a request because too many wait.
    fn turn_away(&self, step: Step) {
        self.recorder.rejected();
        let (model, limit) = (self.model.clone(), self.queue);
        drop(step.client.send(Err(ErrorKind::QueueFull { model, limit }.into())));
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
                        let error = error.of_model(&self.model);
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
    fn run(self: &Arc<Self>, run: Run<Step, Stored>, here: bool) -> Option<(Pending, Done)> {
        let Run { job, ticket, step, state, end, origin } = run;
        let Step { mut inputs, wanted, names, rows, deadline, queued, held, form, client, turn } =
            job;
        let windows = Vec::new();
        let mut pending = Pending { ticket, step, end, origin, names, windows, form, client };
        let state = match state.as_ref().map(Stored::load).transpose() {
            Ok(state) => state,
            Err(text) => return Some((pending, Err(self.state_lost(text)))),
        };
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
        let source = Some(source_of(&pending.ticket.id));
        if here && let Some(answer) = scheduler.run_inline(source, &inputs, &wanted, rows, deadline)
        {
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
    fn settle(self: &Arc<Self>, pending: Pending, done: Done, due: &mut Due) {
        let Pending { ticket, step, end, origin, names, form, client, .. } = pending;
        let (outputs, state) = match done {
            Ok((outputs, state)) => (names.into_iter().zip(outputs).collect::<Vec<_>>(), state),
            Err(error) => return self.fail(ticket, client, error, due),
        };
        // Of a step without a number no answer is kept.
        let kept = Kept(if origin.numbered { outputs.clone().into() } else { Arc::default() });
        let answer = StepAnswer { id: ticket.id.clone(), step, outputs, form };
        let ran = Ran { ticket, end, origin, state, kept, answer, client };
        match self.durable.as_ref().filter(|log| log.every_step()) {
            Some(log) => self.write(log, ran, due),
            None => self.conclude(ran, Ok(()), due),
        }
    }

    /// A step had no effect.
    fn fail(&self, ticket: Ticket, client: Client, error: Error, due: &mut Due) {
        let known = self.lock().finish(ticket, Outcome::Failed, self.now(), due);
        drop(client.send(Err(if known { error } else { gone() })));
    }

    /// A step's record is durable, or needs not be, or could not be made so.
    fn conclude(&self, ran: Ran, word: Result<(), LogError>, due: &mut Due) {
        if let Err(error) = word {
            return self.fail(ran.ticket, ran.client, self.log_failed(&error), due);
        }
        // Where every step is recorded, other sequences of the id have ended with the record of the START.
        let recorded = self.durable.as_ref().is_some_and(Durable::every_step);
        let others = (ran.is_start() && !recorded).then(|| self.others());
        let (mut table, mut others) = self.lock_for(&ran, &others);
        let Ran { ticket, end, origin, state, kept, answer, client } = ran;
        let id = ticket.id.clone();
        let now = self.now();
        let record = self.durable.as_ref().filter(|log| end && !log.every_step()).map(|log| {
            let keep = table.limits().replay_depth > 0;
            (log, log.record(&ticket.id, now, durable::ending(answer.step, &origin, &kept, keep)))
        });
        let known = {
            let state = Stored::Here(state);
            table.finish(ticket, Outcome::Done { state, answer: kept }, now, due)
        };
        if let (true, Some((log, bytes))) = (known, record) {
            // For nobody to wait for: a snapshot promises no single step.
            drop(log.append(bytes, |_| {}));
        }
        let elsewhere = others::cede(if known { &mut others } else { &mut [] }, &id);
        let bytes = table.bytes();
        drop((table, others));
        elsewhere.go_on();
        self.spill.grown(bytes);
        drop(client.send(if known { Ok(answer) } else { Err(gone()) }));
    }

    /// [`Sequencer::conclude`] on another thread than the step ran on.
    fn concluded(self: &Arc<Self>, ran: Ran, word: Result<(), LogError>) {
        let mut due = Due::new();
        self.conclude(ran, word, &mut due);
        self.go_on(due, false);
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
        {
            let mut table = self.lock();
            table.scan(&mut due);
            self.note(&due);
        }
        self.go_on(due, false);
    }

    /// Ends what is beyond its time.
    pub(crate) fn expire(self: &Arc<Self>) {
        let mut due = Due::new();
        {
            let mut table = self.lock();
            table.expire(self.now(), &mut due);
            self.note(&due);
        }
        self.go_on(due, false);
    }

    /// The metrics now.
    pub(crate) fn metrics(&self) -> SequenceMetrics {
        let table = self.lock();
        SequenceMetrics {
            active: table.len() as u64,
            bytes: table.bytes(),
            spilled: self.spill.count(),
            waiting: table.waiting() as u64,
            counters: table.counters(),
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
        {
            let mut table = self.lock();
            table.remove(id, self.now(), &mut due).map_err(ErrorKind::Sequence)?;
            self.durable.iter().for_each(|log| log.gone(id, self.now()));
        }
        self.go_on(due, false);
        self.flush()
    }

    /// Copies the state of a sequence to a new one.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`]: there is no such sequence, there is one of the new id, or the table is full.
    pub(crate) fn fork(&self, from: &SequenceId, to: SequenceId) -> Result<u64, Error> {
        let (step, state) = self.lock().state(from).map_err(ErrorKind::Sequence)?;
        self.insert(to, step, state)?;
        self.flush()?;
        Ok(step)
    }

    /// Adds a sequence that was made elsewhere.
    fn insert(&self, id: SequenceId, step: u64, state: Stored) -> Result<(), Error> {
        let others = self.others();
        let (mut table, mut others) = others.lock(self);
        // What has expired is recorded; nothing waits for it.
        drop(others::expire(&mut others));
        if others.iter().any(|o| o.shared && o.table.contains(&id)) {
            return Err(ErrorKind::Sequence(SequenceError::AlreadyExists).into());
        }
        table.insert(id.clone(), step, state, self.now()).map_err(ErrorKind::Sequence)?;
        self.note_new(&table, &id).map_err(|error| {
            // Nothing can wait for a sequence that did not exist a moment ago.
            drop(table.remove(&id, self.now(), &mut Due::new()));
            self.log_failed(&error)
        })?;
        // Only kept answers are left to be ceded, for which nothing waits.
        drop(others::cede(&mut others, &id));
        Ok(())
    }

    /// Waits until what was recorded is durable, where that is promised.
    fn flush(&self) -> Result<(), Error> {
        self.durable.as_ref().map_or(Ok(()), Durable::flush).map_err(|e| self.log_failed(&e))
    }

    fn state_lost(&self, text: String) -> Error {
        ErrorKind::StateLog { model: self.model.clone(), text }.into()
    }

    fn log_failed(&self, error: &LogError) -> Error {
        ErrorKind::StateLog { model: self.model.clone(), text: error.to_string() }.into()
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
        let state = state.load().map_err(|text| self.state_lost(text))?;
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
        self.insert(id, step, Stored::Here(state))?;
        self.flush()
    }
}

impl Drop for Sequencer {
    fn drop(&mut self) {
        let sequences = Some(self.lock().counters());
        self.recorder.gone(Totals { sequences, ..Totals::default() });
    }
}

/// A number that tells a sequence from most others.
fn source_of(id: &SequenceId) -> u64 {
    match id {
        SequenceId::Number(n) => *n,
        text => {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            hasher.finish()
        }
    }
}

fn gone() -> Error {
    ErrorKind::Sequence(SequenceError::Missing).into()
}

/// A step that has run, before the state has changed.
struct Ran {
    ticket: Ticket,
    end: bool,
    origin: Origin,
    state: State,
    kept: Kept,
    answer: StepAnswer,
    client: Client,
}

impl Ran {
    /// Whether the sequence begins with the step.
    fn is_start(&self) -> bool {
        self.origin.began.is_none()
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
    end: bool,
    origin: Origin,
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

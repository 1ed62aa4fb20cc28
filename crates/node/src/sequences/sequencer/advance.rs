//! The way of a step: it arrives, waits for its turn, runs, and changes the state or has no effect.

use super::reply::{Done, Pending, StepReply, Turn};
use super::{Arrived, Client, Due, NextStep, Sequencer, Step, StepAnswer, Work, others};
use crate::scheduler::{Answer, Arrival, Job, Reply};
use crate::sequences::call::Call;
use crate::sequences::durable::{self, Durable};
use crate::sequences::state::{Kept, State, Stored};
use crate::{Error, ErrorKind};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use stead_log::LogError;
use stead_sequence::{Next, Origin, Outcome, Replay, Run, SequenceError, SequenceId, Ticket};

impl Sequencer {
    /// A request has arrived: it has run, or waits for its turn or the end of its run, when this returns.
    pub(crate) fn arrive(self: &Arc<Self>, call: Call, step: Box<Step>) -> Arrived {
        if call.order.start {
            let others = self.others();
            if !others.is_empty() {
                return self.arrive_beside(&others, call, step);
            }
        }
        let mut due = Due::default();
        let own = {
            let mut table = self.lock();
            if table.waiting() >= self.queue {
                drop(table);
                return Arrived::Done(Err(self.too_many()));
            }
            let now = self.at(step.queued);
            let Due { next, arrived } = &mut due;
            let waits = |step: &mut Box<Step>| step.client.leave(arrived);
            let own = table.take(call.order, step, now, next, |_| false, waits);
            self.note(&due.next);
            own
        };
        self.arrived(own, due)
    }

    /// Does what is due when a request has come: with itself, and otherwise.
    pub(super) fn arrived(self: &Arc<Self>, own: Option<NextStep>, mut due: Due) -> Arrived {
        if let Some(own) = own {
            self.act(own, true, &mut due);
        }
        self.go_on(&mut due);
        // A step that nobody answers has been lost on the way.
        due.arrived.unwrap_or_else(|| Arrived::Done(Err(ErrorKind::ShuttingDown.into())))
    }

    /// The refusal of a request because too many wait.
    pub(super) fn too_many(&self) -> Error {
        self.recorder.rejected();
        ErrorKind::QueueFull { model: self.model.clone(), limit: self.queue }.into()
    }

    /// Does what is due.
    pub(super) fn go_on(self: &Arc<Self>, due: &mut Due) {
        // A step that ends at once makes more due. This is a loop, because a queue of requests that all fail
        // would be as many calls deep.
        while !due.next.is_empty() {
            for next in std::mem::take(&mut due.next) {
                self.act(next, false, due);
            }
        }
    }

    /// Does one thing that is due. `here` says whether a step may run on this thread if it is quick.
    fn act(self: &Arc<Self>, next: NextStep, here: bool, due: &mut Due) {
        match next {
            Next::Run(run) => {
                if let Some((pending, done)) = self.run(run, here, due) {
                    self.settle(pending, done, due);
                }
            }
            Next::Replay(Replay { job, id, step, answer }) => {
                let outputs = answer.outputs();
                let answer = StepAnswer { id, step, outputs, form: job.form };
                job.client.send(Ok(answer), &mut due.arrived);
            }
            Next::Refuse(job, error) => {
                let error = error.of_model(&self.model);
                job.client.send(Err(ErrorKind::Sequence(error).into()), &mut due.arrived);
            }
            Next::Drop(job) => {
                let model = self.model.clone();
                let error = match job.client.is_closed() {
                    true => ErrorKind::Cancelled { model },
                    false => ErrorKind::DeadlineExceeded { model, stage: "waiting" },
                };
                job.client.send(Err(error.into()), &mut due.arrived);
            }
            Next::Expired(id) => {
                tracing::debug!(model = self.model, %id, "sequence was idle for too long");
            }
        }
    }

    /// Sends a step on its way. Gives the answer when there is one at once.
    fn run(
        self: &Arc<Self>,
        run: Run<Box<Step>, Stored>,
        here: bool,
        due: &mut Due,
    ) -> Option<(Pending, Done)> {
        let Run { job, ticket, step: number, state, end, origin } = run;
        let mut pending = Pending { ticket, number, end, origin, step: job, windows: Vec::new() };
        let state = match state.as_ref().map(Stored::load).transpose() {
            Ok(state) => state,
            Err(text) => return Some((pending, Err(self.state_lost(text)))),
        };
        let step = &mut *pending.step;
        let (layout, scheduler) = match &self.work {
            Work::Model { layout, scheduler } => (layout, scheduler),
            Work::Pipeline(_) => {
                let turn = step.turn.take();
                step.client.leave(&mut due.arrived);
                let reply = StepReply { sequencer: Arc::clone(self), pending: Some(pending) };
                // A request that has gone away ends its step here: what is dropped in the loop of `go_on`
                // would begin a loop of its own.
                let mut lost = turn?.send(Turn { state, reply }).err()?;
                let gone = ErrorKind::Cancelled { model: self.model.clone() };
                return Some((lost.reply.pending.take()?, Err(gone.into())));
            }
        };
        let mut inputs = std::mem::take(&mut step.inputs);
        let mut wanted = std::mem::take(&mut step.wanted);
        let specs = scheduler.evaluate().inputs();
        match layout.fill(&mut inputs, specs, state.as_ref(), step.rows) {
            Ok(windows) => pending.windows = windows,
            Err(error) => return Some((pending, Err(error))),
        }
        wanted.extend(layout.outputs());
        let held = step.held.take();
        let source = Some(source_of(&pending.ticket.id));
        let (rows, queued, deadline) = (step.rows, step.queued, step.deadline);
        let times = Arrival { queued, deadline };
        if here && let Some(answer) = scheduler.run_inline(source, &inputs, &wanted, rows, times) {
            let done = self.split(&mut pending, answer);
            return Some((pending, done));
        }
        step.client.leave(&mut due.arrived);
        let reply = Reply::Step(StepReply { sequencer: Arc::clone(self), pending: Some(pending) });
        let refused = scheduler.submit(Job {
            inputs,
            wanted,
            rows,
            deadline,
            queued,
            reply,
            held,
            place: None,
            trace: None,
        });
        match refused {
            Some((Reply::Step(mut reply), error)) => Some((reply.pending.take()?, Err(error))),
            _ => None,
        }
    }

    /// What a run gave, as what the client wants and what the next step finds.
    pub(super) fn split(&self, pending: &mut Pending, answer: Answer) -> Done {
        let mut outputs = answer?;
        let states = outputs.split_off(pending.step.names.len().min(outputs.len()));
        let windows = std::mem::take(&mut pending.windows);
        let state = match &self.work {
            Work::Model { layout, .. } => layout.next(states, windows)?,
            Work::Pipeline(_) => State(Arc::from([])),
        };
        Ok((outputs, state))
    }

    /// A step has run: the state changes, or the step had no effect. What is due then is added to `due`.
    fn settle(self: &Arc<Self>, pending: Pending, done: Done, due: &mut Due) {
        let Pending { ticket, number, end, origin, step, .. } = pending;
        let Step { names, form, mut client, .. } = *step;
        let (outputs, state) = match done {
            Ok((outputs, state)) => (names.into_iter().zip(outputs).collect::<Vec<_>>(), state),
            Err(error) => return self.fail(ticket, client, error, due),
        };
        // Of a step without a number no answer is kept.
        let kept = Kept(if origin.numbered { outputs.clone().into() } else { Arc::default() });
        let durable = self.durable.as_ref().filter(|log| log.every_step());
        if durable.is_some() {
            client.leave(&mut due.arrived);
        }
        let answer = StepAnswer { id: ticket.id.clone(), step: number, outputs, form };
        let ran = Ran { ticket, end, origin, state, kept, answer, client };
        match durable {
            Some(log) => self.write(log, ran, due),
            None => self.conclude(ran, Ok(()), due),
        }
    }

    /// A step had no effect.
    fn fail(&self, ticket: Ticket, client: Client, error: Error, due: &mut Due) {
        let known = self.lock().finish(ticket, Outcome::Failed, self.now(), &mut due.next);
        client.send(Err(if known { error } else { gone() }), &mut due.arrived);
    }

    /// A step's record is durable, or needs not be, or could not be made so.
    pub(super) fn conclude(&self, ran: Ran, word: Result<(), LogError>, due: &mut Due) {
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
            table.finish(ticket, Outcome::Done { state, answer: kept }, now, &mut due.next)
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
        client.send(if known { Ok(answer) } else { Err(gone()) }, &mut due.arrived);
    }

    /// [`Sequencer::conclude`] on another thread than the step ran on.
    pub(super) fn concluded(self: &Arc<Self>, ran: Ran, word: Result<(), LogError>) {
        let mut due = Due::default();
        self.conclude(ran, word, &mut due);
        self.go_on(&mut due);
    }

    /// A step has run somewhere else.
    pub(super) fn finish(self: &Arc<Self>, pending: Pending, done: Done) {
        let mut due = Due::default();
        self.settle(pending, done, &mut due);
        self.go_on(&mut due);
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
pub(super) struct Ran {
    pub(super) ticket: Ticket,
    pub(super) end: bool,
    pub(super) origin: Origin,
    pub(super) state: State,
    pub(super) kept: Kept,
    pub(super) answer: StepAnswer,
    pub(super) client: Client,
}

impl Ran {
    /// Whether the sequence begins with the step.
    pub(super) fn is_start(&self) -> bool {
        self.origin.began.is_none()
    }
}

//! The way of a step: it arrives, waits for its turn, runs, and changes the state or has no effect.

use super::reply::{Done, Pending, StepReply, Turn};
use super::{Client, Due, Sequencer, Step, StepAnswer, Work, others};
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
    /// A request has arrived: it runs, waits for its turn, or has its answer when this returns.
    pub(crate) fn arrive(self: &Arc<Self>, call: Call, step: Step) {
        if call.order.start {
            let others = self.others();
            if !others.is_empty() {
                return self.arrive_beside(&others, call, step);
            }
        }
        // What is due is nearly always this step.
        let mut due = Due::with_capacity(1);
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
    pub(super) fn turn_away(&self, step: Step) {
        self.recorder.rejected();
        let (model, limit) = (self.model.clone(), self.queue);
        drop(step.client.send(Err(ErrorKind::QueueFull { model, limit }.into())));
    }

    /// Does what is due. `here` says whether the first step may run on this thread if it is quick.
    pub(super) fn go_on(self: &Arc<Self>, due: Due, here: bool) {
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
        let Step {
            mut inputs,
            mut wanted,
            names,
            rows,
            deadline,
            queued,
            held,
            form,
            client,
            turn,
        } = job;
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
        wanted.extend(layout.outputs());
        let source = Some(source_of(&pending.ticket.id));
        let times = Arrival { queued, deadline };
        if here && let Some(answer) = scheduler.run_inline(source, &inputs, &wanted, rows, times) {
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
    pub(super) fn split(&self, pending: &mut Pending, answer: Answer) -> Done {
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
    pub(super) fn concluded(self: &Arc<Self>, ran: Ran, word: Result<(), LogError>) {
        let mut due = Due::new();
        self.conclude(ran, word, &mut due);
        self.go_on(due, false);
    }

    /// A step has run somewhere else.
    pub(super) fn finish(self: &Arc<Self>, pending: Pending, done: Done) {
        let mut due = Due::new();
        self.settle(pending, done, &mut due);
        self.go_on(due, false);
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

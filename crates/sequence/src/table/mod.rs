//! The sequences of one model: who lives, who is next.

mod admin;
mod ended;
mod entry;
mod idle;
mod limits;
mod restore;
#[cfg(test)]
mod tests;

pub use admin::{Age, Summary};
pub use limits::{Ids, Limits, Rules};
pub use restore::{Ended, Image};

use crate::{Order, SequenceError, SequenceId};
use ended::{Ending, Endings};
use entry::{Entry, Running, Waiting, same_request};
use foldhash::quality::RandomState;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

/// A request as the table sees it.
pub trait Job {
    /// Whether nobody waits for its answer any more. It is asked when the job's turn has come.
    fn is_abandoned(&self) -> bool {
        false
    }
}

impl Job for &str {}

/// Bytes of memory that a state or an answer takes.
pub trait Weight {
    /// The bytes.
    fn bytes(&self) -> u64;

    /// Whether what it stands for lies on disk.
    fn is_on_disk(&self) -> bool {
        false
    }
}

impl Weight for u32 {
    fn bytes(&self) -> u64 {
        size_of::<u32>() as u64
    }
}

impl Weight for String {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// The right to end one run by [`Table::finish`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The sequence.
    pub id: SequenceId,
    serial: u64,
}

/// A step that is to be run now.
#[derive(Debug)]
pub struct Run<J, S> {
    /// The request.
    pub job: J,
    /// To be given back with the outcome.
    pub ticket: Ticket,
    /// The number of the step, from 1.
    pub step: u64,
    /// What the step before left; none for a START.
    pub state: Option<S>,
    /// Whether the sequence ends with this step.
    pub end: bool,
    /// Where the step comes from.
    pub origin: Origin,
}

/// Where a step comes from, for a record of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whether the client numbered it, so that its answer is kept.
    pub numbered: bool,
    /// When the sequence began; none for a START.
    pub began: Option<Duration>,
    /// The client's name of the request that began the sequence.
    pub start: String,
    /// The client's name of this request; empty unless it ends the sequence.
    pub request: String,
    /// Whether the table chose the id.
    pub auto: bool,
}

/// A request that was answered before.
#[derive(Debug)]
pub struct Replay<J, A> {
    /// The request.
    pub job: J,
    /// The sequence.
    pub id: SequenceId,
    /// The step.
    pub step: u64,
    /// Its answer.
    pub answer: A,
}

/// What is to be done now.
#[derive(Debug)]
pub enum Next<J, S, A> {
    /// Run a step, and tell [`Table::finish`] how it went.
    Run(Run<J, S>),
    /// Give the answer of a step that was done before.
    Replay(Replay<J, A>),
    /// Refuse a request.
    Refuse(J, SequenceError),
    /// Nobody waits for this request any more: it had no effect.
    Drop(J),
    /// A sequence was idle for too long and has ended.
    Expired(SequenceId),
}

/// How a run went.
#[derive(Debug)]
pub enum Outcome<S, A> {
    /// The step is done.
    Done {
        /// What it leaves for the next one.
        state: S,
        /// Its answer, kept for repetitions if the request was numbered.
        answer: A,
    },
    /// It failed, or was cancelled: the sequence is as if the request had never come.
    Failed,
}

/// What has happened to the sequences of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Sequences that began.
    pub started: u64,
    /// Those that a client ended.
    pub ended: u64,
    /// Those that were idle for too long.
    pub expired: u64,
    /// Those that an administrator ended.
    pub removed: u64,
    /// Steps done.
    pub steps: u64,
    /// Steps that failed or were cancelled while they ran.
    pub failed: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that got an answer given before.
    pub replayed: u64,
}

/// The sequences of one model. `J` is a request, `S` what a step leaves for the next, `A` an answer.
/// Times are since a moment that the owner chooses, and never run back.
pub struct Table<J, S, A> {
    limits: Limits,
    ids: Ids,
    counter: u64,
    serial: u64,
    /// By id, with a quick hash: a step looks five times.
    entries: HashMap<SequenceId, Entry<J, S, A>, RandomState>,
    /// Sequences by the time of their last step, or of one before it for those in `moved`.
    ages: BTreeMap<(Duration, u64), SequenceId>,
    /// Sequences that have had a step since the order was last asked for: most steps come and go without that.
    moved: Vec<SequenceId>,
    /// Ids chosen here, by the name of the numbered START that they were chosen for.
    requests: HashMap<String, SequenceId>,
    ended: Endings<A>,
    waiting: usize,
    bytes: u64,
    counters: Counters,
}

/// Sequences that may be out of order however few live.
const MOVED: usize = 64;

/// What a request that may run now is to do.
enum Verdict<A> {
    Run,
    Replay(u64, A),
}

impl<J: Job, S: Clone + Weight, A: Clone + Weight> Table<J, S, A> {
    /// An empty table that counts ids.
    pub fn new(limits: Limits) -> Table<J, S, A> {
        Table::with_ids(limits, Ids::Counter)
    }

    /// An empty table.
    pub fn with_ids(limits: Limits, ids: Ids) -> Table<J, S, A> {
        Table {
            limits,
            ids,
            counter: 0,
            serial: 0,
            entries: HashMap::default(),
            ages: BTreeMap::new(),
            moved: Vec::new(),
            requests: HashMap::new(),
            ended: Endings::default(),
            waiting: 0,
            bytes: 0,
            counters: Counters::default(),
        }
    }

    /// A request has arrived. What is to be done now is appended to `next`; nothing when it waits for its turn.
    pub fn arrive(&mut self, order: Order, job: J, now: Duration, next: &mut Vec<Next<J, S, A>>) {
        let own = self.take(order, job, now, next, |_| false, |_| {});
        next.extend(own);
    }

    /// A request has arrived, beside other tables of the same model in which the numbers of `is_taken` are ids. Gives
    /// what is to be done with it now, unless it waits for its turn, which `waits` tells it. What has ended before it
    /// came is appended to `next`.
    pub fn take(
        &mut self,
        order: Order,
        job: J,
        now: Duration,
        next: &mut Vec<Next<J, S, A>>,
        is_taken: impl Fn(u64) -> bool,
        waits: impl FnOnce(&mut J),
    ) -> Option<Next<J, S, A>> {
        self.expire(now, next);
        let mut arrived = Waiting { auto: order.id.is_none(), order, job };
        let id = match self.resolve(&mut arrived.order, is_taken) {
            Ok(id) => id,
            Err(error) => return Some(self.refuse(arrived.job, error)),
        };
        let full = self.is_full();
        let Some(entry) = self.entries.get_mut(&id).filter(|e| e.running.is_some()) else {
            return Some(self.admit(&id, arrived, now));
        };
        if let Some(error) = entry.refuse_at_end(&arrived.order, self.limits.rules) {
            let error = if arrived.order.start && full { SequenceError::TooMany } else { error };
            return Some(self.refuse(arrived.job, error));
        }
        waits(&mut arrived.job);
        entry.waiting.push_back(arrived);
        self.waiting += 1;
        None
    }

    /// A run has ended. What is to be done now is appended to `next`. `false` when the sequence was ended
    /// meanwhile by [`Table::remove`]: the step has had no effect then.
    pub fn finish(
        &mut self,
        ticket: Ticket,
        outcome: Outcome<S, A>,
        now: Duration,
        next: &mut Vec<Next<J, S, A>>,
    ) -> bool {
        let Ticket { id, serial } = ticket;
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        let Some(running) = entry.running.take_if(|r| r.serial == serial) else { return false };
        // Nearly always nothing waits.
        let waiting = (!entry.waiting.is_empty()).then(|| std::mem::take(&mut entry.waiting));
        match outcome {
            Outcome::Failed => {
                self.counters.failed += 1;
                // A START that failed leaves nothing; one that was to replace a sequence leaves that.
                if entry.state.is_none() {
                    self.forget(&id);
                }
            }
            Outcome::Done { state, answer } => self.commit(&id, running, state, answer, now),
        }
        if let Some(waiting) = waiting {
            self.pump(&id, waiting, now, next);
        }
        true
    }

    /// Takes over what a step has done.
    fn commit(&mut self, id: &SequenceId, running: Running, state: S, answer: A, now: Duration) {
        let Running { order, serial, auto } = running;
        self.counters.steps += 1;
        let Some(entry) = self.entries.get_mut(id) else { return };
        if order.start {
            self.counters.started += 1;
            (entry.step, entry.began) = (0, now);
            entry.answers.clear();
            entry.request.clone_from(&order.request);
            entry.auto = auto;
            let requests = &mut self.requests;
            self.ended.remove(id, |name| drop(requests.remove(&name)));
        }
        entry.step += 1;
        if order.end {
            self.counters.ended += 1;
            let step = entry.step;
            let keep = order.step.is_some() && self.limits.replay_depth > 0;
            // Else `forget` would drop the name by which a repetition finds the answer.
            let named = keep && std::mem::take(&mut entry.auto) && !entry.request.is_empty();
            let auto = named.then(|| std::mem::take(&mut entry.request));
            self.forget(id);
            if keep {
                let bytes = answer.bytes();
                let request = order.request;
                let ending = Ending { id: id.clone(), step, request, answer, bytes, auto };
                let requests = &mut self.requests;
                let forget = |name: String| drop(requests.remove(&name));
                self.ended.keep(ending, serial, &self.limits, now, forget);
            }
            return;
        }
        if order.step.is_some() {
            entry.answers.push_back((entry.step, answer));
        }
        while entry.answers.len() > self.limits.replay_depth {
            entry.answers.pop_front();
        }
        let bytes = state.bytes() + entry.answers.iter().map(|(_, a)| a.bytes()).sum::<u64>();
        self.bytes = self.bytes - entry.bytes + bytes;
        (entry.bytes, entry.state, entry.idle) = (bytes, Some(state), false);
        if entry.touched == entry.age.0 {
            self.moved.push(id.clone());
        }
        entry.touched = now;
        // Sequences that end leave their ids behind.
        if self.moved.len() > MOVED + 2 * self.entries.len() {
            self.order();
        }
    }

    /// Lets those that waited try, until one of them runs.
    fn pump(
        &mut self,
        id: &SequenceId,
        mut waiting: VecDeque<Waiting<J>>,
        now: Duration,
        next: &mut Vec<Next<J, S, A>>,
    ) {
        while let Some(first) = waiting.pop_front() {
            self.waiting -= 1;
            next.push(self.admit(id, first, now));
            if let Some(Next::Run(_)) = next.last() {
                break;
            }
        }
        if let Some(entry) = self.entries.get_mut(id) {
            entry.waiting = waiting;
        }
    }

    /// The id that an order means, and a first look at it.
    fn resolve(
        &mut self,
        order: &mut Order,
        is_taken: impl Fn(u64) -> bool,
    ) -> Result<SequenceId, SequenceError> {
        if let Some(given) = order.step
            && (given == 0 || (order.start && given != 1))
        {
            return Err(SequenceError::BadStep { given });
        }
        if let Some(id) = &order.id {
            return Ok(id.clone());
        }
        if self.limits.rules == Rules::Triton {
            return Err(SequenceError::NoCorrelationId { model: String::new() });
        }
        if !order.start {
            return Err(SequenceError::IdNotProvided);
        }
        let repeated = order.step.and_then(|_| self.requests.get(&order.request));
        let id = match repeated {
            Some(id) => id.clone(),
            None if self.is_full() => return Err(SequenceError::TooMany),
            None => {
                let entries = &self.entries;
                let is_used = |id| entries.contains_key(&SequenceId::Number(id)) || is_taken(id);
                let id = limits::fresh(&mut self.ids, &mut self.counter, is_used);
                SequenceId::Number(id.ok_or(SequenceError::NoRandomId)?)
            }
        };
        order.id = Some(id.clone());
        Ok(id)
    }

    /// Lets a request whose turn it is run, or says why not.
    fn admit(&mut self, id: &SequenceId, request: Waiting<J>, now: Duration) -> Next<J, S, A> {
        let Waiting { order, auto, job } = request;
        if job.is_abandoned() {
            return Next::Drop(job);
        }
        match self.judge(id, &order) {
            Err(error) => self.refuse(job, error),
            Ok(Verdict::Replay(step, answer)) => {
                self.counters.replayed += 1;
                Next::Replay(Replay { job, id: id.clone(), step, answer })
            }
            Ok(Verdict::Run) => Next::Run(self.begin(id, order, auto, job, now)),
        }
    }

    /// What becomes of a request for a sequence in which nothing runs.
    fn judge(&self, id: &SequenceId, order: &Order) -> Result<Verdict<A>, SequenceError> {
        let Some(entry) = self.entries.get(id) else {
            if let Some(replay) = self.ended.replay(id, order) {
                return replay.map(|(step, answer)| Verdict::Replay(step, answer));
            }
            return match (order.start, self.limits.rules) {
                (true, _) if self.is_full() => Err(SequenceError::TooMany),
                (true, _) => Ok(Verdict::Run),
                (false, Rules::Ovms) => Err(SequenceError::Missing),
                (false, Rules::Triton) => {
                    Err(SequenceError::NotStarted { id: id.to_string(), model: String::new() })
                }
            };
        };
        if order.start {
            return match (order.step, self.limits.rules) {
                (Some(step), _) if same_request(&entry.request, &order.request) => {
                    entry.replay(step).map(|answer| Verdict::Replay(step, answer))
                }
                (_, Rules::Triton) => Ok(Verdict::Run),
                // In this order, as in OpenVINO Model Server.
                _ if self.is_full() => Err(SequenceError::TooMany),
                _ => Err(SequenceError::AlreadyExists),
            };
        }
        match order.step {
            Some(given) if given <= entry.step => {
                entry.replay(given).map(|answer| Verdict::Replay(given, answer))
            }
            Some(given) if given > entry.step + 1 => {
                Err(SequenceError::Gap { given, next: entry.step + 1 })
            }
            _ => Ok(Verdict::Run),
        }
    }

    fn begin(
        &mut self,
        id: &SequenceId,
        order: Order,
        auto: bool,
        job: J,
        now: Duration,
    ) -> Run<J, S> {
        self.serial += 1;
        let serial = self.serial;
        if auto && order.step.is_some() && !order.request.is_empty() {
            self.requests.insert(order.request.clone(), id.clone());
        }
        let entry = self.entries.entry(id.clone()).or_insert_with(|| {
            self.ages.insert((now, serial), id.clone());
            Entry { auto, request: order.request.clone(), ..Entry::new(now, serial) }
        });
        let state = if order.start { None } else { entry.state.clone() };
        let step = if order.start { 1 } else { entry.step + 1 };
        let end = order.end;
        let origin = Origin {
            numbered: order.step.is_some(),
            began: (!order.start).then_some(entry.began),
            start: if order.start { order.request.clone() } else { entry.request.clone() },
            request: if end { order.request.clone() } else { String::new() },
            auto: if order.start { auto } else { entry.auto },
        };
        entry.running = Some(Running { serial, order, auto });
        Run { job, ticket: Ticket { id: id.clone(), serial }, step, state, end, origin }
    }

    /// Refuses a request, for a reason that may lie outside.
    pub fn refuse(&mut self, job: J, error: SequenceError) -> Next<J, S, A> {
        self.counters.refused += 1;
        Next::Refuse(job, error)
    }

    /// Takes a sequence out of the table.
    fn forget(&mut self, id: &SequenceId) -> Option<Entry<J, S, A>> {
        let entry = self.entries.remove(id)?;
        self.ages.remove(&entry.age);
        self.bytes -= entry.bytes;
        if entry.auto {
            self.requests.remove(&entry.request);
        }
        // A burst of sequences must not hold the table's memory for good.
        if self.entries.capacity() > 1024 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to(self.entries.len() * 2);
        }
        Some(entry)
    }

    /// Whether no sequence may begin.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.limits.max_sequences
    }
}

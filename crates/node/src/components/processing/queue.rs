//! Operations that wait for the processors of a chain, and the threads that call these: many operations in one call where many wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stead_python::{Deadline, Session};

use super::operations::{Came, Kinds, operations, read_operations};
use super::ticket::Ticket;
use super::{Fed, Step};
use crate::components::failure::ComponentError;
use crate::components::link::Link;
use crate::components::native::{Call, DocumentOperation, DocumentProcessor, NativeUnit};
use crate::components::together::Together;
use crate::{Code, Error};

/// The most operations of one call: what a call costs beside them is a few microseconds then.
const MAX_BATCH: usize = 64;

/// The most operations that wait.
const MAX_WAITING: usize = 4096;

/// How long a thread without work stays for more.
const LINGER: Duration = Duration::from_secs(1);

/// An operation on its way.
pub(super) struct Part {
    pub(super) fed: Fed,
    pub(super) ticket: Arc<Ticket>,
    /// Whether it gets a call of its own.
    pub(super) is_alone: bool,
}

/// The operations that wait for a link of a chain.
pub(super) struct Queue {
    link: Link<dyn DocumentProcessor>,
    kinds: Arc<Kinds>,
    /// Where operations go from here.
    pub(super) next: Step,
    /// The content cluster whose chain it is of.
    pub(super) cluster: Option<String>,
    /// Whether its processors have made operations of their own. Of several that were given nobody could tell whose these are, so
    /// that each gets a call from then on.
    adds: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Part>,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
    is_closed: bool,
}

/// A thread that calls processors.
struct Running {
    queue: Arc<Queue>,
    /// Whether it is among the threads of the queue: it leaves where it finds no work, or by a panic.
    is_counted: bool,
}

impl Running {
    fn run(mut self) {
        while let Some(deadline) = self.queue.wait() {
            self.queue.turn(deadline);
        }
        self.is_counted = false;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_counted {
            self.queue.lock().threads -= 1;
        }
    }
}

impl Queue {
    pub(super) fn new(
        link: Link<dyn DocumentProcessor>,
        kinds: Arc<Kinds>,
        next: Step,
        cluster: Option<String>,
    ) -> Arc<Queue> {
        let (adds, state) = (AtomicBool::new(false), Mutex::default());
        let changed = Condvar::new();
        Arc::new(Queue { link, kinds, next, cluster, adds, state, changed })
    }

    pub(super) fn timeout(&self) -> Duration {
        self.link.timeout()
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation is to be processed. Where it cannot be, its ticket knows.
    pub(super) fn push(self: &Arc<Self>, part: Part) {
        let mut state = self.lock();
        if state.waiting.len() >= MAX_WAITING {
            drop(state);
            self.link.record_refused();
            let error = self.failing(Code::Overloaded, "too many operations are waiting");
            return part.ticket.close(Err(error));
        }
        state.waiting.push_back(part);
        self.wake(state);
    }

    /// Sees to it that there are threads for what waits.
    fn wake(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let without = state.waiting.len().saturating_sub(state.idle);
        let more = without.min(self.link.most().saturating_sub(state.threads));
        state.threads += more;
        drop(state);
        self.changed.notify_all();
        for _ in 0..more {
            self.start();
        }
    }

    fn start(self: &Arc<Self>) {
        let running = Running { queue: Arc::clone(self), is_counted: true };
        let thread = std::thread::Builder::new().name("stead-processing".to_owned());
        if let Err(error) = thread.spawn(move || running.run()) {
            tracing::error!("no thread for document processors: {error}");
            // Other threads go on with what waits, if there are any.
            let mut state = self.lock();
            let waiting = match state.threads {
                0 => std::mem::take(&mut state.waiting),
                _ => VecDeque::new(),
            };
            drop(state);
            let error = self.failing(Code::Unavailable, "the system gives no thread");
            waiting.into_iter().for_each(|part| part.ticket.close(Err(error.clone())));
        }
    }

    fn failing(&self, code: Code, text: &str) -> Error {
        self.link.failing().error(code, text).into()
    }

    /// One call, of what waits when there is an interpreter for it. The first must be done by the deadline.
    fn turn(self: &Arc<Self>, deadline: Deadline) {
        let asked = Instant::now();
        let components = match &self.link {
            Link::Python(components) => components,
            Link::Native(unit) => {
                let parts = self.take(MAX_BATCH);
                if !parts.is_empty() {
                    self.process_natively(unit, parts);
                }
                return;
            }
        };
        let most = if self.adds.load(Ordering::Relaxed) { 1 } else { MAX_BATCH };
        match components.session(deadline) {
            Ok(session) => {
                let parts = self.take(most);
                if !parts.is_empty() {
                    self.process(components, session, parts, asked);
                }
            }
            // Those whose time is over are taken out and told; others may have some left.
            Err(error) if error.code == Code::DeadlineExceeded => self.drop_late(),
            Err(error) => {
                components.record(Some(&error), asked.elapsed(), None);
                for part in self.take(most) {
                    part.ticket.close(Err(error.clone().into()));
                }
            }
        }
    }

    /// Waits for operations; tells when the first of them must be done. Nothing if none came, and the thread is not counted any
    /// more.
    fn wait(&self) -> Option<Deadline> {
        let mut state = self.lock();
        loop {
            if let Some(first) = state.waiting.front() {
                return Some(first.ticket.deadline);
            }
            if state.is_closed {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let (again, timed) =
                self.changed.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.idle -= 1;
            if timed.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    /// Takes the first operations that are processed together.
    fn take(&self, most: usize) -> Vec<Part> {
        self.drop_late();
        let mut state = self.lock();
        let mut parts: Vec<Part> = Vec::new();
        while let Some(first) = state.waiting.front() {
            let fits = parts.is_empty() || (parts.len() < most && !first.is_alone);
            if !fits {
                break;
            }
            parts.extend(state.waiting.pop_front());
            if parts.last().is_some_and(|part| part.is_alone) {
                break;
            }
        }
        parts
    }

    /// Takes operations out whose time is over.
    fn drop_late(&self) {
        let mut late = Vec::new();
        let mut state = self.lock();
        let is_late = |part: &Part| part.ticket.deadline.is_over();
        if state.waiting.iter().any(is_late) {
            let (over, others) = state.waiting.drain(..).partition(is_late);
            state.waiting = others;
            late = VecDeque::into(over);
        }
        drop(state);
        for part in late {
            let text = match &self.link {
                Link::Python(_) => "the deadline passed before an interpreter was free",
                Link::Native(_) => "the deadline passed before it was called",
            };
            let error = self.link.failing().error(Code::DeadlineExceeded, text);
            self.link.record(Some(&error), self.timeout(), None);
            part.ticket.close(Err(error.into()));
        }
    }

    /// Calls the processors with these, and hands on what they give.
    fn process(
        self: &Arc<Self>,
        components: &Together,
        mut session: Session,
        parts: Vec<Part>,
        asked: Instant,
    ) {
        let waited = asked.elapsed();
        let fed: Vec<&Fed> = parts.iter().map(|part| &part.fed).collect();
        let begun = Instant::now();
        let came = self.call(components, &mut session, &fed, deadline(&parts));
        drop(session);
        let is_whole = |came: &Vec<Came>| came.iter().all(|came| came.from.is_some());
        match came {
            Ok(came) if parts.len() == 1 || is_whole(&came) => {
                components.record(None, waited, Some(begun));
                self.settle(&parts, came);
            }
            Ok(_) => {
                self.adds.store(true, Ordering::Relaxed);
                self.again(parts);
            }
            // One of them may be to blame.
            Err(_) if parts.len() > 1 => self.again(parts),
            Err(error) => {
                components.record(Some(&error), waited, Some(begun));
                for part in parts {
                    part.ticket.close(Err(error.clone().into()));
                }
            }
        }
    }

    fn call(
        &self,
        components: &Together,
        session: &mut Session,
        fed: &[&Fed],
        deadline: Deadline,
    ) -> Result<Vec<Came>, ComponentError> {
        let wrong = |text: String| components.failing().error(Code::Internal, &text);
        let argument = operations(fed, &self.kinds).map_err(wrong)?;
        let host = components.host();
        let answer = components.call(session, "process", argument, host, deadline)?;
        read_operations(answer, fed, &self.kinds).map_err(wrong)
    }

    /// Calls a processor in Rust with these: each has a result of its own.
    fn process_natively(
        self: &Arc<Self>,
        unit: &NativeUnit<dyn DocumentProcessor>,
        parts: Vec<Part>,
    ) {
        let begun = Instant::now();
        let (mut given, mut known) = (Vec::new(), Vec::new());
        for part in parts {
            match self.kinds.shared(&part.fed.operation.document) {
                Ok(kind) => {
                    given.push(DocumentOperation::new(part.fed.clone(), Arc::clone(kind)));
                    known.push(part);
                }
                Err(text) => {
                    let error = unit.failing().error(Code::Internal, &text);
                    part.ticket.close(Err(error.into()));
                }
            }
        }
        let call = Call { deadline: deadline(&known) };
        let came = unit.call(|processor| processor.process_all(given, &call));
        let mut results = came.map(Vec::into_iter);
        for part in known {
            let made = match &mut results {
                Ok(results) => results.next().map_or_else(
                    || Err(unit.failing().error(Code::Internal, "gave too few results")),
                    |made| made.map_err(|error| unit.failed(error)),
                ),
                Err(error) => Err(error.clone()),
            };
            unit.record(made.as_ref().err(), Duration::ZERO, Some(begun));
            match made {
                Ok(made) => {
                    let came = made.into_iter().map(|one| Came { from: Some(0), fed: one.fed });
                    self.settle(std::slice::from_ref(&part), came.collect());
                }
                Err(error) => part.ticket.close(Err(error.into())),
            }
        }
    }

    /// Each of these gets a call of its own.
    fn again(self: &Arc<Self>, parts: Vec<Part>) {
        let mut state = self.lock();
        for part in parts.into_iter().rev() {
            state.waiting.push_front(Part { is_alone: true, ..part });
        }
        self.wake(state);
    }

    /// Hands on what came of operations, in its order.
    fn settle(&self, parts: &[Part], came: Vec<Came>) {
        let of = |came: &Came| parts.get(came.from.unwrap_or(0)).map(|part| &part.ticket);
        came.iter().filter_map(of).for_each(|ticket| ticket.open());
        for came in came {
            let Some(ticket) = of(&came).cloned() else { continue };
            let processing = Arc::clone(&ticket.processing);
            processing.go_on(self, Part { fed: came.fed, ticket, is_alone: false });
        }
        for part in parts {
            part.ticket.close(Ok(None));
        }
    }
}

/// When a call with these operations must have ended. That of several has half of the time that there is, so that the others have
/// some left if one of them does not end.
fn deadline(parts: &[Part]) -> Deadline {
    let left = parts.iter().filter_map(|part| part.ticket.deadline.left()).min();
    match (parts, left) {
        ([only], _) => only.ticket.deadline,
        (_, Some(left)) => Deadline::after(left / 2),
        (_, None) => Deadline::NEVER,
    }
}

//! How interpreters go from hand to hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use super::lease::{Lease, LeaseNumber};
use super::outbox;
use super::session::Held;
use super::state::State;
use super::watch::Watch;
use super::{AcquireError, Grant, Isolation, ManagerOptions, Registered, Session};
use crate::{Choice, Deadline, InProcess, Installation, Mode, StartError, Worker};

/// A manager behind its handles.
pub(super) struct Inner {
    python: Installation,
    pub(super) options: ManagerOptions,
    pub(super) choice: Choice,
    state: Mutex<State>,
    pub(super) watch: Arc<Watch>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.watch.end();
    }
}

impl Inner {
    pub(super) fn new(python: Installation, choice: Choice, options: ManagerOptions) -> Inner {
        Inner { python, options, choice, state: Mutex::default(), watch: Arc::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn acquire(
        self: &Arc<Inner>,
        package: &Registered,
        deadline: Deadline,
    ) -> Result<Session, AcquireError> {
        let held = match self.wait(&package.name, deadline)? {
            Grant::Free(held) => held,
            Grant::Start => self.start()?,
        };
        let mut session = Session::new(self.clone(), held);
        session.loaded(package, deadline)?;
        Ok(session)
    }

    fn wait(
        self: &Arc<Inner>,
        package: &Arc<str>,
        deadline: Deadline,
    ) -> Result<Grant, AcquireError> {
        let mut state = self.lock();
        let ticket = state.queue.join(package);
        let handed = state.hand_out(self.options.interpreters);
        if !handed.is_empty() {
            drop(state);
            self.dispatch(handed);
            state = self.lock();
        }
        loop {
            if let Some(grant) = state.queue.take(ticket) {
                return Ok(grant);
            }
            let left = deadline.left();
            if left == Some(Duration::ZERO) {
                state.queue.leave(package, ticket);
                return Err(AcquireError::TimedOut);
            }
            drop(state);
            // Who is given something is woken; others may wake it too.
            left.map_or_else(thread::park, thread::park_timeout);
            state = self.lock();
        }
    }

    /// Starts an interpreter that was counted already.
    pub(super) fn start(self: &Arc<Inner>) -> Result<Held, StartError> {
        let started = self.start_one();
        let mut state = self.lock();
        let mut handed = Vec::new();
        match &started {
            Ok(held) => {
                match held.interpreter.mode() {
                    Mode::InProcess => state.counts.in_process += 1,
                    Mode::Worker => state.counts.workers += 1,
                }
                state.counts.filled += usize::from(held.filled);
            }
            Err(_) => {
                state.interpreters -= 1;
                handed = state.hand_out(self.options.interpreters);
            }
        }
        drop(state);
        self.dispatch(handed);
        started
    }

    fn start_one(&self) -> Result<Held, StartError> {
        let inside =
            self.choice.mode == Mode::InProcess && self.options.isolation == Isolation::InProcess;
        // Whether it is a worker for want of room.
        let mut filled = false;
        if inside {
            match InProcess::start(&self.python, &self.options.start) {
                Ok(interpreter) => {
                    let thread = interpreter.thread();
                    let watch = Arc::clone(&self.watch);
                    thread.on_death(Box::new(move || watch.look_at(Instant::now())));
                    return Ok(Held::new(Box::new(interpreter), Some(thread), false));
                }
                Err(StartError::Namespaces { .. } | StartError::Keys { .. }) => filled = true,
                Err(error) => return Err(error),
            }
        }
        let worker = Worker::start(&self.python, &self.options.start, self.options.worker_limits)?;
        Ok(Held::new(Box::new(worker), None, filled))
    }

    /// Has the free interpreters that something is said of let go of what nobody has any more.
    pub(super) fn idle(
        self: &Arc<Inner>,
        mut state: MutexGuard<'_, State>,
        concerns: impl Fn(&Held) -> bool,
    ) {
        let concerned: Vec<Held> = state.free.extract_if(.., |held| concerns(held)).collect();
        drop(state);
        concerned.into_iter().for_each(|held| self.set_free(self.lock(), held));
    }

    /// Puts an interpreter among the free ones. If nobody waits for it, it lets go of what nobody has any more before; telling it
    /// may take a while, so that nobody else waits for the lock meanwhile.
    fn set_free<'i>(self: &'i Arc<Inner>, mut state: MutexGuard<'i, State>, mut held: Held) {
        while state.queue.is_empty() {
            let old = held.outdated(&state);
            drop(state);
            let is_told = held.let_go(&old);
            state = self.lock();
            if !is_told || !held.is_outdated(&state) {
                break;
            }
        }
        state.free.push(held);
        let handed = state.hand_out(self.options.interpreters);
        drop(state);
        self.dispatch(handed);
    }

    /// Takes an interpreter back from a session; `lease` is that of work, and `reader` who waits for what it gave.
    pub(super) fn give_back(
        self: &Arc<Inner>,
        held: Held,
        lease: Option<LeaseNumber>,
        reader: Option<Waker>,
    ) {
        let mut state = self.lock();
        if let Some(number) = lease {
            let lease = state.take_lease(number);
            state = self.tell(state, lease.as_ref(), reader);
            // Without one the interpreter was counted as dead.
            let Some(lease) = lease else { return };
            if lease.is_aside {
                drop(state);
                return self.return_later(held);
            }
        }
        if held.interpreter.died().is_some() {
            state.counts.died += 1;
            state.counts.lose(held.kind());
            state.interpreters -= 1;
        } else if held.interpreter.is_free() {
            return self.set_free(state, held);
        } else {
            state.interpreters -= 1;
            state.counts.busy += 1;
            drop(state);
            self.return_later(held);
            state = self.lock();
        }
        let handed = state.hand_out(self.options.interpreters);
        drop(state);
        self.dispatch(handed);
    }

    /// Has somebody woken for whom there is an answer, at once or with others if the interpreter goes on.
    fn tell<'i>(
        &'i self,
        mut state: MutexGuard<'i, State>,
        lease: Option<&Lease>,
        reader: Option<Waker>,
    ) -> MutexGuard<'i, State> {
        let now = Instant::now();
        let is_short = |lease: &Lease| now.saturating_duration_since(lease.begun) < outbox::MOMENT;
        let goes_on = !state.queue.is_empty() && lease.is_some_and(is_short);
        let is_due = reader.is_some_and(|reader| state.outbox.put(reader, now));
        if is_due || !goes_on {
            let readers = state.outbox.take();
            if !readers.is_empty() {
                drop(state);
                readers.into_iter().for_each(Waker::wake);
                state = self.lock();
            }
        } else if let Some(end) = state.outbox.end()
            && state.look_by(end)
        {
            self.watch.look_at(end);
        }
        state
    }

    /// Waits for an interpreter that was set aside on a thread of its own, which ends when it is back. That is rare: a
    /// thread each.
    fn return_later(self: &Arc<Inner>, held: Held) {
        let (inner, kind) = (self.clone(), held.kind());
        let wait = move || {
            held.interpreter.wait_free();
            let mut state = inner.lock();
            state.counts.busy -= 1;
            // Its place was free for another, which may have taken it.
            if held.interpreter.died().is_none() && state.interpreters < inner.options.interpreters
            {
                state.interpreters += 1;
                inner.set_free(state, held);
            } else {
                state.counts.lose(kind);
            }
        };
        let thread = thread::Builder::new().name("python-set-aside".to_owned());
        if thread.spawn(wait).is_err() {
            // It is dropped, and waits among those that can be used again.
            let mut state = self.lock();
            state.counts.busy -= 1;
            state.counts.lose(kind);
        }
    }

    /// Ends work whose time is over, and tells when to look again.
    pub(super) fn look(self: &Arc<Inner>) -> Option<Instant> {
        let mut refusals = Vec::new();
        let mut state = self.lock();
        let late = state.queue.take_tasks(|task| task.deadline.is_over());
        state.end_leases(&mut refusals);
        let handed = state.hand_out(self.options.interpreters);
        let is_due = state.outbox.end().is_some_and(|end| end <= Instant::now());
        let readers = if is_due { state.outbox.take() } else { Vec::new() };
        let next = state.next_end();
        state.next_look = next;
        drop(state);
        readers.into_iter().for_each(Waker::wake);
        let waited = late.iter().map(|task| Arc::clone(&task.refusal));
        refusals.extend(waited.map(|refusal| (refusal, AcquireError::TimedOut.into())));
        refusals.into_iter().for_each(|(refusal, error)| refusal.refuse(error));
        self.dispatch(handed);
        next
    }
}

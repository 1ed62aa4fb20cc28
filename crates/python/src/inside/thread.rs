//! The one thread of an interpreter, on which all code of its callers runs, and the other that interrupts it.
//!
//! The thread is Python's main thread, its stack is large enough for recursion in C, and a caller that waits for it can
//! give up. What it still runs then gets an exception from the second thread, which has to wait for the interpreter's
//! lock and so cannot be the caller's.
//!
//! Work that is posted to it calls the interpreter where it is, without a thread that waits.
#![allow(unsafe_code)] // exceptions of other threads

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::Duration;

use super::budget::Slot;
use super::crash;
use super::here;
use super::python::{Attached, Python, ThreadState};
use crate::interpreter::OwnThread;
use crate::pace::Pace;
use crate::{CallError, Deadline, Installation, StartError};

/// Enough for deep recursion of pickle, regular expressions and the compiler.
const STACK: usize = 16 << 20;

/// How long after one exception another is raised in code that caught the first.
const AGAIN: Duration = Duration::from_secs(1);

/// What the resident thread is told.
pub(super) enum Message {
    /// Run this under the lock.
    Job(Box<dyn FnOnce(&Attached) + Send>),
    /// Look what there is to release.
    Wake,
}

/// The resident thread of an interpreter. It lives as long as the process.
pub(super) struct Resident {
    jobs: Sender<Message>,
    state: Mutex<State>,
    changed: Condvar,
    python: OnceLock<&'static Python>,
    /// What `threading.get_ident()` gives on it.
    thread: AtomicU64,
    interrupter: Once,
    /// Whom posted work belongs to, who has to hear of the interpreter's death.
    owner: Mutex<Option<Box<dyn Fn() + Send>>>,
}

#[derive(Default)]
struct State {
    /// Jobs that were sent and that have ended.
    sent: u64,
    done: u64,
    /// Nobody waits for the jobs up to this one.
    given_up: u64,
    /// Threads that wait for a change.
    waiting: usize,
    died: Option<String>,
}

impl Resident {
    /// Starts the thread and Python on it.
    ///
    /// # Errors
    /// [`StartError`].
    pub(super) fn start(
        installation: &Installation,
        library: PathBuf,
        variables: Vec<(String, String)>,
        slot: Slot,
    ) -> Result<&'static Resident, StartError> {
        let (jobs, received) = mpsc::channel();
        let resident: &'static Resident = Box::leak(Box::new(Resident {
            jobs,
            state: Mutex::default(),
            changed: Condvar::new(),
            python: OnceLock::new(),
            thread: AtomicU64::new(0),
            interrupter: Once::new(),
            owner: Mutex::default(),
        }));
        let (tell, told) = mpsc::channel();
        let installation = installation.clone();
        let body = move || {
            let wake = resident.jobs.clone();
            match Python::start(&installation, &library, &variables, slot, wake) {
                Err(error) => drop(tell.send(Err(error))), // The starter waits for it.
                Ok((python, main)) => {
                    python.namespace.table.on_death(Box::new(move |death| {
                        resident.die(death.to_string());
                    }));
                    crash::enter(python.namespace.table);
                    // SAFETY: no argument, no failure.
                    let thread = unsafe { libc::pthread_self() };
                    resident.thread.store(thread, Ordering::Relaxed);
                    resident.python.get_or_init(|| python);
                    drop(tell.send(Ok(())));
                    resident.serve(main, &received);
                }
            }
        };
        std::thread::Builder::new()
            .name("python".to_owned())
            .stack_size(STACK)
            .spawn(body)
            .map_err(StartError::system("a thread for an interpreter"))?;
        let lost = || StartError::Bootstrap("its thread ended".to_owned());
        told.recv().map_err(|_| lost())??;
        Ok(resident)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of the thread.
    fn serve(&self, mut main: ThreadState, jobs: &Receiver<Message>) {
        let mut pace = Pace::default();
        // The sender is part of `self`, so there is always one.
        while let Some(message) = pace.next(jobs) {
            let is_awaited = main.attach(|at| {
                let Message::Job(job) = message else { return false };
                // A panic of ours ends the call, which then has no result, and nothing else.
                let _ = catch_unwind(AssertUnwindSafe(|| job(at)));
                self.finish(at)
            });
            if is_awaited {
                self.changed.notify_all();
            }
        }
    }

    /// Marks the job as done while the lock is held: the interrupter looks under the same lock, so that no exception
    /// is raised from here on, and the one that was is taken back. Tells whether somebody waits.
    fn finish(&self, at: &Attached) -> bool {
        let mut state = self.lock();
        state.done += 1;
        let late = state.done <= state.given_up;
        let is_awaited = state.waiting > 0;
        drop(state);
        if late {
            let thread = self.thread.load(Ordering::Relaxed);
            // SAFETY: the lock is held; null takes back an exception that has not been raised yet.
            unsafe { (at.api().PyThreadState_SetAsyncExc)(thread, std::ptr::null_mut()) };
            if let Some(runtime) = at.python.runtime() {
                // One that is on its way is raised here.
                let _ = runtime.nothing.get(at).call(Vec::new(), None);
            }
        }
        is_awaited
    }

    /// Runs `work` on the thread, once it is free, and waits for what it gives. Work that was posted is there already.
    ///
    /// # Errors
    /// [`CallError::Busy`], [`CallError::TimedOut`], [`CallError::Died`], and those of `work`.
    pub(super) fn run<T: Send + 'static>(
        &'static self,
        deadline: Deadline,
        work: impl FnOnce(&Attached) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let in_time = move |at: &Attached| match deadline.is_over() {
            true => Err(CallError::TimedOut), // Nobody waits for what would begin now.
            false => work(at),
        };
        let work = match here::run(self.python(), in_time) {
            Ok(found) => return found,
            Err(work) => work,
        };
        let mut state = self.wait(self.lock(), deadline, |state| state.sent == state.done);
        if let Some(died) = &state.died {
            return Err(CallError::Died(died.clone()));
        }
        if state.sent != state.done {
            return Err(CallError::Busy);
        }
        state.sent += 1;
        let job = state.sent;
        drop(state);
        let result = Arc::new(Mutex::new(None));
        let place = result.clone();
        self.send(move |at| {
            let found = work(at);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        });
        let mut state = self.wait(self.lock(), deadline, |state| state.done >= job);
        if state.done >= job {
            drop(state);
            let found = result.lock().unwrap_or_else(PoisonError::into_inner).take();
            return found.unwrap_or_else(|| Err(CallError::Died("the call was lost".to_owned())));
        }
        if let Some(died) = &state.died {
            return Err(CallError::Died(died.clone()));
        }
        state.given_up = job;
        drop(state);
        self.interrupt();
        Err(CallError::TimedOut)
    }

    /// Has `work` run after all that was sent before, and waits for nothing.
    pub(super) fn run_later(&'static self, work: impl FnOnce(&Attached) + Send + 'static) {
        self.lock().sent += 1;
        self.send(work);
    }

    fn send(&self, work: impl FnOnce(&Attached) + Send + 'static) {
        // The thread ends with the process only.
        let _ = self.jobs.send(Message::Job(Box::new(work)));
    }

    /// Waits until `enough`, the interpreter's death or the deadline.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        deadline: Deadline,
        enough: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        while !enough(&state) && state.died.is_none() {
            let left = deadline.left();
            if left == Some(Duration::ZERO) {
                return state;
            }
            state.waiting += 1;
            state = match left {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.waiting -= 1;
        }
        state
    }

    /// Whether no job that was given up runs.
    pub(super) fn is_free(&self) -> bool {
        let state = self.lock();
        state.done >= state.given_up && state.died.is_none()
    }

    pub(super) fn wait_free(&self) {
        drop(self.wait(self.lock(), Deadline::NEVER, |state| state.done >= state.given_up));
    }

    pub(super) fn died(&self) -> Option<String> {
        self.lock().died.clone()
    }

    pub(super) fn python(&self) -> Option<&'static Python> {
        self.python.get().copied()
    }

    /// Nothing can be called any more.
    pub(super) fn die(&self, why: String) {
        self.lock().died.get_or_insert(why);
        self.changed.notify_all();
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        owner.iter().for_each(|told| told());
    }

    /// Has the second thread raise an exception in the job that nobody waits for.
    fn interrupt(&'static self) {
        self.interrupter.call_once(|| {
            let thread = std::thread::Builder::new().name("python-interrupt".to_owned());
            // Without it, code that was given up runs to its end.
            let _ = thread.spawn(move || self.interrupter());
        });
        self.changed.notify_all();
    }

    fn interrupter(&'static self) {
        let Some(python) = self.python() else { return };
        let mut own = None;
        loop {
            let state =
                self.wait(self.lock(), Deadline::NEVER, |state| state.done < state.given_up);
            if state.died.is_some() {
                return;
            }
            drop(state);
            // Waits for the lock as long as code in C keeps it.
            own.get_or_insert_with(|| ThreadState::new(python)).attach(|at| self.raise(at));
            let deadline = Deadline::after(AGAIN);
            drop(self.wait(self.lock(), deadline, |state| state.done >= state.given_up));
        }
    }

    fn raise(&self, at: &Attached) {
        let state = self.lock();
        if state.done < state.given_up
            && let Some(runtime) = at.python.runtime()
        {
            let thread = self.thread.load(Ordering::Relaxed);
            // SAFETY: the lock is held, and the class is kept for ever. A job that nobody waits for is running: it
            // cannot be marked as done before this thread gives the lock back.
            unsafe { (at.api().PyThreadState_SetAsyncExc)(thread, runtime.late.get(at).raw()) };
        }
    }
}

impl OwnThread for Resident {
    fn post(&'static self, work: Box<dyn FnOnce() + Send>) {
        self.run_later(move |at| here::with(at, work));
    }

    fn give_up(&'static self) {
        let mut state = self.lock();
        state.given_up = state.sent;
        drop(state);
        self.interrupt();
    }

    fn died(&self) -> Option<String> {
        Resident::died(self)
    }

    fn on_death(&self, told: Box<dyn Fn() + Send>) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }
}

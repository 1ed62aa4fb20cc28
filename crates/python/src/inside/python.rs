//! One started Python of a namespace, and the threads that enter it.
#![allow(unsafe_code)] // thread states of Python

use std::marker::PhantomData;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::api::{Api, PyBuffer, PyInterpreterState, PyThreadState};
use super::budget::Slot;
use super::crash;
use super::here;
use super::host::Calls;
use super::initialize::initialize;
use super::namespace::Namespace;
use super::runtime::Runtime;
use super::thread::Message;
use super::variables;
use crate::output::Output;
use crate::{Installation, StartError};

/// A started Python. It lives as long as the process: neither the namespace nor what extension modules keep in it can
/// be given back, and tensors may point into its memory.
pub(super) struct Python {
    pub(super) namespace: Namespace,
    pub(super) api: Api,
    interpreter: PyInterpreterState,
    runtime: OnceLock<Runtime>,
    /// Buffers that nobody outside reads any more; only a thread that holds the lock may release them.
    returned: Mutex<Vec<Returned>>,
    /// To the resident thread.
    wake: Sender<Message>,
    /// What its code prints.
    pub(super) output: Output,
    /// Whom its code may ask.
    pub(super) calls: Calls,
}

// SAFETY: the interpreter's pointer is only used by functions that may be called from any thread, or under its lock.
unsafe impl Send for Python {}
// SAFETY: as above.
unsafe impl Sync for Python {}

/// A buffer of an object of this Python.
pub(super) struct Returned(pub(super) Box<PyBuffer>);

// SAFETY: it is only moved; what it points to is touched under the interpreter's lock.
unsafe impl Send for Returned {}

impl Python {
    /// Opens a namespace, sets its environment (that of this process, then `variables`) and starts Python on the
    /// calling thread, which becomes its main thread.
    ///
    /// # Errors
    /// [`StartError`].
    pub(super) fn start(
        installation: &Installation,
        library: &Path,
        variables: &[(String, String)],
        slot: Slot,
        wake: Sender<Message>,
    ) -> Result<(&'static Python, ThreadState), StartError> {
        let namespace = Namespace::open(library, slot)?;
        namespace.table.enter_thread();
        variables::copy_to(&namespace, variables)?;
        let api = Api::of(&namespace)?;
        initialize(&api, installation)?;
        // SAFETY: the calling thread has just initialised Python and holds its lock.
        let (interpreter, state) =
            unsafe { ((api.PyInterpreterState_Get)(), (api.PyEval_SaveThread)()) };
        let (reader, writer) = std::io::pipe().map_err(StartError::system("a pipe"))?;
        let output = Output::of(reader).map_err(StartError::system("a thread for outputs"))?;
        let (runtime, returned) = (OnceLock::new(), Mutex::default());
        let calls = Calls::default();
        let python = Python { namespace, api, interpreter, runtime, returned, wake, output, calls };
        let python: &'static Python = Box::leak(Box::new(python));
        let mut main = ThreadState { python, state, is_main: true, of_thread: PhantomData };
        // Python has this end as long as it lives.
        let writer = OwnedFd::from(writer).into_raw_fd();
        let runtime = main.attach(|at| Runtime::load(at, writer))?;
        debug_assert!(python.runtime.get().is_none());
        python.runtime.get_or_init(|| runtime);
        Ok((python, main))
    }

    /// stead's own code inside, once it is loaded.
    pub(super) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.get()
    }

    /// Has a buffer released by the resident thread.
    pub(super) fn give_back(&self, buffer: Returned) {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        returned.push(buffer);
        if returned.len() == 1 {
            // The thread never ends; where the interpreter died, the buffer stays.
            let _ = self.wake.send(Message::Wake);
        }
    }
}

/// The state of the calling thread in an interpreter. It never leaves the thread.
pub(super) struct ThreadState {
    python: &'static Python,
    state: PyThreadState,
    is_main: bool,
    of_thread: PhantomData<*mut ()>,
}

impl ThreadState {
    /// Makes the calling thread one that may enter `python`.
    pub(super) fn new(python: &'static Python) -> ThreadState {
        python.namespace.table.enter_thread();
        // SAFETY: may be called without the lock; the interpreter is never ended.
        let state = unsafe { (python.api.PyThreadState_New)(python.interpreter) };
        debug_assert!(!state.is_null());
        ThreadState { python, state, is_main: false, of_thread: PhantomData }
    }

    /// Waits for the interpreter's lock, runs `work` and gives the lock back.
    pub(super) fn attach<T>(&mut self, work: impl FnOnce(&Attached) -> T) -> T {
        /// Gives the lock back when `work` panics too.
        struct Detach<'a>(&'a Api);
        impl Drop for Detach<'_> {
            fn drop(&mut self) {
                // SAFETY: this thread took the lock in `attach` and has it.
                unsafe { (self.0.PyEval_SaveThread)() };
            }
        }
        // SAFETY: the state was made for this interpreter on this thread and is not attached, for `&mut self` is taken.
        unsafe { (self.python.api.PyEval_RestoreThread)(self.state) };
        let _detach = Detach(&self.python.api);
        let at = Attached { python: self.python, of_thread: PhantomData };
        at.release_returned();
        work(&at)
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        if self.is_main {
            return; // Python keeps it until its end, which never comes.
        }
        // SAFETY: as in `attach`; the state is cleared under the lock and then gone with it.
        unsafe {
            (self.python.api.PyEval_RestoreThread)(self.state);
            (self.python.api.PyThreadState_Clear)(self.state);
            (self.python.api.PyThreadState_DeleteCurrent)();
        }
    }
}

/// Proof that the calling thread holds the lock of an interpreter: [`ThreadState::attach`] has taken it, or Python has
/// and [called back](Attached::called_back).
pub(super) struct Attached {
    pub(super) python: &'static Python,
    of_thread: PhantomData<*mut ()>,
}

impl Attached {
    pub(super) fn api(&self) -> &'static Api {
        &self.python.api
    }

    /// Proof for a function that Python calls.
    ///
    /// # Safety
    /// The calling thread holds the lock of `python` for as long as this is there.
    pub(super) unsafe fn called_back(python: &'static Python) -> Attached {
        Attached { python, of_thread: PhantomData }
    }

    /// Gives the lock back, runs `work`, which touches no object, and waits for the lock.
    pub(super) fn detached<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        /// Takes the lock again when `work` panics too.
        struct Again<'a>(&'a Api, PyThreadState);
        impl Drop for Again<'_> {
            fn drop(&mut self) {
                // SAFETY: the state of this thread, which `detached` has detached.
                unsafe { (self.0.PyEval_RestoreThread)(self.1) };
            }
        }
        // SAFETY: this thread holds the lock. Objects cannot be sent, so `work` has none.
        let state = unsafe { (self.api().PyEval_SaveThread)() };
        let _again = Again(self.api(), state);
        here::without(|| crash::outside(work))
    }

    fn release_returned(&self) {
        let mut returned = self.python.returned.lock().unwrap_or_else(PoisonError::into_inner);
        let all = std::mem::take(&mut *returned);
        drop(returned);
        for mut buffer in all {
            // SAFETY: the lock is held, and each buffer was got once and is released once.
            unsafe { (self.api().PyBuffer_Release)(&raw mut *buffer.0) };
        }
    }
}

//! A thread that does work for an interpreter which has no thread inside this process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};

use crate::StartError;
use crate::pace::Pace;

/// What a thread does for an interpreter.
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// The thread. It ends when this and its clones are dropped.
#[derive(Clone)]
pub(super) struct Driver(Sender<Work>);

impl Driver {
    /// Starts it.
    ///
    /// # Errors
    /// [`StartError::System`].
    pub(super) fn start() -> Result<Driver, StartError> {
        let (sender, works) = mpsc::channel::<Work>();
        let drive = move || {
            let mut pace = Pace::default();
            while let Some(work) = pace.next(&works) {
                // A panic of ours ends this work, which tells so, and nothing else.
                let _ = catch_unwind(AssertUnwindSafe(work));
            }
        };
        let thread = std::thread::Builder::new().name("python-driver".to_owned());
        thread.spawn(drive).map_err(StartError::system("a thread for a worker process"))?;
        Ok(Driver(sender))
    }

    /// Has it do something.
    pub(super) fn post(&self, work: Work) {
        // It ends with its senders only.
        let _ = self.0.send(work);
    }
}

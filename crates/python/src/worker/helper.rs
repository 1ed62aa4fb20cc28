//! The thread on which hosts answer what the code of a worker asks for: the caller waits for it no longer than for the
//! worker itself.

use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};

use crate::host::Running;
use crate::{CallError, HostCode, HostError, StartError, Value};

/// A question, and where its answer is waited for.
struct Job {
    running: Running,
    name: String,
    arguments: Vec<Value>,
    tell: SyncSender<Result<Value, HostError>>,
}

/// A thread, once it is needed. One whose host has not come back at a deadline is left to end alone.
#[derive(Default)]
pub(super) struct Helper(Option<Sender<Job>>);

impl Helper {
    /// The answer of the host.
    ///
    /// # Errors
    /// [`CallError::TimedOut`], and that there is no thread.
    pub(super) fn answer(
        &mut self,
        running: Running,
        name: String,
        arguments: Vec<Value>,
    ) -> Result<Result<Value, HostError>, CallError> {
        if running.host.is_none() {
            return Ok(running.answer(name, arguments));
        }
        let deadline = running.deadline;
        let (tell, told) = mpsc::sync_channel(1);
        self.send(Job { running, name: name.clone(), arguments, tell })?;
        let told = match deadline.left() {
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(left) => told.recv_timeout(left),
        };
        match told {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                self.0 = None;
                Err(CallError::TimedOut)
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.0 = None;
                let text = format!("{name}: the thread that answers is gone");
                Ok(Err(HostError::new(HostCode::Internal, text)))
            }
        }
    }

    fn send(&mut self, job: Job) -> Result<(), CallError> {
        let jobs = match &self.0 {
            Some(jobs) => jobs,
            None => {
                let (jobs, received) = mpsc::channel::<Job>();
                let thread = std::thread::Builder::new().name("python-host".to_owned());
                let serve = move || {
                    for job in received {
                        // Whoever waited may have gone.
                        let _ = job.tell.send(job.running.answer(job.name, job.arguments));
                    }
                };
                thread.spawn(serve).map_err(StartError::system("a thread for a host"))?;
                self.0.insert(jobs)
            }
        };
        // It ends with its sender only; should it be gone, nothing is told.
        let _ = jobs.send(job);
        Ok(())
    }
}

//! The interpreter in a worker process.

use std::time::Duration;

use super::codec::{self, Reader};
use super::frame::{self, FrameError, Kind, Message};
use super::process::Process;
use super::segment::Builder;
use crate::{
    Call, CallError, Deadline, Exception, Installation, Interpreter, Mode, ModuleSource,
    StartError, StartOptions, Value, Version,
};

pub use super::frame::WorkerLimits;

/// How long a process may take to say that it is there.
const START: Duration = Duration::from_secs(60);

/// An interpreter in a process of its own. Where the process ends, or is ended because a call missed its deadline, a new
/// one is started and loads again what the old one had loaded; the next call waits for that.
pub struct Worker {
    python: Installation,
    options: StartOptions,
    limits: WorkerLimits,
    process: Option<Process>,
    /// Modules in the order in which they were loaded.
    loaded: Vec<ModuleSource>,
    /// Answers of a new process that nobody has read: that it is there, then one for each module.
    expected: usize,
}

impl Worker {
    /// Starts a process and waits until it is there.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        python: &Installation,
        options: &StartOptions,
        limits: WorkerLimits,
    ) -> Result<Worker, StartError> {
        let mut worker = Worker {
            python: python.clone(),
            options: options.clone(),
            limits,
            process: None,
            loaded: Vec::new(),
            expected: 0,
        };
        let started = worker.ready(Deadline::after(START)).map(drop);
        started.map_err(|error| match error {
            CallError::Start(error) => error,
            error => StartError::Bootstrap(error.to_string()),
        })?;
        Ok(worker)
    }

    /// The number of the process, if there is one now.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Starts a new process and has it load everything, without waiting for it.
    fn renew(&mut self) -> Result<&Process, CallError> {
        let process = Process::start(&self.python, &self.options)?;
        self.expected = 1;
        let process = self.process.insert(process);
        for module in &self.loaded {
            let deadline = Deadline::after(START);
            let body = load_body(module)?;
            frame::send(
                &process.socket,
                Kind::Load,
                &body,
                &Builder::default(),
                self.limits,
                deadline,
            )
            .map_err(|e| CallError::Died(format!("{e:?}")))?;
            self.expected += 1;
        }
        Ok(process)
    }

    /// The process, once it is there and has loaded everything.
    fn ready(&mut self, deadline: Deadline) -> Result<(), CallError> {
        if self.process.is_none() {
            self.renew()?;
        }
        while self.expected > 0 {
            let answer = self.receive(deadline).map_err(|error| match error {
                CallError::TimedOut => CallError::Busy,
                error => error,
            });
            if !matches!(answer, Err(CallError::Busy)) {
                self.expected -= 1;
            }
            if let Err(error) = answer.and_then(value) {
                if !matches!(error, CallError::Busy) {
                    // The next call tries with a new process.
                    self.process = None;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn send(
        &mut self,
        kind: Kind,
        body: &[u8],
        tensors: &Builder<'_>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let limits = self.limits;
        self.with(|process| frame::send(&process.socket, kind, body, tensors, limits, deadline))
    }

    fn receive(&mut self, deadline: Deadline) -> Result<Message, CallError> {
        let limits = self.limits;
        self.with(|process| frame::receive(&process.socket, limits, deadline))
    }

    /// Talks with the process. One that is gone or says what it should not is ended.
    fn with<T>(
        &mut self,
        talk: impl FnOnce(&Process) -> Result<T, FrameError>,
    ) -> Result<T, CallError> {
        let Some(process) = &self.process else {
            return Err(CallError::Died("there is no process".to_owned()));
        };
        let error = match talk(process) {
            Ok(found) => return Ok(found),
            Err(FrameError::TimedOut) => return Err(CallError::TimedOut),
            Err(FrameError::TooLarge { bytes, limit }) => {
                return Err(CallError::TooLarge { bytes, limit });
            }
            Err(error) => error,
        };
        let Some(process) = self.process.take() else { return Err(CallError::Busy) };
        Err(CallError::Died(match error {
            FrameError::Protocol(text) => format!("{text}; {}", process.end()),
            FrameError::System(error) => format!("{error}; {}", process.end()),
            _ => process.ended(),
        }))
    }

    /// Sends a message and waits for its answer. At the deadline the process is ended and another one started.
    fn ask(
        &mut self,
        kind: Kind,
        body: &[u8],
        tensors: &Builder<'_>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let sent = self.send(kind, body, tensors, deadline);
        let answer = sent.and_then(|()| self.receive(deadline));
        if matches!(answer, Err(CallError::TimedOut)) {
            self.process = None;
            // Where it fails, the next call says so.
            let _ = self.renew();
        }
        let answer = answer.and_then(value);
        if let Err(CallError::Died(_)) = answer {
            self.process = None;
        }
        answer
    }
}

fn load_body(module: &ModuleSource) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    codec::bytes(&mut body, module.name.as_bytes())?;
    codec::bytes(&mut body, module.source.as_bytes())?;
    Ok(body)
}

/// What an answer says.
fn value(message: Message) -> Result<Value, CallError> {
    let wrong = |text: String| CallError::Died(format!("a message cannot be read: {text}"));
    let mut reader = Reader::new(&message.body, &message.segment);
    match message.kind {
        Kind::Ready => Ok(Value::None),
        Kind::Value => reader.whole().map_err(wrong),
        Kind::Raised => {
            let mut text = || reader.text().map_err(wrong);
            let (kind, message, traceback) = (text()?, text()?, text()?);
            Err(CallError::Raised(Box::new(Exception { kind, message, traceback })))
        }
        Kind::Returned => Err(CallError::Returned(reader.text().map_err(wrong)?)),
        Kind::Load | Kind::Call => Err(wrong("it is one of ours".to_owned())),
    }
}

impl Interpreter for Worker {
    fn mode(&self) -> Mode {
        Mode::Worker
    }

    fn version(&self) -> Version {
        self.python.version
    }

    fn load(&mut self, module: &ModuleSource, deadline: Deadline) -> Result<(), CallError> {
        self.ready(deadline)?;
        let body = load_body(module)?;
        self.ask(Kind::Load, &body, &Builder::default(), deadline)?;
        self.loaded.retain(|other| other.name != module.name);
        self.loaded.push(module.clone());
        Ok(())
    }

    fn call(&mut self, call: Call, deadline: Deadline) -> Result<Value, CallError> {
        self.ready(deadline)?;
        let mut body = Vec::new();
        let mut tensors = Builder::default();
        codec::bytes(&mut body, call.module.as_bytes())?;
        codec::bytes(&mut body, call.name.as_bytes())?;
        codec::count(&mut body, call.arguments.len())?;
        for (i, value) in call.arguments.iter().enumerate() {
            codec::write(&mut body, &mut tensors, value, &i.to_string(), 0)?;
        }
        codec::count(&mut body, call.keywords.len())?;
        for (name, value) in &call.keywords {
            codec::bytes(&mut body, name.as_bytes())?;
            codec::write(&mut body, &mut tensors, value, name, 0)?;
        }
        self.ask(Kind::Call, &body, &tensors, deadline)
    }

    /// A process that is being replaced counts as free: the call waits for it.
    fn is_free(&self) -> bool {
        true
    }

    fn wait_free(&self) {}

    fn died(&self) -> Option<String> {
        None
    }
}

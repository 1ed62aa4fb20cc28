//! The interpreter in a worker process.

use std::sync::Arc;
use std::time::Duration;

use super::codec::{self, Reader};
use super::frame::{self, FrameError, Kind, Message};
use super::helper::Helper;
use super::process::Process;
use super::segment::Builder;
use crate::host::Running;
use crate::{
    Call, CallError, Deadline, Exception, Host, HostCode, HostError, Installation, Interpreter,
    Mode, ModuleSource, OutputLine, PackageFile, StartError, StartOptions, Value, Version,
};

pub use super::frame::WorkerLimits;

/// How long a process may take to say that it is there.
const START: Duration = Duration::from_secs(60);

/// How long a process that reads may take to read a short message.
const TELL: Duration = Duration::from_secs(1);

/// So many answers may wait in a socket before their reader comes: a process that cannot write one does not read.
const UNREAD: usize = 64;

/// An interpreter in a process of its own. Where the process ends, or is ended because a call missed its deadline, a new
/// one is started and loads again what the old one had loaded; the next call waits for that.
pub struct Worker {
    python: Installation,
    options: StartOptions,
    limits: WorkerLimits,
    process: Option<Process>,
    /// In the order in which it was loaded.
    loaded: Vec<Loaded>,
    /// Answers that nobody has read: that a new process is there, one for each module, and those to [`Self::idle`].
    expected: usize,
    /// Runs what hosts do for its code.
    helper: Helper,
}

/// What a new process has to load.
#[derive(PartialEq, Eq)]
enum Loaded {
    Module(ModuleSource),
    Package(PackageFile),
}

impl Loaded {
    fn is_in_place_of(&self, other: &Loaded) -> bool {
        match (self, other) {
            (Loaded::Module(one), Loaded::Module(other)) => one.name == other.name,
            (Loaded::Package(one), Loaded::Package(other)) => one.name == other.name,
            _ => false,
        }
    }
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
            helper: Helper::default(),
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
        for loaded in &self.loaded {
            let mut body = Vec::new();
            let kind = match loaded {
                Loaded::Module(module) => {
                    write_load(&mut body, module)?;
                    Kind::Load
                }
                Loaded::Package(package) => {
                    let open = package.opening()?;
                    write_call(&mut body, &mut Builder::default(), &open)?;
                    Kind::Call
                }
            };
            let (none, deadline) = (Builder::default(), Deadline::after(START));
            frame::send(&process.socket, kind, &body, &none, self.limits, deadline).map_err(
                |e| CallError::Died(format!("it did not take what it should load: {e:?}")),
            )?;
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
            let answer = self.answer(None, deadline).map_err(|error| match error {
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

    /// A new process loads it too.
    fn keep(&mut self, loaded: Loaded) {
        self.loaded.retain(|other| !loaded.is_in_place_of(other));
        self.loaded.push(loaded);
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

    /// The next message that is no question of the code. Questions are answered by the host.
    fn answer(
        &mut self,
        host: Option<&Arc<dyn Host>>,
        deadline: Deadline,
    ) -> Result<Message, CallError> {
        loop {
            let message = self.receive(deadline)?;
            if message.kind != Kind::Asked {
                return Ok(message);
            }
            let asked = question(&message);
            // Its segment may be all that keeps tensors that the host does not.
            drop(message);
            let (name, arguments) = match asked {
                Ok(asked) => asked,
                Err(text) => {
                    self.process = None;
                    return Err(CallError::Died(format!("a message cannot be read: {text}")));
                }
            };
            let running = Running { host: host.cloned(), deadline };
            let found = self.helper.answer(running, name.clone(), arguments)?;
            self.tell(&name, found, deadline)?;
        }
    }

    /// Tells the code the answer to its question.
    fn tell(
        &mut self,
        name: &str,
        found: Result<Value, HostError>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let internal = |error: CallError| HostError::new(HostCode::Internal, error.to_string());
        let refused = match &found {
            Ok(value) => {
                let (mut body, mut tensors) = (Vec::new(), Builder::default());
                let place = format!("of {name}: its answer");
                let sent = codec::write(&mut body, &mut tensors, value, &place, 0)
                    .and_then(|()| self.send(Kind::Answer, &body, &tensors, deadline));
                match sent {
                    Err(error @ (CallError::Argument(_) | CallError::TooLarge { .. })) => {
                        internal(error)
                    }
                    sent => return sent,
                }
            }
            Err(error) => error.clone(),
        };
        let mut body = Vec::new();
        codec::bytes(&mut body, refused.code.name().as_bytes())?;
        codec::bytes(&mut body, refused.message.as_bytes())?;
        self.send(Kind::Refused, &body, &Builder::default(), deadline)
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
            Err(FrameError::CutShort) => {
                self.process = None;
                return Err(CallError::TimedOut);
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
        host: Option<&Arc<dyn Host>>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let sent = self.send(kind, body, tensors, deadline);
        let answer = sent.and_then(|()| self.answer(host, deadline));
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

fn write_load(body: &mut Vec<u8>, module: &ModuleSource) -> Result<(), CallError> {
    codec::bytes(body, module.name.as_bytes())?;
    codec::bytes(body, module.source.as_bytes())
}

fn write_call<'c>(
    body: &mut Vec<u8>,
    tensors: &mut Builder<'c>,
    call: &'c Call,
) -> Result<(), CallError> {
    for text in [call.package.as_deref().unwrap_or_default(), &call.module, &call.name] {
        codec::bytes(body, text.as_bytes())?;
    }
    codec::count(body, call.arguments.len())?;
    for (i, value) in call.arguments.iter().enumerate() {
        codec::write(body, tensors, value, &i.to_string(), 0)?;
    }
    codec::count(body, call.keywords.len())?;
    for (name, value) in &call.keywords {
        codec::bytes(body, name.as_bytes())?;
        codec::write(body, tensors, value, name, 0)?;
    }
    Ok(())
}

/// What code asks for: a name and arguments.
fn question(message: &Message) -> Result<(String, Vec<Value>), String> {
    let mut reader = Reader::new(&message.body, &message.segment);
    let name = reader.text()?;
    match reader.whole()? {
        Value::List(arguments) => Ok((name, arguments)),
        _ => Err("a question has no list of arguments".to_owned()),
    }
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
            let component = Some(text()?).filter(|component| !component.is_empty());
            Err(CallError::Raised(Box::new(Exception { kind, message, traceback, component })))
        }
        Kind::Returned => Err(CallError::Returned(reader.text().map_err(wrong)?)),
        Kind::Load | Kind::Call | Kind::Answer | Kind::Refused | Kind::Asked => {
            Err(wrong("it is one of ours".to_owned()))
        }
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
        let mut body = Vec::new();
        write_load(&mut body, module)?;
        self.ask(Kind::Load, &body, &Builder::default(), None, deadline)?;
        self.keep(Loaded::Module(module.clone()));
        Ok(())
    }

    fn open(&mut self, package: &PackageFile, deadline: Deadline) -> Result<(), CallError> {
        self.call(package.opening()?, deadline)?;
        self.keep(Loaded::Package(package.clone()));
        Ok(())
    }

    fn call_with(
        &mut self,
        call: &Arc<Call>,
        host: Option<Arc<dyn Host>>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        self.ready(deadline)?;
        let (mut body, mut tensors) = (Vec::new(), Builder::default());
        write_call(&mut body, &mut tensors, call)?;
        self.ask(Kind::Call, &body, &tensors, host.as_ref(), deadline)
    }

    fn output(&self) -> Vec<OutputLine> {
        self.process.as_ref().map(Process::output).unwrap_or_default()
    }

    fn idle(&mut self, dropped: &[i64], packages: &[String]) -> bool {
        let closed =
            |loaded: &Loaded| matches!(loaded, Loaded::Package(p) if packages.contains(&p.name));
        if self.process.is_none() {
            self.loaded.retain(|loaded| !closed(loaded));
            return true; // A new one has nothing else.
        }
        if self.expected >= UNREAD {
            return false;
        }
        let (mut body, mut none) = (Vec::new(), Builder::default());
        let call = Call::idle(dropped, packages);
        if write_call(&mut body, &mut none, &call).is_err() {
            return false;
        }
        match self.send(Kind::Call, &body, &none, Deadline::after(TELL)) {
            Ok(()) => self.expected += 1,
            // The next call starts another.
            Err(_) => self.process = None,
        }
        self.loaded.retain(|loaded| !closed(loaded));
        true
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

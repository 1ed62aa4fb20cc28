//! The one face of an interpreter, wherever it runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::component::GLUE;
use crate::{CallError, Host, OutputLine, Value, Version};

/// The module of the code that every interpreter begins with.
pub(crate) const RUNTIME: &str = "_stead_runtime";

/// Its function for when nobody waits.
const IDLE: &str = "idle";

/// Where an interpreter runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// In a namespace of the loader inside this process, on a thread of its own.
    InProcess,
    /// In a process of its own.
    Worker,
}

impl Mode {
    /// The name on the command line and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::InProcess => "in process",
            Mode::Worker => "worker process",
        }
    }
}

/// When a caller stops waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Waits for ever.
    pub const NEVER: Deadline = Deadline(None);

    /// So long from now.
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(time))
    }

    /// At this time.
    pub const fn at(time: Instant) -> Deadline {
        Deadline(Some(time))
    }

    /// When that is, if ever.
    pub(crate) const fn end(self) -> Option<Instant> {
        self.0
    }

    /// The sooner of two.
    pub fn or_sooner(self, other: Deadline) -> Deadline {
        match (self.0, other.0) {
            (Some(one), Some(other)) => Deadline(Some(one.min(other))),
            (one, other) => Deadline(one.or(other)),
        }
    }

    /// Whether it has passed.
    pub fn is_over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// The time that is left: `None` without an end, zero when it has passed.
    pub fn left(self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }
}

/// A module given by its source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSource {
    /// The name under which it is imported and called.
    pub name: String,
    /// Python source.
    pub source: String,
}

/// A package of `stead_package` in a file, or in a folder into which one was unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    /// The name under which it is called, and by which errors call it.
    pub name: String,
    /// Where it lies. Files are mapped: tensors of it share their memory with all other interpreters.
    pub path: PathBuf,
}

impl PackageFile {
    /// The call that opens it.
    pub(crate) fn opening(&self) -> Result<Call, CallError> {
        let path = self.path.to_str().ok_or_else(|| {
            CallError::Argument(format!("the path of package {} is not UTF-8", self.name))
        })?;
        let arguments = vec![self.name.as_str().into(), path.into()];
        Ok(Call::new(RUNTIME, "open_package", arguments))
    }
}

/// What callers hold of an interpreter has a number, in all interpreters another one.
pub(crate) type Number = i64;

/// What is called: a global of a module.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The package that the module is of; none for modules that were loaded or can be imported.
    pub package: Option<String>,
    /// A module of the package, or else one that was loaded, or else one that can be imported.
    pub module: String,
    /// The name of a global, with dots for attributes of it.
    pub name: String,
    /// Positional arguments.
    pub arguments: Vec<Value>,
    /// Keyword arguments.
    pub keywords: Vec<(String, Value)>,
}

impl Call {
    /// A call with positional arguments.
    pub fn new(module: &str, name: &str, arguments: Vec<Value>) -> Call {
        let (module, name) = (module.into(), name.into());
        Call { package: None, module, name, arguments, keywords: Vec::new() }
    }

    /// What [`Interpreter::idle`] has an interpreter do.
    pub(crate) fn idle(dropped: &[Number], packages: &[String]) -> Call {
        let dropped = dropped.iter().map(|&number| number.into()).collect();
        let packages = packages.iter().map(|name| name.as_str().into()).collect();
        Call::new(RUNTIME, IDLE, vec![Value::List(dropped), Value::List(packages)])
    }

    /// Whether it is of stead's own code, but for what calls code of others as it is.
    pub(crate) fn is_own(&self) -> bool {
        let is_own = self.module == GLUE || self.module == RUNTIME && self.name == IDLE;
        is_own && self.package.is_none()
    }

    /// The same of a module of a package.
    #[must_use]
    pub fn of_package(self, package: &str) -> Call {
        Call { package: Some(package.into()), ..self }
    }
}

/// An interpreter that can load code and be called, by one caller at a time. Each call runs on the interpreter's own
/// thread, which is the main thread to Python; the caller's thread waits for it, at most until the deadline.
///
/// A call that misses its deadline leaves the interpreter [busy](Interpreter::is_free): in process until the code has
/// returned (it gets an exception, which it may never see while it is in C), in a worker until the process is replaced.
/// Such an exception never reaches a later call.
pub trait Interpreter: Send {
    /// Where it runs.
    fn mode(&self) -> Mode;

    /// The version of Python.
    fn version(&self) -> Version;

    /// Executes a module and keeps it under its name, in place of one that was loaded under this name before. A module
    /// that raised is not there afterwards.
    ///
    /// # Errors
    /// All of [`CallError`] but those of values.
    fn load(&mut self, module: &ModuleSource, deadline: Deadline) -> Result<(), CallError>;

    /// Opens a package under its name, in place of one that was opened under this name before.
    ///
    /// # Errors
    /// All of [`CallError`] but those of values.
    fn open(&mut self, package: &PackageFile, deadline: Deadline) -> Result<(), CallError> {
        self.call(package.opening()?, deadline).map(drop)
    }

    /// Calls a global and gives what it returned. Coroutines are run to their end.
    ///
    /// # Errors
    /// All of [`CallError`].
    fn call(&mut self, call: Call, deadline: Deadline) -> Result<Value, CallError> {
        self.call_with(&Arc::new(call), None, deadline)
    }

    /// As [`call`](Interpreter::call); the code may ask the host.
    ///
    /// # Errors
    /// All of [`CallError`].
    fn call_hosted(
        &mut self,
        call: Call,
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        self.call_with(&Arc::new(call), Some(host), deadline)
    }

    /// As [`call_hosted`](Interpreter::call_hosted); without a host, all that the code asks for is an error of it.
    ///
    /// # Errors
    /// All of [`CallError`].
    fn call_with(
        &mut self,
        call: &Arc<Call>,
        host: Option<Arc<dyn Host>>,
        deadline: Deadline,
    ) -> Result<Value, CallError>;

    /// The last lines that its code printed, so far as they have arrived. All of them are events of `tracing` too.
    fn output(&self) -> Vec<OutputLine>;

    /// Says that nobody waits for it: it lets go of the objects with the numbers `dropped` and closes `packages`, and
    /// collects garbage if there is much. Nobody waits for that either but the next call. False if it could not be
    /// told, and has to be told again.
    fn idle(&mut self, dropped: &[i64], packages: &[String]) -> bool;

    /// Whether no call that missed its deadline runs in it.
    fn is_free(&self) -> bool;

    /// Waits until it [is free](Interpreter::is_free) or has died.
    fn wait_free(&self);

    /// Why it can never be called again, if so. Worker processes are replaced instead.
    fn died(&self) -> Option<String>;
}

/// The thread of an interpreter inside this process, to which work can be sent that calls the interpreter.
pub(crate) trait OwnThread: Sync {
    /// Has work be done after all that was sent before. Calls of the interpreter in it run at once, on this thread, until
    /// it is given up: their own deadlines end nothing.
    fn post(&'static self, work: Box<dyn FnOnce() + Send>);

    /// Says that nobody waits any more for what was posted: its code is interrupted, and the interpreter is busy until
    /// it has ended.
    fn give_up(&'static self);

    /// As [`Interpreter::died`].
    fn died(&self) -> Option<String>;

    /// Who is told when the interpreter dies: its thread never comes back from the work that it does.
    fn on_death(&self, told: Box<dyn Fn() + Send>);
}

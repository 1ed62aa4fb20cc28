//! The interpreter in process, and those that wait to be used again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::budget::{self, Slot};
use super::convert;
use super::here;
use super::object;
use super::python::Attached;
use super::thread::Resident;
use super::{buffer, self_test};
use crate::host::Running;
use crate::interpreter::OwnThread;
use crate::{
    Call, CallError, Deadline, Exception, Host, Installation, Interpreter, Mode, ModuleSource,
    OutputLine, StartError, StartOptions, Value, Version,
};

/// The class that code sees when its time is over (`bootstrap.py`).
const LATE: &str = "_stead_runtime.DeadlineExceeded";

/// An interpreter inside this process. Dropped, it forgets what it loaded and waits for the next start with the same
/// Python and the same variables: its namespace cannot be given back.
pub struct InProcess {
    resident: &'static Resident,
    kind: Kind,
}

/// What interpreters have in common that can stand for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    library: PathBuf,
    executable: PathBuf,
    version: Version,
    variables: Vec<(String, String)>,
}

/// Started interpreters that nobody has.
static SPARE: Mutex<Vec<(Kind, &'static Resident)>> = Mutex::new(Vec::new());

impl InProcess {
    /// Starts an interpreter, or takes one that was dropped.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(python: &Installation, options: &StartOptions) -> Result<InProcess, StartError> {
        let library = python.library.clone()?;
        let kind = Kind {
            library,
            executable: python.executable.clone(),
            version: python.version,
            variables: options.environment(),
        };
        if let Some(resident) = spare(&kind) {
            return Ok(InProcess { resident, kind });
        }
        let slot = Slot::take(options.limit)?;
        let (library, variables) = (kind.library.clone(), kind.variables.clone());
        let resident = Resident::start(python, library, variables, slot)?;
        Ok(InProcess { resident, kind })
    }

    pub(super) fn resident(&self) -> &'static Resident {
        self.resident
    }

    /// Its thread.
    pub(crate) fn thread(&self) -> &'static dyn OwnThread {
        self.resident
    }
}

fn spare(kind: &Kind) -> Option<&'static Resident> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    spare.retain(|(_, resident)| resident.died().is_none());
    let at = spare.iter().position(|(other, _)| other == kind)?;
    Some(spare.swap_remove(at).1)
}

impl Drop for InProcess {
    fn drop(&mut self) {
        let (resident, kind) = (self.resident, self.kind.clone());
        if resident.died().is_some() {
            return;
        }
        let is_free = resident.is_free();
        let later = kind.clone();
        resident.run_later(move |at| {
            let forgotten = at.python.runtime().map(|runtime| runtime.forget.get(at));
            if forgotten.is_none_or(|forget| forget.call(Vec::new(), None).is_err()) {
                resident.die("it does not forget what it had loaded".to_owned());
            } else if !is_free {
                put_aside(later, resident);
            }
        });
        // One that still runs a call is put aside when that has ended; the first call of the next who has the other
        // waits until it has forgotten.
        if is_free {
            put_aside(kind, resident);
        }
    }
}

fn put_aside(kind: Kind, resident: &'static Resident) {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).push((kind, resident));
}

impl Interpreter for InProcess {
    fn mode(&self) -> Mode {
        Mode::InProcess
    }

    fn version(&self) -> Version {
        self.kind.version
    }

    fn load(&mut self, module: &ModuleSource, deadline: Deadline) -> Result<(), CallError> {
        let module = module.clone();
        self.resident.run(deadline, move |at| {
            let runtime = at.python.runtime().ok_or_else(buffer::not_loaded)?;
            let arguments =
                || Ok(vec![object::text(at, &module.name)?, object::text(at, &module.source)?]);
            arguments()
                .and_then(|arguments| runtime.load.get(at).call(arguments, None))
                .map(drop)
                .map_err(raised)
        })
    }

    fn call_with(
        &mut self,
        call: &Arc<Call>,
        host: Option<Arc<dyn Host>>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let call = Arc::clone(call);
        let answer = self.resident.run(deadline, move |at| {
            let _running = at.python.calls.begin(Running { host, deadline });
            run(at, &call)
        });
        match answer {
            // The code noticed the end of its time, by an answer that came too late, before the caller did.
            Err(CallError::Raised(e)) if e.kind == LATE && deadline.is_over() => {
                Err(CallError::TimedOut)
            }
            answer => answer,
        }
    }

    fn output(&self) -> Vec<OutputLine> {
        self.resident.python().map(|python| python.output.lines()).unwrap_or_default()
    }

    fn idle(&mut self, dropped: &[i64], packages: &[String]) -> bool {
        let call = Call::idle(dropped, packages);
        // What it drops may fail only where nobody is told, in `__del__`.
        let idle = move |at: &Attached| drop(run(at, &call));
        if let Err(idle) = here::run(self.resident.python(), idle) {
            self.resident.run_later(idle);
        }
        true
    }

    fn is_free(&self) -> bool {
        self.resident.is_free()
    }

    fn wait_free(&self) {
        self.resident.wait_free();
    }

    fn died(&self) -> Option<String> {
        self.resident.died()
    }
}

fn raised(exception: Exception) -> CallError {
    CallError::Raised(Box::new(exception))
}

fn run(at: &Attached, call: &Call) -> Result<Value, CallError> {
    let runtime = at.python.runtime().ok_or_else(buffer::not_loaded)?;
    let text = |text: &str| object::text(at, text).map_err(raised);
    let (function, is_own) = runtime.function(at, call).map_err(raised)?;
    let positional = call.arguments.iter().enumerate();
    let positional = positional.map(|(i, value)| convert::to_python(at, value, &i, 0));
    let positional = positional.collect::<Result<Vec<_>, _>>()?;
    let keyword = |(name, value): &(String, Value)| {
        Ok((text(name)?, convert::to_python(at, value, name, 0)?))
    };
    let keywords = call.keywords.iter().map(keyword).collect::<Result<Vec<_>, CallError>>()?;
    let keywords = match keywords.is_empty() {
        true => None,
        false => Some(object::dict(at, keywords).map_err(raised)?),
    };
    let mut result = function.call(positional, keywords.as_ref()).map_err(raised)?;
    // Lets go of what the arguments are, so that an array that is returned may be held by nobody else.
    drop((keywords, function));
    // Functions of stead itself give none.
    if !is_own {
        let is_coroutine = runtime.is_coroutine.get(at).call(vec![result.again()], None);
        if is_coroutine.and_then(|is| is.is_true()).map_err(raised)? {
            result = runtime.run.get(at).call(vec![result], None).map_err(raised)?;
        }
    }
    convert::from_python(&result, "the result")
}

/// Interpreters that were started inside this process; the places that they take are never given back.
pub fn namespaces_open() -> usize {
    budget::namespaces_open()
}

/// Runs what has been seen to crash where the C library differs from what this crate knows: two interpreters, code
/// compiled on threads that are not theirs, and states of threads nested in each other. What fails here may crash, so
/// it is run in a process of its own.
///
/// # Errors
/// What failed.
pub fn self_test_here(python: &Installation) -> Result<(), String> {
    let start = || InProcess::start(python, &StartOptions::default()).map_err(|e| e.to_string());
    let (mut first, mut second) = (start()?, start()?);
    self_test::run(first.resident(), second.resident())?;
    for interpreter in [&mut first, &mut second] {
        let sum = Call::new("builtins", "sum", vec![Value::List(vec![1.into(), 2.into()])]);
        let answer = interpreter.call(sum, Deadline::NEVER).map_err(|e| e.to_string())?;
        if answer != Value::Int(3) {
            return Err(format!("sum([1, 2]) gave {answer:?}"));
        }
    }
    Ok(())
}

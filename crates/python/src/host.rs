//! What Python code may ask of stead while a call of it runs: the way back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{Deadline, Value};

/// Answers what the code of a call asks for with `_stead_runtime.host(name, *arguments)`.
///
/// It runs while the caller waits, but never on the caller's thread: in process on the thread that asks, whose
/// interpreter's lock is given back meanwhile, so that several threads of the code may ask at once; for a worker on a
/// thread that helps it, one question after the other. It may still run when the caller has given up.
pub trait Host: Send + Sync {
    /// Answers. What it panics with is an error of the code that asked.
    ///
    /// # Errors
    /// What the code sees as a `stead.HostError`.
    fn call(&self, call: HostCall) -> Result<Value, HostError>;
}

impl<F: Fn(HostCall) -> Result<Value, HostError> + Send + Sync> Host for F {
    fn call(&self, call: HostCall) -> Result<Value, HostError> {
        self(call)
    }
}

/// What code asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// What is asked for.
    pub name: String,
    /// With what.
    pub arguments: Vec<Value>,
    /// When the caller stops waiting. An answer that comes later is seen by nobody.
    pub deadline: Deadline,
}

/// Why there is no answer: in Python an exception whose text is the message and whose `code` is the name of the code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What kind of error it is.
    pub code: HostCode,
    /// What is wrong.
    pub message: String,
}

impl HostError {
    /// An error.
    pub fn new(code: HostCode, message: impl Into<String>) -> HostError {
        HostError { code, message: message.into() }
    }
}

/// Kinds of errors that code can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostCode {
    /// There is nothing of this name.
    NotFound,
    /// The arguments are wrong.
    Invalid,
    /// It cannot be had now.
    Unavailable,
    /// The time is over.
    Deadline,
    /// A fault of stead.
    Internal,
}

impl HostCode {
    /// The name in Python.
    pub const fn name(self) -> &'static str {
        match self {
            HostCode::NotFound => "not_found",
            HostCode::Invalid => "invalid",
            HostCode::Unavailable => "unavailable",
            HostCode::Deadline => "deadline",
            HostCode::Internal => "internal",
        }
    }
}

/// The call that runs in an interpreter.
#[derive(Clone)]
pub(crate) struct Running {
    /// Whom its code may ask.
    pub host: Option<Arc<dyn Host>>,
    pub deadline: Deadline,
}

impl Running {
    /// The answer to what its code asks for.
    ///
    /// # Errors
    /// Those of the host, and that there is none.
    pub fn answer(&self, name: String, arguments: Vec<Value>) -> Result<Value, HostError> {
        let Some(host) = &self.host else {
            let text = format!("{name}: this call can ask nothing of stead");
            return Err(HostError::new(HostCode::Unavailable, text));
        };
        let call = HostCall { name: name.clone(), arguments, deadline: self.deadline };
        catch_unwind(AssertUnwindSafe(|| host.call(call))).unwrap_or_else(|_| {
            let text = format!("{name}: stead failed, which its log tells more about");
            Err(HostError::new(HostCode::Internal, text))
        })
    }
}

/// The error where code asks while no call runs: from a thread that has outlived the call that started it.
pub(crate) fn nothing_runs(name: &str) -> HostError {
    let text = format!("{name}: no call of stead is running in this interpreter");
    HostError::new(HostCode::Unavailable, text)
}

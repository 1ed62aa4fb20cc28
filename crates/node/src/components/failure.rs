//! Why components gave nothing, as clients and the log are told.

use std::fmt;

use stead_python::{AcquireError, CallError, ComponentKind, Exception};

use super::Unit;
use crate::{Code, Error};

/// Why a component gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentError {
    /// The class.
    pub code: Code,
    /// The id of the component, or of the chain if it is not known which of its components it was.
    pub component: String,
    /// The class of the exception, if its code raised.
    pub kind: Option<String>,
    /// What happened.
    pub message: String,
    /// Where it was raised, in development only.
    pub traceback: Option<String>,
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Where there is no room for more, the traceback stands below the message.
impl From<ComponentError> for Error {
    fn from(error: ComponentError) -> Error {
        let text = match &error.traceback {
            Some(traceback) => format!("{}\n{}", error.message, traceback.trim_end()),
            None => error.message,
        };
        Error::new(error.code, text)
    }
}

/// Who failed.
pub(super) struct Failing<'a> {
    /// What it is: `handler`, `searcher`.
    pub(super) element: &'a str,
    pub(super) id: &'a str,
    pub(super) is_development: bool,
}

impl Unit {
    /// The component where it fails.
    pub(super) fn failing(&self) -> Failing<'_> {
        let element = match self.component.kind {
            // As services.xml has it.
            ComponentKind::Processor => "documentprocessor",
            other => other.name(),
        };
        Failing { element, id: &self.component.id, is_development: self.is_development }
    }
}

impl Failing<'_> {
    pub(super) fn error(&self, code: Code, text: &str) -> ComponentError {
        let component = self.id.to_owned();
        let message = format!("{} {component}: {text}", self.element);
        ComponentError { code, component, kind: None, message, traceback: None }
    }

    /// It was still at work at the deadline.
    pub(super) fn late(&self) -> ComponentError {
        self.error(Code::DeadlineExceeded, "the deadline passed before it answered")
    }

    /// There was no interpreter.
    pub(super) fn not_acquired(&self, error: &AcquireError, package: &str) -> ComponentError {
        match error {
            AcquireError::TimedOut => self.error(
                Code::DeadlineExceeded,
                "the deadline passed before an interpreter was free",
            ),
            AcquireError::Load { error, .. } => self.called(error),
            AcquireError::NoPackage(_) | AcquireError::Start(_) => {
                tracing::error!(component = self.id, package, "no interpreter: {error}");
                self.error(Code::Unavailable, "no Python interpreter could be started")
            }
        }
    }

    /// The call gave no value.
    pub(super) fn called(&self, error: &CallError) -> ComponentError {
        let CallError::Raised(exception) = error else {
            if matches!(error, CallError::TimedOut | CallError::Busy) {
                return self.late();
            }
            tracing::error!(component = self.id, "{error}");
            // What died said something for the log and not for clients.
            let text = match error {
                CallError::Died(_) => "its interpreter died".to_owned(),
                CallError::Start(_) => "no Python interpreter could be started".to_owned(),
                other => other.to_string(),
            };
            return self.error(Code::Internal, &text);
        };
        self.raised(exception)
    }

    fn raised(&self, exception: &Exception) -> ComponentError {
        let code = match exception.kind.as_str() {
            "stead.InvalidInput" => Code::InvalidArgument,
            "stead.Overloaded" => Code::Overloaded,
            _ => Code::Internal,
        };
        let is_meant_for_clients = exception.kind.starts_with("stead.");
        if code == Code::Internal {
            tracing::error!(component = self.id, "{}", exception.traceback.trim_end());
        }
        let text = match is_meant_for_clients || self.is_development {
            true => exception.message.clone(),
            false => format!("its code raised {}", exception.kind),
        };
        let traceback = self.is_development.then(|| exception.traceback.clone());
        let kind = Some(exception.kind.clone());
        ComponentError { kind, traceback, ..self.error(code, &text) }
    }
}

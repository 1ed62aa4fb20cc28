//! Failures of the adapters, as the node's errors.

use crate::json::JsonError;
use stead_node::{Code, Error, ErrorKind};
use stead_tensor::TensorError;

/// An [`Error`] on its way to a client. It exists because the readers of JSON and tensors have errors of
/// their own, and only this crate knows what those mean to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub Error);

impl Fault {
    /// A failure with a class and a text.
    pub fn new(code: Code, text: impl Into<String>) -> Fault {
        Fault(Error::new(code, text))
    }

    /// A request that is wrong in itself.
    pub fn invalid(text: impl Into<String>) -> Fault {
        Fault::new(Code::InvalidArgument, text)
    }

    /// Something that this server does not offer.
    pub fn unimplemented(text: impl Into<String>) -> Fault {
        Fault::new(Code::Unimplemented, text)
    }

    /// The same failure with the place where it happened in front.
    #[must_use]
    pub fn at(self, place: &str) -> Fault {
        match self.0.kind {
            ErrorKind::Protocol(text) if self.0.code == Code::InvalidArgument => {
                Fault::new(self.0.code, format!("{place}: {text}"))
            }
            _ => self,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault(error)
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Fault {
        Fault(kind.into())
    }
}

impl From<JsonError> for Fault {
    fn from(error: JsonError) -> Fault {
        if error.is_syntax() {
            Fault::new(Code::InvalidJson, format!("The file is not valid json - {error}"))
        } else {
            Fault::invalid(error.to_string())
        }
    }
}

impl From<TensorError> for Fault {
    fn from(error: TensorError) -> Fault {
        match error {
            TensorError::OutOfMemory(_) => Fault::new(Code::ResourceExhausted, error.to_string()),
            _ => Fault::invalid(error.to_string()),
        }
    }
}

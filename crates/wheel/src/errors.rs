//! Errors of the engine as the exceptions that ONNX Runtime's Python API raises for them.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use stead_engine::{LoadError, PlanError, RunError};
use stead_formats::FormatError;

/// A class of `stead.inference.errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Fail,
    InvalidArgument,
    RuntimeException,
    InvalidProtobuf,
    NotImplemented,
    InvalidGraph,
}

impl Kind {
    /// The class, and the number and name of its code.
    const fn known_as(self) -> (&'static str, u8, &'static str) {
        match self {
            Kind::Fail => ("Fail", 1, "FAIL"),
            Kind::InvalidArgument => ("InvalidArgument", 2, "INVALID_ARGUMENT"),
            Kind::RuntimeException => ("RuntimeException", 6, "RUNTIME_EXCEPTION"),
            Kind::InvalidProtobuf => ("InvalidProtobuf", 7, "INVALID_PROTOBUF"),
            Kind::NotImplemented => ("NotImplemented", 9, "NOT_IMPLEMENTED"),
            Kind::InvalidGraph => ("InvalidGraph", 10, "INVALID_GRAPH"),
        }
    }

    /// The exception with a text that begins with the code, as those of ONNX Runtime do.
    pub fn error(self, py: Python<'_>, text: impl std::fmt::Display) -> PyErr {
        static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let module = ERRORS
            .get_or_try_init(py, || Ok::<_, PyErr>(py.import("stead.inference.errors")?.unbind()));
        let (class, number, code) = self.known_as();
        let class =
            module.and_then(|module| Ok(module.bind(py).getattr(class)?.cast_into::<PyType>()?));
        match class {
            Ok(class) => PyErr::from_type(class, format!("[stead] : {number} : {code} : {text}")),
            Err(error) => error,
        }
    }
}

/// Why the file of a model was not read.
pub(crate) fn read(py: Python<'_>, error: FormatError) -> PyErr {
    let kind = match error {
        FormatError::Onnx(error) => return load(py, &error.into()),
        FormatError::Io { .. } | FormatError::Tensor { .. } => Kind::Fail,
        FormatError::Malformed { .. } => Kind::InvalidProtobuf,
        FormatError::Limit { .. } => Kind::InvalidGraph,
        FormatError::Operation { .. } | FormatError::Format { .. } => Kind::NotImplemented,
    };
    kind.error(py, error)
}

/// Why a model was not loaded.
pub(crate) fn load(py: Python<'_>, error: &LoadError) -> PyErr {
    use stead_onnx::OnnxError;
    let kind = match error {
        LoadError::Onnx(OnnxError::Malformed { .. }) => Kind::InvalidProtobuf,
        LoadError::Onnx(OnnxError::Missing { .. } | OnnxError::Undefined { .. }) => {
            Kind::InvalidArgument
        }
        LoadError::Onnx(OnnxError::Io { .. } | OnnxError::Memory { .. }) => Kind::Fail,
        LoadError::Onnx(_) | LoadError::Node { .. } => Kind::InvalidGraph,
        LoadError::UnsupportedOp { .. }
        | LoadError::UnsupportedType { .. }
        | LoadError::Io { .. }
        | LoadError::Maps { .. } => Kind::NotImplemented,
        LoadError::Joined(_)
        | LoadError::Isa(_)
        | LoadError::Precision { .. }
        | LoadError::Tensor(_) => Kind::Fail,
    };
    kind.error(py, error)
}

/// Why a run ended without outputs.
pub(crate) fn run(py: Python<'_>, error: &RunError) -> PyErr {
    let kind = match error {
        RunError::Cancelled => {
            return Kind::Fail.error(py, "Exiting due to terminate flag being set to true.");
        }
        RunError::Tensor(_)
        | RunError::Internal(_)
        | RunError::NotQuick
        | RunError::Plan { reason: PlanError::Tensor(_) | PlanError::Evaluation(_), .. } => {
            Kind::RuntimeException
        }
        _ => Kind::InvalidArgument,
    };
    kind.error(py, error)
}

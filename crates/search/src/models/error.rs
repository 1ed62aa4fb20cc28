//! What can be wrong with a model of a profile.

use stead_expr::RunError;

/// Why a model cannot be loaded, or has no output for a query and documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The file.
    #[error("{model}: {text}")]
    Load {
        /// The model, as expressions call it.
        model: String,
        /// What is wrong.
        text: String,
    },
    /// Not as many values as names.
    #[error("{model} needs {expected} {what}, got {found}")]
    Count {
        /// The model.
        model: String,
        /// Values of the query, or columns.
        what: &'static str,
        /// As many as there are names.
        expected: usize,
        /// As there are.
        found: usize,
    },
    /// A value or column of another form.
    #[error("{name} of {model} needs {expected}, got {found}")]
    Kind {
        /// The model.
        model: String,
        /// The name of the value.
        name: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// An expression has no value.
    #[error("input {input} of {model}: {error}")]
    Input {
        /// The model.
        model: String,
        /// The input.
        input: String,
        /// Why.
        error: RunError,
    },
    /// A number that its new type does not have.
    #[error("{what} of {model}: {number} is no {dtype}")]
    Inexact {
        /// The model.
        model: String,
        /// The input or output.
        what: String,
        /// The number.
        number: String,
        /// The type.
        dtype: &'static str,
    },
    /// The model did not run.
    #[error("{model}: {text}")]
    Run {
        /// The model.
        model: String,
        /// Why.
        text: String,
    },
}

//! Expressions that are ready to run.

use std::sync::Arc;

use crate::error::{ExprError, Fault};
use crate::ir::{Program, Scope, lower};
use crate::run::{self, Column, TooLarge};
use crate::syntax;
use crate::types::TensorType;
use crate::value::Value;

/// An expression that is ready to run. Clones share.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The values that it needs from outside, by name.
    names: Vec<String>,
    program: Arc<Program>,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The wrong number of values.
    #[error("the expression needs {expected} values, got {found}")]
    Count {
        /// As it needs.
        expected: usize,
        /// As there are.
        found: usize,
    },
    /// A value of another type.
    #[error("{name} is a {expected}, got a {found}")]
    Kind {
        /// The name.
        name: String,
        /// The type for which the expression was compiled.
        expected: TensorType,
        /// That of the value.
        found: TensorType,
    },
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Compiles an expression.
///
/// # Errors
/// When it cannot be read, has an unknown name, or types that do not fit, with line and column.
pub fn compile(text: &str, scope: &dyn Scope) -> Result<Compiled, ExprError> {
    let (program, names) = syntax::parse(text)
        .and_then(|ast| lower(&ast, scope))
        .map_err(|fault| Fault::within(fault, text))?;
    Ok(Compiled { names, program: Arc::new(program) })
}

impl Compiled {
    /// The names of the values that it needs from outside, in the order in which [`Compiled::run`] takes them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The type of the result.
    #[must_use]
    pub fn kind(&self) -> &TensorType {
        &self.program.steps[self.program.result].kind
    }

    /// The result for one value of each name.
    ///
    /// # Errors
    /// When a value is missing or has another type than the expression was compiled for, or the result or what leads to it would
    /// take too much memory.
    pub fn run(&self, inputs: &[&Value]) -> Result<Value, RunError> {
        let kinds = &self.program.inputs;
        if inputs.len() != kinds.len() {
            return Err(RunError::Count { expected: kinds.len(), found: inputs.len() });
        }
        for ((name, kind), value) in self.names.iter().zip(kinds).zip(inputs) {
            if value.kind() != kind {
                let (expected, found) = (kind.clone(), value.kind().clone());
                return Err(RunError::Kind { name: name.clone(), expected, found });
            }
        }
        let columns: Vec<_> = inputs.iter().map(|v| Column::of_value(v)).collect();
        Ok(run::execute(&self.program, &columns)?.value(self.kind(), 0))
    }
}

//! Expressions that are ready to run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::batch::{Bound, Documents};
use crate::error::{ExprError, Fault};
use crate::explain::{Explanation, Line, lines, origin};
use crate::ir::{Op, Program, Rate, Scope, fuse, lower};
use crate::run::{self, Column, Failed, StepError, TooLarge};
use crate::syntax;
use crate::types::{TensorType, TypeError};
use crate::value::{Inexact, Value};

/// An expression that is ready to run. Clones share.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The values that it needs from outside, by name.
    names: Arc<[String]>,
    program: Arc<Program>,
    /// Programs for values with sizes, if the types of some have none, the last used last.
    sized: Option<Arc<Mutex<Vec<Arc<Program>>>>>,
}

/// The most programs for values of other sizes that are kept: queries of one client have few.
const MAX_SIZED: usize = 16;

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
    /// The result should have been a number.
    #[error("a score is a number, got a {0}")]
    NoNumber(TensorType),
    /// An index of another length.
    #[error("the index has the places of {found} documents instead of {expected}")]
    Index {
        /// How many documents there are.
        expected: usize,
        /// How many places there are.
        found: usize,
    },
    /// A column of documents that does not fit.
    #[error("the column {name} needs {expected}")]
    Attribute {
        /// The name.
        name: String,
        /// What should be there, and what is.
        expected: String,
    },
    /// A number that is no cell of the type that it must become.
    #[error("{what}: {error}")]
    Inexact {
        /// The function, and the values that it was given.
        what: String,
        /// The number and the type.
        error: Inexact,
    },
    /// Values whose sizes do not fit together.
    #[error("{what}: {error}")]
    Sizes {
        /// The function, and the values that it was given.
        what: String,
        /// The dimension and the types.
        error: Box<TypeError>,
    },
    /// Too much memory.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Why a program has no value, with the names of its inputs.
pub(crate) fn run_error(program: &Program, names: &[String], failed: Failed) -> RunError {
    match failed.error {
        StepError::TooLarge(error) => error.into(),
        StepError::Inexact(error) => {
            RunError::Inexact { what: origin(program, names, failed.step), error }
        }
    }
}

/// Compiles an expression.
///
/// # Errors
/// When it cannot be read, has an unknown name, or types that do not fit, with line and column.
pub fn compile(text: &str, scope: &dyn Scope) -> Result<Compiled, ExprError> {
    let (program, names) = syntax::parse(text)
        .and_then(|ast| lower(&ast, scope))
        .map(|(program, names)| match program.is_bound() {
            true => fuse(program).without_unused(names),
            // What can be fused shows when the sizes are known.
            false => program.without_unused(names),
        })
        .map_err(|fault| Fault::within(fault, text))?;
    Ok(Compiled::new(names, Arc::new(program)))
}

impl Compiled {
    /// A program with the names of its inputs.
    pub(crate) fn new(names: Vec<String>, program: Arc<Program>) -> Compiled {
        let sized = (!program.is_bound()).then(Arc::default);
        Compiled { names: names.into(), program, sized }
    }

    /// The same expression for values of these types, one for each name, if the sizes of some are not known without them.
    fn sized(&self, kinds: Vec<TensorType>) -> Result<Option<Compiled>, RunError> {
        let Some(cache) = &self.sized else { return Ok(None) };
        let with = |program| Compiled { names: self.names.clone(), program, sized: None };
        let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut known = lock();
            if let Some(at) = known.iter().position(|program| program.inputs == kinds) {
                let program = known.remove(at);
                known.push(program.clone());
                return Ok(Some(with(program)));
            }
        }
        let program = self.program.bind(&kinds).map_err(|unfit| RunError::Sizes {
            what: origin(&self.program, &self.names, unfit.step),
            error: Box::new(unfit.error),
        })?;
        let program = Arc::new(fuse(program));
        let mut known = lock();
        if known.len() == MAX_SIZED {
            known.remove(0);
        }
        known.push(program.clone());
        Ok(Some(with(program)))
    }

    /// Its steps.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// The names of the values that it needs from outside, in the order in which [`Compiled::run`] takes them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the values that [`Compiled::for_query`] takes, in its order.
    pub fn query_names(&self) -> impl Iterator<Item = &str> {
        self.inputs().filter(|(.., rate)| *rate != Rate::Document).map(|(name, ..)| name)
    }

    /// The names of the values that differ from document to document, in the order of [`Documents`](crate::Documents).
    pub fn document_names(&self) -> impl Iterator<Item = &str> {
        self.inputs().filter(|(.., rate)| *rate == Rate::Document).map(|(name, ..)| name)
    }

    /// All names with their types, and how often their values change.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &TensorType, Rate)> {
        let inputs = self.program.inputs.iter().zip(&self.program.rates);
        self.names.iter().zip(inputs).map(|(name, (kind, rate))| (name.as_str(), kind, *rate))
    }

    /// The name, if the expression is nothing but one.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        match self.program.steps[self.program.result].op {
            Op::Input(at) => self.names.get(at).map(String::as_str),
            _ => None,
        }
    }

    /// The dimension and the two parts, if the expression is a concatenation.
    #[must_use]
    pub fn concatenated(&self) -> Option<(&str, [Compiled; 2])> {
        let step = &self.program.steps[self.program.result];
        match (&step.op, &step.operands[..]) {
            (Op::Concat(along), &[left, right]) => {
                Some((along, [left, right].map(|step| self.part(step))))
            }
            _ => None,
        }
    }

    /// The expression of a step, with the names that it needs.
    fn part(&self, step: usize) -> Compiled {
        let mut program = Program { result: step, ..Program::clone(&self.program) }.pruned();
        let (mut names, mut inputs, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        let mut places = vec![None; self.names.len()];
        for step in &mut program.steps {
            let Op::Input(at) = &mut step.op else { continue };
            *at = *places[*at].get_or_insert_with(|| {
                names.push(self.names[*at].clone());
                inputs.push(self.program.inputs[*at].clone());
                rates.push(self.program.rates[*at]);
                names.len() - 1
            });
        }
        Compiled::new(names, Arc::new(Program { inputs, rates, ..program }))
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
        self.check(inputs, |_| true)?;
        if let Some(sized) = self.sized(inputs.iter().map(|v| v.kind().clone()).collect())? {
            return sized.run(inputs);
        }
        let columns: Vec<_> = inputs.iter().map(|v| Column::of_value(v)).collect();
        let result = run::execute(&self.program, &columns);
        let result = result.map_err(|failed| run_error(&self.program, &self.names, failed))?;
        Ok(result.value(self.kind(), 0))
    }

    /// The expression with one value for each of [`Compiled::query_names`]; everything that depends on nothing else
    /// is computed here.
    ///
    /// # Errors
    /// When a value is missing or has another type than the expression was compiled for.
    pub fn for_query(&self, values: &[&Value]) -> Result<Bound, RunError> {
        self.bound(values, false).map(|(bound, _)| bound)
    }

    /// The same expression for a query with these values, if the sizes of some are not known without them.
    fn for_values(&self, values: &[&Value]) -> Result<Option<Compiled>, RunError> {
        if self.sized.is_none() {
            return Ok(None);
        }
        self.check(values, |rate| rate != Rate::Document)?;
        let mut values = values.iter();
        let kind = |(_, kind, rate): (&str, &TensorType, Rate)| match rate {
            Rate::Document => kind.clone(),
            _ => values.next().map_or_else(TensorType::double, |value| value.kind().clone()),
        };
        self.sized(self.inputs().map(kind).collect())
    }

    fn bound(
        &self,
        values: &[&Value],
        is_measured: bool,
    ) -> Result<(Bound, Vec<Duration>), RunError> {
        if let Some(sized) = self.for_values(values)? {
            return sized.bound(values, is_measured);
        }
        self.check(values, |rate| rate != Rate::Document)?;
        let mut values = values.iter();
        let (mut of_documents, mut columns) = (Vec::new(), Vec::new());
        for (input, (.., rate)) in self.inputs().enumerate() {
            if rate == Rate::Document {
                of_documents.push(input);
                columns.push(None);
            } else {
                columns.push(values.next().map(|v| Column::of_value(v)));
            }
        }
        Ok(Bound::new(self.program.clone(), self.names.clone(), of_documents, columns, is_measured))
    }

    /// The steps of the program, none of them measured.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        lines(&self.program, &self.names)
    }

    /// Runs for a query and documents, as [`Compiled::for_query`] and [`Bound::scores`] do, and tells what each step
    /// cost. Measuring costs a little too.
    ///
    /// # Errors
    /// As for both.
    pub fn explain(
        &self,
        query: &[&Value],
        documents: &Documents<'_>,
    ) -> Result<Explanation, RunError> {
        if let Some(sized) = self.for_values(query)? {
            return sized.explain(query, documents);
        }
        let (bound, mut costs) = self.bound(query, true)?;
        costs.resize(self.program.steps.len(), Duration::ZERO);
        let of_documents = bound.measure(documents)?;
        let mut lines = self.lines();
        for ((line, query), documents) in lines.iter_mut().zip(costs).zip(of_documents) {
            line.cost = (line.rate != Rate::Constant).then(|| query + documents);
        }
        Ok(Explanation { lines, documents: documents.count })
    }

    /// Checks that there is a value of the right type for each input of such a rate.
    fn check(&self, values: &[&Value], is_there: impl Fn(Rate) -> bool) -> Result<(), RunError> {
        let inputs = || self.inputs().filter(|(.., rate)| is_there(*rate));
        let expected = inputs().count();
        if values.len() != expected {
            return Err(RunError::Count { expected, found: values.len() });
        }
        for ((name, kind, _), value) in inputs().zip(values) {
            if !kind.takes(value.kind()) {
                let (expected, found) = (kind.clone(), value.kind().clone());
                return Err(RunError::Kind { name: name.to_owned(), expected, found });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse_type;

    #[test]
    fn the_parts_of_a_concatenation_are_expressions() {
        let scope = |name: &str| -> Option<(TensorType, Rate)> {
            let kind = parse_type("tensor<float>(x[2])").unwrap();
            let rate = if name.starts_with('q') { Rate::Query } else { Rate::Document };
            ["q1", "q2", "d1"].contains(&name).then_some((kind, rate))
        };
        let compiled = |text: &str| compile(text, &scope).unwrap();
        let whole = compiled("concat(d1 * 2, q1 + q2, x)");
        let (along, [left, right]) = whole.concatenated().unwrap();
        assert_eq!(along, "x");
        assert_eq!(left.names(), ["d1"]);
        assert_eq!(right.names(), ["q1", "q2"]);
        assert_eq!((left.kind(), right.kind()), (right.kind(), left.kind()));
        let value = |text: &str| compiled(&format!("tensor<float>(x[2]):{text}")).run(&[]).unwrap();
        let (a, b, c) = (value("[1,2]"), value("[3,4]"), value("[5,6]"));
        assert_eq!(left.run(&[&a]), compiled("d1 * 2").run(&[&a]));
        assert_eq!(right.run(&[&b, &c]), compiled("q1 + q2").run(&[&b, &c]));
        assert!(compiled("q1 + d1").concatenated().is_none());
    }
}

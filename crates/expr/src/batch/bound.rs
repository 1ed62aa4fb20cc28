//! A program with the values of a query.

use std::sync::Arc;
use std::time::Duration;

use super::store::Stored;
use crate::compiled::{RunError, run_error};
use crate::ir::{Constant, Op, Program, Rate, Step};
use crate::run::{
    Attribute, Column, Known, Machine, Pool, Prepared, Rows, Source, TooLarge, fault, prepare,
    prepared_operand,
};
use crate::types::TensorType;
use crate::value::Value;

/// The most documents of a block: the numbers of a few steps stay in the second level of cache, and of many columns each is
/// read in pieces that are long enough for the machine to guess what comes next (10 % faster than 1,024).
const MAX_ROWS: usize = 4096;

/// The cells that the largest step of a block should have, so that a block stays in the second level of cache.
const BLOCK_CELLS: usize = 1 << 16;

/// How many blocks a tensor with labels is taken to have, when documents are put into blocks.
const EXPECTED_LABELS: usize = 16;

/// An expression with the values of a query, for any number of documents.
#[derive(Debug)]
pub struct Bound {
    program: Arc<Program>,
    /// The names of all inputs.
    names: Arc<[String]>,
    /// The inputs that are values of documents.
    of_documents: Vec<usize>,
    /// The values of the steps that do not depend on the document and that others need.
    known: Known,
    rows: usize,
}

/// Documents to be ranked.
#[derive(Debug, Clone, Copy)]
pub struct Documents<'a> {
    /// How many.
    pub count: usize,
    /// The place of each in the columns; without it they are the first `count`.
    pub index: Option<&'a [u32]>,
    /// The values of each name, in the order of [`Compiled::document_names`](crate::Compiled::document_names).
    pub attributes: &'a [Attribute<'a>],
}

/// Memory that runs use again; one for each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    pool: Pool,
}

impl Bound {
    /// Computes what depends on the query only. The inputs of documents have no column.
    pub(crate) fn new(
        program: Arc<Program>,
        names: Arc<[String]>,
        of_documents: Vec<usize>,
        query: Vec<Option<Column<'_>>>,
        is_measured: bool,
    ) -> (Bound, Vec<Duration>) {
        let targets = frontier(&program);
        let nothing = Column::numbers(Vec::new());
        let source = |column| Source::Column(Option::as_ref(column).unwrap_or(&nothing));
        let sources: Vec<Source<'_>> = query.iter().map(source).collect();
        let mut pool = Pool::default();
        let mut values = vec![None; program.steps.len()];
        let mut failed = Vec::new();
        let costs = {
            let mut machine = Machine::new(&program, Known::nothing(), &targets);
            if is_measured {
                machine.measure();
            }
            let rows = Rows { begin: 0, count: 1, index: None };
            for target in targets {
                match machine.value(target, &sources, rows, &mut pool) {
                    Ok(value) => values[target] = Some(value.borrowed().into_owned()),
                    Err(why) => failed.push((target, why)),
                }
            }
            machine.costs()
        };
        let prepared = prepared(&program, &values);
        let known = Known { values, prepared, failed };
        let rows = rows_of_block(&program);
        (Bound { program, names, of_documents, known, rows }, costs)
    }

    /// The type of the result.
    #[must_use]
    pub fn kind(&self) -> &TensorType {
        &self.program.steps[self.program.result].kind
    }

    /// The result for each document, which must be a number. `scores` is emptied first.
    ///
    /// # Errors
    /// When the result is no number, attributes are missing or do not fit, or a step would take too much memory.
    pub fn scores(
        &self,
        documents: &Documents<'_>,
        scratch: &mut Scratch,
        scores: &mut Vec<f64>,
    ) -> Result<(), RunError> {
        if !self.kind().is_double() {
            return Err(RunError::NoNumber(self.kind().clone()));
        }
        scores.clear();
        scores.reserve(documents.count);
        self.each_block(documents, scratch, false, |column, count| match &*column.as_numbers() {
            [number] if count != 1 => scores.resize(scores.len() + count, *number),
            numbers => scores.extend_from_slice(numbers),
        })?;
        Ok(())
    }

    /// The result for each document as a value of its own.
    ///
    /// # Errors
    /// As for [`Bound::scores`].
    pub fn values(
        &self,
        documents: &Documents<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<Value>, RunError> {
        let mut values = Vec::with_capacity(documents.count);
        self.each_block(documents, scratch, false, |column, count| {
            values.extend((0..count).map(|row| column.value(self.kind(), row)));
        })?;
        Ok(values)
    }

    /// The result for each document, all of them as a column.
    ///
    /// # Errors
    /// As for [`Bound::scores`].
    pub fn stored(
        &self,
        documents: &Documents<'_>,
        scratch: &mut Scratch,
    ) -> Result<Stored, RunError> {
        let mut stored = Stored::new(self.kind().clone());
        let mut is_whole = true;
        self.each_block(documents, scratch, false, |column, count| {
            is_whole = is_whole && stored.append(column, count);
        })?;
        if is_whole { Ok(stored) } else { Err(TooLarge.into()) }
    }

    /// What each step costs for these documents.
    pub(crate) fn measure(&self, documents: &Documents<'_>) -> Result<Vec<Duration>, RunError> {
        // The second run has the memory of the first, as a server has.
        let mut scratch = Scratch::default();
        self.each_block(documents, &mut scratch, true, |_, _| {})?;
        self.each_block(documents, &mut scratch, true, |_, _| {})
    }

    /// Runs block by block; the costs of the steps if they are measured.
    fn each_block(
        &self,
        documents: &Documents<'_>,
        scratch: &mut Scratch,
        is_measured: bool,
        mut take: impl FnMut(&Column<'_>, usize),
    ) -> Result<Vec<Duration>, RunError> {
        let sources = self.sources(documents)?;
        let mut machine = Machine::new(&self.program, &self.known, &[self.program.result]);
        if is_measured {
            machine.measure();
        }
        for begin in (0..documents.count).step_by(self.rows) {
            let count = self.rows.min(documents.count - begin);
            let index = documents.index.map(|index| &index[begin..begin + count]);
            let rows = Rows { begin, count, index };
            machine.begin(&mut scratch.pool);
            let result = machine.value(self.program.result, &sources, rows, &mut scratch.pool);
            let result = result.map_err(|failed| run_error(&self.program, &self.names, failed))?;
            take(result, count);
        }
        machine.begin(&mut scratch.pool);
        Ok(machine.costs())
    }

    /// Where each input comes from, checked.
    fn sources<'d>(&'d self, documents: &Documents<'d>) -> Result<Vec<Source<'d>>, RunError> {
        static NOTHING: Attribute<'static> = Attribute::Numbers(crate::run::Numbers::F64(&[]));
        let (count, attributes) = (documents.count, documents.attributes);
        let expected = self.of_documents.len();
        if attributes.len() != expected {
            return Err(RunError::Count { expected, found: attributes.len() });
        }
        if let Some(index) = documents.index
            && index.len() != count
        {
            return Err(RunError::Index { expected: count, found: index.len() });
        }
        let rows = Rows { begin: 0, count, index: documents.index };
        let mut sources = vec![Source::Attribute(&NOTHING); self.program.inputs.len()];
        for (input, attribute) in self.of_documents.iter().zip(attributes) {
            if let Some(expected) = fault(attribute, &self.program.inputs[*input], rows) {
                let name = self.names[*input].clone();
                return Err(RunError::Attribute { name, expected });
            }
            sources[*input] = Source::Attribute(attribute);
        }
        Ok(sources)
    }
}

/// The steps that do not depend on the document and that the result is, or a step needs that does. Constants are
/// left where they are.
fn frontier(program: &Program) -> Vec<usize> {
    let steps = &program.steps;
    let of_documents = steps.iter().filter(|s| s.rate == Rate::Document);
    let mut is_needed = vec![false; steps.len()];
    is_needed[program.result] = true;
    of_documents.flat_map(|s| &s.operands).for_each(|at| is_needed[*at] = true);
    let is_known = |at: &usize| {
        let step = &steps[*at];
        is_needed[*at] && step.rate != Rate::Document && !matches!(step.op, Op::Constant(_))
    };
    (0..steps.len()).filter(is_known).collect()
}

/// What fused steps of documents need of the values that are known.
fn prepared(program: &Program, values: &[Option<Column<'static>>]) -> Vec<Option<Prepared>> {
    let of_step = |step: &Step| {
        let operand = prepared_operand(step).filter(|_| step.rate == Rate::Document)?;
        match (&values[operand], &program.steps[operand].op) {
            (Some(column), _) => prepare(step, column),
            (None, Op::Constant(Constant(value))) => prepare(step, &Column::of_value(value)),
            _ => None,
        }
    };
    program.steps.iter().map(of_step).collect()
}

/// How many documents a block has.
fn rows_of_block(program: &Program) -> usize {
    let cells = |kind: &TensorType| {
        let labels = if kind.is_dense() { 1 } else { EXPECTED_LABELS };
        kind.block_size().saturating_mul(labels)
    };
    let computed = |op: &Op| !matches!(op, Op::Input(_) | Op::Constant(_));
    let of_documents = program.steps.iter().filter(|s| s.rate == Rate::Document && computed(&s.op));
    let most = of_documents.map(|s| cells(&s.kind)).max().unwrap_or(1);
    (BLOCK_CELLS / most.max(1)).clamp(1, MAX_ROWS)
}

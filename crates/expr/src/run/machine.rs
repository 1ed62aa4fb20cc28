//! Computes the steps of a program that a result needs, for one block of documents after the other.

use std::time::{Duration, Instant};

use super::attribute::{self, Attribute, Rows};
use super::column::Column;
use super::fused::{self, Prepared};
use super::operand::Operand;
use super::operation::{choose, operation};
use super::pool::Pool;
use super::size::{Failed, StepError, TooLarge};
use crate::ir::{Constant, Op, Program, Step};
use crate::types::TensorType;

/// Where an input of a program comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'p> {
    Column(&'p Column<'p>),
    Attribute(&'p Attribute<'p>),
}

/// What was computed before: values of steps, and what fused steps need of them. Empty lists hold nothing.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) values: Vec<Option<Column<'static>>>,
    pub(crate) prepared: Vec<Option<Prepared>>,
    /// Steps without values: an error once something needs them.
    pub(crate) failed: Vec<(usize, Failed)>,
}

/// Nothing was computed before.
static NOTHING: Known = Known { values: Vec::new(), prepared: Vec::new(), failed: Vec::new() };

impl Known {
    /// Nothing.
    pub(crate) fn nothing() -> &'static Known {
        &NOTHING
    }
}

/// A program at work. Steps are computed when something needs them, so that the side of an `if` that no document
/// of a block takes costs nothing; what nothing needs any more is recycled.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    known: &'p Known,
    done: Vec<Option<Column<'p>>>,
    waiting: Vec<usize>,
    /// How many steps need each step, and how many of them are still to come.
    uses: Vec<u32>,
    left: Vec<u32>,
    /// The time of each step; empty when it is not measured.
    costs: Vec<Duration>,
}

impl<'p> Machine<'p> {
    /// A machine that will be asked for these steps.
    pub(crate) fn new(program: &'p Program, known: &'p Known, targets: &[usize]) -> Machine<'p> {
        let mut uses = vec![0; program.steps.len()];
        let operands = program.steps.iter().flat_map(|s| &s.operands);
        operands.chain(targets).for_each(|at| uses[*at] += 1);
        let done = vec![None; program.steps.len()];
        Machine {
            program,
            known,
            done,
            waiting: Vec::new(),
            left: uses.clone(),
            uses,
            costs: Vec::new(),
        }
    }

    /// From now on the time of each step is taken.
    pub(crate) fn measure(&mut self) {
        self.costs = vec![Duration::ZERO; self.program.steps.len()];
    }

    /// The time of each step, if it was taken.
    pub(crate) fn costs(self) -> Vec<Duration> {
        self.costs
    }

    /// Forgets the values of the block before.
    pub(crate) fn begin(&mut self, pool: &mut Pool) {
        for column in &mut self.done {
            if let Some(column) = column.take() {
                pool.recycle(column);
            }
        }
        self.left.copy_from_slice(&self.uses);
        self.waiting.clear();
    }

    /// The value of a step for the documents of the block.
    pub(crate) fn value(
        &mut self,
        target: usize,
        sources: &[Source<'p>],
        rows: Rows<'_>,
        pool: &mut Pool,
    ) -> Result<&Column<'p>, Failed> {
        self.waiting.push(target);
        while let Some(at) = self.waiting.last().copied() {
            if self.get(at).is_some() {
                self.waiting.pop();
                continue;
            }
            if let Some((_, failed)) = self.known.failed.iter().find(|(target, _)| *target == at) {
                return Err(failed.clone());
            }
            if self.push_needs(at, sources) {
                continue;
            }
            let step = &self.program.steps[at];
            let start = (!self.costs.is_empty()).then(Instant::now);
            let column = match &step.op {
                Op::Input(number) => match sources[*number] {
                    Source::Column(column) => column.borrowed(),
                    Source::Attribute(attribute) => {
                        attribute::column(attribute, &step.kind, rows, pool)
                    }
                },
                Op::Constant(Constant(value)) => Column::of_value(value),
                _ => {
                    let computed = self.compute(at, sources, rows, pool);
                    computed.map_err(|error| Failed { step: at, error })?
                }
            };
            if let Some(start) = start {
                self.costs[at] += start.elapsed();
            }
            self.done[at] = Some(column);
            self.waiting.pop();
            self.release(step, pool);
        }
        self.get(target).ok_or(Failed { step: target, error: TooLarge.into() })
    }

    fn get(&self, at: usize) -> Option<&Column<'p>> {
        self.done[at].as_ref().or_else(|| self.known.values.get(at).and_then(Option::as_ref))
    }

    /// Puts the steps that are to be computed before this one on the list; whether there are any.
    fn push_needs(&mut self, at: usize, sources: &[Source<'p>]) -> bool {
        let before = self.waiting.len();
        let program = self.program;
        let step = &program.steps[at];
        match (&step.op, &step.operands[..]) {
            (Op::If, [condition, yes, no]) => match self.get(*condition) {
                None => self.waiting.push(*condition),
                Some(column) => {
                    let numbers = column.as_numbers();
                    let (any_yes, any_no) =
                        (numbers.iter().any(|n| *n != 0.0), numbers.contains(&0.0));
                    drop(numbers);
                    for (side, is_taken) in [(*yes, any_yes), (*no, any_no)] {
                        if is_taken && self.get(side).is_none() {
                            self.waiting.push(side);
                        }
                    }
                }
            },
            (_, operands) => {
                for operand in operands {
                    let is_read_in_place = || self.in_place(step, *operand, sources).is_some();
                    if self.get(*operand).is_none() && !is_read_in_place() {
                        self.waiting.push(*operand);
                    }
                }
            }
        }
        self.waiting.len() > before
    }

    /// The attribute that an operand of a fused step is.
    fn in_place(
        &self,
        step: &Step,
        operand: usize,
        sources: &[Source<'p>],
    ) -> Option<&'p Attribute<'p>> {
        match (&step.op, &self.program.steps[operand].op) {
            (Op::Fused(_), Op::Input(number)) => match sources[*number] {
                Source::Attribute(attribute) => Some(attribute),
                Source::Column(_) => None,
            },
            _ => None,
        }
    }

    fn compute(
        &self,
        at: usize,
        sources: &[Source<'p>],
        rows: Rows<'_>,
        pool: &mut Pool,
    ) -> Result<Column<'static>, StepError> {
        let step = &self.program.steps[at];
        if step.op == Op::If {
            let side = |at: usize| step.operands.get(at).and_then(|o| self.get(*o));
            return Ok(choose(&step.kind, [side(0), side(1), side(2)], pool));
        }
        if let Op::Fused(fused) = &step.op {
            let operand = |o: &usize| {
                let kind = &self.program.steps[*o].kind;
                match (self.get(*o), self.in_place(step, *o, sources)) {
                    (Some(column), _) => Some(Operand::Column(column, kind)),
                    (None, Some(attribute)) => Some(Operand::Attribute(attribute, kind, rows)),
                    (None, None) => None,
                }
            };
            let operands: Vec<Operand<'_>> = step.operands.iter().filter_map(operand).collect();
            let prepared = self.known.prepared.get(at).and_then(Option::as_ref);
            return Ok(fused::compute(step, fused, &operands, prepared, pool)?);
        }
        let operands: Vec<&Column<'_>> =
            step.operands.iter().filter_map(|o| self.get(*o)).collect();
        let kind = |o: &usize| &self.program.steps[*o].kind;
        let kinds: Vec<&TensorType> = step.operands.iter().map(kind).collect();
        debug_assert_eq!(operands.len(), kinds.len(), "every operand is there");
        operation(step, &kinds, &operands, self.program.is_rounded, pool)
    }

    /// Recycles the operands of a step that was computed, if it was the last to need them.
    fn release(&mut self, step: &Step, pool: &mut Pool) {
        for operand in &step.operands {
            self.left[*operand] = self.left[*operand].saturating_sub(1);
            if self.left[*operand] == 0
                && let Some(column) = self.done[*operand].take()
            {
                pool.recycle(column);
            }
        }
    }
}

/// The result of a program whose inputs are columns.
pub(crate) fn execute(program: &Program, inputs: &[Column<'_>]) -> Result<Column<'static>, Failed> {
    let sources: Vec<Source<'_>> = inputs.iter().map(Source::Column).collect();
    let rows = Rows { begin: 0, count: 0, index: None };
    let mut machine = Machine::new(program, Known::nothing(), &[program.result]);
    let result = machine.value(program.result, &sources, rows, &mut Pool::default())?;
    Ok(result.borrowed().into_owned())
}

//! Makes programs step by step; equal steps become one, and steps of constants their value.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Constant, Op, Program, Rate, Step};
use crate::run::{self, StepError};
use crate::types::TensorType;
use crate::value::{Inexact, Value};

/// The most cells of a value that is computed when the expression is compiled; a larger one is computed for each query.
const MAX_FOLDED: usize = 1 << 16;

/// A program in the making.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    inputs: Vec<TensorType>,
    rates: Vec<Rate>,
    steps: Vec<Step>,
    known: HashMap<(Op, Vec<usize>, TensorType), usize>,
    /// Whether numbers are rounded that would become cells exactly or not at all.
    pub(super) is_rounded: bool,
    /// Steps of constants that have no value for such a number.
    inexact: Vec<(usize, Inexact)>,
}

impl Builder {
    /// Nothing yet.
    pub(super) fn new(is_rounded: bool) -> Builder {
        Builder { is_rounded, ..Builder::default() }
    }

    /// A further input.
    pub(crate) fn input(&mut self, kind: TensorType, rate: Rate) -> usize {
        self.inputs.push(kind.clone());
        self.rates.push(rate);
        let op = Op::Input(self.inputs.len() - 1);
        self.add(Step { op, operands: Vec::new(), kind, rate })
    }

    /// A constant.
    pub(crate) fn constant(&mut self, value: Value) -> usize {
        self.shared(Arc::new(value))
    }

    /// A constant that others have too.
    pub(super) fn shared(&mut self, value: Arc<Value>) -> usize {
        let kind = value.kind().clone();
        let op = Op::Constant(Constant(value));
        self.add(Step { op, operands: Vec::new(), kind, rate: Rate::Constant })
    }

    /// An operation on earlier steps.
    pub(crate) fn step(&mut self, op: Op, operands: Vec<usize>, kind: TensorType) -> usize {
        let rates = operands.iter().map(|o| self.steps[*o].rate);
        let rate = rates.max().unwrap_or(Rate::Constant);
        let step = Step { op, operands, kind, rate };
        let is_small = step.kind.block_size() <= MAX_FOLDED;
        if rate == Rate::Constant && is_small {
            let values: Vec<&Value> = step.operands.iter().filter_map(|o| self.value(*o)).collect();
            if values.len() == step.operands.len() {
                match run::step_of_values(&step, &values, self.is_rounded) {
                    Ok(folded) => return self.constant(folded),
                    Err(StepError::Inexact(inexact)) => {
                        let at = self.add(step);
                        self.inexact.push((at, inexact));
                        return at;
                    }
                    Err(StepError::TooLarge(_)) => {}
                }
            }
        }
        self.add(step)
    }

    fn add(&mut self, step: Step) -> usize {
        let key = (step.op.clone(), step.operands.clone(), step.kind.clone());
        let next = self.steps.len();
        let at = *self.known.entry(key).or_insert(next);
        if at == next {
            self.steps.push(step);
        }
        at
    }

    /// The type of a step.
    pub(crate) fn kind(&self, step: usize) -> &TensorType {
        &self.steps[step].kind
    }

    /// How often a step's value changes.
    pub(crate) fn rate(&self, step: usize) -> Rate {
        self.steps[step].rate
    }

    /// The value of a step that is constant.
    pub(crate) fn value(&self, step: usize) -> Option<&Value> {
        match &self.steps[step].op {
            Op::Constant(Constant(value)) => Some(value),
            _ => None,
        }
    }

    /// Why a step of constants has no value.
    pub(crate) fn inexact(&self, step: usize) -> Option<&Inexact> {
        self.inexact.iter().find(|(at, _)| *at == step).map(|(_, inexact)| inexact)
    }

    /// The program of what the result needs.
    pub(crate) fn finish(self, result: usize) -> Program {
        let Builder { inputs, rates, steps, is_rounded, .. } = self;
        Program { inputs, rates, steps, result, is_rounded }.pruned()
    }
}

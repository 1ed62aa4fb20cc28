//! Expressions as typed steps, each behind its operands; equal steps are one step.

mod bind;
mod builder;
mod calls;
mod faults;
mod fuse;
mod lambdas;
mod lower;
mod names;
mod places;
mod steps;

pub(crate) use builder::Builder;
pub(crate) use fuse::{Best, Fused, Measure, Product, Softmax, Term, fuse};
pub(crate) use lower::lower;
pub use names::{Function, MAX_CALLS, Scope};

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::functions::{Aggregator, Fn1, Fn2};
use crate::types::{CellType, TensorType};
use crate::value::{Label, Labels, Number, Value};

/// How often a value changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rate {
    /// Never.
    Constant,
    /// With each query.
    Query,
    /// With each document.
    Document,
}

/// Steps that compute a value from inputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    /// The type of each input.
    pub(crate) inputs: Vec<TensorType>,
    /// How often each input changes.
    pub(crate) rates: Vec<Rate>,
    pub(crate) steps: Vec<Step>,
    /// The step whose value is the result.
    pub(crate) result: usize,
    /// Whether numbers are rounded that would become cells exactly or not at all.
    pub(crate) is_rounded: bool,
}

impl Program {
    /// The program without the steps that its result does not need.
    pub(crate) fn pruned(mut self) -> Program {
        let mut is_needed = vec![false; self.steps.len()];
        is_needed[self.result] = true;
        for at in (0..self.steps.len()).rev() {
            if is_needed[at] {
                self.steps[at].operands.iter().for_each(|o| is_needed[*o] = true);
            }
        }
        let mut places = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        for (at, mut step) in
            std::mem::take(&mut self.steps).into_iter().enumerate().filter(|(at, _)| is_needed[*at])
        {
            step.operands.iter_mut().for_each(|o| *o = places[*o]);
            places[at] = steps.len();
            steps.push(step);
        }
        Program { steps, result: places[self.result], ..self }
    }
}

impl Program {
    /// The program without the inputs that no step takes, and the names of the others: the arguments of a feature are values in
    /// their own right, but whoever computes the feature takes them, not this program.
    pub(crate) fn without_unused(mut self, names: Vec<String>) -> (Program, Vec<String>) {
        let mut places = vec![None; self.inputs.len()];
        for step in &self.steps {
            if let Op::Input(input) = step.op {
                places[input] = Some(0);
            }
        }
        let used = |at: usize| places[at].is_some();
        let names = names.into_iter().enumerate().filter(|(at, _)| used(*at)).map(|(_, n)| n);
        let names: Vec<String> = names.collect();
        let inputs = std::mem::take(&mut self.inputs).into_iter().enumerate();
        self.inputs = inputs.filter(|(at, _)| used(*at)).map(|(_, kind)| kind).collect();
        let rates = std::mem::take(&mut self.rates).into_iter().enumerate();
        self.rates = rates.filter(|(at, _)| used(*at)).map(|(_, rate)| rate).collect();
        for (next, place) in places.iter_mut().flatten().enumerate() {
            *place = next;
        }
        for step in &mut self.steps {
            if let Op::Input(input) = &mut step.op {
                *input = places[*input].unwrap_or(0);
            }
        }
        (self, names)
    }
}

/// One operation on the values of earlier steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) operands: Vec<usize>,
    pub(crate) kind: TensorType,
    pub(crate) rate: Rate,
}

/// What a step does. Everything that follows from the types of its operands and result is left out, so that equal
/// operations are equal here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Constant(Constant),
    Input(usize),
    Map(Unary),
    Join(Binary),
    Merge(Binary),
    Reduce(Aggregator),
    /// For each dimension of the result the dimension of the operand that it was.
    Rename(Vec<usize>),
    Concat(String),
    CellCast(CellType),
    CellOrder {
        largest_first: bool,
    },
    UnpackBits {
        is_big_endian: bool,
    },
    /// Inputs of the program: the indices of a cell, then the operands.
    Generate(Arc<Program>),
    /// A cell from each operand.
    Create(Arc<[Cell]>),
    /// The tensor is the first operand.
    Peek(Vec<(usize, Place)>),
    MapSubspaces(Arc<Program>),
    FilterSubspaces(Arc<Program>),
    /// Condition, value if it is not 0, value if it is.
    If,
    /// Several of the others.
    Fused(Fused),
}

/// A function of each cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Known(Fn1),
    /// Whether it is one of these, as bits.
    In(Arc<[u64]>),
    Lambda(Arc<Program>),
}

/// A function of each pair of cells.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    Known(Fn2),
    Lambda(Arc<Program>),
}

/// Where a cell that is given stands: labels and the offset in the block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    pub(crate) labels: Vec<HeldLabel>,
    pub(crate) offset: usize,
    /// The cell itself, if it is a whole number that no double is.
    pub(crate) whole: Option<i64>,
}

/// A place along a dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Label(HeldLabel),
    Index(usize),
    /// The number that this operand is.
    Operand(usize),
}

/// A label whose text stays known.
#[derive(Debug, Clone)]
pub(crate) struct HeldLabel(Labels);

impl HeldLabel {
    pub(crate) fn new(text: &str) -> HeldLabel {
        let mut labels = Labels::with_capacity(1);
        labels.push(text);
        HeldLabel(labels)
    }

    pub(crate) fn label(&self) -> Label {
        self.0.as_slice()[0]
    }
}

impl PartialEq for HeldLabel {
    fn eq(&self, other: &HeldLabel) -> bool {
        self.label() == other.label()
    }
}

impl Eq for HeldLabel {}

impl Hash for HeldLabel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.label().hash(state);
    }
}

/// A value that equals another when every bit does.
#[derive(Debug, Clone)]
pub(crate) struct Constant(pub(crate) Arc<Value>);

impl Constant {
    fn bits(&self) -> impl Iterator<Item = u64> {
        let cells = self.0.cells();
        (0..cells.len()).map(move |at| match cells.number(at) {
            Some(Number::Whole(whole)) => whole as u64,
            Some(Number::Float(float)) => float.to_bits(),
            None => 0,
        })
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.kind() == other.0.kind()
                && self.0.labels() == other.0.labels()
                && self.bits().eq(other.bits()))
    }
}

impl Eq for Constant {}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.kind().hash(state);
        self.0.labels().hash(state);
        self.bits().for_each(|b| b.hash(state));
    }
}

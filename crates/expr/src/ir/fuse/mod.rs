//! Several steps become one that a kernel computes without what lies between them.

mod pairwise;
mod product;
mod softmax;
mod sums;

use std::sync::Arc;

use super::{Binary, Op, Program, Step, Unary};
use crate::functions::{Aggregator, Fn1, Fn2};
pub(crate) use pairwise::Measure;
pub(crate) use product::Product;
pub(crate) use softmax::Softmax;

/// A step that stands for several. The names are in the table [`FUSIONS`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Fused {
    /// A measure between the vectors of the first operand, along its innermost dimensions, and the second, which has
    /// no other dimensions.
    Vectors(Measure),
    /// For each vector of the first operand the measure that is best among the vectors of the second, and these
    /// gathered, if there is an aggregator. `length` is the cells of a vector of the first operand.
    BestMatch { measure: Measure, best: Best, length: usize, gathered: Option<Aggregator> },
    /// A product of matrices.
    Product(Product),
    /// Powers of e over their sum along dimensions of each block.
    Softmax(Softmax),
    /// The sum of the products of the cells that both operands have.
    SparseDot,
    /// A sum of numbers from the first to the last.
    WeightedSum(Arc<[Term]>),
}

/// Which of many counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Best {
    Most,
    Least,
    /// The largest `1 / (1 + x)`.
    MostInverse,
    /// The least `1 / (1 + x)`.
    LeastInverse,
}

/// A term of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    /// Whether it is two operands: a number, and its weight that is the same for all documents.
    pub(crate) is_weighted: bool,
    pub(crate) is_subtracted: bool,
}

impl Fused {
    /// The name, for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Fused::Vectors(measure) => measure.name(),
            Fused::BestMatch { measure, .. } => measure.best_name(),
            Fused::Product(_) => "matrix product",
            Fused::Softmax(_) => "softmax",
            Fused::SparseDot => "sparse dot product",
            Fused::WeightedSum(_) => "weighted sum",
        }
    }
}

/// A way to see one step in several, and what it looks like.
struct Fusion {
    /// An expression in which it is found, as the tests have it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the table is its own documentation"))]
    example: &'static str,
    find: fn(&Steps<'_>, usize) -> Option<(Fused, Vec<usize>)>,
}

/// All of them, those of more steps first.
const FUSIONS: [Fusion; 6] = [
    Fusion { example: "sum(reduce(sum(qt*dt, x), max, d))", find: pairwise::best_match },
    Fusion { example: "sum(w*matrix, x)", find: product::product },
    Fusion { example: "softmax(dm, x)", find: softmax::softmax },
    Fusion { example: "sum(v*w)", find: pairwise::vectors },
    Fusion { example: "sum(s*t)", find: sums::sparse_dot },
    Fusion { example: "2*n + a*m + k", find: sums::weighted_sum },
];

/// The steps of a program and how many others need each.
struct Steps<'p> {
    steps: &'p [Step],
    uses: Vec<u32>,
}

impl Steps<'_> {
    fn reduced(&self, at: usize) -> Option<(Aggregator, usize)> {
        match (&self.steps[at].op, &self.steps[at].operands[..]) {
            (Op::Reduce(aggregator), [of]) => Some((*aggregator, *of)),
            _ => None,
        }
    }

    fn joined(&self, at: usize) -> Option<(Fn2, usize, usize)> {
        match (&self.steps[at].op, &self.steps[at].operands[..]) {
            (Op::Join(Binary::Known(function)), [a, b]) => Some((*function, *a, *b)),
            _ => None,
        }
    }

    fn mapped(&self, at: usize) -> Option<(Fn1, usize)> {
        match (&self.steps[at].op, &self.steps[at].operands[..]) {
            (Op::Map(Unary::Known(function)), [of]) => Some((*function, *of)),
            _ => None,
        }
    }

    fn is_number(&self, at: usize, number: f64) -> bool {
        match &self.steps[at].op {
            Op::Constant(value) => value.0.as_double() == Some(number),
            _ => false,
        }
    }
}

/// The same program with as many fused steps as there are.
pub(crate) fn fuse(mut program: Program) -> Program {
    let mut uses = vec![0; program.steps.len()];
    program.steps.iter().flat_map(|s| &s.operands).for_each(|o| uses[*o] += 1);
    let mut is_needed = vec![false; program.steps.len()];
    is_needed[program.result] = true;
    for at in (0..program.steps.len()).rev() {
        if !is_needed[at] {
            continue;
        }
        let steps = Steps { steps: &program.steps, uses: std::mem::take(&mut uses) };
        let has_kernel = |o: &usize| !steps.steps[*o].kind.cell().is_extension();
        let found = FUSIONS.iter().find_map(|fusion| {
            (fusion.find)(&steps, at).filter(|(_, operands)| operands.iter().all(has_kernel))
        });
        uses = steps.uses;
        let step = &mut program.steps[at];
        match found {
            Some((fused, operands)) => (step.op, step.operands) = (Op::Fused(fused), operands),
            None => within(&mut step.op),
        }
        program.steps[at].operands.iter().for_each(|o| is_needed[*o] = true);
    }
    program.pruned()
}

/// Fuses the steps of programs within an operation.
fn within(op: &mut Op) {
    let inner = match op {
        Op::Generate(program)
        | Op::MapSubspaces(program)
        | Op::FilterSubspaces(program)
        | Op::Map(Unary::Lambda(program))
        | Op::Join(Binary::Lambda(program))
        | Op::Merge(Binary::Lambda(program)) => program,
        _ => return,
    };
    *inner = Arc::new(fuse(Program::clone(inner)));
}

#[cfg(test)]
mod tests;

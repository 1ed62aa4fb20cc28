//! Bodies of functions of cells and blocks, and of generated cells.

use std::sync::Arc;

use super::faults::wrong;
use super::names::{Frame, Lowering};
use super::{Binary, Op, Program, Unary};
use crate::error::Fault;
use crate::syntax::Ast;
use crate::types::{Dimension, TensorType};

impl Lowering<'_> {
    /// The step of a tensor whose cells are computed from their indices.
    pub(super) fn generate(
        &mut self,
        kind: &TensorType,
        body: &Ast,
        at: u32,
    ) -> Result<usize, Fault> {
        let index = |d: &'_ Dimension| (d.name.to_string(), TensorType::double());
        let indices: Vec<(String, TensorType)> = kind.dimensions().iter().map(index).collect();
        let frame = Frame::new(indices.iter().map(|(n, k)| (n.as_str(), k.clone())), true);
        let (program, operands) = self.body(frame, body)?;
        must_be_number(&program, at, "a generated cell")?;
        Ok(self.step(Op::Generate(Arc::new(program)), operands, kind.clone()))
    }
}

/// A lambda that is nothing but a known function.
pub(super) fn simple_unary(program: Program) -> Unary {
    match &program.steps[..] {
        [input, step] if input.op == Op::Input(0) => match &step.op {
            Op::Map(known @ (Unary::Known(_) | Unary::In(_))) => known.clone(),
            _ => Unary::Lambda(Arc::new(program)),
        },
        _ => Unary::Lambda(Arc::new(program)),
    }
}

/// A lambda that is nothing but a known function of both parameters in order.
pub(super) fn simple_binary(program: Program) -> Binary {
    match &program.steps[..] {
        [a, b, step] if a.op == Op::Input(0) && b.op == Op::Input(1) => match &step.op {
            Op::Join(Binary::Known(function)) if step.operands == [0, 1] => {
                Binary::Known(*function)
            }
            _ => Binary::Lambda(Arc::new(program)),
        },
        _ => Binary::Lambda(Arc::new(program)),
    }
}

pub(super) fn must_be_number(program: &Program, at: u32, function: &str) -> Result<(), Fault> {
    let kind = &program.steps[program.result].kind;
    if kind.is_double() {
        return Ok(());
    }
    Err(wrong(at, function, "a number for each cell", kind.to_string()))
}

//! Normalisation of the rows of a product in the same step.

use super::super::{Args, NodeSpec, Operand, PlanCx};
use crate::error::{BuildError, PlanError, RunError};
use stead_kernels::norm::{RowNorm, norm_rows_in_place};
use stead_kernels::{Isa, Parallel};

/// The input that rows are multiplied by, and the one that is added to them then.
pub(super) const INPUTS: [usize; 2] = [4, 5];

/// Which normalisation a node asks for.
#[derive(Clone, Copy)]
pub(super) struct Form {
    norm: RowNorm,
    epsilon: f32,
}

impl Form {
    /// By the attributes `norm`, `layer` or `rms`, and `epsilon`.
    pub fn of(spec: &NodeSpec<'_>) -> Result<Option<Form>, BuildError> {
        let attributes = spec.attributes();
        let norm = match attributes.string_or("norm", "")? {
            "" => return Ok(None),
            "layer" => RowNorm::Layer,
            "rms" => RowNorm::Rms,
            other => return Err(BuildError::unsupported(format!("norm \"{other}\""))),
        };
        Ok(Some(Form { norm, epsilon: attributes.float_or("epsilon", 1e-5)? }))
    }

    /// With its operands, for rows of `n` numbers.
    pub fn plan(self, cx: &mut PlanCx<'_>, n: usize) -> Result<Normal, PlanError> {
        let operand = |cx: &mut PlanCx<'_>, index: usize| {
            let shape = cx.shape(index)?;
            if shape.elements() != n {
                return Err(PlanError::shape(format!(
                    "input {index}: {n} numbers expected, got {shape}"
                )));
            }
            cx.input(index)
        };
        let [scale, bias] = INPUTS;
        let scale = operand(cx, scale)?;
        let bias = if cx.has_input(bias) { Some(operand(cx, bias)?) } else { None };
        Ok(Normal { form: self, scale, bias })
    }
}

/// A normalisation with its operands.
#[derive(Clone)]
pub(super) struct Normal {
    form: Form,
    scale: Operand,
    bias: Option<Operand>,
}

impl Normal {
    /// The same with the positions at which a step reads the operands.
    pub fn read_by(self, position: &mut dyn FnMut(Option<Operand>) -> Option<usize>) -> Reads {
        Reads { form: self.form, scale: position(Some(self.scale)), bias: position(self.bias) }
    }
}

/// A normalisation whose operands are read at these positions.
#[derive(Clone, Copy)]
pub(super) struct Reads {
    form: Form,
    scale: Option<usize>,
    bias: Option<usize>,
}

impl Reads {
    /// With the numbers themselves.
    pub fn of<'a>(&self, args: &Args<'a>) -> Result<Vectors<'a>, RunError> {
        let read = |at: Option<usize>| at.map(|at| args.read::<f32>(at)).transpose();
        Ok(Vectors { form: self.form, scale: read(self.scale)?, bias: read(self.bias)? })
    }
}

/// A normalisation as it runs.
pub(super) struct Vectors<'a> {
    form: Form,
    scale: Option<&'a [f32]>,
    bias: Option<&'a [f32]>,
}

impl Vectors<'_> {
    /// Normalises rows of `n` numbers.
    pub fn rows(&self, isa: Isa, parallel: &dyn Parallel, n: usize, rows: &mut [f32]) {
        let Form { norm, epsilon } = self.form;
        let (scale, bias) = (self.scale.map(|x| &x[..n]), self.bias.map(|x| &x[..n]));
        norm_rows_in_place(isa, parallel, norm, n, rows, scale, bias, epsilon);
    }
}

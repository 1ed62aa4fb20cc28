//! Transpose: a view with its strides in another order.

use super::{axes_of, permuted};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_tensor::Shape;

/// Transpose.
pub const OPS: &[OpDef] =
    &[OpDef::new("Transpose", &[Param::required(1, types::ANY)], &[Out::Like(0)], transpose)];

fn transpose(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let perm = spec.attributes().ints("perm")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let order = match &perm {
            Some(perm) => axes_of(perm, shape.rank())?,
            None => (0..shape.rank()).rev().collect(),
        };
        if order.len() != shape.rank() {
            return Err(PlanError::shape(format!(
                "perm has {} axes, the input {shape} has {}",
                order.len(),
                shape.rank()
            )));
        }
        let dims: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let lies = cx.strided(0)?;
        cx.alias_view(0, 0, Shape::new(&dims)?, lies.offset, permuted(&lies.strides, &order))
    })
}

//! Det.

use super::dispatch::{for_type, no_kernel};
use super::{OpDef, Out, Param, TypeSet, plan_fn};
use crate::error::PlanError;
use stead_kernels::determinant::determinants;
use stead_tensor::{DType, Shape};

/// Det.
pub const OPS: &[OpDef] = &[OpDef::new(
    "Det",
    &[Param::required(0, TypeSet::of(&[DType::F32, DType::F64]))],
    &[Out::Like(0)],
    |_| {
        plan_fn(|cx| {
            let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
            let (batch, n) = match shape.dims() {
                [batch @ .., rows, columns] if rows == columns => (batch, *rows),
                _ => return Err(PlanError::shape(format!("{shape} are no square matrices"))),
            };
            let (x, slot) = (cx.input(0)?, cx.output(0, Shape::new(batch)?)?);
            let scratch = cx.temp_of::<f64>(n * n);
            for_type!(dtype, [F32, F64], T => {
                cx.step("determinant", &[x], &[slot, scratch], move |a| {
                    let (x, out, scratch) = (a.read::<T>(0)?, a.write::<T>()?, a.write::<f64>()?);
                    determinants(n, x, scratch.get_mut(..n * n).unwrap_or_default(), out);
                    Ok(())
                });
                Ok(())
            }, _ => Err(no_kernel(dtype)))
        })
    },
)
.since(11)];

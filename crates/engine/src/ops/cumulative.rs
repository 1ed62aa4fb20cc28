//! CumSum and CumProd.

use super::axes::{around, axis_of};
use super::cast::cast_step;
use super::dispatch::{for_type, no_kernel};
use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::along::{Cumulative, cumulative};
use stead_tensor::DType;

const INPUTS: &[Param] = &[Param::required(1, types::NUMERIC), Param::required(0, types::INDEX)];

/// CumProd, CumSum.
pub const OPS: &[OpDef] = &[
    OpDef::new("CumSum", INPUTS, &[Out::Like(0)], |spec| running(spec, false)).since(11),
    OpDef::new("CumProd", INPUTS, &[Out::Like(0)], |spec| running(spec, true)).since(26),
];

fn running(spec: &NodeSpec<'_>, product: bool) -> Result<OpPlan, BuildError> {
    let how = Cumulative {
        product,
        exclusive: spec.attributes().bool_or("exclusive", false)?,
        reverse: spec.attributes().bool_or("reverse", false)?,
    };
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let dims = around(&shape, axis_of(cx.int(1)?, shape.rank())?);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        if !matches!(dtype, DType::F16 | DType::BF16) {
            return step(cx, how, dtype, dims, x, slot);
        }
        let n = shape.elements();
        let (wide, result) = (cx.temp_of::<f32>(n), cx.temp_of::<f32>(n));
        cast_step(cx, x, dtype, wide, DType::F32, n)?;
        let wide = cx.read_back(wide);
        step(cx, how, DType::F32, dims, wide, result)?;
        let result = cx.read_back(result);
        cast_step(cx, result, DType::F32, slot, dtype, n)
    })
}

fn step(
    cx: &mut PlanCx<'_>,
    how: Cumulative,
    dtype: DType,
    dims: (usize, usize, usize),
    x: Operand,
    slot: Slot,
) -> Result<(), PlanError> {
    for_type!(dtype, [F32, F64, I8, I16, I32, I64, U8, U16, U32, U64], T => {
        cx.step("cumulative", &[x], &[slot], move |a| {
            cumulative(how, dims, a.read::<T>(0)?, a.write::<T>()?);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}

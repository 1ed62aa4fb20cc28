//! Pow, whose operands may have different types.

use crate::error::{BuildError, PlanError};
use crate::ops::broadcasting::{aligned, broadcast_inputs};
use crate::ops::cast::cast_step;
use crate::ops::dispatch::{for_integer, no_kernel};
use crate::ops::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, plan_fn, types};
use stead_kernels::broadcast::Broadcast;
use stead_kernels::elementwise::{Run, pow_float, pow_float_to_int, pow_int};
use stead_tensor::{DType, Shape};

/// Pow.
pub const OPS: &[OpDef] = &[OpDef::new(
    "Pow",
    &[Param::required(0, types::NUMERIC), Param::required(0, types::NUMERIC)],
    &[Out::Like(0)],
    pow,
)];

/// Floats are computed in f32 or f64, with the exponent cast to it. Integers take integer exponents as
/// they are, and go through f64 for others.
fn pow(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = broadcast_inputs(cx)?;
        let plan = row_major(cx, &shape)?;
        let (base, exponent) = (cx.dtype(0)?, cx.dtype(1)?);
        let (x, y) = (cx.input(0)?, cx.input(1)?);
        let slot = cx.output(0, shape)?;
        match base {
            DType::F32 | DType::F64 => {
                let y = cast_to(cx, y, 1, base)?;
                floats(cx, base, plan, [x, y], slot)
            }
            DType::F16 | DType::BF16 => {
                let x = cast_to(cx, x, 0, DType::F32)?;
                let y = cast_to(cx, y, 1, DType::F32)?;
                let wide = cx.temp_of::<f32>(shape.elements());
                floats(cx, DType::F32, plan, [x, y], wide)?;
                let wide = cx.read_back(wide);
                cast_step(cx, wide, DType::F32, slot, base, shape.elements())
            }
            _ if exponent.is_int() => {
                let y = cast_to(cx, y, 1, DType::I64)?;
                for_integer!(base, T => {
                    cx.step("pow", &[x, y], &[slot], move |a| {
                        let (x, y, out) = (a.read::<T>(0)?, a.read::<i64>(1)?, a.write::<T>()?);
                        let run = Run { isa: a.isa, parallel: a.parallel, plan: &plan };
                        pow_int(run, x, y, out);
                        Ok(())
                    });
                    Ok(())
                }, _ => Err(no_kernel(base)))
            }
            _ => {
                let y = cast_to(cx, y, 1, DType::F64)?;
                for_integer!(base, T => {
                    cx.step("pow", &[x, y], &[slot], move |a| {
                        let (x, y, out) = (a.read::<T>(0)?, a.read::<f64>(1)?, a.write::<T>()?);
                        let run = Run { isa: a.isa, parallel: a.parallel, plan: &plan };
                        pow_float_to_int(run, x, y, out);
                        Ok(())
                    });
                    Ok(())
                }, _ => Err(no_kernel(base)))
            }
        }
    })
}

fn floats(
    cx: &mut PlanCx<'_>,
    dtype: DType,
    plan: Broadcast<2>,
    reads: [Operand; 2],
    slot: Slot,
) -> Result<(), PlanError> {
    macro_rules! emit {
        ($t:ty) => {
            cx.step("pow", &reads, &[slot], move |a| {
                let (x, y, out) = (a.read::<$t>(0)?, a.read::<$t>(1)?, a.write::<$t>()?);
                pow_float(Run { isa: a.isa, parallel: a.parallel, plan: &plan }, x, y, out);
                Ok(())
            })
        };
    }
    match dtype {
        DType::F32 => emit!(f32),
        DType::F64 => emit!(f64),
        other => return Err(no_kernel(other)),
    }
    Ok(())
}

/// How the two inputs meet when both lie row-major.
fn row_major(cx: &PlanCx<'_>, out: &Shape) -> Result<Broadcast<2>, PlanError> {
    let lies = |shape: Shape| aligned(&shape, &shape.strides(), out);
    let (x, y) = (lies(cx.shape(0)?)?, lies(cx.shape(1)?)?);
    Ok(Broadcast::new(out, [&x, &y], [0, 0]))
}

/// The elements of input `index`, which `operand` holds, as another type.
fn cast_to(
    cx: &mut PlanCx<'_>,
    operand: Operand,
    index: usize,
    to: DType,
) -> Result<Operand, PlanError> {
    let (from, count) = (cx.dtype(index)?, cx.shape(index)?.elements());
    if from == to {
        return Ok(operand);
    }
    let slot = cx.temp(cx.shape(index)?.byte_len(to));
    cast_step(cx, operand, from, slot, to, count)?;
    Ok(cx.read_back(slot))
}

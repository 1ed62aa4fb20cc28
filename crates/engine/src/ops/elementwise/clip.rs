//! Clip in all its versions.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::dispatch::{for_number, no_kernel};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::elementwise::clip;
use stead_tensor::Element;

/// Clip: limits are attributes before opset 11, inputs since.
pub const OPS: &[OpDef] = &[
    OpDef::new("Clip", &[Param::required(1, types::FLOAT)], &[Out::Like(0)], by_attributes)
        .until(10),
    OpDef::new(
        "Clip",
        &[
            Param::required(1, types::NUMERIC),
            Param::optional(1, types::NUMERIC),
            Param::optional(1, types::NUMERIC),
        ],
        &[Out::Like(0)],
        by_inputs,
    )
    .since(11),
];

fn by_attributes(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let limits = ["min", "max"].map(|name| spec.attributes().float(name));
    let [lo, hi] = limits;
    let limits = [lo?, hi?];
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        macro_rules! emit {
            ($t:ty, $of:expr) => {{
                let limits = limits.map(|limit| limit.map($of));
                cx.step("clip", &[x], &[slot], move |a| {
                    let (x, out) = (a.read::<$t>(0)?, a.write::<$t>()?);
                    clip(a.isa, a.parallel, limits, x, out);
                    Ok(())
                })
            }};
        }
        match dtype {
            stead_tensor::DType::F32 => emit!(f32, |v: f32| v),
            stead_tensor::DType::F64 => emit!(f64, f64::from),
            stead_tensor::DType::F16 => emit!(half::f16, half::f16::from_f32),
            stead_tensor::DType::BF16 => emit!(half::bf16, half::bf16::from_f32),
            other => return Err(no_kernel(other)),
        }
        Ok(())
    })
}

fn by_inputs(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let mut reads = vec![cx.input(0)?];
        let mut at = [None; 2];
        for (k, place) in at.iter_mut().enumerate() {
            if cx.has_input(1 + k) {
                single(cx, 1 + k)?;
                *place = Some(reads.len());
                reads.push(cx.input(1 + k)?);
            }
        }
        let slot = cx.output(0, shape)?;
        for_number!(dtype, T => {
            cx.step("clip", &reads, &[slot], move |a| {
                let limits = [limit::<T>(a, at[0])?, limit::<T>(a, at[1])?];
                let (x, out) = (a.read::<T>(0)?, a.write::<T>()?);
                clip(a.isa, a.parallel, limits, x, out);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

fn single(cx: &PlanCx<'_>, input: usize) -> Result<(), PlanError> {
    let shape = cx.shape(input)?;
    if shape.elements() == 1 {
        return Ok(());
    }
    let name = if input == 1 { "min" } else { "max" };
    Err(PlanError::shape(format!("{name} of Clip: one element expected, got shape {shape}")))
}

/// The limit in an operand, if there is one.
fn limit<T: Element>(a: &Args<'_>, operand: Option<usize>) -> Result<Option<T>, RunError> {
    let Some(index) = operand else { return Ok(None) };
    Ok(a.read::<T>(index)?.first().copied())
}

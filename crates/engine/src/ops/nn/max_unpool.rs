//! MaxUnpool: maxima back where MaxPool found them, and zeros elsewhere.

use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::dispatch::{for_type, no_kernel};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_tensor::{Element, Shape};

/// MaxUnpool.
pub const OPS: &[OpDef] = &[OpDef::new(
    "MaxUnpool",
    &[
        Param::required(1, types::FLOAT),
        Param::required(0, types::I64_ONLY),
        Param::optional(0, types::I64_ONLY),
    ],
    &[Out::Like(0)],
    build,
)
.since(9)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    plan_fn(move |cx| plan(cx, &attributes))
}

fn plan(cx: &mut PlanCx<'_>, attributes: &WindowAttributes) -> Result<(), PlanError> {
    let (x, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    if cx.shape(1)? != x || x.rank() < 3 {
        return Err(PlanError::shape(format!("indices of {} for an input of {x}", cx.shape(1)?)));
    }
    let kernel = attributes.kernel(None)?;
    let (axes, rank) = attributes.axes(&x[2..], &kernel)?;
    // The image that was pooled, as far as its size follows from the pool.
    let mut pooled = x.to_vec();
    for (size, axis) in pooled[2..].iter_mut().zip(&axes[3 - rank..]) {
        let covered = axis.input.saturating_sub(1).checked_mul(axis.stride);
        let covered = covered.and_then(|c| c.checked_add(axis.kernel));
        let padding = axis.pads.0 + axis.pads.1;
        let inside = covered.and_then(|c| c.checked_sub(padding));
        *size =
            inside.ok_or_else(|| PlanError::shape(format!("padding of {padding} is too much")))?;
    }
    let pooled = Shape::new(&pooled)?;
    let shape = match cx.has_input(2) {
        false => pooled,
        true => {
            let dims = cx.ints(2)?.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
            Shape::new(&dims.map_err(|_| PlanError::shape("a negative size"))?)?
        }
    };
    let fits =
        shape.rank() == pooled.rank() && shape.iter().zip(pooled.iter()).all(|(a, b)| a >= b);
    if !fits {
        return Err(PlanError::shape(format!("output_shape of {shape}, but at least {pooled}")));
    }
    let operands = [cx.input(0)?, cx.input(1)?];
    let slot = cx.output(0, shape)?;
    for_type!(dtype, [F32, F64, F16, BF16], T => {
        cx.step("max unpool", &operands, &[slot], move |a| unpool::<T>(a, &pooled, &shape));
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}

/// Indices count the elements of the pooled image; a larger result has it in its first corner.
fn unpool<T: Element + Default>(
    a: &mut Args<'_>,
    pooled: &Shape,
    shape: &Shape,
) -> Result<(), RunError> {
    let (x, indices, out) = (a.read::<T>(0)?, a.read::<i64>(1)?, a.write::<T>()?);
    out.fill(T::default());
    let strides = shape.strides();
    let total = pooled.elements();
    for (&value, &index) in x.iter().zip(indices) {
        let at = usize::try_from(index).ok().filter(|&at| at < total).ok_or_else(|| {
            RunError::value(format!("index {index} is out of range for {total} elements"))
        })?;
        let mut rest = at;
        let mut to = 0;
        for axis in (0..pooled.rank()).rev() {
            to += rest % pooled[axis] * strides[axis].unsigned_abs();
            rest /= pooled[axis];
        }
        if let Some(slot) = out.get_mut(to) {
            *slot = value;
        }
    }
    Ok(())
}

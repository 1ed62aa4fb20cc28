//! Expand and Tile: repeated elements.

use super::{count, dim_of, width_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::movement::{MAX_DIMS, copy_strided};
use stead_tensor::{MAX_RANK, Shape};

const INPUTS: &[Param] = &[Param::required(1, types::ANY), Param::required(0, types::I64_ONLY)];

/// Expand, Tile.
pub const OPS: &[OpDef] = &[
    OpDef::new("Expand", INPUTS, &[Out::Like(0)], expand).since(8),
    OpDef::new("Tile", INPUTS, &[Out::Like(0)], tile),
];

/// Expanded axes get the stride 0: nothing is copied.
fn expand(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let from = cx.shape(0)?;
        let wanted = cx.ints(1)?.into_iter().map(dim_of).collect::<Result<Vec<_>, _>>()?;
        let rank = from.rank().max(wanted.len());
        let mut dims = vec![1usize; rank];
        let mut strides = [0isize; MAX_RANK];
        let lies = cx.strided(0)?;
        let fail = || PlanError::shape(format!("{from} cannot be expanded to {wanted:?}"));
        for back in 1..=rank {
            let have = from.len().checked_sub(back).and_then(|a| from.get(a)).copied();
            let want = wanted.len().checked_sub(back).and_then(|a| wanted.get(a)).copied();
            let axis = rank - back;
            let dim = match (have.unwrap_or(1), want.unwrap_or(1)) {
                (d, w) if d == w || w == 1 => d,
                (1, w) => w,
                _ => return Err(fail()),
            };
            if let (Some(d), Some(stride)) = (have, strides.get_mut(axis)) {
                *stride = if d == dim { lies.strides[from.len() - back] } else { 0 };
            }
            dims[axis] = dim;
        }
        let shape = Shape::new(&dims)?;
        cx.alias_view(0, 0, shape, lies.offset, strides)
    })
}

/// A copy with one more dimension of stride 0 before each repeated one.
fn tile(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let from = cx.shape(0)?;
        let repeats = cx.ints(1)?.into_iter().map(dim_of).collect::<Result<Vec<_>, _>>()?;
        if repeats.len() != from.rank() {
            return Err(PlanError::shape(format!(
                "{} repeats for a tensor of shape {from}",
                repeats.len()
            )));
        }
        let mut dims = Vec::with_capacity(from.rank());
        for (&d, &n) in from.iter().zip(&repeats) {
            let dim = d.checked_mul(n);
            dims.push(dim.ok_or_else(|| PlanError::shape(format!("{d} repeated {n} times")))?);
        }
        let shape = Shape::new(&dims)?;
        let lies = cx.strided(0)?;
        let (mut loops, mut strides) = (Vec::new(), Vec::new());
        for (axis, &n) in repeats.iter().enumerate() {
            loops.extend([n, from[axis]]);
            strides.extend([0, lies.strides[axis]]);
        }
        debug_assert!(loops.len() <= MAX_DIMS && count(&loops) == shape.elements());
        let width = width_of(cx.dtype(0)?);
        let slot = cx.output(0, shape)?;
        cx.step("tile", &[lies.operand], &[slot], move |a| {
            let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
            copy_strided(width, src, lies.offset, &strides, &loops, dst);
            Ok(())
        });
        Ok(())
    })
}

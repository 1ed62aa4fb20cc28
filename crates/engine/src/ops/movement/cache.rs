//! TensorScatter: new positions in a cache of keys or values.

use super::{axis_of, count, out_of_range, width_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::movement::{CacheDims, write_cache};

/// TensorScatter.
pub const OPS: &[OpDef] = &[OpDef::new(
    "TensorScatter",
    &[
        Param::required(1, types::ANY),
        Param::required(1, types::ANY),
        Param::optional(0, types::I64_ONLY),
    ],
    &[Out::Like(0)],
    build,
)
.since(24)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", -2)?;
    let circular = match spec.attributes().string_or("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => {
            return Err(BuildError::unsupported(format!(
                "mode is \"{other}\"; supported: linear, circular"
            )));
        }
    };
    plan_fn(move |cx| {
        let (cache, update) = (cx.shape(0)?, cx.shape(1)?);
        let axis = axis_of(axis, cache.rank())?;
        if axis == 0 {
            return Err(PlanError::shape("axis 0 is that of the batch, not of positions"));
        }
        let written = update.get(axis).copied().unwrap_or(0);
        let fits = update.rank() == cache.rank()
            && written <= cache[axis]
            && cache.with(axis, written)? == update;
        if !fits {
            return Err(PlanError::shape(format!(
                "an update of {update} for a cache of {cache} along axis {axis}"
            )));
        }
        let dims = CacheDims {
            batches: cache[0],
            between: count(&cache[1..axis]),
            positions: cache[axis],
            written,
            bytes: count(&cache[axis + 1..]) * width_of(cx.dtype(0)?),
        };
        let mut operands = vec![cx.input(0)?, cx.input(1)?];
        let placed = cx.has_input(2);
        if placed {
            let starts = cx.shape(2)?;
            if starts.dims() != [dims.batches] {
                return Err(PlanError::shape(format!(
                    "write_indices of {starts} for {} batch entries",
                    dims.batches
                )));
            }
            operands.push(cx.input(2)?);
        }
        let slot = cx.output(0, cache)?;
        cx.step("write cache", &operands, &[slot], move |a| {
            let (cache, update) = (a.read_bytes(0)?, a.read_bytes(1)?);
            let starts = if placed { Some(a.read::<i64>(2)?) } else { None };
            let dst = a.write_bytes()?;
            dst.copy_from_slice(cache);
            write_cache(dims, circular, starts, update, dst).map_err(out_of_range)
        });
        Ok(())
    })
}

//! RotaryEmbedding of `com.microsoft`, whose positions may be one number.

use super::{MICROSOFT, OWN, REAL};
use crate::error::{BuildError, LoadError, PlanError};
use crate::ir::FunctionBody;
use crate::ops::contrib::attention::only_zero;
use crate::ops::contrib::product::with_attributes;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_tensor::{DType, Shape};

const X: Param = Param::required(1, REAL);
const IDS: Param = Param::required(0, types::I64_ONLY);

/// RotaryEmbedding, and PositionIds of the engine's own: the first position or all of them, with the tensor whose batch entries
/// and positions they are for, become `[batch, positions]`.
pub const OPS: &[OpDef] = &[
    OpDef::function("RotaryEmbedding", &[X, IDS, X, X], &[Out::Like(0)], write).domain(MICROSOFT),
    OpDef::new("PositionIds", &[IDS, X], &[Out::Fixed(DType::I64)], positions).domain(OWN),
];

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["is_packed_batching"])?;
    let scale = f.attributes().float_or("scale", 1.0)?;
    if scale != 1.0 {
        return Err(f.refuse(format!("scale is {scale}; supported: 1")));
    }
    let (x, ids) = (f.input(0)?, f.input(1)?);
    let ids = f.call_of((OWN, "PositionIds"), vec![Some(ids), Some(x)], &[])?;
    let inputs = vec![Some(x), f.optional(2), f.optional(3), Some(ids)];
    let own = ["interleaved", "num_heads", "rotary_embedding_dim"];
    let y = with_attributes(f, "RotaryEmbedding", inputs, &own)?;
    f.give(0, y);
    Ok(())
}

fn positions(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (ids, x) = (cx.shape(0)?, cx.shape(1)?);
        let (batch, rows) = match *x.dims() {
            [batch, rows, _] | [batch, _, rows, _] => (batch, rows),
            _ => return Err(PlanError::shape(format!("positions of {x}"))),
        };
        let shape = Shape::new(&[batch, rows])?;
        if ids == shape && ids.elements() != 1 {
            return cx.alias(0, 0, shape);
        }
        if ids.elements() != 1 {
            return Err(PlanError::shape(format!(
                "positions of {ids} for {shape}; supported: one or all"
            )));
        }
        let (first, slot) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("positions", &[first], &[slot], move |a| {
            let first = a.read::<i64>(0)?.first().copied().unwrap_or(0);
            for (at, out) in a.write::<i64>()?.iter_mut().enumerate() {
                *out = first.saturating_add((at % rows) as i64);
            }
            Ok(())
        });
        Ok(())
    })
}

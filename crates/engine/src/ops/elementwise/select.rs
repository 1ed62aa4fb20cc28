//! Where.

use crate::error::BuildError;
use crate::ops::broadcasting::{broadcast_inputs, operands};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::elementwise::select;

/// Where.
pub const OPS: &[OpDef] = &[OpDef::new(
    "Where",
    &[
        Param::required(0, types::BOOL),
        Param::required(1, types::ANY),
        Param::required(1, types::ANY),
    ],
    &[Out::Like(1)],
    choose,
)
.since(9)];

fn choose(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (shape, size) = (broadcast_inputs(cx)?, cx.dtype(1)?.size());
        let (plan, reads) = operands(cx, [0, 1, 2], &shape)?;
        let slot = cx.output(0, shape)?;
        cx.step("where", &reads, &[slot], move |a| {
            let (condition, x, y) = (a.read_bytes(0)?, a.read_bytes(1)?, a.read_bytes(2)?);
            select(size, &plan, condition, x, y, a.write_bytes()?);
            Ok(())
        });
        Ok(())
    })
}

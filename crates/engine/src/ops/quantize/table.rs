//! ByteTable: a function of single bytes, which passes have computed.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpPlan, plan_fn};
use stead_kernels::quantize::look_up;

pub(super) fn build(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (shape, table) = (cx.shape(0)?, cx.shape(1)?);
        if table.elements() != 256 {
            return Err(PlanError::shape(format!("a table of 256 bytes expected, got {table}")));
        }
        let reads = [cx.input(0)?, cx.input(1)?];
        let y = cx.output(0, shape)?;
        cx.step("byte table", &reads, &[y], move |a| {
            let (x, table) = (a.read_bytes(0)?, a.read_bytes(1)?);
            let table = table.first_chunk().ok_or(RunError::Internal("a table is too short"))?;
            let count = shape.elements();
            look_up(a.isa, a.parallel, table, &x[..count], &mut a.write_bytes()?[..count]);
            Ok(())
        });
        Ok(())
    })
}

//! DynamicQuantizeLinear.

use crate::error::BuildError;
use crate::ops::{NodeSpec, OpPlan, plan_fn};
use stead_kernels::quantize::{dynamic_scale, quantize_bytes};
use stead_tensor::Shape;

pub(super) fn build(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = cx.shape(0)?;
        let x = cx.input(0)?;
        let (y, scale) = (cx.output(0, shape)?, cx.output(1, Shape::SCALAR)?);
        let zero = cx.output(2, Shape::SCALAR)?;
        cx.step("dynamic_quantize", &[x], &[y, scale, zero], |a| {
            let x = a.read::<f32>(0)?;
            let (y, scale, zero) = (a.write::<u8>()?, a.write::<f32>()?, a.write::<u8>()?);
            let (step, from) = dynamic_scale(a.isa, x);
            quantize_bytes(a.isa, a.parallel, x, step, from, y);
            scale.fill(step);
            zero.fill(from);
            Ok(())
        });
        Ok(())
    })
}

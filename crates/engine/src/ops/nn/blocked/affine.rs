//! A factor and an addend for each channel of blocks.

use super::{channels, image};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, activation, plan_fn, types};
use stead_kernels::blocked::{Factors, affine};

/// BlockedAffine: input 1 has a factor for each channel, or for each channel of each image; input 2, where it is
/// there, an addend for each channel. Attributes are `channels` and those of [`activation`].
pub const OPS: &[OpDef] = &[OpDef::new(
    "BlockedAffine",
    &[
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
    ],
    &[Out::Like(0)],
    build,
)
.domain("stead")];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let channels = channels(spec)?;
    let activation = activation::from_attributes(spec.attributes())?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let [batch, height, width] = image(&shape, channels)?;
        let scales = cx.shape(1)?.elements();
        let each_image = scales == batch * channels;
        let has_shift = cx.has_input(2);
        if !each_image && scales != channels {
            let scale = cx.shape(1)?;
            return Err(PlanError::shape(format!("factors of {channels} channels, got {scale}")));
        }
        if has_shift && cx.shape(2)?.elements() != channels {
            let shift = cx.shape(2)?;
            return Err(PlanError::shape(format!("addends of {channels} channels, got {shift}")));
        }
        let mut reads = vec![cx.input(0)?, cx.input(1)?];
        if has_shift {
            reads.push(cx.input(2)?);
        }
        let y = cx.output(0, shape)?;
        let sizes = (batch, channels, height * width);
        cx.step("scale blocks", &reads, &[y], move |a| {
            let (x, scale) = (a.read::<f32>(0)?, a.read::<f32>(1)?);
            let shift = if has_shift { Some(a.read::<f32>(2)?) } else { None };
            let factors = Factors { scale, each_image, shift, activation };
            affine(a.isa, a.parallel, sizes, x, &factors, a.write::<f32>()?);
            Ok(())
        });
        Ok(())
    })
}

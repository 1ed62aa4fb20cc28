//! CenterCropPad: the middle of each axis, or zeros around it.

use super::{axes_of, dim_of, width_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::movement::{Layout, copy_layout};
use stead_tensor::Shape;

/// CenterCropPad.
pub const OPS: &[OpDef] = &[OpDef::new(
    "CenterCropPad",
    &[Param::required(1, types::ANY), Param::required(0, types::INDEX)],
    &[Out::Like(0)],
    center_crop_pad,
)
.since(18)];

fn center_crop_pad(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axes = spec.attributes().ints("axes")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| {
        let from = cx.shape(0)?;
        let wanted = cx.ints(1)?;
        let axes = match &axes {
            Some(axes) => axes_of(axes, from.rank())?,
            None => (0..from.rank()).collect(),
        };
        if axes.len() != wanted.len() {
            return Err(PlanError::shape(format!(
                "{} extents for {} axes",
                wanted.len(),
                axes.len()
            )));
        }
        let mut dims = from.to_vec();
        for (&axis, &extent) in axes.iter().zip(&wanted) {
            dims[axis] = dim_of(extent)?;
        }
        let shape = Shape::new(&dims)?;
        let lies = cx.strided(0)?;
        let to_strides = shape.strides();
        let (mut start, mut to) = (lies.offset as isize, 0);
        let mut kept = Vec::with_capacity(dims.len());
        for (axis, (&d, &w)) in from.iter().zip(&dims).enumerate() {
            start += (d.saturating_sub(w) / 2) as isize * lies.strides[axis];
            to += w.saturating_sub(d) / 2 * to_strides[axis] as usize;
            kept.push(d.min(w));
        }
        if kept == dims && shape.elements() > 0 {
            return cx.alias_view(0, 0, shape, start as usize, lies.strides);
        }
        let width = width_of(cx.dtype(0)?);
        let slot = cx.output(0, shape)?;
        cx.step("crop and pad", &[lies.operand], &[slot], move |a| {
            let dst = a.write_bytes()?;
            dst.fill(0);
            let from = Layout { offset: start as usize, strides: &lies.strides };
            let to = Layout { offset: to, strides: &to_strides };
            copy_layout(width, &kept, a.read_bytes(0)?, from, dst, to);
            Ok(())
        });
        Ok(())
    })
}

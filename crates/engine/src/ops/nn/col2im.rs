//! Col2Im: blocks of an image summed back to it.

use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError};
use crate::ops::dispatch::{for_type, no_kernel};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, types};
use stead_kernels::conv::fold;
use stead_tensor::DType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use stead_tensor::Shape;

const SUMMED: TypeSet = TypeSet::of(&[F32, F64, I8, I16, I32, I64, U8, U16, U32, U64]);
const SIZES: Param = Param::required(0, types::I64_ONLY);

/// Col2Im.
pub const OPS: &[OpDef] =
    &[OpDef::new("Col2Im", &[Param::required(1, SUMMED), SIZES, SIZES], &[Out::Like(0)], build)
        .since(18)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    plan_fn(move |cx| plan(cx, &attributes))
}

fn plan(cx: &mut PlanCx<'_>, attributes: &WindowAttributes) -> Result<(), PlanError> {
    let (x, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let (image, block) = (sizes(cx, 1)?, sizes(cx, 2)?);
    let fail =
        || PlanError::shape(format!("{x} are no blocks of {block:?} of an image of {image:?}"));
    if image.len() != block.len() {
        return Err(fail());
    }
    let (window, _) = attributes.resolve(&image, &block)?;
    let &[batches, rows, positions] = x.dims() else { return Err(fail()) };
    if !rows.is_multiple_of(window.taps()) || positions != window.output_len() {
        return Err(fail());
    }
    let channels = rows / window.taps();
    let shape = Shape::new(&[&[batches, channels][..], &image].concat())?;
    let (columns, slot) = (cx.input(0)?, cx.output(0, shape)?);
    for_type!(dtype, [F32, F64, I8, I16, I32, I64, U8, U16, U32, U64], T => {
        cx.step("fold", &[columns], &[slot], move |a| {
            fold(&window, batches * channels, a.read::<T>(0)?, a.write::<T>()?);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}

fn sizes(cx: &PlanCx<'_>, index: usize) -> Result<Vec<usize>, PlanError> {
    let sizes = cx.ints(index)?.into_iter().map(usize::try_from).collect::<Result<_, _>>();
    sizes.map_err(|_| PlanError::shape(format!("input {index} has a negative size")))
}

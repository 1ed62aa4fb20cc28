//! AffineGrid.

use crate::error::{BuildError, PlanError};
use crate::ops::dispatch::{for_type, no_kernel};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use stead_kernels::sample::{AffineGrid, affine_grid};
use stead_tensor::{DType, Shape};

/// AffineGrid.
pub const OPS: &[OpDef] = &[OpDef::new(
    "AffineGrid",
    &[
        Param::required(1, TypeSet::of(&[DType::F32, DType::F64])),
        Param::required(0, types::I64_ONLY),
    ],
    &[Out::Like(0)],
    build,
)
.since(20)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let align_corners = spec.attributes().bool_or("align_corners", false)?;
    plan_fn(move |cx| {
        let (matrices, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let size = cx.ints(1)?;
        let size = size.iter().map(|&v| usize::try_from(v)).collect::<Result<Vec<_>, _>>();
        let fail = |size: &[usize]| {
            PlanError::shape(format!("matrices of {matrices} for a grid of size {size:?}"))
        };
        let size = size.map_err(|_| PlanError::shape("a negative size"))?;
        let (batches, spatial) = match size.as_slice() {
            [batches, _, spatial @ ..] if (2..=3).contains(&spatial.len()) => (*batches, spatial),
            other => return Err(fail(other)),
        };
        let rank = spatial.len();
        if matrices.dims() != [batches, rank, rank + 1] {
            return Err(fail(&size));
        }
        let mut dims = [1; 3];
        dims[3 - rank..].copy_from_slice(spatial);
        let grid = AffineGrid { batches, dims, rank, align_corners };
        let shape = Shape::new(&[&[batches][..], spatial, &[rank]].concat())?;
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        for_type!(dtype, [F32, F64], T => {
            cx.step("affine grid", &[x], &[slot], move |a| {
                affine_grid(&grid, a.read::<T>(0)?, a.write::<T>()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

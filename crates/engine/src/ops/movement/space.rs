//! DepthToSpace and SpaceToDepth: axes split, swapped and merged in one copy.

use super::{dim_of, permuted, width_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::movement::copy_strided;
use stead_tensor::{MAX_RANK, Shape};

const X: &[Param] = &[Param::required(1, types::ANY)];

/// DepthToSpace, SpaceToDepth.
pub const OPS: &[OpDef] = &[
    OpDef::new("DepthToSpace", X, &[Out::Like(0)], depth_to_space),
    OpDef::new("SpaceToDepth", X, &[Out::Like(0)], space_to_depth),
];

fn block_size(spec: &NodeSpec<'_>) -> Result<usize, BuildError> {
    let attributes = spec.attributes();
    let size = attributes.int("blocksize")?.ok_or_else(|| attributes.missing("blocksize"))?;
    match usize::try_from(size) {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(BuildError::unsupported(format!("blocksize {size}"))),
    }
}

/// Whether the channels of a block stand next to each other (`CRD`), or those of an element (`DCR`).
fn columns_first(spec: &NodeSpec<'_>) -> Result<bool, BuildError> {
    match spec.attributes().string_or("mode", "DCR")? {
        "DCR" => Ok(false),
        "CRD" => Ok(true),
        other => Err(BuildError::unsupported(format!("mode \"{other}\""))),
    }
}

fn depth_to_space(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let block = block_size(spec)?;
    let columns_first = columns_first(spec)?;
    plan_fn(move |cx| {
        let (n, c, h, w) = image(cx)?;
        let area = block.checked_mul(block).filter(|&area| c.is_multiple_of(area));
        let Some(area) = area else {
            return Err(PlanError::shape(format!(
                "{c} channels cannot be split into blocks of {block} x {block}"
            )));
        };
        let depth = c / area;
        // Split channels, then rows and columns each followed by their place in the block.
        let (split, order) = if columns_first {
            ([n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3])
        } else {
            ([n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2])
        };
        let target = [n, depth, scaled(h, block)?, scaled(w, block)?];
        swap(cx, &split, &order, &target)
    })
}

fn space_to_depth(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let block = block_size(spec)?;
    let order = if columns_first(spec)? { [0, 1, 3, 5, 2, 4] } else { [0, 3, 5, 1, 2, 4] };
    plan_fn(move |cx| {
        let (n, c, h, w) = image(cx)?;
        if !h.is_multiple_of(block) || !w.is_multiple_of(block) {
            return Err(PlanError::shape(format!(
                "{h} x {w} elements cannot be split into blocks of {block} x {block}"
            )));
        }
        let (rows, cols) = (h / block, w / block);
        let split = [n, c, rows, block, cols, block];
        let target = [n, scaled(scaled(c, block)?, block)?, rows, cols];
        swap(cx, &split, &order, &target)
    })
}

fn image(cx: &PlanCx<'_>) -> Result<(usize, usize, usize, usize), PlanError> {
    let shape = cx.shape(0)?;
    match *shape.dims() {
        [n, c, h, w] => Ok((n, c, h, w)),
        _ => Err(PlanError::shape(format!("four dimensions are expected, got {shape}"))),
    }
}

fn scaled(dim: usize, block: usize) -> Result<usize, PlanError> {
    dim_of(i64::try_from(dim.saturating_mul(block)).unwrap_or(-1))
}

/// Copies the input, seen as `split`, with its axes in another order.
fn swap(
    cx: &mut PlanCx<'_>,
    split: &[usize; 6],
    order: &[usize; 6],
    target: &[usize],
) -> Result<(), PlanError> {
    let width = width_of(cx.dtype(0)?);
    let strides: [isize; MAX_RANK] = permuted(&Shape::new(split)?.strides(), order);
    let dims = order.map(|axis| split[axis]);
    let x = cx.input(0)?;
    let slot = cx.output(0, Shape::new(target)?)?;
    cx.step("swap blocks", &[x], &[slot], move |a| {
        let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
        copy_strided(width, src, 0, &strides, &dims, dst);
        Ok(())
    });
    Ok(())
}

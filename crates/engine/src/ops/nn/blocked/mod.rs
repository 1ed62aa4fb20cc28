//! Operators over images in [blocks of channels](stead_kernels::blocked): values of shape
//! `[batch, blocks, height, width, 16]`, which the [layout of regions](crate::passes::blocks) makes.

mod affine;
mod conv;
mod convert;
mod pool;

use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef};
use stead_kernels::blocked::{BLOCK, blocks};
use stead_tensor::Shape;

/// The tables of this family.
pub const TABLES: [&[OpDef]; 4] = [affine::OPS, conv::OPS, convert::OPS, pool::OPS];

/// The attribute `channels`: the shape of a value in blocks only tells their number up to a whole block.
fn channels(spec: &NodeSpec<'_>) -> Result<usize, BuildError> {
    let channels = spec.attributes().int("channels")?;
    channels
        .and_then(|c| usize::try_from(c).ok())
        .filter(|&c| c > 0)
        .ok_or_else(|| spec.attributes().missing("channels").into())
}

/// Batch, height and width of a value in blocks of so many channels.
fn image(shape: &Shape, channels: usize) -> Result<[usize; 3], PlanError> {
    match shape.dims() {
        &[batch, count, height, width, BLOCK] if count == blocks(channels) => {
            Ok([batch, height, width])
        }
        _ => Err(PlanError::shape(format!(
            "blocks of {channels} channels expected, [batch, {}, height, width, {BLOCK}], got {shape}",
            blocks(channels)
        ))),
    }
}

/// The shape of means of channels, with so many dimensions of 1.
fn means(batch: usize, channels: usize, spatial: i64) -> Result<Shape, PlanError> {
    let rank = if spatial == 0 { 2 } else { 4 };
    Ok(Shape::new(&[batch, channels, 1, 1][..rank])?)
}

/// The shape of a value in blocks.
fn blocked(batch: usize, channels: usize, spatial: [usize; 2]) -> Result<Shape, PlanError> {
    Ok(Shape::new(&[batch, blocks(channels), spatial[0], spatial[1], BLOCK])?)
}

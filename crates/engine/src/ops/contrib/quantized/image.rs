//! QLinearAveragePool, QLinearConv, QLinearGlobalAveragePool and NhwcMaxPool: images of bytes, whose channels may come last.

use super::{BYTE, BYTES, MICROSOFT, SCALE, ZERO, bytes, real};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::contrib::product::with_attributes;
use crate::ops::{OpDef, Out, Param, TypeSet};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const LIKE: &[Out] = &[Out::Like(0)];
const POOL: &[Param] = &[BYTE, SCALE, ZERO, SCALE, ZERO];

/// QLinearAveragePool, QLinearGlobalAveragePool, QLinearConv, NhwcMaxPool.
pub const OPS: &[OpDef] = &[
    OpDef::function("QLinearAveragePool", POOL, LIKE, average_pool).domain(MICROSOFT),
    OpDef::function("QLinearGlobalAveragePool", POOL, LIKE, global_pool).domain(MICROSOFT),
    OpDef::function(
        "QLinearConv",
        &[
            BYTE,
            SCALE,
            BYTE,
            Param::required(2, BYTES),
            SCALE,
            Param::required(2, BYTES),
            SCALE,
            Param::required(3, BYTES),
            Param::optional(0, TypeSet::of(&[DType::I32])),
        ],
        &[Out::Like(7)],
        conv,
    )
    .domain(MICROSOFT),
    OpDef::function("NhwcMaxPool", &[BYTE], LIKE, max_pool).domain(MICROSOFT),
];

/// Attributes of windows.
const WINDOW: [&str; 5] = ["auto_pad", "dilations", "kernel_shape", "pads", "strides"];

/// `x` with its channels behind the batch instead of last, or the other way round.
fn channels(
    f: &mut FunctionBody<'_>,
    x: ValueId,
    rank: usize,
    last: bool,
) -> Result<ValueId, LoadError> {
    let rank = rank as i64;
    let perm = match last {
        true => [0].into_iter().chain(2..rank).chain([1]).collect(),
        false => [0, rank - 1].into_iter().chain(1..rank - 1).collect(),
    };
    f.call("Transpose", &[x], &[("perm", AttributeValue::Ints(perm))])
}

/// The number of dimensions of images, by the kernel's.
fn rank(f: &FunctionBody<'_>) -> Result<usize, LoadError> {
    let missing = f.attributes().missing("kernel_shape");
    Ok(f.attributes().ints("kernel_shape")?.ok_or(missing)?.len() + 2)
}

fn average_pool(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let last = f.attributes().bool_or("channels_last", false)?;
    let rank = rank(f)?;
    let mut x = real(f, [0, 1, 2])?;
    if last {
        x = channels(f, x, rank, false)?;
    }
    let own = [&WINDOW[..], &["ceil_mode", "count_include_pad"]].concat();
    let mut y = with_attributes(f, "AveragePool", vec![Some(x)], &own)?;
    if last {
        y = channels(f, y, rank, true)?;
    }
    let like = f.input(0)?;
    let y = bytes(f, y, [3, 4], like)?;
    f.give(0, y);
    Ok(())
}

fn global_pool(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let last = f.attributes().bool_or("channels_last", false)?;
    let x = real(f, [0, 1, 2])?;
    let y = if last { mean_before_last(f, x)? } else { f.call("GlobalAveragePool", &[x], &[])? };
    let like = f.input(0)?;
    let y = bytes(f, y, [3, 4], like)?;
    f.give(0, y);
    Ok(())
}

/// `[batch, 1, ..., channels]`, for any number of dimensions.
fn mean_before_last(f: &mut FunctionBody<'_>, x: ValueId) -> Result<ValueId, LoadError> {
    let int = AttributeValue::Int;
    let batch = f.call("Shape", &[x], &[("end", int(1))])?;
    let places = f.call("Shape", &[x], &[("start", int(1)), ("end", int(-1))])?;
    let channels = f.call("Shape", &[x], &[("start", int(-1))])?;
    let (zero, one, axis) = (f.ints(&[0])?, f.ints(&[1])?, f.ints(&[1])?);
    let rest = f.ints(&[-1])?;
    let flat = f.call("Concat", &[batch, rest, channels], &[("axis", int(0))])?;
    let rows = f.call("Reshape", &[x, flat], &[])?;
    let mean = f.call("ReduceMean", &[rows, axis], &[])?;
    let nothing = f.call("Mul", &[places, zero], &[])?;
    let ones = f.call("Add", &[nothing, one], &[])?;
    let shape = f.call("Concat", &[batch, ones, channels], &[("axis", int(0))])?;
    f.call("Reshape", &[mean, shape], &[])
}

/// QLinearConv of the standard; weights have their channels first in either order of images.
fn conv(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let last = f.attributes().bool_or("channels_last", false)?;
    let mut inputs: Vec<_> = (0..9).map(|index| f.optional(index)).collect();
    let weights = f.input(3)?;
    let rank = match f.constant(weights) {
        Some(weights) => weights.shape().rank(),
        None if last => rank(f)?,
        None => 0,
    };
    if last {
        let x = f.input(0)?;
        inputs[0] = Some(channels(f, x, rank, false)?);
    }
    let own = [&WINDOW[..], &["group"]].concat();
    let mut y = with_attributes(f, "QLinearConv", inputs, &own)?;
    if last {
        y = channels(f, y, rank, true)?;
    }
    f.give(0, y);
    Ok(())
}

fn max_pool(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let rank = rank(f)?;
    let x = f.input(0)?;
    let x = channels(f, x, rank, false)?;
    let own = [&WINDOW[..], &["ceil_mode"]].concat();
    let y = with_attributes(f, "MaxPool", vec![Some(x)], &own)?;
    let y = channels(f, y, rank, true)?;
    f.give(0, y);
    Ok(())
}

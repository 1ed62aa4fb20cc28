//! Operators that work along axes: each row comes out by itself where its axis is none of them.

use super::Rows;
use super::cx::{Cx, Outcome, all, axis_of, int, ints};
use crate::ir::Node;

const MIXES: &str = "works along the axis of the rows";

/// Along the axis that an attribute names, with the rows where they were.
pub(super) fn along(cx: &mut Cx<'_>, node: &mut Node, default: i64) -> Outcome {
    let axis = int(node, "axis", default)?;
    only_along(cx, node, axis)
}

fn only_along(cx: &Cx<'_>, node: &Node, axis: i64) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    if axis_of(axis, cx.dims(x)?.len())? == rows.axis {
        return Err(MIXES.into());
    }
    all(rows.axis, rows.each)
}

/// Softmax and its like; before opset 13 over all axes from one on.
pub(super) fn softmax(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    if node.opset >= 13 { along(cx, node, -1) } else { from_axis(cx, node, 1) }
}

/// Normalization over all axes from one on.
pub(super) fn normalization(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    from_axis(cx, node, -1)
}

fn from_axis(cx: &Cx<'_>, node: &Node, default: i64) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let from = axis_of(int(node, "axis", default)?, cx.dims(x)?.len())?;
    // A parameter for each row would have to have as many rows.
    for id in node.inputs.iter().skip(1).flatten() {
        if cx.dims(*id)?.len() > cx.dims(x)?.len() - from {
            return Err("has parameters along the axis of the rows".into());
        }
    }
    if rows.axis >= from { Err(MIXES.into()) } else { all(rows.axis, rows.each) }
}

/// Running sums and products.
pub(super) fn cumulative(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let axis = cx.ints(node, 1)?.and_then(|list| list.first().copied()).ok_or("has no axis")?;
    only_along(cx, node, axis)
}

/// Scales and zero points: one, or one for each element of another axis.
pub(super) fn quantize(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let scale = node.input(1).ok_or("has no scale")?;
    let dims = cx.dims(scale)?;
    if dims.iter().product::<usize>() != 1 {
        let axis = axis_of(int(node, "axis", 1)?, cx.dims(x)?.len())?;
        if dims.len() != 1 || axis == rows.axis {
            return Err("has a scale for each row".into());
        }
    }
    all(rows.axis, rows.each)
}

/// The rows of a result of which some axes are gone.
fn without(rows: Rows, gone: &[usize], keeps: bool) -> Outcome {
    if gone.contains(&rows.axis) {
        return Err("joins the elements of several rows".into());
    }
    let before = gone.iter().filter(|axis| **axis < rows.axis).count();
    all(if keeps { rows.axis } else { rows.axis - before }, rows.each)
}

/// Reductions.
pub(super) fn reduce(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let rank = cx.dims(x)?.len();
    let axes = match ints(node, "axes")? {
        Some(axes) => axes,
        None => cx.ints(node, 1)?.unwrap_or_default(),
    };
    let gone = match axes[..] {
        [] if int(node, "noop_with_empty_axes", 0)? != 0 => Vec::new(),
        [] => (0..rank).collect(),
        _ => axes.iter().map(|axis| axis_of(*axis, rank)).collect::<Result<Vec<_>, _>>()?,
    };
    without(rows, &gone, int(node, "keepdims", 1)? != 0)
}

/// The place of the largest or smallest element.
pub(super) fn arg(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let axis = axis_of(int(node, "axis", 0)?, cx.dims(x)?.len())?;
    without(rows, &[axis], int(node, "keepdims", 1)? != 0)
}

/// Elements that are chosen along an axis, for each row its own.
pub(super) fn elements(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (data, indices) = (cx.rows_of(node, 0), cx.rows_of(node, 1));
    let (Some(rows), Some(x)) = (data.filter(|rows| Some(*rows) == indices), node.input(0)) else {
        return Err("chooses the same elements of all rows".into());
    };
    let axis = axis_of(int(node, "axis", 0)?, cx.dims(x)?.len())?;
    if axis == rows.axis { Err(MIXES.into()) } else { all(rows.axis, rows.each) }
}

/// Positions to rows of zeros and ones.
pub(super) fn one_hot(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let place = axis_of(int(node, "axis", -1)?, cx.dims(x)?.len() + 1)?;
    all(rows.axis + usize::from(place <= rows.axis), rows.each)
}

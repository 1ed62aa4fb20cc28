//! Operators that choose or join parts along an axis.

use super::Rows;
use super::cx::{Cx, Outcome, all, axis_of, int, ints};
use super::{axes, reshape};
use crate::ir::Node;
use stead_onnx::AttributeValue;

/// Gather: of a table for each row, or of each row the same.
pub(super) fn gather(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (Some(data), Some(indices)) = (node.input(0), node.input(1)) else {
        return Err("has no two operands".into());
    };
    let axis = axis_of(int(node, "axis", 0)?, cx.dims(data)?.len())?;
    let rows = match (cx.rows(data), cx.rows(indices)) {
        (None, Some(rows)) => return all(axis + rows.axis, rows.each),
        (Some(rows), None) => rows,
        _ => return Err("chooses parts of each row by numbers of its own".into()),
    };
    let added = cx.dims(indices)?.len();
    if axis != rows.axis {
        let moved = if axis < rows.axis { rows.axis + added - 1 } else { rows.axis };
        return all(moved, rows.each);
    }
    // The first of one row is the row.
    let is_first = matches!(cx.ints(node, 1)?.as_deref(), Some([0 | -1]));
    match (rows.each == 1 && is_first, added) {
        (true, 0) => reshape::dropped(cx, node, (data, rows), &[axis]),
        (true, 1) => {
            node.op_type = "Identity".to_owned();
            node.inputs.truncate(1);
            all(rows.axis, 1)
        }
        _ => Err("chooses some of the rows".into()),
    }
}

/// GatherND, of one table for all rows.
pub(super) fn gather_nd(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let rows = cx.rows_of(node, 1).filter(|_| cx.rows_of(node, 0).is_none());
    let (Some(rows), Some(indices)) = (rows, node.input(1)) else {
        return Err("chooses parts of rows by their numbers".into());
    };
    match rows.axis + 1 < cx.dims(indices)?.len() {
        true if int(node, "batch_dims", 0)? == 0 => all(rows.axis, rows.each),
        _ => Err("takes rows as positions".into()),
    }
}

/// Concat: what is the same for all rows is joined to each of them.
pub(super) fn concat(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let ids: Vec<_> = node.inputs.iter().flatten().copied().collect();
    let mut all_rows = ids.iter().filter_map(|id| cx.rows(*id));
    let rows = all_rows.next().ok_or("takes no rows")?;
    if all_rows.any(|other| other != rows) {
        return Err("takes rows along two axes".into());
    }
    let rank = cx.dims(*ids.first().ok_or("takes nothing")?)?.len();
    if axis_of(int(node, "axis", 0)?, rank)? == rows.axis {
        return Err("joins rows with something along their axis".into());
    }
    for input in &mut node.inputs {
        let Some(id) = input.filter(|id| cx.rows(*id).is_none()) else { continue };
        if rows.each != 1 || cx.dims(id)?.get(rows.axis) != Some(&1) {
            return Err("joins rows with something that has no axis for them".into());
        }
        *input = Some(cx.repeated(id, rows.axis)?);
    }
    all(rows.axis, rows.each)
}

/// Split.
pub(super) fn split(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    axes::along(cx, node, 0)
}

/// Slice: along the rows all of them.
pub(super) fn slice(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let rank = cx.dims(x)?.len();
    let is_attribute = node.opset < 10;
    let list = |name: &str, input: usize| match is_attribute {
        true => ints(node, name),
        false => cx.ints(node, input),
    };
    let starts = list("starts", 1)?.ok_or("has no starts")?;
    let mut ends = list("ends", 2)?.ok_or("has no ends")?;
    let steps = if is_attribute { None } else { cx.ints(node, 4)? };
    let place = match list("axes", 3)? {
        None => Some(rows.axis).filter(|axis| *axis < starts.len()),
        Some(axes) => {
            let axes = axes.iter().map(|axis| axis_of(*axis, rank));
            axes.collect::<Result<Vec<_>, _>>()?.iter().position(|axis| *axis == rows.axis)
        }
    };
    let Some(at) = place else { return all(rows.axis, rows.each) };
    let is_one = steps.is_none_or(|steps| steps.get(at) == Some(&1));
    let end = ends.get_mut(at).ok_or("has fewer ends than axes")?;
    let is_whole = starts.get(at) == Some(&0) && *end >= rows.each as i64;
    if !is_one || !is_whole {
        return Err("chooses some of the rows".into());
    }
    // Large enough for any number, and of 32 bits where the node wants these.
    *end = i64::from(i32::MAX);
    if is_attribute {
        node.attributes.set("ends", AttributeValue::Ints(ends));
        return all(rows.axis, rows.each);
    }
    let ids = [node.input(1), node.input(2)];
    if ids.into_iter().flatten().any(|id| !cx.is_constant(id)) {
        return Err("has bounds along the rows that are computed".into());
    }
    node.inputs[2] = Some(cx.like(&ends, node.input(1))?);
    all(rows.axis, rows.each)
}

/// Pad.
pub(super) fn pad(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, Rows { axis, each }) = cx.only_first(node)?;
    let rank = cx.dims(x)?.len();
    let pads = match ints(node, "pads")? {
        Some(pads) => pads,
        None => cx.ints(node, 1)?.unwrap_or_default(),
    };
    let place = match cx.ints(node, 3)? {
        None => Some(axis),
        Some(axes) => {
            let axes = axes.iter().map(|axis| axis_of(*axis, rank));
            axes.collect::<Result<Vec<_>, _>>()?.iter().position(|of| *of == axis)
        }
    };
    let of = |at: usize| [pads.get(at), pads.get(at + pads.len() / 2)];
    match place {
        Some(at) if of(at) != [Some(&0), Some(&0)] => Err("adds rows".into()),
        _ => all(axis, each),
    }
}

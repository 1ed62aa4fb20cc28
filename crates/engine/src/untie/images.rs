//! Operators whose first axis is that of the rows by definition: images, and heads of attention.

use super::cx::{Cx, Outcome, Size, all, axis_of, int, ints};
use crate::ir::{Node, ValueId};

const NOT_FIRST: &str = "has its images along another axis than the rows";

/// Each image by itself.
pub(super) fn by_image(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (_, rows) = cx.only_first(node)?;
    if int(node, "training_mode", 0)? != 0 {
        return Err("takes one mean of all rows".into());
    }
    if rows.axis == 0 { all(0, rows.each) } else { Err(NOT_FIRST.into()) }
}

/// Attention of ONNX itself.
pub(super) fn attention(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    const MASK: usize = 3;
    for (at, id) in node.inputs.iter().enumerate() {
        let Some(id) = *id else { continue };
        match cx.rows(id) {
            Some(rows) if rows.axis == 0 && rows.each == 1 => {}
            None if at == MASK => {
                let dims = cx.dims(id)?;
                if dims.len() == 4 && dims.first() != Some(&1) {
                    return Err("has a mask of another batch".into());
                }
            }
            _ => return Err("takes operands without rows along their first axis".into()),
        }
    }
    if let Some(mask) = node.input(MASK)
        && cx.rows(mask).is_some()
        && cx.dims(mask)?.len() != 4
    {
        return Err("has a mask without an axis for the rows".into());
    }
    all(0, 1)
}

/// Other sizes of images.
pub(super) fn resize(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let rank = cx.dims(x)?.len();
    let axes = match ints(node, "axes")? {
        Some(axes) => axes.iter().map(|a| axis_of(*a, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).collect(),
    };
    let Some(place) = axes.iter().position(|axis| *axis == rows.axis) else {
        return all(rows.axis, rows.each);
    };
    if let Some(sizes) = node.input(3) {
        let count = axes.len();
        let list = listed(cx, sizes, count, place, rows.each)?;
        node.inputs[3] = Some(cx.sizes(&list)?);
        return all(rows.axis, rows.each);
    }
    let scales = match node.attributes.floats("scales").map_err(|e| e.to_string())? {
        Some(scales) => Some(scales.to_vec()),
        None => {
            let at = if node.opset >= 11 { 2 } else { 1 };
            let scales = cx.constant(node.input(at)).and_then(|t| t.as_slice::<f32>().ok());
            scales.map(<[f32]>::to_vec)
        }
    };
    match scales.as_ref().and_then(|scales| scales.get(place)) {
        Some(scale) if *scale == 1.0 => all(rows.axis, rows.each),
        Some(_) => Err("scales along the rows".into()),
        None => Err("has scales of unknown numbers".into()),
    }
}

/// A list of sizes with that of the rows in its place.
fn listed(
    cx: &Cx<'_>,
    sizes: ValueId,
    count: usize,
    place: usize,
    each: usize,
) -> Result<Vec<Size>, String> {
    if cx.dims(sizes)? != [count] {
        return Err("has sizes of unknown numbers".into());
    }
    let batch = if each == 1 { Size::Batch } else { Size::Times(each as i64) };
    Ok((0..count).map(|at| if at == place { batch } else { Size::Of(sizes, at) }).collect())
}

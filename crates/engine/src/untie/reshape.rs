//! Operators that give elements other dimensions. Elements keep their order, so that an axis of rows stays one that has as
//! many elements before it.

use super::Rows;
use super::cx::{Cx, Outcome, Size, all, axis_of, int, ints};
use crate::ir::{Node, ValueId};

/// The axis of rows in the dimensions that elements get. One that holds nothing else is taken before one that rows are
/// merged with.
fn place_of(rows: Rows, from: &[usize], to: &[usize]) -> Result<Rows, String> {
    let before: usize = from.iter().take(rows.axis).product();
    let mut passed = 1;
    let mut places = Vec::new();
    for (axis, size) in to.iter().enumerate() {
        if passed == before {
            places.push(Rows { axis, each: *size });
        }
        passed *= size;
    }
    let alone = |place: &&Rows| place.each == 1;
    let same = places.iter().filter(alone).find(|place| place.axis == rows.axis);
    let found = same.or(places.iter().find(alone)).or(places.last()).copied();
    found.filter(|_| passed > 0).ok_or_else(|| "divides rows by the elements before them".into())
}

fn output(node: &Node) -> Result<ValueId, String> {
    node.output(0).ok_or_else(|| "has no output".into())
}

fn make_reshape(node: &mut Node, x: ValueId, sizes: ValueId) {
    node.op_type = "Reshape".to_owned();
    node.opset = 14;
    node.inputs = vec![Some(x), Some(sizes)];
    for name in ["axes", "axis"] {
        node.attributes.remove(name);
    }
}

/// Reshape.
pub(super) fn reshape(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let (from, to) = (cx.dims(x)?, cx.dims(output(node)?)?);
    let target = node.input(1).ok_or("has no shape")?;
    let given = cx.ints(node, 1)?.unwrap_or_default();
    let copies = int(node, "allowzero", 0)? == 0;
    let place = place_of(rows, &from, &to)?;
    let is_fixed = cx.is_constant(target);
    let is_open = given.iter().enumerate().any(|(at, n)| at != place.axis && *n == -1);
    let size = |(at, n): (usize, &i64)| {
        if at != place.axis {
            return Ok(match n {
                0 if copies && at == rows.axis => Size::Fixed(rows.each as i64),
                _ if is_fixed => Size::Fixed(*n),
                _ => Size::Of(target, at),
            });
        }
        let is_copy = *n == 0 && copies && rows == place;
        match place.each {
            _ if *n == -1 || is_copy => Ok(Size::Fixed(*n)),
            1 => Ok(Size::Batch),
            _ if !is_open => Ok(Size::Fixed(-1)),
            each if is_fixed => Ok(Size::Times(each as i64)),
            _ => Err("merges rows with an axis whose size is computed".to_owned()),
        }
    };
    let sizes = given.iter().enumerate().map(size).collect::<Result<Vec<_>, _>>()?;
    let is_same = sizes.iter().zip(&given).all(|(size, n)| *size == Size::Fixed(*n));
    if !(is_same && is_fixed) {
        node.inputs[1] = Some(cx.sizes(&sizes)?);
    }
    all(place.axis, place.each)
}

/// Flatten.
pub(super) fn flatten(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let (from, to) = (cx.dims(x)?, cx.dims(output(node)?)?);
    let place = place_of(rows, &from, &to)?;
    let axis = int(node, "axis", 1)?;
    let at = if axis < 0 { axis + from.len() as i64 } else { axis };
    let is_there = usize::from(rows.axis as i64 >= at) == place.axis;
    match (is_there, place.each) {
        (true, _) => {}
        (false, 1) => {
            let size = |axis| if axis == place.axis { Size::Batch } else { Size::Fixed(-1) };
            let sizes = cx.sizes(&[size(0), size(1)])?;
            make_reshape(node, x, sizes);
        }
        (false, _) => return Err("merges rows with an axis before them".into()),
    }
    all(place.axis, place.each)
}

fn axes(cx: &Cx<'_>, node: &Node, rank: usize) -> Result<Option<Vec<usize>>, String> {
    let list = match ints(node, "axes")? {
        Some(list) => Some(list),
        None => cx.ints(node, 1)?,
    };
    let list = list.map(|list| list.iter().map(|axis| axis_of(*axis, rank)).collect());
    list.transpose()
}

/// Squeeze: rows whose axis goes are merged with the axis behind it.
pub(super) fn squeeze(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let dims = cx.dims(x)?;
    let gone = match axes(cx, node, dims.len())? {
        Some(axes) => axes,
        None => (0..dims.len()).filter(|axis| dims[*axis] == 1).collect(),
    };
    dropped(cx, node, (x, rows), &gone)
}

/// What remains of dimensions of one element that go, where one of them may be that of the rows.
pub(super) fn dropped(
    cx: &mut Cx<'_>,
    node: &mut Node,
    (x, rows): (ValueId, Rows),
    gone: &[usize],
) -> Outcome {
    let dims = cx.dims(x)?;
    let kept: Vec<usize> = (0..dims.len()).filter(|axis| !gone.contains(axis)).collect();
    if let Some(axis) = kept.iter().position(|axis| *axis == rows.axis) {
        return all(axis, rows.each);
    }
    let place = kept.iter().position(|axis| *axis > rows.axis);
    let Some((place, each)) = place.and_then(|at| Some((at, *dims.get(*kept.get(at)?)?))) else {
        return Err("drops the axis of the rows".into());
    };
    let shape = cx.shape(x);
    let size = |(at, axis): (usize, &usize)| match at == place {
        true => Size::Fixed(-1),
        false => Size::Of(shape, *axis),
    };
    let sizes: Vec<Size> = kept.iter().enumerate().map(size).collect();
    let sizes = cx.sizes(&sizes)?;
    make_reshape(node, x, sizes);
    all(place, each)
}

/// Unsqueeze: rows that are merged with an axis get one of their own where one is put before it.
pub(super) fn unsqueeze(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let to = cx.dims(output(node)?)?;
    let added = axes(cx, node, to.len())?.ok_or("has no axes")?;
    let mut kept = (0..to.len()).filter(|axis| !added.contains(axis));
    let place = kept.nth(rows.axis).ok_or("has no axis for the rows")?;
    let own = place.checked_sub(1).filter(|axis| rows.each > 1 && added.contains(axis));
    let Some(own) = own else { return all(place, rows.each) };
    let shape = cx.shape(x);
    let mut from = 0..;
    let size = |axis| match axis {
        _ if axis == own => Size::Batch,
        _ if added.contains(&axis) => Size::Fixed(1),
        _ => match from.next() {
            Some(at) if axis != place => Size::Of(shape, at),
            _ => Size::Fixed(-1),
        },
    };
    let sizes: Vec<Size> = (0..to.len()).map(size).collect();
    let sizes = cx.sizes(&sizes)?;
    make_reshape(node, x, sizes);
    all(own, 1)
}

/// Transpose.
pub(super) fn transpose(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let rank = cx.dims(x)?.len();
    let axis = match ints(node, "perm")? {
        Some(perm) => perm.iter().position(|axis| *axis == rows.axis as i64),
        None => rank.checked_sub(rows.axis + 1),
    };
    all(axis.ok_or("loses the axis of the rows")?, rows.each)
}

/// Expand: what it asks for along the rows is what they have anyway.
pub(super) fn expand(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (x, rows) = cx.only_first(node)?;
    let rank = cx.dims(x)?.len();
    let target = node.input(1).ok_or("has no shape")?;
    let given = cx.ints(node, 1)?.unwrap_or_default();
    let all_axes = rank.max(given.len());
    let axis = all_axes - rank + rows.axis;
    if let Some(at) = axis.checked_sub(all_axes - given.len()) {
        let is_fixed = cx.is_constant(target);
        match given.get(at) {
            Some(1) if is_fixed => {}
            Some(n) if *n == 1 || *n == rows.each as i64 => {
                let size = |(of, n): (usize, &i64)| match (of == at, is_fixed) {
                    (true, _) => Size::Fixed(1),
                    (false, true) => Size::Fixed(*n),
                    (false, false) => Size::Of(target, of),
                };
                let sizes: Vec<Size> = given.iter().enumerate().map(size).collect();
                node.inputs[1] = Some(cx.sizes(&sizes)?);
            }
            _ => return Err("repeats rows along their own axis".into()),
        }
    }
    all(axis, rows.each)
}

/// Tile.
pub(super) fn tile(cx: &mut Cx<'_>, node: &mut Node) -> Outcome {
    let (_, rows) = cx.only_first(node)?;
    match cx.ints(node, 1)?.unwrap_or_default().get(rows.axis) {
        Some(1) => all(rows.axis, rows.each),
        _ => Err("repeats rows along their own axis".into()),
    }
}

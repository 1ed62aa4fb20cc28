//! Shapes and parts of tensors.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

pub(in crate::openvino) fn shape_of(cx: &mut Cx<'_, '_>) -> Lowered {
    let shape = cx.same("Shape", &[])?.remove(0);
    Ok(match cx.type_of("output_type", DType::I64)? {
        DType::I64 => vec![shape],
        other => vec![cx.cast(&shape, other)],
    })
}

pub(in crate::openvino) fn reshape(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let shape = cx.as_list(1)?;
    // Otherwise a 0 is a dimension of no elements.
    let keeps = cx.flag_or("special_zero", false)?;
    let allow = i64::from(!keeps);
    Ok(vec![cx.make.node_with("Reshape", &[&value, &shape], &[("allowzero", allow.into())])])
}

pub(in crate::openvino) fn squeeze(cx: &mut Cx<'_, '_>) -> Lowered {
    if cx.flag_or("allow_axis_skip", false)? {
        return refuse("allow_axis_skip: whether an axis goes would depend on the request");
    }
    let value = cx.input(0)?;
    if cx.optional(1).is_none() {
        return Ok(vec![cx.make.node("Squeeze", &[&value])]);
    }
    let axes = cx.as_list(1)?;
    Ok(vec![cx.make.node("Squeeze", &[&value, &axes])])
}

pub(in crate::openvino) fn unsqueeze(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let axes = cx.as_list(1)?;
    Ok(vec![cx.make.node("Unsqueeze", &[&value, &axes])])
}

/// An order of no elements turns the dimensions round, as ONNX does without one.
pub(in crate::openvino) fn transpose(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let order = cx.const_ints(1)?;
    let perm = AttributeValue::Ints(order.clone());
    let attributes = [("perm", perm)];
    let attributes = if order.is_empty() { &[][..] } else { &attributes[..] };
    Ok(vec![cx.make.node_with("Transpose", &[&value], attributes)])
}

pub(in crate::openvino) fn broadcast(cx: &mut Cx<'_, '_>) -> Lowered {
    let mut value = cx.input(0)?;
    let target = cx.as_list(1)?;
    if cx.one_of("mode", &["numpy", "bidirectional", "explicit"])? == "explicit" {
        let axes = cx.const_ints(2)?;
        let rank = cx.elements(1)? as i64;
        if axes.windows(2).any(|w| w[0] >= w[1]) {
            return refuse(format!("axes_mapping {axes:?} is not in order"));
        }
        let others: Vec<i64> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
        if !others.is_empty() {
            value = cx.unsqueeze(&value, &others)?;
        }
    }
    Ok(vec![cx.make.node("Expand", &[&value, &target])])
}

/// The shorter of shape and repeats is filled up with ones in front.
pub(in crate::openvino) fn tile(cx: &mut Cx<'_, '_>) -> Lowered {
    let mut value = cx.input(0)?;
    let rank = cx.rank(0)?;
    let mut repeats = cx.as_list(1)?;
    let count = cx.elements(1)?;
    if count > rank {
        let axes: Vec<i64> = (0..(count - rank) as i64).collect();
        value = cx.unsqueeze(&value, &axes)?;
    } else if count < rank {
        let ones = cx.make.ints(&vec![1; rank - count])?;
        repeats = cx.make.node_with("Concat", &[&ones, &repeats], &[("axis", 0i64.into())]);
    }
    Ok(vec![cx.make.node("Tile", &[&value, &repeats])])
}

pub(in crate::openvino) fn pad(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let mode = cx.one_of("pad_mode", &["constant", "edge", "reflect"])?;
    let (before, after) = (cx.as_list(1)?, cx.as_list(2)?);
    let pads = cx.make.node_with("Concat", &[&before, &after], &[("axis", 0i64.into())]);
    let fill = cx.optional(3).filter(|_| mode == "constant").unwrap_or_default();
    let inputs = [value.as_str(), &pads, &fill];
    let inputs = if fill.is_empty() { &inputs[..2] } else { &inputs[..] };
    Ok(vec![cx.make.node_with("Pad", inputs, &[("mode", mode.into())])])
}

pub(in crate::openvino) fn slice(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let (start, stop, step) = (cx.as_list(1)?, cx.as_list(2)?, cx.as_list(3)?);
    let axes = if cx.optional(4).is_some() {
        cx.as_list(4)?
    } else {
        let count = cx.elements(1)? as i64;
        cx.make.ints(&(0..count).collect::<Vec<_>>())?
    };
    Ok(vec![cx.make.node("Slice", &[&value, &start, &stop, &axes, &step])])
}

/// What one place of begin, end and strides does.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Takes elements of this axis of the input.
    Range(i64),
    /// Takes one element of this axis of the input, which goes.
    One(i64),
    /// A new axis of size 1.
    New,
}

/// NumPy's indexing. Where begin or end are computed, each of their elements that is used must be.
pub(in crate::openvino) fn strided_slice(cx: &mut Cx<'_, '_>) -> Lowered {
    let count = cx.elements(1)?;
    let rank = cx.rank(0)?;
    let set = |mask: &[i64], at: usize| mask.get(at).is_some_and(|&m| m != 0);
    let (new, shrink) = (cx.ints("new_axis_mask")?, cx.ints("shrink_axis_mask")?);
    let ellipsis = cx.ints("ellipsis_mask")?;
    let (no_begin, no_end) = (cx.ints("begin_mask")?, cx.ints("end_mask")?);

    let dots = (0..count).find(|&at| set(&ellipsis, at));
    let takes = |at: &usize| Some(*at) != dots && !set(&new, *at);
    let taken = (0..count).filter(takes).count();
    let Some(left) = rank.checked_sub(taken) else {
        return refuse(format!("{taken} axes of {rank} dimensions"));
    };
    let (mut places, mut axis) = (Vec::new(), 0_i64);
    for at in 0..count {
        if Some(at) == dots {
            axis += left as i64;
        } else if set(&new, at) {
            places.push((at, Place::New));
        } else {
            let one = set(&shrink, at);
            places.push((at, if one { Place::One(axis) } else { Place::Range(axis) }));
            axis += 1;
        }
    }
    let value = cx.input(0)?;
    let sliced = take(cx, &value, &places, count, &no_begin, &no_end)?;
    let removed =
        places.iter().filter_map(|(_, p)| if let Place::One(a) = p { Some(*a) } else { None });
    let removed: Vec<i64> = removed.collect();
    let sliced = if removed.is_empty() { sliced } else { cx.squeeze(&sliced, &removed)? };
    // Where the new axes lie in the result: the dots stand for the axes that are left.
    let (mut added, mut at_output) = (Vec::new(), 0_i64);
    for at in 0..count {
        if Some(at) == dots {
            at_output += left as i64;
        }
        match places.iter().find(|(place, _)| *place == at) {
            Some((_, Place::New)) => {
                added.push(at_output);
                at_output += 1;
            }
            Some((_, Place::Range(_))) => at_output += 1,
            _ => {}
        }
    }
    Ok(vec![if added.is_empty() { sliced } else { cx.unsqueeze(&sliced, &added)? }])
}

/// The elements that ranges and single places take, all axes still there.
fn take(
    cx: &mut Cx<'_, '_>,
    value: &str,
    places: &[(usize, Place)],
    count: usize,
    no_begin: &[i64],
    no_end: &[i64],
) -> Result<String, Refusal> {
    let set = |mask: &[i64], at: usize| mask.get(at).is_some_and(|&m| m != 0);
    let strides = match cx.optional(3) {
        Some(_) => cx.const_ints(3)?,
        None => vec![1; count],
    };
    let used: Vec<(usize, Place)> =
        places.iter().copied().filter(|(_, place)| *place != Place::New).collect();
    let (mut starts, mut ends, mut steps, mut axes) = (vec![], vec![], vec![], vec![]);
    for &(at, place) in &used {
        let step = strides.get(at).copied().unwrap_or(1);
        let (axis, one) = match place {
            Place::One(axis) => (axis, true),
            Place::Range(axis) => (axis, false),
            Place::New => continue,
        };
        axes.push(axis);
        steps.push(if one { 1 } else { step });
        let first = if step < 0 && !one { i64::MAX } else { 0 };
        let last = if step < 0 && !one { i64::MIN } else { i64::MAX };
        starts.push((at, set(no_begin, at).then_some(first)));
        ends.push((at, (set(no_end, at) && !one).then_some(last), one));
    }
    if axes.is_empty() {
        return Ok(value.to_owned());
    }
    let (begin, end) = (cx.const_ints(1).ok(), cx.const_ints(2).ok());
    let pick = |list: &[i64], at: usize| list.get(at).copied().unwrap_or(0);
    // After the last element, counted from the front or the back.
    let behind = |start: i64| if start == -1 { i64::MAX } else { start.saturating_add(1) };
    let (start, stop) = if let (Some(begin), Some(end)) = (&begin, &end) {
        let starts: Vec<i64> =
            starts.iter().map(|(at, fixed)| fixed.unwrap_or_else(|| pick(begin, *at))).collect();
        let stop = |(i, (at, fixed, one)): (usize, &(usize, Option<i64>, bool))| match one {
            true => behind(pick(&starts, i)),
            false => fixed.unwrap_or_else(|| pick(end, *at)),
        };
        let stops: Vec<i64> = ends.iter().enumerate().map(stop).collect();
        (cx.make.ints(&starts)?, cx.make.ints(&stops)?)
    } else {
        let (begins, ends_of) = (cx.as_list(1)?, cx.as_list(2)?);
        let (mut start, mut stop) = (Vec::new(), Vec::new());
        for ((at, first), (_, last, one)) in starts.iter().zip(&ends) {
            let at_list = cx.make.ints(&[*at as i64])?;
            let from = match first {
                Some(fixed) => cx.make.ints(&[*fixed])?,
                None => cx.make.node("Gather", &[&begins, &at_list]),
            };
            let to = match (one, last) {
                (true, _) => {
                    // One behind the last element from the back is not 0 but the end.
                    let (unit, most) = (cx.make.ints(&[1])?, cx.make.ints(&[i64::MAX])?);
                    let (last, next) = (cx.make.ints(&[-1])?, cx.make.node("Add", &[&from, &unit]));
                    let is_last = cx.make.node("Equal", &[&from, &last]);
                    cx.make.node("Where", &[&is_last, &most, &next])
                }
                (false, Some(fixed)) => cx.make.ints(&[*fixed])?,
                (false, None) => cx.make.node("Gather", &[&ends_of, &at_list]),
            };
            start.push(from);
            stop.push(to);
        }
        let mut join = |parts: &[String]| {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            cx.make.node_with("Concat", &parts, &[("axis", 0i64.into())])
        };
        (join(&start), join(&stop))
    };
    let (axes, steps) = (cx.make.ints(&axes)?, cx.make.ints(&steps)?);
    Ok(cx.make.node("Slice", &[value, &start, &stop, &axes, &steps]))
}

//! Joining, splitting, gathering and scattering.

use crate::openvino::cx::{Cx, Lowered, refuse};

pub(in crate::openvino) fn concat(cx: &mut Cx<'_, '_>) -> Lowered {
    let axis = cx.int("axis")?;
    cx.same("Concat", &[("axis", axis.into())])
}

pub(in crate::openvino) fn split(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let axis = cx.const_int(1)?;
    let parts = cx.int("num_splits")?;
    let count = cx.layer.outputs.len();
    if parts != count as i64 || count == 0 {
        return refuse(format!("num_splits is {parts}, outputs are {count}"));
    }
    if count == 1 {
        return Ok(vec![value]);
    }
    let attributes = [("axis", axis.into()), ("num_outputs", parts.into())];
    Ok(cx.make.node_of("Split", &[&value], count, &attributes))
}

/// A length of -1 is what the others leave.
pub(in crate::openvino) fn variadic_split(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let axis = cx.const_int(1)?;
    let count = cx.layer.outputs.len();
    let lengths = cx.const_ints(2).ok();
    let Some(at) = lengths.as_ref().and_then(|l| l.iter().position(|&n| n == -1)) else {
        let lengths = cx.as_list(2)?;
        return Ok(cx.make.node_of("Split", &[&value, &lengths], count, &[("axis", axis.into())]));
    };
    let lengths = lengths.unwrap_or_default();
    if lengths.len() != count {
        return refuse(format!("{} lengths, outputs are {count}", lengths.len()));
    }
    let axes = cx.make.ints(&[axis])?;
    let mut parts = Vec::with_capacity(count);
    for i in 0..count {
        let sum = |range: std::ops::Range<usize>| {
            lengths.get(range).unwrap_or_default().iter().fold(0_i64, |a, &n| a.saturating_add(n))
        };
        // In front of the open one places count from the front, behind it from the back.
        let start = if i <= at { sum(0..i) } else { -sum(i..count) };
        let stop = match i {
            i if i < at => sum(0..i + 1),
            i if i + 1 == count => i64::MAX,
            i => -sum(i + 1..count),
        };
        let (start, stop) = (cx.make.ints(&[start])?, cx.make.ints(&[stop])?);
        parts.push(cx.make.node("Slice", &[&value, &start, &stop, &axes]));
    }
    Ok(parts)
}

pub(in crate::openvino) fn gather(cx: &mut Cx<'_, '_>) -> Lowered {
    let (value, indices) = (cx.input(0)?, cx.input(1)?);
    let axis = cx.const_int(2)?;
    let batch = cx.int_or("batch_dims", 0)?;
    if batch != 0 {
        let rank = cx.rank(1)?;
        if cx.axis(batch, rank.max(1))? != 0 {
            return refuse(format!("batch_dims {batch}"));
        }
    }
    Ok(vec![cx.make.node_with("Gather", &[&value, &indices], &[("axis", axis.into())])])
}

pub(in crate::openvino) fn gather_elements(cx: &mut Cx<'_, '_>) -> Lowered {
    let axis = cx.int("axis")?;
    cx.same("GatherElements", &[("axis", axis.into())])
}

pub(in crate::openvino) fn gather_nd(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    let batch = cx.int_or("batch_dims", 0)?;
    if batch > 1 && cx.layer.opset == Some(5) {
        return refuse("batch_dims above 1 of opset5, which joins these dimensions");
    }
    let indices = cx.as_i64(1)?;
    Ok(vec![cx.make.node_with("GatherND", &[&value, &indices], &[("batch_dims", batch.into())])])
}

pub(in crate::openvino) fn scatter_elements(cx: &mut Cx<'_, '_>) -> Lowered {
    let (value, indices, updates) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let axis = cx.const_int(3)?;
    let inputs = [value.as_str(), &indices, &updates];
    Ok(vec![cx.make.node_with("ScatterElements", &inputs, &[("axis", axis.into())])])
}

pub(in crate::openvino) fn scatter_nd(cx: &mut Cx<'_, '_>) -> Lowered {
    let (value, updates) = (cx.input(0)?, cx.input(2)?);
    let indices = cx.as_i64(1)?;
    Ok(vec![cx.make.node("ScatterND", &[&value, &indices, &updates])])
}

pub(in crate::openvino) fn depth_to_space(cx: &mut Cx<'_, '_>) -> Lowered {
    let mode = match cx.one_of("mode", &["blocks_first", "depth_first"])? {
        "depth_first" => "CRD",
        _ => "DCR",
    };
    let size = cx.int_or("block_size", 1)?;
    cx.same("DepthToSpace", &[("blocksize", size.into()), ("mode", mode.into())])
}

pub(in crate::openvino) fn space_to_depth(cx: &mut Cx<'_, '_>) -> Lowered {
    if cx.one_of("mode", &["blocks_first", "depth_first"])? == "depth_first" {
        return refuse("mode depth_first");
    }
    let size = cx.int_or("block_size", 1)?;
    cx.same("SpaceToDepth", &[("blocksize", size.into())])
}

//! Convolutions.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;

/// Attributes of ONNX's windows.
pub(super) type Attributes = Vec<(&'static str, AttributeValue)>;

/// Strides, dilations and padding.
pub(super) fn window(cx: &Cx<'_, '_>) -> Result<Attributes, Refusal> {
    let mut attributes = Attributes::new();
    for name in ["strides", "dilations"] {
        let values = cx.ints(name)?;
        if !values.is_empty() {
            attributes.push((name, AttributeValue::Ints(values)));
        }
    }
    match cx.one_of("auto_pad", &["explicit", "notset", "same_upper", "same_lower", "valid"])? {
        "same_upper" => attributes.push(("auto_pad", "SAME_UPPER".into())),
        "same_lower" => attributes.push(("auto_pad", "SAME_LOWER".into())),
        "valid" => attributes.push(("auto_pad", "VALID".into())),
        _ => {
            let mut pads = cx.ints("pads_begin")?;
            pads.extend(cx.ints("pads_end")?);
            attributes.push(("pads", AttributeValue::Ints(pads)));
        }
    }
    Ok(attributes)
}

pub(in crate::openvino) fn plain(cx: &mut Cx<'_, '_>) -> Lowered {
    let attributes = window(cx)?;
    cx.same("Conv", &attributes)
}

/// The number of groups, and the filters `[groups, a, b, ...]` as `[groups a, b, ...]`.
fn ungrouped(cx: &mut Cx<'_, '_>) -> Result<(i64, String), Refusal> {
    let filters = cx.input(1)?;
    let [Some(groups), Some(first), rest @ ..] = cx.dims(1)? else {
        return refuse("filters whose number is open");
    };
    let joined = groups.checked_mul(*first).and_then(|n| i64::try_from(n).ok());
    let (Some(joined), Ok(groups)) = (joined, i64::try_from(*groups)) else {
        return refuse("more filters than can be");
    };
    let rest: Option<Vec<i64>> = rest.iter().map(|d| i64::try_from((*d)?).ok()).collect();
    let Some(rest) = rest else { return refuse("filters whose shape is open") };
    let shape: Vec<i64> = std::iter::once(joined).chain(rest).collect();
    let shape = cx.make.ints(&shape)?;
    Ok((groups, cx.make.node("Reshape", &[&filters, &shape])))
}

pub(in crate::openvino) fn grouped(cx: &mut Cx<'_, '_>) -> Lowered {
    let mut attributes = window(cx)?;
    let (groups, filters) = ungrouped(cx)?;
    attributes.push(("group", groups.into()));
    let value = cx.input(0)?;
    Ok(vec![cx.make.node_with("Conv", &[&value, &filters], &attributes)])
}

pub(in crate::openvino) fn transposed(cx: &mut Cx<'_, '_>) -> Lowered {
    let filters = cx.input(1)?;
    deconvolve(cx, &filters, 1)
}

pub(in crate::openvino) fn grouped_transposed(cx: &mut Cx<'_, '_>) -> Lowered {
    let (groups, filters) = ungrouped(cx)?;
    deconvolve(cx, &filters, groups)
}

fn deconvolve(cx: &mut Cx<'_, '_>, filters: &str, groups: i64) -> Lowered {
    let mut attributes = window(cx)?;
    attributes.push(("group", groups.into()));
    let padding = cx.ints("output_padding")?;
    if padding.iter().any(|&n| n != 0) {
        attributes.push(("output_padding", AttributeValue::Ints(padding)));
    }
    if cx.optional(2).is_some() {
        attributes.push(("output_shape", AttributeValue::Ints(cx.const_ints(2)?)));
    }
    let value = cx.input(0)?;
    Ok(vec![cx.make.node_with("ConvTranspose", &[&value, filters], &attributes)])
}

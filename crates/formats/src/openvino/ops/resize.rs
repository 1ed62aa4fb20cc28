//! Interpolation.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// opset4 has sizes, scales and axes as inputs; opset11 the one of the first two that counts, and axes.
pub(in crate::openvino) fn interpolate(cx: &mut Cx<'_, '_>) -> Lowered {
    let x = cx.input(0)?;
    let by_scales = cx.one_of("shape_calculation_mode", &["sizes", "scales"])? == "scales";
    let (at, axes_at) = match cx.layer.opset {
        Some(4) => (if by_scales { 2 } else { 1 }, 3),
        _ => (1, 2),
    };
    for name in ["pads_begin", "pads_end"] {
        if cx.ints(name)?.iter().any(|&n| n != 0) {
            return refuse(format!("{name} other than 0"));
        }
    }
    let mode = match cx.one_of("mode", &["nearest", "linear_onnx", "cubic"])? {
        "linear_onnx" => "linear",
        other => other,
    };
    let coordinates = cx.one_of(
        "coordinate_transformation_mode",
        &["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"],
    )?;
    let nearest =
        cx.one_of("nearest_mode", &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])?;
    if mode != "nearest" && cx.flag_or("antialias", false)? {
        return refuse("antialias");
    }
    let mut attributes: Vec<(&str, AttributeValue)> = vec![
        ("mode", mode.into()),
        ("coordinate_transformation_mode", coordinates.into()),
        ("nearest_mode", nearest.into()),
        ("cubic_coeff_a", (cx.float_or("cube_coeff", -0.75)? as f32).into()),
    ];
    if cx.optional(axes_at).is_some() {
        attributes.push(("axes", AttributeValue::Ints(cx.const_ints(axes_at)?)));
    }
    let value = if by_scales {
        let scales = scales(cx, at)?;
        cx.make.node_with("Resize", &[&x, "", &scales], &attributes)
    } else {
        let sizes = cx.as_list(at)?;
        cx.make.node_with("Resize", &[&x, "", "", &sizes], &attributes)
    };
    Ok(vec![value])
}

fn scales(cx: &mut Cx<'_, '_>, at: usize) -> Result<String, Refusal> {
    let scales = cx.input(at)?;
    Ok(if cx.dtype(at)? == DType::F32 { scales } else { cx.cast(&scales, DType::F32) })
}

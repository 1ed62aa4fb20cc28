//! Pools.

use super::conv::{Attributes, window};
use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;

fn attributes(cx: &Cx<'_, '_>) -> Result<Attributes, Refusal> {
    let mut attributes = window(cx)?;
    attributes.push(("kernel_shape", AttributeValue::Ints(cx.ints("kernel")?)));
    let rounding = cx.one_of("rounding_type", &["floor", "ceil", "ceil_torch"])?;
    attributes.push(("ceil_mode", (rounding != "floor").into()));
    Ok(attributes)
}

pub(in crate::openvino) fn average(cx: &mut Cx<'_, '_>) -> Lowered {
    let mut attributes = attributes(cx)?;
    // The file spells it both ways, by age.
    let excludes = cx.flag_or("exclude-pad", cx.flag_or("exclude_pad", false)?)?;
    attributes.push(("count_include_pad", (!excludes).into()));
    cx.same("AveragePool", &attributes)
}

/// The second output, where the maxima lie, is refused when somebody reads it: nothing defines it.
pub(in crate::openvino) fn max(cx: &mut Cx<'_, '_>) -> Lowered {
    if cx.int_or("axis", 0)? != 0 {
        return refuse("axis: indices of maxima are not read");
    }
    let attributes = attributes(cx)?;
    cx.same("MaxPool", &attributes)
}

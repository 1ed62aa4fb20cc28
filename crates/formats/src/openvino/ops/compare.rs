//! Comparisons and choices that ONNX has in another form.

use super::elementwise::broadcasts_as_numpy;
use crate::openvino::cx::{Cx, Lowered};

pub(in crate::openvino) fn not_equal(cx: &mut Cx<'_, '_>) -> Lowered {
    broadcasts_as_numpy(cx)?;
    let equal = cx.same("Equal", &[])?;
    let equal: Vec<&str> = equal.iter().map(String::as_str).collect();
    Ok(vec![cx.make.node("Not", &equal)])
}

pub(in crate::openvino) fn select(cx: &mut Cx<'_, '_>) -> Lowered {
    broadcasts_as_numpy(cx)?;
    cx.same("Where", &[])
}

//! ZipMap, which is refused: its results are no tensors.

use super::ML;
use crate::ops::{OpDef, Out, Param, types};

/// ZipMap.
pub const OPS: &[OpDef] =
    &[OpDef::function("ZipMap", &[Param::required(0, types::F32_ONLY)], &[Out::Like(0)], |f| {
        Err(f.refuse(
            "ZipMap gives maps, and models here give tensors: export with zipmap=False \
             (options={id(model): {\"zipmap\": False}} of skl2onnx)",
        ))
    })
    .domain(ML)];

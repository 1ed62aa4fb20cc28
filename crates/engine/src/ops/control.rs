//! Control flow. The planner inlines the branch that the condition selects.

use super::{Build, OpDef, Out, Param, types};

fn never_built(_: &super::NodeSpec<'_>) -> Result<super::OpPlan, crate::BuildError> {
    Err(crate::BuildError::unsupported("control flow is planned, not built"))
}

/// If.
pub const OPS: &[OpDef] = &[OpDef {
    build: Build::If,
    ..OpDef::new("If", &[Param::required(0, types::BOOL)], &[Out::Body], never_built)
        .variadic_outputs()
}];

//! Control flow. The planner inlines bodies: the branch that a condition selects, or one copy for each
//! iteration.

use super::{Build, OpDef, Out, Param, types};
use crate::ir::FormSet;

fn never_built(_: &super::NodeSpec<'_>) -> Result<super::OpPlan, crate::BuildError> {
    Err(crate::BuildError::unsupported("control flow is planned, not built"))
}

/// If, Loop, Scan, SequenceMap.
pub const OPS: &[OpDef] = &[
    OpDef {
        build: Build::If,
        ..OpDef::new("If", &[Param::required(0, types::BOOL)], &[Out::Body(0)], never_built)
            .variadic_outputs()
    },
    OpDef {
        build: Build::Loop,
        ..OpDef::new(
            "Loop",
            &[
                Param::optional(0, types::I64_ONLY),
                Param::optional(0, types::BOOL),
                // What is carried is passed on as it is; what is collected must have whole bytes.
                Param::any_number(types::VIEWED).in_form(FormSet::ANY),
            ],
            // The body's first output is the condition, which Loop does not give.
            &[Out::Body(1)],
            never_built,
        )
        .variadic_outputs()
    },
    // That of opset 8 has a batch dimension and lengths, and is written as two of these (`ir/scan.rs`).
    OpDef {
        build: Build::Scan,
        ..OpDef::new("Scan", &[Param::any_number(types::ANY)], &[Out::Body(0)], never_built)
            .since(8)
            .variadic_outputs()
    },
    OpDef {
        build: Build::SequenceMap,
        ..OpDef::new(
            "SequenceMap",
            &[
                Param::required(0, types::VIEWED).in_form(FormSet::SEQUENCE),
                Param::any_number(types::VIEWED).in_form(FormSet::PRESENT),
            ],
            &[Out::Body(0)],
            never_built,
        )
        .since(17)
        .variadic_outputs()
    },
];

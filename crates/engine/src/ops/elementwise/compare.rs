//! Comparisons.

use crate::error::BuildError;
use crate::ops::broadcasting::{broadcast_inputs, operands};
use crate::ops::dispatch::{for_number, no_kernel};
use crate::ops::{OpDef, OpPlan, Out, Param, TypeSet, plan_fn, strings, types};
use stead_kernels::elementwise::{CompareOp, Lane, LogicOp, Run, logic};
use stead_tensor::DType;

const NUMBERS: &[Param] = &[Param::required(1, types::NUMERIC), Param::required(1, types::NUMERIC)];
const EQUATABLE: TypeSet = types::NUMERIC.or(types::BOOL);
/// Since opset 19.
const EQUATABLE_TEXTS: TypeSet = EQUATABLE.or(types::STRING);
const TRUTH: &[Out] = &[Out::Fixed(DType::Bool)];

/// Equal, Greater, GreaterOrEqual, Less, LessOrEqual.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "Equal",
        &[Param::required(1, EQUATABLE), Param::required(1, EQUATABLE)],
        TRUTH,
        |_| compare(CompareOp::Equal, false),
    )
    .until(18),
    OpDef::new(
        "Equal",
        &[Param::required(1, EQUATABLE_TEXTS), Param::required(1, EQUATABLE_TEXTS)],
        TRUTH,
        |_| compare(CompareOp::Equal, false),
    )
    .since(19),
    OpDef::new("Less", NUMBERS, TRUTH, |_| compare(CompareOp::Less, false)),
    OpDef::new("Greater", NUMBERS, TRUTH, |_| compare(CompareOp::Less, true)),
    OpDef::new("LessOrEqual", NUMBERS, TRUTH, |_| compare(CompareOp::LessOrEqual, false)).since(12),
    OpDef::new("GreaterOrEqual", NUMBERS, TRUTH, |_| compare(CompareOp::LessOrEqual, true))
        .since(12),
];

/// `swapped`: a > b is b < a.
fn compare(op: CompareOp, swapped: bool) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| {
        let (shape, dtype) = (broadcast_inputs(cx)?, cx.dtype(0)?);
        let (plan, reads) = operands(cx, if swapped { [1, 0] } else { [0, 1] }, &shape)?;
        let slot = cx.output(0, shape)?;
        if dtype == DType::Bool {
            cx.step("equal", &reads, &[slot], move |a| {
                let (x, y, out) = (a.read_bytes(0)?, a.read_bytes(1)?, a.write_bytes()?);
                let run = Run { isa: a.isa, parallel: a.parallel, plan: &plan };
                logic(run, LogicOp::Equal, x, y, out);
                Ok(())
            });
            return Ok(());
        }
        if dtype == DType::String {
            cx.step("equal", &reads, &[slot], move |a| {
                let pairs = strings::pairs(&plan, a.strings(0)?, a.strings(1)?);
                for (same, (x, y)) in a.write_bytes()?.iter_mut().zip(pairs) {
                    *same = u8::from(x == y);
                }
                Ok(())
            });
            return Ok(());
        }
        for_number!(dtype, T => {
            cx.step("compare", &reads, &[slot], move |a| {
                let (x, y, out) = (a.read::<T>(0)?, a.read::<T>(1)?, a.write_bytes()?);
                Lane::compare(Run { isa: a.isa, parallel: a.parallel, plan: &plan }, op, x, y, out);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

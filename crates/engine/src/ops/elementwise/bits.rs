//! Functions of truth values and of bits.

use crate::error::BuildError;
use crate::ops::broadcasting::{broadcast_inputs, operands};
use crate::ops::dispatch::{for_integer, no_kernel};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::elementwise::{BitOp, Bits, LogicOp, Run, invert, logic, not};

const TRUTHS: &[Param] = &[Param::required(1, types::BOOL), Param::required(1, types::BOOL)];
const INTEGERS: &[Param] = &[Param::required(1, types::INT), Param::required(1, types::INT)];
const LIKE: &[Out] = &[Out::Like(0)];

/// And, BitShift, BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor, Not, Or, Xor.
pub const OPS: &[OpDef] = &[
    OpDef::new("And", TRUTHS, LIKE, |_| of_truths(LogicOp::And)),
    OpDef::new("Or", TRUTHS, LIKE, |_| of_truths(LogicOp::Or)),
    OpDef::new("Xor", TRUTHS, LIKE, |_| of_truths(LogicOp::Xor)),
    OpDef::new("Not", &[Param::required(1, types::BOOL)], LIKE, |_| of_bytes("not", not)),
    OpDef::new("BitwiseAnd", INTEGERS, LIKE, |_| of_bits(BitOp::And)).since(18),
    OpDef::new("BitwiseOr", INTEGERS, LIKE, |_| of_bits(BitOp::Or)).since(18),
    OpDef::new("BitwiseXor", INTEGERS, LIKE, |_| of_bits(BitOp::Xor)).since(18),
    OpDef::new("BitwiseNot", &[Param::required(1, types::INT)], LIKE, |_| {
        of_bytes("bit_not", invert)
    })
    .since(18),
    OpDef::new("BitShift", INTEGERS, LIKE, shift).since(11),
];

fn shift(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    match attributes.string("direction")?.ok_or_else(|| attributes.missing("direction"))? {
        "LEFT" => of_bits(BitOp::ShiftLeft),
        "RIGHT" => of_bits(BitOp::ShiftRight),
        other => {
            Err(BuildError::unsupported(format!("direction is \"{other}\"; supported: LEFT RIGHT")))
        }
    }
}

fn of_truths(op: LogicOp) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| {
        let shape = broadcast_inputs(cx)?;
        let (plan, reads) = operands(cx, [0, 1], &shape)?;
        let slot = cx.output(0, shape)?;
        cx.step("logic", &reads, &[slot], move |a| {
            let (x, y, out) = (a.read_bytes(0)?, a.read_bytes(1)?, a.write_bytes()?);
            logic(Run { isa: a.isa, parallel: a.parallel, plan: &plan }, op, x, y, out);
            Ok(())
        });
        Ok(())
    })
}

fn of_bits(op: BitOp) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| {
        let (shape, dtype) = (broadcast_inputs(cx)?, cx.dtype(0)?);
        let (plan, reads) = operands(cx, [0, 1], &shape)?;
        let slot = cx.output(0, shape)?;
        for_integer!(dtype, T => {
            cx.step("bits", &reads, &[slot], move |a| {
                let (x, y, out) = (a.read::<T>(0)?, a.read::<T>(1)?, a.write::<T>()?);
                Bits::bits(Run { isa: a.isa, parallel: a.parallel, plan: &plan }, op, x, y, out);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

fn of_bytes(name: &'static str, f: fn(&[u8], &mut [u8])) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step(name, &[x], &[slot], move |a| {
            f(a.read_bytes(0)?, a.write_bytes()?);
            Ok(())
        });
        Ok(())
    })
}

//! Functions of one number without parameters.

use crate::error::{BuildError, PlanError};
use crate::ops::dispatch::{for_float, for_integer, no_kernel};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::elementwise::{FloatLane, FloatOp, Lane, SignOp, is_inf, is_nan};
use stead_kernels::unary::UnaryOp;
use stead_tensor::DType;

const FLOAT: &[Param] = &[Param::required(1, types::FLOAT)];
const NUMBER: &[Param] = &[Param::required(1, types::NUMERIC)];
const LIKE: &[Out] = &[Out::Like(0)];
const TRUTH: &[Out] = &[Out::Fixed(DType::Bool)];

/// Functions of one float, and Abs, Neg and Sign of all numbers, IsInf and IsNaN.
pub const OPS: &[OpDef] = &[
    OpDef::new("Sqrt", FLOAT, LIKE, |_| map(UnaryOp::Sqrt)),
    OpDef::new("Exp", FLOAT, LIKE, |_| map(UnaryOp::Exp)),
    OpDef::new("Log", FLOAT, LIKE, |_| map(UnaryOp::Log)),
    OpDef::new("Reciprocal", FLOAT, LIKE, |_| map(UnaryOp::Reciprocal)),
    OpDef::new("Erf", FLOAT, LIKE, |_| map(UnaryOp::Erf)).since(9),
    OpDef::new("Sin", FLOAT, LIKE, |_| map(UnaryOp::Sin)),
    OpDef::new("Cos", FLOAT, LIKE, |_| map(UnaryOp::Cos)),
    OpDef::new("Tan", FLOAT, LIKE, |_| map(UnaryOp::Tan)),
    OpDef::new("Asin", FLOAT, LIKE, |_| map(UnaryOp::Asin)),
    OpDef::new("Acos", FLOAT, LIKE, |_| map(UnaryOp::Acos)),
    OpDef::new("Atan", FLOAT, LIKE, |_| map(UnaryOp::Atan)),
    OpDef::new("Sinh", FLOAT, LIKE, |_| map(UnaryOp::Sinh)).since(9),
    OpDef::new("Cosh", FLOAT, LIKE, |_| map(UnaryOp::Cosh)).since(9),
    OpDef::new("Asinh", FLOAT, LIKE, |_| map(UnaryOp::Asinh)).since(9),
    OpDef::new("Acosh", FLOAT, LIKE, |_| map(UnaryOp::Acosh)).since(9),
    OpDef::new("Atanh", FLOAT, LIKE, |_| map(UnaryOp::Atanh)).since(9),
    OpDef::new("Floor", FLOAT, LIKE, |_| map(UnaryOp::Floor)),
    OpDef::new("Ceil", FLOAT, LIKE, |_| map(UnaryOp::Ceil)),
    OpDef::new("Round", FLOAT, LIKE, |_| map(UnaryOp::Round)).since(11),
    OpDef::new("Softsign", FLOAT, LIKE, |_| map(UnaryOp::Softsign)),
    OpDef::new("Abs", NUMBER, LIKE, |_| sign(SignOp::Abs)),
    OpDef::new("Neg", NUMBER, LIKE, |_| sign(SignOp::Neg)),
    OpDef::new("Sign", NUMBER, LIKE, |_| sign(SignOp::Sign)).since(9),
    OpDef::new("IsNaN", FLOAT, TRUTH, not_a_number).since(9),
    OpDef::new("IsInf", FLOAT, TRUTH, infinite).since(10),
];

/// Plans a function of floats.
pub(super) fn map(op: UnaryOp) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| map_step(cx, FloatOp::Unary(op)))
}

/// Plans a function of floats, however it is computed.
pub(super) fn map_step(cx: &mut PlanCx<'_>, op: FloatOp) -> Result<(), PlanError> {
    let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
    for_float!(dtype, T => {
        cx.step("map", &[x], &[slot], move |a| {
            let (x, out) = (a.read::<T>(0)?, a.write::<T>()?);
            FloatLane::map(a.isa, a.parallel, op, x, out);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}

pub(super) fn sign(op: SignOp) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        macro_rules! emit {
            ($t:ty) => {{
                cx.step("sign", &[x], &[slot], move |a| {
                    let (x, out) = (a.read::<$t>(0)?, a.write::<$t>()?);
                    Lane::sign(a.isa, a.parallel, op, x, out);
                    Ok(())
                });
                Ok(())
            }};
        }
        for_float!(dtype, T => emit!(T), _ => {
            for_integer!(dtype, T => emit!(T), _ => Err(no_kernel(dtype)))
        })
    })
}

fn not_a_number(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        for_float!(dtype, T => {
            cx.step("is_nan", &[x], &[slot], |a| {
                is_nan(a.read::<T>(0)?, a.write_bytes()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

fn infinite(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let negative = spec.attributes().bool_or("detect_negative", true)?;
    let positive = spec.attributes().bool_or("detect_positive", true)?;
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        for_float!(dtype, T => {
            cx.step("is_inf", &[x], &[slot], move |a| {
                is_inf(negative, positive, a.read::<T>(0)?, a.write_bytes()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

//! GlobalAveragePool, GlobalMaxPool, GlobalLpPool: reductions of whole planes.

use super::SINGLE;
use super::precision;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn};
use stead_kernels::reduce::{ReduceOp, reduce, reduce_f32};
use stead_tensor::{DType, Shape};

const FLOAT: TypeSet = SINGLE.or(TypeSet::of(&[DType::F64]));

/// GlobalAveragePool, GlobalMaxPool, GlobalLpPool.
pub const OPS: &[OpDef] = &[
    OpDef::new("GlobalAveragePool", &[Param::required(1, FLOAT)], &[Out::Like(0)], build),
    OpDef::new("GlobalMaxPool", &[Param::required(1, FLOAT)], &[Out::Like(0)], build),
    OpDef::new("GlobalLpPool", &[Param::required(1, FLOAT)], &[Out::Like(0)], build),
];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let op = match spec.op_type() {
        "GlobalAveragePool" => ReduceOp::Mean,
        "GlobalMaxPool" => ReduceOp::Max,
        _ => match spec.attributes().int_or("p", 2)? {
            1 => ReduceOp::L1,
            2 => ReduceOp::L2,
            p => return Err(BuildError::unsupported(format!("p of {p}; supported: 1, 2"))),
        },
    };
    let dtype = spec.dtype()?;
    plan_fn(move |cx| {
        let x = cx.shape(0)?;
        let &[batch, channels, ref spatial @ ..] = x.dims() else {
            return Err(PlanError::shape(format!(
                "a pool over {x}; two dimensions or more expected"
            )));
        };
        let mut dims = vec![1; x.rank()];
        dims[..2].copy_from_slice(&[batch, channels]);
        let output = Shape::new(&dims)?;
        let sizes = (output.elements(), spatial.iter().product::<usize>(), 1);
        let count = sizes.0;
        if dtype == DType::F64 {
            let (x, y) = (cx.input(0)?, cx.output(0, output)?);
            cx.step("global pool", &[x], &[y], move |a| {
                let (x, y) = (a.read::<f64>(0)?, a.write::<f64>()?);
                reduce(op, sizes, &x[..sizes.0 * sizes.1], &mut y[..count]);
                Ok(())
            });
            return Ok(());
        }
        let x = precision::input(cx, 0)?;
        let y = precision::output(cx, 0, output)?;
        cx.step("global pool", &[x], &[y.slot], move |a| {
            let x = &a.read::<f32>(0)?[..sizes.0 * sizes.1];
            reduce_f32(a.isa, a.parallel, op, sizes, x, &mut a.write::<f32>()?[..count]);
            Ok(())
        });
        y.finish(cx);
        Ok(())
    })
}

//! OneHot: indices become vectors.

use super::generate::{Number, number};
use super::{axis_of, count, dim_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use half::{bf16, f16};
use stead_kernels::movement::one_hot;
use stead_tensor::{DType, Element, Shape};

/// OneHot.
pub const OPS: &[OpDef] = &[OpDef::new(
    "OneHot",
    &[
        Param::required(0, types::NUMERIC),
        Param::required(0, types::NUMERIC),
        Param::required(0, types::ANY),
    ],
    &[Out::Like(2)],
    build,
)
.since(9)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", -1)?;
    plan_fn(move |cx| {
        let indices = cx.shape(0)?;
        let depth = match number(&cx.value(1)?)? {
            Number::Int(v) => dim_of(i64::try_from(v).unwrap_or(-1))?,
            Number::Float(v) => dim_of(v as i64)?,
        };
        if cx.shape(2)?.elements() != 2 {
            return Err(PlanError::shape(format!("two values are expected, got {}", cx.shape(2)?)));
        }
        let axis = axis_of(axis, indices.rank() + 1)?;
        let dims = [&indices[..axis], &[depth], &indices[axis..]].concat();
        let shape = Shape::new(&dims)?;
        let layout = OneHot { elements: indices.elements(), depth, inner: count(&indices[axis..]) };
        let dtype = cx.dtype(0)?;
        let operands = [cx.input(0)?, cx.input(2)?];
        let slot = cx.output(0, shape)?;
        cx.step("one hot", &operands, &[slot], move |a| match dtype {
            DType::F32 => layout.run(a, |v: f32| v as i64),
            DType::F64 => layout.run(a, |v: f64| v as i64),
            DType::F16 => layout.run(a, |v: f16| v.to_f32() as i64),
            DType::BF16 => layout.run(a, |v: bf16| v.to_f32() as i64),
            DType::I8 => layout.run(a, |v: i8| v.into()),
            DType::I16 => layout.run(a, |v: i16| v.into()),
            DType::I32 => layout.run(a, |v: i32| v.into()),
            DType::I64 => layout.run(a, |v: i64| v),
            DType::U8 => layout.run(a, |v: u8| v.into()),
            DType::U16 => layout.run(a, |v: u16| v.into()),
            DType::U32 => layout.run(a, |v: u32| v.into()),
            _ => layout.run(a, |v: u64| i64::try_from(v).unwrap_or(i64::MAX)),
        });
        Ok(())
    })
}

#[derive(Clone, Copy)]
struct OneHot {
    elements: usize,
    depth: usize,
    inner: usize,
}

impl OneHot {
    fn run<T: Element>(&self, a: &mut Args<'_>, index: impl Fn(T) -> i64) -> Result<(), RunError> {
        let (indices, values, dst) = (a.read::<T>(0)?, a.read_bytes(1)?, a.write_bytes()?);
        let at = |i: usize| indices.get(i).copied().map(&index);
        one_hot(values, self.elements, self.depth, self.inner, at, dst);
        Ok(())
    }
}

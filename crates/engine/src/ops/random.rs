//! Random numbers: the engine's own `Random`, which the [operators of the standard](super::functions) are made of.

use super::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use crate::error::BuildError;
use crate::ops::cast::dtype_of;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stead_kernels::random::{Stream, uniform_f32, uniform_f64};
use stead_onnx::Attributes;
use stead_tensor::{DType, Shape};

/// Input: a shape. Attributes: `dtype`, f32 or f64; `seed`; `part`, which tells what is drawn with one seed for one result apart. Output: numbers of equal chance from 0 to below 1.
///
/// A node draws other numbers each time that it runs. With a seed a session that runs again from the start draws
/// the same, one after the other; without one every session draws others. So it is in ONNX Runtime, whose numbers are other ones: the
/// standard does not say how they are made.
pub const OPS: &[OpDef] =
    &[OpDef::new("Random", &[Param::required(0, types::I64_ONLY)], &[Out::Of(result_type)], build)
        .domain("stead")];

fn result_type(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    dtype_of(attributes.int_or("dtype", 1)?, "dtype")
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let part = spec.attributes().int_or("part", 0)?;
    let key = match spec.attributes().float("seed")? {
        Some(seed) => u64::from(seed.to_bits()) | (part as u64) << 32,
        None => RandomState::new().hash_one(()),
    };
    let is_wide = result_type(spec.attributes(), &[])? == DType::F64;
    let draws = Arc::new(AtomicU64::new(0));
    plan_fn(move |cx| {
        let dims: Result<Vec<usize>, _> = cx.ints(0)?.into_iter().map(usize::try_from).collect();
        let dims = dims.map_err(|_| crate::error::PlanError::shape("a size is negative"))?;
        let out = cx.output(0, Shape::new(&dims)?)?;
        let draws = Arc::clone(&draws);
        cx.step("random", &[], &[out], move |a| {
            let stream = Stream { key, number: draws.fetch_add(1, Ordering::Relaxed) };
            match is_wide {
                true => uniform_f64(stream, a.parallel, a.write()?),
                false => uniform_f32(stream, a.parallel, a.write()?),
            }
            Ok(())
        });
        Ok(())
    })
}

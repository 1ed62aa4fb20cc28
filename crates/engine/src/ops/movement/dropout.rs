//! Dropout: passes all elements on, and in training those that were not drawn.

use super::reshape::view_as;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use half::{bf16, f16};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stead_kernels::movement::fill;
use stead_kernels::random::Twister;
use stead_tensor::{DType, Tensor};

const ANY: Param = Param::required(1, types::ANY);
const RATIO: Param = Param::optional(0, types::FLOAT);

/// Dropout.
pub const OPS: &[OpDef] = &[
    // Until opset 9 the mask had the type of the data.
    OpDef::new("Dropout", &[ANY], &[Out::Like(0), Out::Like(0)], build).until(9),
    OpDef::new("Dropout", &[ANY], &[Out::Like(0), Out::Fixed(DType::Bool)], build)
        .since(10)
        .until(11),
    OpDef::new(
        "Dropout",
        &[ANY, RATIO, Param::optional(0, types::BOOL)],
        &[Out::Like(0), Out::Fixed(DType::Bool)],
        build,
    )
    .since(12),
];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let seed = spec.attributes().int("seed")?;
    let seed = seed.map_or_else(|| RandomState::new().hash_one(()), |seed| seed as u64);
    let draws = Arc::new(AtomicU64::new(0));
    plan_fn(move |cx| {
        if cx.has_input(2) && cx.value(2)?.bytes().iter().any(|&b| b != 0) {
            let ratio = if cx.has_input(1) { first_float(&cx.value(1)?) } else { 0.5 };
            if !(0.0..1.0).contains(&ratio) {
                return Err(PlanError::shape(format!("a ratio of {ratio} for Dropout")));
            }
            if ratio != 0.0 {
                return drawn(cx, ratio, Draws { seed, number: draws.clone() });
            }
        }
        let shape = cx.shape(0)?;
        if cx.wants(1) {
            let one = match cx.output_type(1)? {
                DType::F32 => Tensor::scalar(1f32)?,
                DType::F64 => Tensor::scalar(1f64)?,
                DType::F16 => Tensor::scalar(f16::ONE)?,
                DType::BF16 => Tensor::scalar(bf16::ONE)?,
                _ => Tensor::scalar(1u8)?,
            };
            let mask = cx.output(1, shape)?;
            cx.step("fill", &[], &[mask], move |a| {
                fill(a.write_bytes()?, one.bytes());
                Ok(())
            });
        }
        view_as(cx, shape)
    })
}

/// A seed, and how often a session has drawn by it.
struct Draws {
    seed: u64,
    number: Arc<AtomicU64>,
}

impl Draws {
    /// The first run of a session draws what NumPy draws by the same seed, so that it is the mask of the standard's reference; each later
    /// one draws others.
    fn next(&self) -> Twister {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        match (u32::try_from(self.seed), number) {
            (Ok(seed), 0) => Twister::new(seed),
            _ => {
                let halves = |x: u64| [x as u32, (x >> 32) as u32];
                let ([a, b], [c, d]) = (halves(self.seed), halves(number));
                Twister::of_key(&[a, b, c, d])
            }
        }
    }
}

/// The elements that chance leaves, over the part that it leaves.
fn drawn(cx: &mut PlanCx<'_>, ratio: f64, draws: Draws) -> Result<(), PlanError> {
    let (shape, dtype, x) = (cx.shape(0)?, cx.dtype(0)?, cx.input(0)?);
    let y = cx.output(0, shape)?;
    let mask = if cx.wants(1) { cx.output(1, shape)? } else { cx.temp(shape.elements()) };
    macro_rules! emit {
        ($t:ty, $wide:ty, $from:expr, $to:expr) => {{
            let scale = 1.0 / (1.0 - ratio as $wide);
            cx.step("dropout", &[x], &[y, mask], move |a| {
                let (x, y, mask) = (a.read::<$t>(0)?, a.write::<$t>()?, a.write_bytes()?);
                let mut twister = draws.next();
                for ((x, y), mask) in x.iter().zip(y).zip(mask) {
                    *mask = u8::from(twister.uniform() >= ratio);
                    *y = $to(<$wide>::from(*mask) * $from(*x) * scale);
                }
                Ok(())
            });
        }};
    }
    match dtype {
        DType::F32 => emit!(f32, f32, |x: f32| x, |x: f32| x),
        DType::F64 => emit!(f64, f64, |x: f64| x, |x: f64| x),
        DType::F16 => emit!(f16, f32, f16::to_f32, f16::from_f32),
        DType::BF16 => emit!(bf16, f32, bf16::to_f32, bf16::from_f32),
        other => return Err(PlanError::shape(format!("Dropout in training of {other}"))),
    }
    Ok(())
}

fn first_float(tensor: &Tensor) -> f64 {
    let first = match tensor.dtype() {
        DType::F32 => tensor.as_slice::<f32>().ok().and_then(|v| v.first()).map(|&v| v.into()),
        DType::F64 => tensor.as_slice::<f64>().ok().and_then(|v| v.first()).copied(),
        DType::F16 => tensor.as_slice::<f16>().ok().and_then(|v| v.first()).map(|v| v.to_f64()),
        _ => tensor.as_slice::<bf16>().ok().and_then(|v| v.first()).map(|v| v.to_f64()),
    };
    first.unwrap_or(0.5)
}

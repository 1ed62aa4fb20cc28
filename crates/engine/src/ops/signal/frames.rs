//! STFT: transforms of a signal's overlapping frames.

use super::dft::Fourier;
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, types};
use stead_kernels::scalar_math::Float;
use stead_tensor::{DType, Element, Shape};

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F64]);

/// STFT.
pub const OPS: &[OpDef] = &[OpDef::new(
    "STFT",
    &[
        Param::required(1, REAL),
        Param::required(0, types::INDEX),
        Param::optional(1, REAL),
        Param::optional(0, types::INDEX),
    ],
    &[Out::Like(0)],
    build,
)
.since(17)];

const STEP: usize = 1;
const WINDOW: usize = 2;
const LENGTH: usize = 3;

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let onesided = spec.attributes().bool_or("onesided", true)?;
    plan_fn(move |cx| plan(cx, onesided))
}

struct Job {
    fourier: Fourier,
    batches: usize,
    positions: usize,
    /// Numbers of a position: real and imaginary part, or the first alone.
    parts: usize,
    step: usize,
    frames: usize,
    bins: usize,
    windowed: bool,
}

fn plan(cx: &mut PlanCx<'_>, onesided: bool) -> Result<(), PlanError> {
    let (signal, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let (batches, positions, parts) = match *signal.dims() {
        [batches, positions] => (batches, positions, 1),
        [batches, positions, parts @ 1..=2] => (batches, positions, parts),
        _ => return Err(PlanError::shape(format!("{signal} is no batch of signals"))),
    };
    let size = |cx: &PlanCx<'_>, index: usize| {
        let value = cx.int(index)?;
        let size = usize::try_from(value).ok().filter(|&n| n > 0);
        size.ok_or_else(|| PlanError::shape(format!("input {index} is {value}, not positive")))
    };
    let step = size(cx, STEP)?;
    let windowed = cx.has_input(WINDOW);
    let window = if windowed { Some(cx.shape(WINDOW)?) } else { None };
    let length = match (cx.has_input(LENGTH), &window) {
        (true, _) => size(cx, LENGTH)?,
        (false, Some(window)) => window.elements(),
        (false, None) => return Err(PlanError::shape("neither a window nor a frame_length")),
    };
    if window.is_some_and(|w| w.dims() != [length]) {
        return Err(PlanError::shape(format!("a window of other than {length} numbers")));
    }
    if length == 0 || length > positions {
        return Err(PlanError::shape(format!("frames of {length} in a signal of {positions}")));
    }
    if onesided && parts == 2 {
        return Err(PlanError::shape("frequencies of complex numbers have two sides"));
    }
    let frames = (positions - length) / step + 1;
    let bins = if onesided { length / 2 + 1 } else { length };
    let shape = Shape::new(&[batches, frames, bins, 2])?;
    let mut reads = vec![cx.input(0)?];
    if windowed {
        reads.push(cx.input(WINDOW)?);
    }
    let out = cx.output(0, shape)?;
    // Without batches a signal may be called as long as no memory.
    cx.table(length, 2)?;
    let fourier = Fourier::new(length);
    let room = cx.temp_of::<f64>(fourier.room());
    let job = Job { fourier, batches, positions, parts, step, frames, bins, windowed };
    cx.step("stft", &reads, &[out, room], move |a| match dtype {
        DType::F64 => job.run::<f64>(a),
        _ => job.run::<f32>(a),
    });
    Ok(())
}

impl Job {
    fn run<T: Element + Float>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let x = a.read::<T>(0)?;
        let window = if self.windowed { Some(a.read::<T>(1)?) } else { None };
        let (out, room) = (a.write::<T>()?, a.write::<f64>()?);
        let mut lines = out.chunks_exact_mut((2 * self.bins).max(1));
        for frame in 0..self.batches * self.frames {
            let start = frame / self.frames * self.positions + frame % self.frames * self.step;
            let seen = x.get(start * self.parts..).unwrap_or_default();
            let found = self.fourier.run(false, room, |signal| {
                for (i, (slot, numbers)) in
                    signal.iter_mut().zip(seen.chunks_exact(self.parts)).enumerate()
                {
                    let weight = window.and_then(|w| w.get(i)).map_or(1.0, |w| w.wide());
                    for (part, x) in slot.iter_mut().zip(numbers) {
                        *part = x.wide() * weight;
                    }
                }
            });
            let Some(line) = lines.next() else { break };
            for (slot, part) in line.iter_mut().zip(found.as_flattened()) {
                *slot = T::of(*part);
            }
        }
        Ok(())
    }
}

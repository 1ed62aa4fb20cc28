//! Resize and its forerunner Upsample: one pass over the tensor for each axis, or one copy for nearest
//! neighbours.

use super::{Args, NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, plan_fn, types};
use crate::error::{BuildError, PlanError, RunError};
use axis::{Axis, Filter, Nearest};
use options::{Mode, Options};
use stead_kernels::movement::copy_by_tables;
use stead_kernels::resample::{Taps, resample};
use stead_tensor::{DType, Element, Shape};

mod axis;
mod number;
mod options;
mod target;

const X: Param = Param::required(1, types::NUMERIC.or(types::BOOL));
const SCALES: Param = Param::required(0, types::F32_ONLY);
const FLOATS: Param = Param::optional(0, types::FLOAT);

/// Resize, Upsample.
pub const OPS: &[OpDef] = &[
    OpDef::new("Upsample", &[X], &[Out::Like(0)], build).until(8),
    OpDef::new("Upsample", &[X, SCALES], &[Out::Like(0)], build).since(9).until(9),
    OpDef::new("Resize", &[X, SCALES], &[Out::Like(0)], build).since(10).until(10),
    OpDef::new(
        "Resize",
        &[X, FLOATS, Param::optional(0, types::F32_ONLY), Param::optional(0, types::I64_ONLY)],
        &[Out::Like(0)],
        build,
    )
    .since(11),
];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let options = Options::read(spec)?;
    plan_fn(move |cx| {
        let axes = target::axes(cx, &options)?;
        let from = cx.shape(0)?;
        let dims: Vec<usize> = axes.iter().map(|axis| axis.to).collect();
        let shape = Shape::new(&dims)?;
        if shape.elements() > 0 && from.elements() == 0 {
            return Err(PlanError::shape(format!("{from} cannot be resized to {shape}")));
        }
        if axes.iter().all(Axis::is_identity) {
            return cx.alias(0, 0, shape);
        }
        match options.mode {
            Mode::Nearest(mode) => nearest(cx, &axes, mode, shape, options.extrapolation),
            Mode::Filter(filter) => interpolate(cx, &axes, filter, shape, &options),
        }
    })
}

fn nearest(
    cx: &mut PlanCx<'_>,
    axes: &[Axis],
    mode: Nearest,
    shape: Shape,
    extrapolation: f32,
) -> Result<(), PlanError> {
    let (from, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let strides = from.strides();
    // Axes at the end that stay as they are make the blocks larger.
    let outer = axes.iter().rposition(|axis| !axis.is_identity()).map_or(0, |axis| axis + 1);
    let inner: usize = from[outer..].iter().product();
    let block = inner * dtype.size();
    let mut tables = Vec::new();
    // Where nothing is written the other axes may have any size.
    for (axis, &stride) in axes[..outer].iter().zip(&strides).filter(|_| shape.elements() > 0) {
        let step = stride / inner.max(1) as isize;
        cx.table(axis.to, 1)?;
        let scaled = |at: isize| if at < 0 { -1 } else { at * step };
        tables.extend(axis.nearest(mode).into_iter().map(scaled));
    }
    let outside_len = if shape.elements() > 0 { inner } else { 0 };
    let outside = number::bytes_of(extrapolation, dtype).repeat(outside_len);
    let x = cx.input(0)?;
    let slot = cx.output(0, shape)?;
    cx.step("resize", &[x], &[slot], move |a| {
        let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
        if !dst.is_empty() {
            copy_by_tables(block, src, &shape[..outer], &tables, &outside, dst);
        }
        Ok(())
    });
    Ok(())
}

fn interpolate(
    cx: &mut PlanCx<'_>,
    axes: &[Axis],
    filter: Filter,
    shape: Shape,
    options: &Options,
) -> Result<(), PlanError> {
    let dtype = cx.dtype(0)?;
    let x = cx.input(0)?;
    let out = cx.output(0, shape)?;
    // Integers are computed in f64, which holds those of 32 bits exactly.
    let work = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => DType::F32,
        _ => DType::F64,
    };
    let mut dims = cx.shape(0)?.to_vec();
    let mut operand = x;
    if dtype != work {
        let slot = cx.temp(cx.shape(0)?.byte_len(work));
        cx.step("widen", &[operand], &[slot], move |a| number::widen(a, dtype));
        operand = cx.read_back(slot);
    }
    let last = axes.iter().rposition(|axis| !axis.is_identity()).unwrap_or(0);
    for (index, axis) in axes.iter().enumerate().filter(|(_, axis)| !axis.is_identity()) {
        let pass = Pass {
            outer: dims[..index].iter().product(),
            from: axis.from,
            inner: dims[index + 1..].iter().product(),
            outside: options.extrapolation,
        };
        dims[index] = axis.to;
        let size = Shape::new(&dims)?.byte_len(work);
        let slot = if index == last && dtype == work { out } else { cx.temp(size) };
        cx.table(axis.to, axis.tap_count(filter, options.antialias).1)?;
        pass.emit(cx, axis, filter, options, work, operand, slot);
        operand = cx.read_back(slot);
    }
    if dtype != work {
        cx.step("narrow", &[operand], &[out], move |a| number::narrow(a, dtype));
    }
    Ok(())
}

/// One axis of an interpolation.
#[derive(Clone, Copy)]
struct Pass {
    outer: usize,
    from: usize,
    inner: usize,
    outside: f32,
}

impl Pass {
    #[expect(clippy::too_many_arguments, reason = "what the step needs from both sides")]
    fn emit(
        self,
        cx: &mut PlanCx<'_>,
        axis: &Axis,
        filter: Filter,
        options: &Options,
        work: DType,
        operand: Operand,
        slot: super::Slot,
    ) {
        let (count, positions, weights) =
            axis.taps(filter, options.antialias, options.exclude_outside);
        if work == DType::F32 {
            let weights: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
            cx.step("resize", &[operand], &[slot], move |a| {
                let taps = Taps { count, positions: &positions, weights: &weights };
                self.run(a, taps, self.outside)
            });
        } else {
            cx.step("resize", &[operand], &[slot], move |a| {
                let taps = Taps { count, positions: &positions, weights: &weights };
                self.run(a, taps, f64::from(self.outside))
            });
        }
    }

    fn run<T>(&self, a: &mut Args<'_>, taps: Taps<'_, T>, outside: T) -> Result<(), RunError>
    where
        T: Element + Default + std::ops::AddAssign + std::ops::Mul<Output = T>,
    {
        let (src, dst) = (a.read::<T>(0)?, a.write::<T>()?);
        let dims = (self.outer, self.from, self.inner);
        resample(a.isa, a.parallel, dims, taps, outside, src, dst);
        Ok(())
    }
}

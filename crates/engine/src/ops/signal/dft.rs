//! DFT: one axis of a tensor of real or complex numbers, the latter as pairs along the last axis.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::axes::{around, axis_of};
use crate::ops::cast::cast_step;
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::scalar_math::Float;
use stead_kernels::signal::{Complex, fill_tables, scratch_len, tables_len, transform};
use stead_tensor::{DType, Element};

const LENGTH: Param = Param::optional(0, types::INDEX);

/// DFT: the axis is an attribute up to opset 19, an input since.
pub const OPS: &[OpDef] = &[
    OpDef::new("DFT", &[Param::required(1, types::FLOAT), LENGTH], &[Out::Like(0)], with_attribute)
        .since(17)
        .until(19),
    OpDef::new(
        "DFT",
        &[Param::required(1, types::FLOAT), LENGTH, Param::optional(0, types::I64_ONLY)],
        &[Out::Like(0)],
        with_input,
    )
    .since(20),
];

#[derive(Debug, Clone, Copy)]
struct Options {
    inverse: bool,
    onesided: bool,
}

fn options(spec: &NodeSpec<'_>) -> Result<Options, BuildError> {
    let attributes = spec.attributes();
    Ok(Options {
        inverse: attributes.bool_or("inverse", false)?,
        onesided: attributes.bool_or("onesided", false)?,
    })
}

fn with_attribute(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let options = options(spec)?;
    let axis = spec.attributes().int_or("axis", 1)?;
    plan_fn(move |cx| plan(cx, options, axis))
}

fn with_input(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let options = options(spec)?;
    plan_fn(move |cx| {
        let axis = if cx.has_input(2) { cx.int(2)? } else { -2 };
        plan(cx, options, axis)
    })
}

/// Tables for transforms of one length.
pub(super) struct Fourier {
    pub length: usize,
    tables: Vec<Complex>,
}

impl Fourier {
    pub(super) fn new(length: usize) -> Fourier {
        let mut tables = vec![[0.0; 2]; tables_len(length)];
        fill_tables(length, &mut tables);
        Fourier { length, tables }
    }

    /// Numbers (f64) of the room for one signal and what the transform works in.
    pub(super) fn room(&self) -> usize {
        2 * (self.length + scratch_len(self.length))
    }

    /// Transforms the signal that `fill` writes, in `room`.
    pub(super) fn run<'r>(
        &self,
        inverse: bool,
        room: &'r mut [f64],
        fill: impl FnOnce(&mut [Complex]),
    ) -> &'r [Complex] {
        let (pairs, _) = room.as_chunks_mut::<2>();
        let length = self.length.min(pairs.len());
        let (signal, scratch) = pairs.split_at_mut(length);
        signal.fill([0.0; 2]);
        fill(signal);
        transform(&self.tables, inverse, signal, scratch);
        signal
    }
}

/// What a step transforms.
struct Job {
    fourier: Fourier,
    options: Options,
    /// Extents before and between the axis and the last one, which holds 1 or 2 numbers.
    outer: usize,
    inner: usize,
    /// Positions of the axis before and after.
    from: usize,
    to: usize,
    /// Numbers of the last axis before and after.
    parts: [usize; 2],
}

fn plan(cx: &mut PlanCx<'_>, options: Options, axis: i64) -> Result<(), PlanError> {
    let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let fail = |text: &str| PlanError::shape(format!("a transform of {shape}: {text}"));
    let rank = shape.rank();
    let parts = shape.last().copied().filter(|p| (1..=2).contains(p) && rank >= 2);
    let parts = parts.ok_or_else(|| fail("the last of at least two dimensions must be 1 or 2"))?;
    let axis = axis_of(axis, rank)?;
    if axis == rank - 1 {
        return Err(fail("the axis is that of real and imaginary parts"));
    }
    let (outer, from, inner) = around(&shape, axis);
    let halved = options.inverse && options.onesided;
    let length = match cx.has_input(1) {
        true => usize::try_from(cx.int(1)?).map_err(|_| fail("dft_length is negative"))?,
        // The even one of two signals that have so many frequencies.
        false if halved => 2 * from.saturating_sub(1),
        false => from,
    };
    if options.onesided && !options.inverse && parts == 2 {
        return Err(fail("frequencies of complex numbers have two sides"));
    }
    // More than any tensor could hold is refused before the tables are made.
    let to = if options.onesided && !options.inverse { length / 2 + 1 } else { length };
    let parts_after = if halved { 1 } else { 2 };
    let result = shape.with(axis, to)?.with(rank - 1, parts_after)?;
    let single = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let x = cx.input(0)?;
    let read = match dtype == single {
        true => x,
        false => {
            let wide = cx.temp(shape.byte_len(single));
            cast_step(cx, x, dtype, wide, single, shape.elements())?;
            cx.read_back(wide)
        }
    };
    let out = cx.output(0, result)?;
    let slot = if dtype == single { out } else { cx.temp(result.byte_len(single)) };
    // Tables are up to four times as long as the signal, whose numbers take 16 bytes there.
    cx.table(length, 2)?;
    let fourier = Fourier::new(length);
    let room = cx.temp_of::<f64>(fourier.room());
    let inner = inner / parts;
    let job = Job { fourier, options, outer, inner, from, to, parts: [parts, parts_after] };
    cx.step("dft", &[read], &[slot, room], move |a| match single {
        DType::F64 => job.run::<f64>(a),
        _ => job.run::<f32>(a),
    });
    if dtype != single {
        let wide = cx.read_back(slot);
        cast_step(cx, wide, single, out, dtype, result.elements())?;
    }
    Ok(())
}

impl Job {
    fn run<T: Element + Float>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let (x, out, room) = (a.read::<T>(0)?, a.write::<T>()?, a.write::<f64>()?);
        let [before, after] = self.parts;
        for line in 0..self.outer * self.inner {
            let (o, i) = (line / self.inner, line % self.inner);
            let input = |at: usize, part: usize| {
                let at = ((o * self.from + at) * self.inner + i) * before + part;
                if part < before { x.get(at).map_or(0.0, |x| x.wide()) } else { 0.0 }
            };
            let mirrored = self.options.inverse && self.options.onesided;
            let found = self.fourier.run(self.options.inverse, room, |signal| {
                let n = signal.len();
                for (k, slot) in signal.iter_mut().enumerate() {
                    // The second half of the frequencies of a real signal mirrors the first.
                    *slot = match mirrored && k > n / 2 {
                        true if n - k < self.from => [input(n - k, 0), -input(n - k, 1)],
                        false if k < self.from => [input(k, 0), input(k, 1)],
                        _ => [0.0; 2],
                    };
                }
            });
            for (k, pair) in found.iter().take(self.to).enumerate() {
                let at = ((o * self.to + k) * self.inner + i) * after;
                for (slot, &part) in out.iter_mut().skip(at).take(after).zip(pair) {
                    *slot = T::of(part);
                }
            }
        }
        Ok(())
    }
}

//! Operators that pick elements by value: NonZero, Compress, ReverseSequence.

use super::{axis_of, count, width_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use half::{bf16, f16};
use stead_kernels::movement::{SequenceDims, compress, count_nonzero, nonzero, reverse_sequence};
use stead_tensor::{DType, Element, MAX_RANK, Shape, Tensor};

const COUNTED: TypeSet = types::NUMERIC.or(types::BOOL);

/// NonZero, Compress, ReverseSequence.
pub const OPS: &[OpDef] = &[
    OpDef::new("NonZero", &[Param::required(0, COUNTED)], &[Out::Fixed(DType::I64)], non_zero)
        .since(9),
    OpDef::new(
        "Compress",
        &[Param::required(1, types::ANY), Param::required(0, types::BOOL)],
        &[Out::Like(0)],
        build_compress,
    )
    .since(9),
    OpDef::new(
        "ReverseSequence",
        &[Param::required(1, types::ANY), Param::required(0, types::I64_ONLY)],
        &[Out::Like(0)],
        build_reverse,
    )
    .since(10),
];

/// A function of a slice of numbers of any type.
trait OfNumbers {
    fn call<T: Element + PartialEq + Default>(&self, a: &mut Args<'_>) -> Result<(), RunError>;
}

/// Integers of the same width are zero at the same time; floats have two zeros.
fn dispatch(f: &impl OfNumbers, dtype: DType, a: &mut Args<'_>) -> Result<(), RunError> {
    match dtype {
        DType::F32 => f.call::<f32>(a),
        DType::F64 => f.call::<f64>(a),
        DType::F16 => f.call::<f16>(a),
        DType::BF16 => f.call::<bf16>(a),
        _ => match width_of(dtype) {
            1 => f.call::<u8>(a),
            2 => f.call::<u16>(a),
            4 => f.call::<u32>(a),
            _ => f.call::<u64>(a),
        },
    }
}

struct Count;

impl OfNumbers for Count {
    fn call<T: Element + PartialEq + Default>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let found = count_nonzero(a.read::<T>(0)?) as i64;
        a.write::<i64>()?.fill(found);
        Ok(())
    }
}

struct Find(Shape);

impl OfNumbers for Find {
    fn call<T: Element + PartialEq + Default>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        nonzero(a.read::<T>(0)?, &self.0, a.write::<i64>()?);
        Ok(())
    }
}

/// The number that a measuring step left.
fn measured(tensor: &Tensor) -> Result<usize, PlanError> {
    let first = tensor.as_slice::<i64>()?.first().copied().unwrap_or(0);
    super::dim_of(first)
}

fn non_zero(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let x = cx.input(0)?;
        let Some(found) = cx.measured() else {
            return Err(cx.measure("count", 1, &[x], move |a| dispatch(&Count, dtype, a)));
        };
        let slot = cx.output(0, Shape::new(&[shape.rank(), measured(&found)?])?)?;
        let find = Find(shape);
        cx.step("nonzero", &[x], &[slot], move |a| dispatch(&find, dtype, a));
        Ok(())
    })
}

fn build_compress(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int("axis")?;
    plan_fn(move |cx| {
        let (shape, mask) = (cx.shape(0)?, cx.shape(1)?);
        // Without an axis the elements are taken in row-major order.
        let (axis, seen) = match axis {
            Some(axis) => (axis_of(axis, shape.rank())?, shape),
            None => (0, Shape::new(&[shape.elements()])?),
        };
        let extent = seen[axis];
        if mask.rank() != 1 || mask[0] > extent {
            return Err(PlanError::shape(format!("a condition of {mask} for an axis of {extent}")));
        }
        let (x, condition) = (cx.input(0)?, cx.input(1)?);
        let Some(found) = cx.measured() else {
            return Err(cx.measure("count", 1, &[condition], |a| Count.call::<u8>(a)));
        };
        let block = count(&seen[axis + 1..]) * width_of(cx.dtype(0)?);
        let slot = cx.output(0, seen.with(axis, measured(&found)?)?)?;
        cx.step("compress", &[x, condition], &[slot], move |a| {
            compress(block, extent, a.read_bytes(0)?, a.read_bytes(1)?, a.write_bytes()?);
            Ok(())
        });
        Ok(())
    })
}

/// What a reversing step walks.
struct Reverse {
    dims: [usize; 2],
    strides: [isize; 2],
    inner: Vec<usize>,
    inner_strides: Vec<isize>,
}

impl Reverse {
    fn run<const W: usize>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let lens = a.read::<i64>(1)?;
        let time = self.dims[1];
        if let Some(len) = lens.iter().find(|l| !(0..=time as i64).contains(*l)) {
            return Err(RunError::value(format!("a sequence of {len} on an axis of {time}")));
        }
        let src = a.read_bytes(0)?.as_chunks::<W>().0;
        let dst = a.write_bytes()?.as_chunks_mut::<W>().0;
        let at = SequenceDims {
            dims: self.dims,
            strides: self.strides,
            inner: &self.inner,
            inner_strides: &self.inner_strides,
        };
        reverse_sequence(src, at, lens, dst);
        Ok(())
    }
}

fn build_reverse(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let batch_axis = spec.attributes().int_or("batch_axis", 1)?;
    let time_axis = spec.attributes().int_or("time_axis", 0)?;
    plan_fn(move |cx| {
        let (shape, lens) = (cx.shape(0)?, cx.shape(1)?);
        let axes = super::axes_of(&[batch_axis, time_axis], shape.rank())?;
        let (batch, time) = (axes[0], axes[1]);
        if lens.dims() != [shape[batch]] {
            return Err(PlanError::shape(format!(
                "sequence_lens of {lens} for a batch of {}",
                shape[batch]
            )));
        }
        let strides: [isize; MAX_RANK] = shape.strides();
        let others = (0..shape.rank()).filter(|axis| !axes.contains(axis));
        let reverse = Reverse {
            dims: [shape[batch], shape[time]],
            strides: [strides[batch], strides[time]],
            inner: others.clone().map(|axis| shape[axis]).collect(),
            inner_strides: others.map(|axis| strides[axis]).collect(),
        };
        let width = width_of(cx.dtype(0)?);
        let operands = [cx.input(0)?, cx.input(1)?];
        let slot = cx.output(0, shape)?;
        cx.step("reverse", &operands, &[slot], move |a| match width {
            1 => reverse.run::<1>(a),
            2 => reverse.run::<2>(a),
            4 => reverse.run::<4>(a),
            8 => reverse.run::<8>(a),
            _ => reverse.run::<16>(a),
        });
        Ok(())
    })
}

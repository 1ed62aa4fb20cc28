//! ScatterElements (Scatter until opset 10) and ScatterND.

use super::gather::{NdPlan, check_elements};
use super::{axis_of, count, out_of_range, width_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use half::{bf16, f16};
use stead_kernels::movement::{Combine, ElementIndex, OutOfRange, Reduction};
use stead_kernels::movement::{scatter_elements, scatter_nd};
use stead_tensor::{DType, Element, Shape};

const DATA: Param = Param::required(1, TYPES);
const TYPES: super::super::TypeSet = types::NUMERIC.or(types::BOOL);
const INDICES: Param = Param::required(0, types::INDEX);
const WIDE: Param = Param::required(0, types::I64_ONLY);

/// Scatter, ScatterElements, ScatterND.
pub const OPS: &[OpDef] = &[
    OpDef::new("Scatter", &[DATA, INDICES, DATA], &[Out::Like(0)], elements).since(9),
    OpDef::new("ScatterElements", &[DATA, INDICES, DATA], &[Out::Like(0)], elements).since(11),
    OpDef::new("ScatterND", &[DATA, WIDE, DATA], &[Out::Like(0)], blocks).since(11),
];

/// Reads the attribute; booleans know no sums.
fn reduction(spec: &NodeSpec<'_>) -> Result<Reduction, BuildError> {
    let name = spec.attributes().string_or("reduction", "none")?;
    Ok(match name {
        "none" => Reduction::Replace,
        _ if spec.dtype()? == DType::Bool => {
            return Err(BuildError::unsupported(format!("reduction \"{name}\" of bool")));
        }
        "add" => Reduction::Add,
        "mul" => Reduction::Mul,
        "max" => Reduction::Max,
        "min" => Reduction::Min,
        other => return Err(BuildError::unsupported(format!("reduction \"{other}\""))),
    })
}

/// What a scatter step does once the types are known.
trait Scatter {
    fn run<T: Element + Combine>(&self, a: &mut Args<'_>) -> Result<(), RunError>;
}

/// Calls it for the element type: without a reduction only the width counts.
fn dispatch(
    s: &impl Scatter,
    dtype: DType,
    reduction: Reduction,
    a: &mut Args<'_>,
) -> Result<(), RunError> {
    if reduction == Reduction::Replace {
        return match width_of(dtype) {
            1 => s.run::<u8>(a),
            2 => s.run::<u16>(a),
            4 => s.run::<u32>(a),
            _ => s.run::<u64>(a),
        };
    }
    match dtype {
        DType::F32 => s.run::<f32>(a),
        DType::F64 => s.run::<f64>(a),
        DType::F16 => s.run::<f16>(a),
        DType::BF16 => s.run::<bf16>(a),
        DType::I8 => s.run::<i8>(a),
        DType::I16 => s.run::<i16>(a),
        DType::I32 => s.run::<i32>(a),
        DType::I64 => s.run::<i64>(a),
        DType::U8 => s.run::<u8>(a),
        DType::U16 => s.run::<u16>(a),
        DType::U32 => s.run::<u32>(a),
        DType::U64 => s.run::<u64>(a),
        _ => Err(RunError::Internal("a scatter of a type without numbers")),
    }
}

struct Elements {
    data: Shape,
    indices: Shape,
    axis: usize,
    wide: bool,
    reduction: Reduction,
}

impl Scatter for Elements {
    fn run<T: Element + Combine>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let (data, updates, dst) = (a.read::<T>(0)?, a.read::<T>(2)?, a.write::<T>()?);
        dst.copy_from_slice(data);
        let strides = self.data.strides();
        let (dims, axis) = (&self.indices[..], self.axis);
        let limit = self.data.get(axis).copied().unwrap_or(0);
        let at = ElementIndex { dims, strides: &strides, axis, limit };
        let done: Result<(), OutOfRange> = match self.wide {
            true => scatter_elements(at, a.read::<i64>(1)?, updates, self.reduction, dst),
            false => scatter_elements(at, a.read::<i32>(1)?, updates, self.reduction, dst),
        };
        done.map_err(out_of_range)
    }
}

fn elements(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", 0)?;
    let reduction = reduction(spec)?;
    plan_fn(move |cx| {
        let (data, indices, updates) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
        let axis = axis_of(axis, data.rank())?;
        check_elements(&data, &indices, axis)?;
        if indices != updates {
            return Err(PlanError::shape(format!(
                "updates of shape {updates} for indices of shape {indices}"
            )));
        }
        let (dtype, wide) = (cx.dtype(0)?, cx.dtype(1)? == DType::I64);
        let operands = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
        let slot = cx.output(0, data)?;
        let scatter = Elements { data, indices, axis, wide, reduction };
        cx.step("scatter elements", &operands, &[slot], move |a| {
            dispatch(&scatter, dtype, reduction, a)
        });
        Ok(())
    })
}

struct Tuples {
    plan: NdPlan,
    reduction: Reduction,
}

impl Scatter for Tuples {
    fn run<T: Element + Combine>(&self, a: &mut Args<'_>) -> Result<(), RunError> {
        let (data, updates, dst) = (a.read::<T>(0)?, a.read::<T>(2)?, a.write::<T>()?);
        dst.copy_from_slice(data);
        let (block, index) = (count(&self.plan.block), self.plan.index());
        let indices = a.read::<i64>(1)?;
        scatter_nd(block, index, self.plan.count, indices, updates, self.reduction, dst)
            .map_err(out_of_range)
    }
}

fn blocks(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let reduction = reduction(spec)?;
    plan_fn(move |cx| {
        let (data, indices, updates) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
        let plan = NdPlan::new(&data, &indices, 0)?;
        let tuples = &indices[..indices.rank().saturating_sub(1)];
        if Shape::new(&[tuples, &plan.block].concat())? != updates {
            return Err(PlanError::shape(format!(
                "updates of shape {updates} for indices {indices} into data {data}"
            )));
        }
        let dtype = cx.dtype(0)?;
        let operands = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
        let slot = cx.output(0, data)?;
        let scatter = Tuples { plan, reduction };
        cx.step("scatter blocks", &operands, &[slot], move |a| {
            dispatch(&scatter, dtype, reduction, a)
        });
        Ok(())
    })
}

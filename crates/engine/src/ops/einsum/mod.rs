//! Einsum: operands are contracted one after the other, as matrix products where they are such.

use super::{Args, NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn};
use crate::error::{BuildError, PlanError, RunError};
use half::{bf16, f16};
use parse::{Equation, Label};
use stead_kernels::contract::{Contraction, Strides, Term, contract};
use stead_tensor::DType::{BF16, F16, F32, F64, I32, I64};
use stead_tensor::{DType, Element, Shape};

mod parse;
mod product;

const TYPES: TypeSet = TypeSet::of(&[F32, F64, F16, BF16, I32, I64]);

/// Einsum.
pub const OPS: &[OpDef] =
    &[OpDef::new("Einsum", &[Param::variadic(1, TYPES)], &[Out::Like(0)], build).since(12)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let text = attributes.string("equation")?.ok_or_else(|| attributes.missing("equation"))?;
    let equation = Equation::parse(text, spec.input_count())?;
    plan_fn(move |cx| plan(cx, &equation))
}

/// An operand, or the product of some, with the label, extent and stride of each dimension.
#[derive(Clone)]
struct Factor {
    operand: Operand,
    offset: usize,
    axes: Vec<Axis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    label: Label,
    dim: usize,
    stride: isize,
}

impl Factor {
    /// Input `index`: a label that stands twice walks the diagonal.
    fn input(cx: &PlanCx<'_>, index: usize, labels: &[Label]) -> Result<Factor, PlanError> {
        let (shape, lies) = (cx.shape(index)?, cx.strided(index)?);
        let mut axes: Vec<Axis> = Vec::with_capacity(labels.len());
        for ((&label, &dim), &stride) in labels.iter().zip(shape.iter()).zip(&lies.strides) {
            match axes.iter_mut().find(|axis| axis.label == label) {
                Some(axis) if axis.dim == dim => axis.stride += stride,
                Some(_) => {
                    return Err(PlanError::shape(format!(
                        "operand {index} of shape {shape} has no diagonal"
                    )));
                }
                None => axes.push(Axis { label, dim, stride }),
            }
        }
        Ok(Factor { operand: lies.operand, offset: lies.offset, axes })
    }

    fn axis(&self, label: Label) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.label == label)
    }

    /// The stride along a label; 0 where the dimension is absent or repeated.
    fn stride(&self, label: Label) -> isize {
        self.axis(label).filter(|axis| axis.dim != 1).map_or(0, |axis| axis.stride)
    }
}

fn plan(cx: &mut PlanCx<'_>, equation: &Equation) -> Result<(), PlanError> {
    let count = cx.input_count();
    let ranks =
        (0..count).map(|i| Ok(cx.shape(i)?.rank())).collect::<Result<Vec<_>, PlanError>>()?;
    let (labels, output) = equation.labels(&ranks)?;
    let mut done: Option<Factor> = None;
    for (index, own) in labels.iter().enumerate() {
        let next = Factor::input(cx, index, own)?;
        let last = index + 1 == count;
        if !last && done.is_none() {
            done = Some(next);
            continue;
        }
        // What neither the output nor a later operand has is summed over now.
        let mut keep = output.clone();
        if !last {
            let later: Vec<Label> = labels[index + 1..].concat();
            let mut seen: Vec<Label> = Vec::new();
            let both = done.iter().flat_map(|f| &f.axes).chain(&next.axes).map(|axis| axis.label);
            for label in both {
                if (output.contains(&label) || later.contains(&label)) && !seen.contains(&label) {
                    seen.push(label);
                }
            }
            keep = seen;
        }
        let (first, second) = match done.take() {
            Some(first) => (first, Some(next)),
            None => (next, None),
        };
        done = Some(contraction(cx, first, second, &keep, last)?);
    }
    Ok(())
}

/// The extent of a label: operands of extent 1 are repeated.
fn extent(label: Label, a: &Factor, b: Option<&Factor>) -> Result<usize, PlanError> {
    let dim = |factor: &Factor| factor.axis(label).map_or(1, |axis| axis.dim);
    match (dim(a), b.map_or(1, dim)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        (x, y) => Err(PlanError::shape(format!("a label stands for extents of {x} and {y}"))),
    }
}

/// Multiplies two factors, or takes one alone, and sums over every label but `keep`. The last one goes to
/// the output of the node.
fn contraction(
    cx: &mut PlanCx<'_>,
    a: Factor,
    b: Option<Factor>,
    keep: &[Label],
    last: bool,
) -> Result<Factor, PlanError> {
    let dtype = cx.dtype(0)?;
    let mut summed: Vec<Label> = Vec::new();
    for axis in a.axes.iter().chain(b.iter().flat_map(|b| &b.axes)) {
        if !keep.contains(&axis.label) && !summed.contains(&axis.label) {
            summed.push(axis.label);
        }
    }
    let extents = |labels: &[Label]| {
        labels.iter().map(|&l| extent(l, &a, b.as_ref())).collect::<Result<Vec<_>, _>>()
    };
    let (out, sum) = (extents(keep)?, extents(&summed)?);
    let shape = Shape::new(&out)?;
    let slot = if last { cx.output(0, shape)? } else { cx.temp(shape.byte_len(dtype)) };
    let strides = shape.strides();
    let axes = keep.iter().zip(&out).zip(&strides);
    let axes = axes.map(|((&label, &dim), &stride)| Axis { label, dim, stride }).collect();
    let operand = cx.read_back(slot);
    if let (DType::F32, Some(b)) = (dtype, &b)
        && product::emit(cx, &a, b, keep, &summed, slot)?
    {
        return Ok(Factor { operand, offset: 0, axes });
    }
    plain(cx, dtype, &a, b.as_ref(), (keep, &summed), (out, sum), slot);
    Ok(Factor { operand, offset: 0, axes })
}

fn plain(
    cx: &mut PlanCx<'_>,
    dtype: DType,
    a: &Factor,
    b: Option<&Factor>,
    (keep, summed): (&[Label], &[Label]),
    (out, sum): (Vec<usize>, Vec<usize>),
    slot: Slot,
) {
    let list = |factor: Option<&Factor>, labels: &[Label]| -> Vec<isize> {
        labels.iter().map(|&l| factor.map_or(0, |f| f.stride(l))).collect()
    };
    let (a_out, a_sum) = (list(Some(a), keep), list(Some(a), summed));
    let (b_out, b_sum) = (list(b, keep), list(b, summed));
    let (a_offset, b_offset) = (a.offset, b.map_or(0, |b| b.offset));
    let mut reads = vec![a.operand.clone()];
    reads.extend(b.map(|b| b.operand.clone()));
    let two = b.is_some();
    cx.step("einsum", &reads, &[slot], move |args| {
        let c = Contraction {
            out: &out,
            sum: &sum,
            a: Strides { offset: a_offset, out: &a_out, sum: &a_sum },
            b: Strides { offset: b_offset, out: &b_out, sum: &b_sum },
        };
        match dtype {
            F32 => run::<f32>(args, &c, two),
            F64 => run::<f64>(args, &c, two),
            F16 => run::<f16>(args, &c, two),
            BF16 => run::<bf16>(args, &c, two),
            I32 => run::<i32>(args, &c, two),
            _ => run::<i64>(args, &c, two),
        }
    });
}

fn run<T: Element + Term>(
    a: &mut Args<'_>,
    c: &Contraction<'_>,
    two: bool,
) -> Result<(), RunError> {
    let second = if two { Some(a.read::<T>(1)?) } else { None };
    contract(c, a.read::<T>(0)?, second, a.write::<T>()?);
    Ok(())
}

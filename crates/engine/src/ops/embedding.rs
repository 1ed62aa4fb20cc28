//! Normalised sums of embeddings: rows picked from tables, which are added and normalised in one step.

use super::broadcasting::{aligned, broadcast_shape};
use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, plan_fn, types};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::movement::out_of_range;
use crate::plan::Args;
use stead_kernels::broadcast::Broadcast;
use stead_kernels::norm::{Embedding, Picked, norm_embeddings};
use stead_tensor::{DType, MAX_RANK, Shape};

/// Where the operands of the sum begin: each is a table and the indices of its rows.
const FIRST: usize = 2;
const TABLE: Param = Param::optional(1, types::F32_ONLY);
const INDICES: Param = Param::optional(0, types::INDEX);

/// Inputs scale and bias `[width]` of the normalisation, which may be left out, and two or three operands: a table
/// `[rows, width]` with indices of any shape, or a tensor `[..., width]` without indices. Their rows are added, stretched to
/// one shape, and the sums are normalised as LayerNormalization does with attribute `epsilon`.
pub const OPS: &[OpDef] = &[OpDef::new(
    "EmbeddingNormalization",
    &[TABLE, TABLE, Param::required(1, types::F32_ONLY), INDICES, TABLE, INDICES, TABLE, INDICES],
    &[Out::Like(2)],
    build,
)
.domain("stead")];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let epsilon = spec.attributes().float_or("epsilon", 1e-5)?;
    plan_fn(move |cx| match cx.has_input(FIRST + 4) {
        true => plan::<3>(cx, epsilon),
        false => plan::<2>(cx, epsilon),
    })
}

/// How one operand of the sum is read.
#[derive(Clone, Copy)]
struct Addend {
    /// The position of the table among the operands of the step; its indices come next.
    table: usize,
    elements: usize,
    /// The type of the indices, where there are such.
    indices: Option<DType>,
}

impl Addend {
    fn read<'a>(&self, args: &Args<'a>) -> Result<Embedding<'a>, RunError> {
        let picked = match self.indices {
            None => Picked::All,
            Some(DType::I32) => Picked::I32(args.read(self.table + 1)?),
            Some(_) => Picked::I64(args.read(self.table + 1)?),
        };
        Ok(Embedding { table: &args.read(self.table)?[..self.elements], picked })
    }
}

fn plan<const N: usize>(cx: &mut PlanCx<'_>, epsilon: f32) -> Result<(), PlanError> {
    let mut reads = vec![];
    let mut shapes = [Shape::SCALAR; N];
    let mut addends = [Addend { table: 0, elements: 0, indices: None }; N];
    for (k, (shape, addend)) in shapes.iter_mut().zip(&mut addends).enumerate() {
        let at = FIRST + 2 * k;
        let table = cx.shape(at)?;
        *addend = Addend { table: reads.len(), elements: table.elements(), indices: None };
        reads.push(cx.input(at)?);
        *shape = table;
        if cx.has_input(at + 1) {
            let indices = cx.shape(at + 1)?;
            addend.indices = Some(cx.dtype(at + 1)?);
            reads.push(cx.input(at + 1)?);
            *shape = Shape::new(&[&indices[..], &table[1..]].concat())?;
        }
    }
    let width = shapes[0].last().copied().unwrap_or(0);
    if let Some(other) = shapes.iter().find(|shape| shape.last() != Some(&width)) {
        return Err(PlanError::shape(format!("cannot add {other} to rows of {width}")));
    }
    let out = shapes[1..].iter().try_fold(shapes[0], |all, next| broadcast_shape(&all, next))?;
    let vectors = affine(cx, width, &mut reads)?;
    let meet = rows_that_meet(&shapes, &out)?;
    let slot = cx.output(0, out)?;
    cx.step("embedding norm", &reads, &[slot], move |args| {
        let mut all = [Embedding { table: &[], picked: Picked::All }; N];
        for (read, addend) in all.iter_mut().zip(&addends) {
            *read = addend.read(args)?;
        }
        let vector = |at: Option<usize>| match at {
            Some(at) => args.read::<f32>(at).map(|vector| Some(&vector[..width])),
            None => Ok(None),
        };
        let (scale, bias) = (vector(vectors[0])?, vector(vectors[1])?);
        let dst = &mut args.write::<f32>()?[..out.elements()];
        let (isa, par) = (args.isa, args.parallel);
        norm_embeddings(isa, par, width, all, &meet, scale, bias, epsilon, dst)
            .map_err(out_of_range)
    });
    Ok(())
}

/// Scale and bias as operands of the step: where they are among them.
fn affine(
    cx: &mut PlanCx<'_>,
    width: usize,
    reads: &mut Vec<Operand>,
) -> Result<[Option<usize>; 2], PlanError> {
    let mut found = [None; 2];
    for (index, at) in found.iter_mut().enumerate() {
        if !cx.has_input(index) {
            continue;
        }
        let shape = cx.shape(index)?;
        if shape.elements() != width {
            let what = format!("input {index}: {width} numbers expected, got {shape}");
            return Err(PlanError::shape(what));
        }
        *at = Some(reads.len());
        reads.push(cx.input(index)?);
    }
    Ok(found)
}

/// Which rows of operands of `shapes`, none of them a scalar, meet in each row of `out`.
fn rows_that_meet<const N: usize>(
    shapes: &[Shape; N],
    out: &Shape,
) -> Result<Broadcast<N>, PlanError> {
    let outer = |shape: &Shape| Shape::new(&shape[..shape.rank().saturating_sub(1)]);
    let dims = outer(out)?;
    let mut strides = [[0isize; MAX_RANK]; N];
    for (strides, shape) in strides.iter_mut().zip(shapes) {
        let rows = outer(shape)?;
        *strides = aligned(&rows, &rows.strides(), &dims)?;
    }
    Ok(Broadcast::new(&dims, std::array::from_fn(|k| &strides[k][..]), [0; N]))
}

//! Gather, GatherElements, GatherND.

use super::{axis_of, count, out_of_range, width_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::movement::{ElementIndex, NdIndex, gather, gather_elements, gather_nd};
use stead_tensor::{DType, Shape};

const DATA: Param = Param::required(1, types::ANY);
const INDICES: Param = Param::required(0, types::INDEX);

/// Gather, GatherElements, GatherND.
pub const OPS: &[OpDef] = &[
    OpDef::new("Gather", &[DATA, INDICES], &[Out::Like(0)], build_gather),
    OpDef::new("GatherElements", &[DATA, INDICES], &[Out::Like(0)], build_elements).since(11),
    OpDef::new("GatherND", &[DATA, Param::required(0, types::I64_ONLY)], &[Out::Like(0)], build_nd)
        .since(11),
];

fn build_gather(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", 0)?;
    plan_fn(move |cx| {
        let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
        let axis = axis_of(axis, data.rank())?;
        let dims = [&data[..axis], &indices[..], &data[axis + 1..]].concat();
        let shape = Shape::new(&dims)?;
        if picked_view(cx, axis, shape)? {
            return Ok(());
        }
        let limit = data[axis];
        let block = count(&data[axis + 1..]) * width_of(cx.dtype(0)?);
        let wide = cx.dtype(1)? == DType::I64;
        let operands = [cx.input(0)?, cx.input(1)?];
        let slot = cx.output(0, shape)?;
        cx.step("gather", &operands, &[slot], move |a| {
            let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
            match wide {
                true => gather(block, limit, src, a.read::<i64>(1)?, dst),
                false => gather(block, limit, src, a.read::<i32>(1)?, dst),
            }
            .map_err(out_of_range)
        });
        Ok(())
    })
}

/// Indices whose values are known and lie evenly make a view; tells whether they did.
fn picked_view(cx: &mut PlanCx<'_>, axis: usize, shape: Shape) -> Result<bool, PlanError> {
    let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
    let along = indices.iter().position(|&n| n > 1);
    let is_line = indices.iter().filter(|&&n| n > 1).count() <= 1;
    if !is_line || shape.elements() == 0 || shape.rank() > stead_tensor::MAX_RANK {
        return Ok(false);
    }
    let Ok(given) = cx.ints(1) else { return Ok(false) };
    let Some((first, step)) = line(&given, data[axis]) else { return Ok(false) };
    let lies = cx.strided(0)?;
    let offset = lies.offset as isize + first as isize * lies.strides[axis];
    let mut strides = [0isize; stead_tensor::MAX_RANK];
    let outer = lies.strides[..axis].iter().copied();
    let inner = lies.strides[axis + 1..data.rank()].iter().copied();
    let stride = |at: usize| if Some(at) == along { step * lies.strides[axis] } else { 0 };
    let all = outer.chain((0..indices.rank()).map(stride)).chain(inner);
    strides.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    cx.alias_view(0, 0, shape, offset as usize, strides)?;
    Ok(true)
}

/// The first of some positions on an axis of `dim`, and the same distance from each to the next; `None` where they do
/// not lie evenly or out of range.
fn line(indices: &[i64], dim: usize) -> Option<(usize, isize)> {
    let dim = dim as i64;
    let wrap = |v: i64| if v < 0 { v.saturating_add(dim) } else { v };
    if indices.iter().any(|v| !(0..dim).contains(&wrap(*v))) {
        return None;
    }
    let first = wrap(*indices.first()?);
    let step = indices.get(1).map_or(0, |second| wrap(*second) - first);
    let even = indices.windows(2).all(|pair| wrap(pair[1]) - wrap(pair[0]) == step);
    even.then_some((first as usize, step as isize))
}

/// Checks an index tensor with as many dimensions as the data, none of them longer but that of the axis.
pub(super) fn check_elements(data: &Shape, indices: &Shape, axis: usize) -> Result<(), PlanError> {
    let fits = data.rank() == indices.rank()
        && (0..data.rank()).all(|a| a == axis || indices[a] <= data[a]);
    if fits {
        return Ok(());
    }
    Err(PlanError::shape(format!("indices of shape {indices} do not fit data of shape {data}")))
}

fn build_elements(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", 0)?;
    plan_fn(move |cx| {
        let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
        let axis = axis_of(axis, data.rank())?;
        check_elements(&data, &indices, axis)?;
        let (strides, limit) = (data.strides(), data[axis]);
        let width = width_of(cx.dtype(0)?);
        let wide = cx.dtype(1)? == DType::I64;
        let operands = [cx.input(0)?, cx.input(1)?];
        let slot = cx.output(0, indices)?;
        cx.step("gather elements", &operands, &[slot], move |a| {
            let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
            let at = ElementIndex { dims: &indices, strides: &strides, axis, limit };
            match wide {
                true => gather_elements(width, src, at, a.read::<i64>(1)?, dst),
                false => gather_elements(width, src, at, a.read::<i32>(1)?, dst),
            }
            .map_err(out_of_range)
        });
        Ok(())
    })
}

/// How the tuples of an index tensor name blocks of the data.
pub(super) struct NdPlan {
    limits: Vec<usize>,
    strides: Vec<usize>,
    per_batch: usize,
    batch_stride: usize,
    /// The number of tuples.
    pub count: usize,
    /// The dimensions of one block.
    pub block: Vec<usize>,
}

impl NdPlan {
    /// The plan for `batch_dims` dimensions that data and indices have in common.
    pub fn new(data: &Shape, indices: &Shape, batch_dims: usize) -> Result<NdPlan, PlanError> {
        let fail =
            || PlanError::shape(format!("indices of shape {indices} do not fit data {data}"));
        let (&width, tuples) = indices.split_last().ok_or_else(fail)?;
        let inner = batch_dims.checked_add(width).ok_or_else(fail)?;
        if inner > data.rank()
            || batch_dims > tuples.len()
            || data[..batch_dims] != tuples[..batch_dims]
        {
            return Err(fail());
        }
        let limits = data[batch_dims..inner].to_vec();
        let mut strides = vec![1; width];
        for i in (1..width).rev() {
            strides[i - 1] = strides[i] * limits[i];
        }
        Ok(NdPlan {
            strides,
            per_batch: count(&tuples[batch_dims..]),
            batch_stride: count(&limits),
            limits,
            count: count(tuples),
            block: data[inner..].to_vec(),
        })
    }

    /// The plan as the kernels take it.
    pub fn index(&self) -> NdIndex<'_> {
        NdIndex {
            limits: &self.limits,
            strides: &self.strides,
            per_batch: self.per_batch,
            batch_stride: self.batch_stride,
        }
    }
}

fn build_nd(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let batch_dims = spec.attributes().int_or("batch_dims", 0)?;
    let batch_dims = usize::try_from(batch_dims)
        .map_err(|_| BuildError::unsupported(format!("batch_dims {batch_dims}")))?;
    plan_fn(move |cx| {
        let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
        let plan = NdPlan::new(&data, &indices, batch_dims)?;
        let tuples = &indices[..indices.rank().saturating_sub(1)];
        let shape = Shape::new(&[tuples, &plan.block].concat())?;
        let block = count(&plan.block) * width_of(cx.dtype(0)?);
        let operands = [cx.input(0)?, cx.input(1)?];
        let slot = cx.output(0, shape)?;
        cx.step("gather blocks", &operands, &[slot], move |a| {
            let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
            gather_nd(block, src, plan.index(), plan.count, a.read::<i64>(1)?, dst)
                .map_err(out_of_range)
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn lines_of_indices() {
        let cases: [(&str, &[i64], usize, Option<(usize, isize)>); 9] = [
            ("one", &[2], 5, Some((2, 0))),
            ("from the end", &[-1], 5, Some((4, 0))),
            ("all", &[0, 1, 2], 3, Some((0, 1))),
            ("backwards", &[2, 1, 0], 3, Some((2, -1))),
            ("every other, counted from the end", &[-4, -2], 4, Some((0, 2))),
            ("the same", &[1, 1, 1], 3, Some((1, 0))),
            ("uneven", &[0, 1, 3], 4, None),
            ("out of range", &[0, 1, 2], 2, None),
            ("far out of range", &[i64::MIN, i64::MAX], 2, None),
        ];
        for (label, indices, dim, expected) in cases {
            assert_eq!(line(indices, dim), expected, "{label}");
        }
    }
}

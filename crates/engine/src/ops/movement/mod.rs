//! Operators that move elements without looking at them: views where strides allow, copies otherwise.

use super::OpDef;
use crate::error::{PlanError, RunError};
pub(super) use generate::{Number, number};
use stead_kernels::movement::OutOfRange;
use stead_tensor::{DType, MAX_RANK};

mod cache;
mod concat;
mod constant;
mod crop;
mod dropout;
mod expand;
mod gather;
mod generate;
mod one_hot;
mod pad;
mod reshape;
mod scatter;
mod select;
mod slice;
mod space;
mod split;
mod transpose;

pub(in crate::ops) use concat::concatenate;
pub(in crate::ops) use reshape::{reshape_target, split_strides};

/// The tables of this folder.
pub const TABLES: [&[OpDef]; 17] = [
    cache::OPS,
    concat::OPS,
    constant::OPS,
    crop::OPS,
    dropout::OPS,
    expand::OPS,
    gather::OPS,
    generate::OPS,
    one_hot::OPS,
    pad::OPS,
    reshape::OPS,
    scatter::OPS,
    select::OPS,
    slice::OPS,
    space::OPS,
    split::OPS,
    transpose::OPS,
];

/// An axis of a tensor of this rank; a negative one counts from the end.
pub(in crate::ops) fn axis_of(axis: i64, rank: usize) -> Result<usize, PlanError> {
    let wrapped = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    if (0..rank as i64).contains(&wrapped) {
        Ok(wrapped as usize)
    } else {
        Err(PlanError::shape(format!("axis {axis} is out of range for rank {rank}")))
    }
}

/// A list of different axes of a tensor of this rank.
fn axes_of(axes: &[i64], rank: usize) -> Result<Vec<usize>, PlanError> {
    let mut found = Vec::with_capacity(axes.len());
    for &axis in axes {
        let axis = axis_of(axis, rank)?;
        if found.contains(&axis) {
            return Err(PlanError::shape(format!("axis {axis} is given twice")));
        }
        found.push(axis);
    }
    Ok(found)
}

/// A dimension from a value that the model computed.
pub(in crate::ops) fn dim_of(value: i64) -> Result<usize, PlanError> {
    usize::try_from(value).map_err(|_| PlanError::shape(format!("a dimension of {value}")))
}

/// Bytes of an element; types without whole bytes are not in the tables of this folder.
fn width_of(dtype: DType) -> usize {
    dtype.size().max(1)
}

/// The product of some dimensions. It cannot overflow: the shape that they come from was checked.
fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The error of a run that met an index outside of its axis.
pub(super) fn out_of_range(error: OutOfRange) -> RunError {
    let OutOfRange { index, limit } = error;
    RunError::value(format!("index {index} is out of range for an axis of {limit}"))
}

/// Strides of a row-major tensor with some of them replaced.
fn permuted(strides: &[isize; MAX_RANK], order: &[usize]) -> [isize; MAX_RANK] {
    let mut permuted = [0; MAX_RANK];
    for (to, &from) in permuted.iter_mut().zip(order) {
        *to = strides[from];
    }
    permuted
}

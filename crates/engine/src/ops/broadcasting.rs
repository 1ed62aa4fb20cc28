//! Shapes of operands that are broadcast against each other.

use super::{Operand, PlanCx};
use crate::error::PlanError;
use stead_kernels::broadcast::Broadcast;
use stead_tensor::{MAX_RANK, Shape};

/// The shape that two shapes broadcast to, after NumPy's rules.
///
/// # Errors
/// [`PlanError::Shape`] that names both when they do not fit.
pub(super) fn broadcast_shape(a: &Shape, b: &Shape) -> Result<Shape, PlanError> {
    let rank = a.rank().max(b.rank());
    let mut dims = [1; MAX_RANK];
    for (i, dim) in dims[..rank].iter_mut().enumerate() {
        let extent = |s: &Shape| (i + s.rank()).checked_sub(rank).map_or(1, |axis| s[axis]);
        *dim = match (extent(a), extent(b)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return Err(PlanError::shape(format!("cannot broadcast {a} with {b}"))),
        };
    }
    Ok(Shape::new(&dims[..rank])?)
}

/// The shape that all inputs of a node broadcast to.
///
/// # Errors
/// As [`broadcast_shape`].
pub(super) fn broadcast_inputs(cx: &PlanCx<'_>) -> Result<Shape, PlanError> {
    (1..cx.input_count()).try_fold(cx.shape(0)?, |all, i| broadcast_shape(&all, &cx.shape(i)?))
}

/// How the inputs with these numbers meet in a result of shape `out`, and their bytes. Inputs are taken as
/// they lie where their rows have a stride of 0 or 1, and are copied row-major else.
///
/// # Errors
/// [`PlanError::Shape`] when an input does not broadcast to `out`.
pub(super) fn operands<const N: usize>(
    cx: &mut PlanCx<'_>,
    inputs: [usize; N],
    out: &Shape,
) -> Result<(Broadcast<N>, [Operand; N]), PlanError> {
    let mut strides = [[0isize; MAX_RANK]; N];
    let mut offsets = [0; N];
    let mut operands = Vec::with_capacity(N);
    for (k, &input) in inputs.iter().enumerate() {
        let shape = cx.shape(input)?;
        let lies = cx.strided(input)?;
        strides[k] = aligned(&shape, &lies.strides, out)?;
        offsets[k] = lies.offset;
        operands.push(lies.operand);
    }
    let plan = |strides: &[[isize; MAX_RANK]; N], offsets| {
        Broadcast::new(out, std::array::from_fn(|k| &strides[k][..]), offsets)
    };
    let mut result = plan(&strides, offsets);
    if result.row_strides().iter().any(|s| ![0, 1].contains(s)) {
        for (k, &input) in inputs.iter().enumerate() {
            if ![0, 1].contains(&result.row_strides()[k]) {
                let shape = cx.shape(input)?;
                operands[k] = cx.input(input)?;
                strides[k] = aligned(&shape, &shape.strides(), out)?;
                offsets[k] = 0;
            }
        }
        result = plan(&strides, offsets);
    }
    let operands = operands
        .try_into()
        .map_err(|_| PlanError::shape("as many operands as inputs are expected"))?;
    Ok((result, operands))
}

/// The strides of a tensor along the dimensions of `out`, 0 where it is broadcast.
pub(super) fn aligned(
    shape: &Shape,
    strides: &[isize; MAX_RANK],
    out: &Shape,
) -> Result<[isize; MAX_RANK], PlanError> {
    let fail = || PlanError::shape(format!("cannot broadcast {shape} to {out}"));
    let lead = out.rank().checked_sub(shape.rank()).ok_or_else(fail)?;
    let mut result = [0; MAX_RANK];
    for (axis, (&extent, &stride)) in shape.iter().zip(strides).enumerate() {
        if extent == out[lead + axis] {
            result[lead + axis] = stride;
        } else if extent != 1 {
            return Err(fail());
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_right() {
        let cases: [(&[usize], &[usize], Option<&[usize]>); 7] = [
            (&[2, 3], &[3], Some(&[2, 3])),
            (&[], &[4, 1], Some(&[4, 1])),
            (&[3, 1], &[1, 4], Some(&[3, 4])),
            (&[0], &[1], Some(&[0])),
            (&[1, 0], &[5, 1], Some(&[5, 0])),
            (&[0], &[2], None),
            (&[2, 3], &[2], None),
        ];
        for (a, b, expected) in cases {
            let shape = |dims| Shape::new(dims).unwrap();
            let got = broadcast_shape(&shape(a), &shape(b)).ok();
            assert_eq!(got.as_deref(), expected, "{a:?} {b:?}");
        }
    }
}

//! Split: views of parts along an axis.

use super::{axis_of, dim_of};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};

const SPLIT: Param = Param::optional(0, types::I64_ONLY);

/// Split.
pub const OPS: &[OpDef] = &[
    OpDef::new("Split", &[Param::required(1, types::ANY)], &[Out::Like(0)], split)
        .variadic_outputs()
        .until(12),
    OpDef::new("Split", &[Param::required(1, types::ANY), SPLIT], &[Out::Like(0)], split)
        .variadic_outputs()
        .since(13),
];

fn split(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let axis = attributes.int_or("axis", 0)?;
    let sizes = attributes.ints("split")?.map(<[i64]>::to_vec);
    let outputs = spec.output_count();
    // Only since opset 18 may the last part be smaller.
    let ragged = spec.opset() >= 18;
    if let Some(n) = attributes.int("num_outputs")?
        && n != outputs as i64
    {
        return Err(BuildError::unsupported(format!(
            "num_outputs is {n} but the node has {outputs} outputs"
        )));
    }
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let axis = axis_of(axis, shape.rank())?;
        let sizes = match &sizes {
            Some(sizes) => check(sizes, outputs, shape[axis])?,
            None if cx.has_input(1) => check(&cx.ints(1)?, outputs, shape[axis])?,
            None => equal_parts(shape[axis], outputs, ragged)?,
        };
        emit(cx, axis, &sizes)
    })
}

fn check(sizes: &[i64], outputs: usize, dim: usize) -> Result<Vec<usize>, PlanError> {
    let fail = || PlanError::shape(format!("an axis of {dim} cannot be split into {sizes:?}"));
    let parts = sizes.iter().map(|&s| dim_of(s)).collect::<Result<Vec<_>, _>>()?;
    let total = parts.iter().try_fold(0usize, |sum, &s| sum.checked_add(s));
    if total != Some(dim) || parts.len() != outputs { Err(fail()) } else { Ok(parts) }
}

fn equal_parts(dim: usize, outputs: usize, ragged: bool) -> Result<Vec<usize>, PlanError> {
    if !ragged && !dim.is_multiple_of(outputs.max(1)) {
        return Err(PlanError::shape(format!(
            "an axis of {dim} cannot be split into {outputs} equal parts"
        )));
    }
    let part = dim.div_ceil(outputs.max(1));
    Ok((0..outputs).map(|i| dim.saturating_sub(i * part).min(part)).collect())
}

fn emit(cx: &mut PlanCx<'_>, axis: usize, sizes: &[usize]) -> Result<(), PlanError> {
    let shape = cx.shape(0)?;
    let lies = cx.strided(0)?;
    let mut at = 0;
    for (output, &size) in sizes.iter().enumerate() {
        let part = shape.with(axis, size)?;
        let offset = match part.elements() {
            0 => 0,
            _ => (lies.offset as isize + at as isize * lies.strides[axis]) as usize,
        };
        cx.alias_view(output, 0, part, offset, lies.strides)?;
        at += size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_split() {
        assert_eq!(equal_parts(7, 3, true), Ok(vec![3, 3, 1]));
        assert_eq!(equal_parts(4, 3, true), Ok(vec![2, 2, 0]));
        assert_eq!(equal_parts(6, 3, false), Ok(vec![2, 2, 2]));
        assert!(equal_parts(7, 3, false).is_err());
        assert_eq!(check(&[2, 0, 5], 3, 7), Ok(vec![2, 0, 5]));
        for sizes in [vec![2, 4], vec![8, -1], vec![7], vec![i64::MAX, i64::MAX]] {
            assert!(check(&sizes, 2, 7).is_err(), "{sizes:?}");
        }
    }
}

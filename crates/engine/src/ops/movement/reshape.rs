//! Operators that only give elements another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.

use super::{axes_of, axis_of, count, dim_of};
use crate::error::{BuildError, PlanError};
use crate::ir::FormSet;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_tensor::{MAX_RANK, Shape};

const VIEWED: Param = Param::required(1, types::VIEWED);
const AXES: Param = Param::required(0, types::I64_ONLY);

/// Reshape, Flatten, Squeeze, Unsqueeze, Identity.
pub const OPS: &[OpDef] = &[
    OpDef::new("Identity", &[VIEWED.in_form(FormSet::ALL)], &[Out::Like(0)], identity),
    OpDef::new("Reshape", &[VIEWED, AXES], &[Out::Like(0)], reshape),
    OpDef::new("Flatten", &[VIEWED], &[Out::Like(0)], flatten),
    OpDef::new("Squeeze", &[VIEWED], &[Out::Like(0)], squeeze).until(12),
    OpDef::new("Squeeze", &[VIEWED, Param::optional(0, types::I64_ONLY)], &[Out::Like(0)], squeeze)
        .since(13),
    OpDef::new("Unsqueeze", &[VIEWED], &[Out::Like(0)], unsqueeze).until(12),
    OpDef::new("Unsqueeze", &[VIEWED, AXES], &[Out::Like(0)], unsqueeze).since(13),
];

/// Declares output 0 as the elements of input 0 in another shape: as a view wherever the strides allow one.
pub(super) fn view_as(cx: &mut PlanCx<'_>, target: Shape) -> Result<(), PlanError> {
    let from = cx.shape(0)?;
    if from.elements() != target.elements() {
        return Err(PlanError::shape(format!("cannot view {from} as {target}")));
    }
    let lies = cx.strided(0)?;
    let row_major = lies.strides == from.strides();
    match split_strides(&from, &lies.strides, &target) {
        Some(strides) if !row_major => cx.alias_view(0, 0, target, lies.offset, strides),
        _ => cx.alias(0, 0, target),
    }
}

/// The strides with which elements that lie in `from` by `strides` are seen as `to`, where there are such:
/// groups of dimensions with the same product, of which those of `from` follow each other evenly.
pub(in crate::ops) fn split_strides(
    from: &Shape,
    strides: &[isize; MAX_RANK],
    to: &Shape,
) -> Option<[isize; MAX_RANK]> {
    let mut out = [0isize; MAX_RANK];
    if to.elements() == 0 {
        return Some(out);
    }
    let sizes: Vec<(usize, isize)> =
        from.iter().copied().zip(strides.iter().copied()).filter(|&(d, _)| d != 1).collect();
    let (mut i, mut j) = (0, 0);
    while i < sizes.len() {
        let first = j;
        let mut have = sizes.get(i)?.0;
        let mut want = 1;
        while have != want {
            if want < have {
                want *= to.get(j)?;
                j += 1;
            } else {
                let (outer, inner) = (sizes.get(i)?, sizes.get(i + 1)?);
                if outer.1 != inner.1 * inner.0 as isize {
                    return None;
                }
                have *= inner.0;
                i += 1;
            }
        }
        let mut step = sizes.get(i)?.1;
        for axis in (first..j).rev() {
            out[axis] = step;
            step *= *to.get(axis)? as isize;
        }
        i += 1;
    }
    // What is left of `to` has extent 1 and may have any stride.
    Some(out)
}

fn flatten(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", 1)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        // The axis may also point behind the last one.
        let at = match axis {
            a if a == shape.rank() as i64 => shape.rank(),
            a => axis_of(a, shape.rank())?,
        };
        let target = Shape::new(&[count(&shape[..at]), count(&shape[at..])])?;
        view_as(cx, target)
    })
}

/// The axes of Squeeze and Unsqueeze: an attribute until opset 12, then an input.
fn axes(cx: &PlanCx<'_>, attribute: Option<&[i64]>) -> Result<Option<Vec<i64>>, PlanError> {
    match attribute {
        Some(axes) => Ok(Some(axes.to_vec())),
        None if cx.has_input(1) => cx.ints(1).map(Some),
        None => Ok(None),
    }
}

fn squeeze(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attribute = spec.attributes().ints("axes")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let drop = match axes(cx, attribute.as_deref())? {
            Some(axes) => axes_of(&axes, shape.rank())?,
            None => (0..shape.rank()).filter(|&axis| shape[axis] == 1).collect(),
        };
        if let Some(axis) = drop.iter().find(|&&axis| shape[axis] != 1) {
            return Err(PlanError::shape(format!("axis {axis} of {shape} cannot be squeezed")));
        }
        let kept = shape.iter().enumerate().filter(|(axis, _)| !drop.contains(axis));
        let dims: Vec<usize> = kept.map(|(_, &d)| d).collect();
        view_as(cx, Shape::new(&dims)?)
    })
}

fn unsqueeze(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attribute = spec.attributes().ints("axes")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let axes = axes(cx, attribute.as_deref())?
            .ok_or_else(|| PlanError::shape("Unsqueeze needs axes"))?;
        let rank = shape.rank() + axes.len();
        let added = axes_of(&axes, rank)?;
        let mut rest = shape.iter().copied();
        let dims: Vec<usize> = (0..rank)
            .map(|axis| if added.contains(&axis) { 1 } else { rest.next().unwrap_or(1) })
            .collect();
        view_as(cx, Shape::new(&dims)?)
    })
}

fn identity(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let fact = cx.held(0)?;
        cx.give(0, fact);
        Ok(())
    })
}

fn reshape(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let allow_zero = spec.attributes().bool_or("allowzero", false)?;
    plan_fn(move |cx| {
        let target = reshape_target(&cx.shape(0)?, &cx.ints(1)?, allow_zero)?;
        view_as(cx, target)
    })
}

/// The shape that Reshape gives: 0 copies a dimension unless `allow_zero`, one -1 takes what is left.
pub(in crate::ops) fn reshape_target(
    from: &Shape,
    wanted: &[i64],
    allow_zero: bool,
) -> Result<Shape, PlanError> {
    let fail = || PlanError::shape(format!("cannot reshape {from} to {wanted:?}"));
    let mut dims = Vec::with_capacity(wanted.len());
    let mut free = None;
    for (axis, &d) in wanted.iter().enumerate() {
        dims.push(match d {
            0 if !allow_zero => *from.get(axis).ok_or_else(fail)?,
            -1 if free.is_none() => {
                free = Some(axis);
                1
            }
            d => dim_of(d).map_err(|_| fail())?,
        });
    }
    if let Some(axis) = free {
        let rest = Shape::new(&dims)?.elements();
        dims[axis] = match rest {
            0 => 0,
            rest => from.elements() / rest,
        };
    }
    let target = Shape::new(&dims)?;
    if target.elements() == from.elements() { Ok(target) } else { Err(fail()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_targets() {
        let from = Shape::new(&[2, 3, 4]).unwrap();
        let cases: [(&[i64], bool, Option<&[usize]>); 7] = [
            (&[4, 6], false, Some(&[4, 6])),
            (&[-1, 4], false, Some(&[6, 4])),
            (&[0, -1], false, Some(&[2, 12])),
            (&[0, 12], true, None),
            (&[-1, -1], false, None),
            (&[5, -1], false, None),
            (&[-2, 12], false, None),
        ];
        for (wanted, allow_zero, expected) in cases {
            let got = reshape_target(&from, wanted, allow_zero).ok();
            assert_eq!(got.as_deref(), expected, "{wanted:?}");
        }
    }

    #[test]
    fn strides_are_split_where_they_can() {
        // (label, extents, strides, target, strides of the view)
        type Case = (
            &'static str,
            &'static [usize],
            &'static [isize],
            &'static [usize],
            Option<&'static [isize]>,
        );
        let cases: [Case; 8] = [
            ("split a swapped axis", &[4, 6], &[1, 4], &[2, 2, 6], Some(&[2, 1, 4])),
            ("merge even axes", &[2, 3, 4], &[100, 4, 1], &[2, 12], Some(&[100, 1])),
            ("merge uneven axes", &[2, 3], &[1, 2], &[6], None),
            ("drop ones", &[1, 4, 1, 3], &[9, 1, 9, 4], &[4, 3], Some(&[1, 4])),
            ("add ones", &[4, 3], &[1, 4], &[1, 4, 1, 3, 1], Some(&[4, 1, 12, 4, 0])),
            ("broadcast", &[2, 6], &[0, 1], &[2, 2, 3], Some(&[0, 3, 1])),
            ("regroup", &[4, 6], &[6, 1], &[8, 3], Some(&[3, 1])),
            ("all ones", &[1, 1], &[5, 5], &[1], Some(&[0])),
        ];
        for (label, from, strides, to, expected) in cases {
            let mut lies = [0isize; MAX_RANK];
            lies[..strides.len()].copy_from_slice(strides);
            let (from, to) = (Shape::new(from).unwrap(), Shape::new(to).unwrap());
            let got = split_strides(&from, &lies, &to);
            let got = got.as_ref().map(|s| &s[..to.rank()]);
            assert_eq!(got, expected, "{label}");
        }
    }
}

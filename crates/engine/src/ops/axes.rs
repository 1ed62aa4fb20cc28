//! Axes: negative ones, groups of them, and what lies before and after one.

use crate::error::PlanError;
use stead_tensor::{MAX_RANK, Shape};

/// The axis that a possibly negative number names in a tensor of this rank.
///
/// # Errors
/// [`PlanError::Shape`] when there is no such axis.
pub(super) fn axis_of(axis: i64, rank: usize) -> Result<usize, PlanError> {
    let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    usize::try_from(counted)
        .ok()
        .filter(|&a| a < rank)
        .ok_or_else(|| PlanError::shape(format!("axis {axis} is out of range for rank {rank}")))
}

/// The extents before, of and after an axis.
pub(super) fn around(shape: &Shape, axis: usize) -> (usize, usize, usize) {
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    (product(&shape[..axis]), shape[axis], product(&shape[axis + 1..]))
}

/// What a reduction makes of a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grouped {
    /// The dimensions in the order in which the reduced ones lie together; `None` when they do already.
    pub order: Option<Vec<usize>>,
    /// Extents before, of and after the reduced dimensions.
    pub dims: (usize, usize, usize),
    /// The shape of the result.
    pub kept: Shape,
}

/// How a tensor is reduced over `axes`; no axes mean `all`, or none.
///
/// # Errors
/// [`PlanError::Shape`] when an axis is out of range or named twice.
pub(super) fn grouped(
    shape: &Shape,
    axes: &[i64],
    all: bool,
    keep: bool,
) -> Result<Grouped, PlanError> {
    let mut reduced = [axes.is_empty() && all; MAX_RANK];
    for &axis in axes {
        let slot = &mut reduced[axis_of(axis, shape.rank())?];
        if std::mem::replace(slot, true) {
            return Err(PlanError::shape(format!("axes {axes:?} name an axis twice")));
        }
    }
    let reduced = &reduced[..shape.rank()];
    let kept: Vec<usize> = (shape.iter().zip(reduced))
        .filter(|&(_, &r)| keep || !r)
        .map(|(&d, &r)| if r { 1 } else { d })
        .collect();
    let kept = Shape::new(&kept)?;
    // Dimensions of one element may count as reduced or not.
    let real = |axis: &usize| reduced[*axis] && shape[*axis] != 1;
    let first = (0..shape.rank()).find(|a| real(a));
    let last = (0..shape.rank()).rfind(|a| real(a));
    let product = |axes: &mut dyn Iterator<Item = usize>| axes.map(|a| shape[a]).product::<usize>();
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(Grouped { order: None, dims: (1, 1, shape.elements()), kept });
    };
    if (first..=last).all(|a| reduced[a] || shape[a] == 1) {
        let dims = (
            product(&mut (0..first)),
            product(&mut (first..=last)),
            product(&mut (last + 1..shape.rank())),
        );
        return Ok(Grouped { order: None, dims, kept });
    }
    let outer = || (0..shape.rank()).filter(|a| !reduced[*a]);
    let inner = || (0..shape.rank()).filter(|a| reduced[*a]);
    let dims = (product(&mut outer()), product(&mut inner()), 1);
    Ok(Grouped { order: Some(outer().chain(inner()).collect()), dims, kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduced_dimensions_are_grouped() {
        let shape = Shape::new(&[2, 3, 1, 5]).unwrap();
        let cases: [(&str, &[i64], bool, (usize, usize, usize), &[usize]); 7] = [
            ("last", &[-1], false, (6, 5, 1), &[2, 3, 1]),
            ("first, kept", &[0], true, (1, 2, 15), &[1, 3, 1, 5]),
            ("middle", &[1], false, (2, 3, 5), &[2, 1, 5]),
            ("over a one", &[1, 3], false, (2, 15, 1), &[2, 1]),
            ("only the one", &[2], false, (1, 1, 30), &[2, 3, 5]),
            ("all", &[], true, (1, 30, 1), &[1, 1, 1, 1]),
            ("apart", &[0, 3], true, (3, 10, 1), &[1, 3, 1, 1]),
        ];
        for (label, axes, keep, dims, kept) in cases {
            let got = grouped(&shape, axes, true, keep).unwrap();
            assert_eq!((got.dims, got.kept.dims()), (dims, kept), "{label}");
            assert_eq!(got.order.is_some(), label == "apart", "{label}");
        }
        let none = grouped(&shape, &[], false, false).unwrap();
        assert_eq!((none.dims, none.kept), ((1, 1, 30), shape));
        assert!(grouped(&shape, &[1, -3], true, true).is_err(), "twice");
        assert!(grouped(&shape, &[4], true, true).is_err(), "out of range");
        assert!(grouped(&shape, &[i64::MIN], true, true).is_err(), "far out of range");
    }
}
